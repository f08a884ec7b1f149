"""kernels/session_answers.py: sessions of many gaps shared, told as each query alone would say."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from headrace.kernels import sections
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.ingest import ingest
from headrace.kernels.keys import KEY_GROUPS
from headrace.kernels.session_answers import Arrival, Held, SessionAsk, answer_sessions
from headrace.query.predicate import Always
from headrace.registry.changelog import ActiveQuery
from headrace.types import BEGINNING, FOREVER
from tests.amounts import seeds

from .aggregation import EPOCH
from .naive import discrete, truth
from .purchases import (
    SETTING,
    Row,
    active,
    aggregates,
    asked,
    planned,
    random_purchases,
    table_of,
    told,
)

SHAPES = [
    "SELECT gem_pack, COUNT(*), SUM(price), AVG(amount) FROM purchases {where} "
    "GROUP BY session_window(time, '{gap} microseconds'), gem_pack",
    "SELECT COUNT(*), MAX(price), FIRST(user_id), LAST(day) FROM purchases {where} "
    "GROUP BY session_window(time, '{gap} microseconds')",
    "SELECT gem_pack, COUNT(DISTINCT user_id), percentile_approx(price, 0.5), COUNT(*) "
    "FROM purchases {where} GROUP BY gem_pack, session_window(time, '{gap} microseconds')",
    "SELECT COUNT(DISTINCT gem_pack), COUNT(price), approx_count_distinct(day) FROM purchases "
    "{where} GROUP BY session_window(time, '{gap} microseconds')",
]
WHERES = ["", "WHERE price > 3", "WHERE price <= 7 AND paid", "WHERE gem_pack = 'a'"]
Batch = tuple[int, list[Row]]
"""The watermark from before a batch, and its tuples."""


@dataclass
class Shared:
    """Ingests batches under a plan and fires as the watermark moves."""

    plan: CompiledPlan
    queries: Sequence[ActiveQuery]
    until: int = FOREVER
    key_groups: tuple[int, int] = (0, KEY_GROUPS)
    """Those that one of several tasks answers for."""
    arrivals: dict[Any, list[Arrival]] = field(default_factory=dict)
    emitted_upto: int = BEGINNING
    order: int = 0

    def take(self, watermark: int, rows: list[Row]) -> None:
        table, times = table_of(rows)
        for number, cells in ingest(self.plan, table, times, watermark).cells.items():
            group = self.plan.groups[number]
            kept = sections.decode(sections.encode(cells), self.key_groups)
            ((aligned, layout),) = group.blocks([kept])
            arrival = Arrival(self.order, watermark, aligned, layout)
            place = (group.group.keys, group.group.value, group.group.sketch)
            self.arrivals.setdefault(place, []).append(arrival)
        self.order += 1

    def fire(self, watermark: int) -> list[Any]:
        known = asked(self.queries)
        asks = [SessionAsk(known[q.uid], q.since_us, self.until) for q in self.queries]
        found = list(answer_sessions(self.arrivals, asks, self.emitted_upto, watermark, SETTING))
        self.emitted_upto = watermark
        return found


def replayed(
    query: ActiveQuery, batches: Sequence[Batch], last: int, until: int = FOREVER
) -> dict[tuple[Any, ...], Any]:
    """Spark's session operator for one query, one key at a time, with plain lists of tuples."""
    gap = query.logical.window.gap_us  # type: ignore[union-attr]
    held: dict[Any, list[list[Row]]] = {}
    out: dict[tuple[Any, ...], Any] = {}
    for watermark, rows in [*batches, (last, [])]:
        for key, sessions in held.items():
            for some in sessions:
                first, end = discrete(some[0]["time"]), discrete(some[-1]["time"]) + gap
                if end <= watermark and end <= until:
                    out[(int(query.uid), first, end, key)] = aggregates(query.logical, some)
            held[key] = [s for s in sessions if discrete(s[-1]["time"]) + gap > watermark]
        for row in rows:
            time = discrete(row["time"])
            kept = truth(query.logical.where, {k: discrete(v) for k, v in row.items()}) is True
            if kept and time + gap > watermark and time >= query.since_us:
                key = tuple(row[k.column] for k in query.logical.keys)  # type: ignore[index]
                held.setdefault(key, []).append([row])
        for key, sessions in held.items():
            held[key] = joined(sessions, gap)
    return out


