"""kernels/compact.py: fewer cells, the same answers for every window still to come."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from headrace.kernels.blocks import Layout
from headrace.kernels.combine import combine
from headrace.kernels.compact import merge_same, needed_starts, open_sessions, to_queries
from headrace.kernels.session_answers import Arrival, Held, SessionAsk
from headrace.query.predicate import Always, Ranges
from headrace.query.window import TimeWindow
from headrace.types import FOREVER
from tests.amounts import seeds

from .events import CALLS, MORE_CALLS, events_of, random_events
from .purchases import active, asked, planned, told
from .shared import WINDOWS, all_due, blocks_of, compiled, group_of, obvious, random_predicate
from .shared import told as answered
from .test_session_answers import SHAPES, WHERES, Shared, random_batches, replayed


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_merged_sections_answer_every_window_that_is_still_open(seed: int) -> None:
    rng = random.Random(seed)
    members = [(u, random_predicate(rng), rng.choice(WINDOWS)) for u in range(1, 5)]
    group = group_of(members, MORE_CALLS)
    batches = [random_events(rng, rng.choice([5, 40])) for _ in range(3)]
    blocks = blocks_of(compiled(group), batches)
    layout, watermark = blocks[0][1], rng.randint(-5, 70)
    merged = merge_same([c for c, _ in blocks], group.windows, (), watermark)  # type: ignore[arg-type]
    due = [(w, uids) for w, uids in all_due(group.members) if w[1] > watermark]
    wanted = obvious([r for b in batches for r in b.rows], group.members, due, CALLS)
    assert answered(combine([(merged, layout)], due), CALLS) == wanted
    filled = np.count_nonzero
    assert filled(merged.rows) <= sum(filled(c.rows) for c, _ in blocks)


@pytest.mark.parametrize("seed", seeds(5, 10))
def test_tuples_that_come_after_compaction_still_find_their_windows(seed: int) -> None:
    rng = random.Random(100 + seed)
    members = [(u, random_predicate(rng), rng.choice(WINDOWS)) for u in range(1, 4)]
    group, watermark = group_of(members, CALLS), 33
    plan = compiled(group)
    early, later = random_events(rng, 60, high=40), random_events(rng, 60, low=20)
    blocks = blocks_of(plan, [early])
    merged = merge_same([c for c, _ in blocks], group.windows, (), watermark)  # type: ignore[arg-type]
    due = [(w, uids) for w, uids in all_due(group.members) if w[1] > watermark]
    together = [(merged, blocks[0][1]), *blocks_of(plan, [later])]
    wanted = obvious([*early.rows, *later.rows], group.members, due, CALLS)
    assert answered(combine(together, due), CALLS) == wanted


def test_slices_before_the_watermark_are_joined_up_to_the_next_open_window() -> None:
    #   0    5    10   15   20   25   30          slices, watermark 22
    #                  |______________|           size 15, slide 5: 10.. is the oldest still open
    #   |    .    .    |    |    |    |
    slices = np.arange(0, 35, 5)
    kept = needed_starts(slices, [TimeWindow(15, 5)], [], 22)
    assert kept.tolist() == [0, 10, 15, 20, 25, 30]
    assert needed_starts(slices, [TimeWindow(30, 30)], [], 22).tolist() == [0, 25, 30]
    assert needed_starts(slices, [TimeWindow(30, 30)], [10], 22).tolist() == [0, 10, 25, 30]
    assert needed_starts(np.empty(0, np.int64), [], [], 22).tolist() == []


def test_a_slice_is_not_joined_across_an_open_window_start_without_a_slice() -> None:
    #   0    4    8  10 12   16   20
    #   |    .    .  :  |                tuples only in the slices at 0 and 12, watermark 17
    #                |_____________|     [10, 20) is still open and needs 12, not 0
    windows = [TimeWindow(10, 10), TimeWindow(4, 4)]
    assert needed_starts(np.array([0, 12]), windows, [], 17).tolist() == [0, 12]


def test_a_slice_is_not_joined_across_a_cut_without_a_slice() -> None:
    #   0          10 (a query begins)  12
    assert needed_starts(np.array([0, 12]), [TimeWindow(100, 100)], [10], 17).tolist() == [0, 12]


@pytest.mark.parametrize("seed", seeds(5, 10))
def test_classes_of_queries_that_are_gone_disappear(seed: int) -> None:
    rng = random.Random(200 + seed)
    members = [(u, random_predicate(rng), WINDOWS[0]) for u in (2, 4, 6, 8)]
    group = group_of(members, CALLS)
    events = random_events(rng, 300)
    ((cells, layout),) = blocks_of(compiled(group), [events])
    alive = [4, 8]
    converted = to_queries(cells, layout, alive)
    due = [(w, tuple(u for u in uids if u in alive)) for w, uids in all_due(group.members)]
    wanted = obvious(events.rows, group.members, due, CALLS)
    if converted is None:
        assert wanted == {}
    else:
        assert answered(combine([(converted, Layout.vectors(alive))], due), CALLS) == wanted


def test_when_nobody_is_left_nothing_is_kept() -> None:
    window = TimeWindow(10, 10)
    group = group_of([(1, Ranges("p", ((5, None),)), window), (2, Always(), window)], CALLS)
    rows = [r | {"p": 0} for r in random_events(random.Random(1), 20).rows]
    ((cells, layout),) = blocks_of(compiled(group), [events_of(rows)])
    assert to_queries(cells, layout, [1]) is None


def compacted(shared: Shared) -> None:
    """Replace the pieces of every main session group by its open sessions."""
    known = asked(shared.queries)
    asks = {q.uid: SessionAsk(known[q.uid], q.since_us, FOREVER) for q in shared.queries}
    for place, arrivals in shared.arrivals.items():
        if place[1] is not None:
            continue
        by_members: dict[Any, list[Arrival]] = {}
        for arrival in arrivals:
            by_members.setdefault(frozenset(arrival.layout.place), []).append(arrival)
        shared.arrivals[place] = []
        for uids, some in by_members.items():
            mine = sorted(uids)
            cells = open_sessions(some, [asks[u] for u in mine], shared.emitted_upto)
            if cells is not None:
                made = Arrival(max(a.order for a in some), -(2**62), cells, Layout.vectors(mine))
                shared.arrivals[place].append(made)


@pytest.mark.parametrize("seed", seeds(10, 25))
def test_open_sessions_stand_for_the_pieces_they_were_joined_from(seed: int) -> None:
    rng = random.Random(300 + seed)
    texts = [
        rng.choice(SHAPES).format(where=rng.choice(WHERES), gap=rng.choice([2, 5, 11]))
        for _ in range(rng.randint(1, 4))
    ]
    queries = active(texts)
    batches = random_batches(rng, 6)
    shared = Shared(planned(queries), queries)
    results: list[Any] = []
    for watermark, rows in batches:
        results += shared.fire(watermark)
        if rng.random() < 0.5:
            compacted(shared)
        shared.take(watermark, rows)
    results += shared.fire(1000)
    found = told([r for r in results if not isinstance(r, Held)], queries)
    wanted: dict[Any, Any] = {}
    for query in queries:
        wanted |= replayed(query, batches, 1000)
    assert found.keys() == wanted.keys()
    for place, values in wanted.items():
        assert list(found[place]) == [
            pytest.approx(v) if isinstance(v, float) else v for v in values
        ], place