def joined(sessions: list[list[Row]], gap: int) -> list[list[Row]]:
    out: list[list[Row]] = []
    for some in sorted(sessions, key=lambda s: s[0]["time"]):
        if out and discrete(some[0]["time"]) <= discrete(out[-1][-1]["time"]) + gap:
            out[-1] = sorted([*out[-1], *some], key=lambda r: r["time"])
        else:
            out.append(some)
    return out


def random_batches(rng: random.Random, steps: int) -> list[Batch]:
    """Batches that move on by about ten, with stragglers; and the watermark before each of them."""
    batches: list[Batch] = []
    watermark = BEGINNING
    for step in range(steps):
        rows = random_purchases(rng, rng.choice([2, 15]), high=12 + 10 * step)
        recent = 10 * step - 12
        rows = [r for r in rows if discrete(r["time"]) >= recent or rng.random() < 0.3]
        if rows:
            batches.append((watermark, rows))
        watermark = max(watermark, 10 * step - rng.choice([0, 5, 25]))
    return batches


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("seed", seeds(7, 30))
def test_sessions_are_told_once_and_as_each_query_alone_would_say(seed: int, tasks: int) -> None:
    rng = random.Random(seed)
    texts = [
        rng.choice(SHAPES).format(where=rng.choice(WHERES), gap=rng.choice([2, 5, 11]))
        for _ in range(rng.randint(1, 5))
    ]
    queries = active(texts, [rng.choice([BEGINNING, 15]) for _ in texts])
    batches = random_batches(rng, 6)
    results: list[Any] = []
    for keys in pairwise(KEY_GROUPS * n // tasks for n in range(tasks + 1)):
        shared = Shared(planned(queries), queries, key_groups=keys)
        for watermark, rows in batches:
            results += shared.fire(watermark)  # what the watermark before this batch has closed
            shared.take(watermark, rows)
        results += shared.fire(1000)
    assert_told(results, queries, {q.uid: batches for q in queries})


@pytest.mark.parametrize("seed", seeds(4, 12))
def test_sessions_go_on_where_tuples_are_of_too_many_classes(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(200 + seed)
    texts = [rng.choice(SHAPES).format(where=where, gap=rng.choice([2, 5, 11])) for where in WHERES]
    queries = active(texts)
    batches = random_batches(rng, 6)
    shared = Shared(planned(queries), queries)
    results: list[Any] = []
    for watermark, rows in batches:
        results += shared.fire(watermark)
        with monkeypatch.context() as patch:
            if rng.random() < 0.5:
                patch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 0)
            # Every batch in a process of its own.
            shared.plan = planned(queries)
            shared.take(watermark, rows)
    results += shared.fire(1000)
    assert_told(results, queries, {q.uid: batches for q in queries})


@pytest.mark.parametrize("seed", seeds(5, 15))
def test_open_sessions_outlive_a_change_of_the_plan(seed: int) -> None:
    #   plan A: the first query alone        plan B: with others, other classes and a smaller gap
    rng = random.Random(100 + seed)
    gaps = [11, rng.choice([2, 5]), 20]
    texts = [rng.choice(SHAPES[:2]).format(where=rng.choice(WHERES), gap=g) for g in gaps]
    queries = active(texts)
    batches = random_batches(rng, 6)
    change = rng.randrange(len(batches))
    shared = Shared(planned(queries[:1]), queries[:1])
    results: list[Any] = []
    for step, (watermark, rows) in enumerate(batches):
        results += shared.fire(watermark)
        if step == change:
            shared.plan, shared.queries = planned(queries), queries
        shared.take(watermark, rows)
    results += shared.fire(1000)
    seen = {q.uid: batches[change:] for q in queries} | {queries[0].uid: batches}
    assert_told(results, queries, seen)


def assert_told(
    results: Sequence[Any], queries: Sequence[ActiveQuery], batches: Mapping[int, list[Batch]]
) -> None:
    """Every session once, and each as a replay of its query alone has it."""
    found = told([r for r in results if not isinstance(r, Held)], queries)
    wanted: dict[Any, Any] = {}
    for query in queries:
        wanted |= replayed(query, batches[query.uid], 1000)
    assert found.keys() == wanted.keys()
    for place, values in wanted.items():
        for one, other in zip(found[place], values, strict=True):
            same = one == (pytest.approx(other) if isinstance(other, float) else other)
            assert same, (place, found[place], values)


def rows_at(*times: int, **columns: Any) -> list[Row]:
    base = random_purchases(random.Random(1), 1)[0] | columns
    return [base | {"time": EPOCH + dt.timedelta(microseconds=t)} for t in times]


def session_query(select: str, gap: int) -> list[ActiveQuery]:
    return active(
        [f"SELECT {select} FROM purchases GROUP BY session_window(time, '{gap} microseconds')"]
    )


def test_open_sessions_are_held_from_the_oldest_begun() -> None:
    #   0  3       20  24            gap 5, watermark 10: [0, 8) is closed, 20.. is open
    queries = session_query("COUNT(*)", 5)
    assert queries[0].logical.where == Always()
    shared = Shared(planned(queries), queries)
    shared.take(BEGINNING, rows_at(0, 3, 20, 24))
    results = shared.fire(10)
    assert [r.first_us for r in results if isinstance(r, Held)] == [20]
    assert told([r for r in results if not isinstance(r, Held)], queries) == {(3, 0, 8, ()): (2,)}
    assert told(shared.fire(29), queries) == {(3, 20, 29, ()): (2,)}
    assert shared.fire(50) == []


def test_a_tuple_too_late_for_its_session_is_too_late_for_distinct_values() -> None:
    #   batch 1: 0   8   16   24       one session, still open at watermark 20 (gap 10)
    #   batch 2:   5                   5 + 10 <= 20: late, though it lies inside the session
    queries = session_query("COUNT(*), COUNT(DISTINCT user_id), percentile_approx(price, 1.0)", 10)
    shared = Shared(planned(queries), queries)
    shared.take(BEGINNING, rows_at(0, 8, 16, 24, user_id=1, price=1))
    shared.take(20, rows_at(5, user_id=2, price=9))
    assert told(shared.fire(100), queries) == {(3, 0, 34, ()): (4, 1, 1)}


def test_sessions_alike_in_two_queries_keep_their_distinct_values_apart() -> None:
    #   0 (pack a)   1 (pack b)      one session of two values, asked for by two queries
    text = "SELECT {} FROM purchases GROUP BY session_window(time, '5 microseconds')"
    queries = active([text.format("COUNT(DISTINCT gem_pack)"), text.format("COUNT(*)")])
    shared = Shared(planned(queries), queries)
    shared.take(BEGINNING, [*rows_at(0, gem_pack="a"), *rows_at(1, gem_pack="b")])
    assert told(shared.fire(100), queries) == {(3, 0, 6, ()): (2,), (13, 0, 6, ()): (2,)}


def test_sessions_that_end_after_the_life_are_not_told() -> None:
    queries = session_query("COUNT(*)", 5)
    shared = Shared(planned(queries), queries, until=20)
    shared.take(BEGINNING, rows_at(0, 10, 14, 30))
    assert told(shared.fire(100), queries) == {(3, 0, 5, ()): (1,), (3, 10, 19, ()): (2,)}


def test_a_life_that_begins_inside_a_session_sees_the_rest_of_it() -> None:
    (query,) = session_query("COUNT(*)", 5)
    queries = active([query.logical.text], [7])
    shared = Shared(planned(queries), queries)
    shared.take(BEGINNING, rows_at(4, 6, 8, 10))
    assert told(shared.fire(100), queries) == {(3, 8, 15, ()): (2,)}


def test_queries_without_arrivals_are_told_nothing() -> None:
    queries = session_query("COUNT(*)", 5)
    assert Shared(planned(queries), queries).fire(100) == []
