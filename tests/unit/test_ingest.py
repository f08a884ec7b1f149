"""kernels/ingest.py: one table of tuples to cells, selected rows and counts of late tuples."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.holistic import hll_registers
from headrace.kernels.ingest import ingest
from headrace.query.needs import needs_of
from headrace.query.plan import derived_name
from headrace.query.window import SessionWindow, TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.types import BEGINNING

from .naive import discrete, truth
from .purchases import Row, active, planned, random_purchases, table_of

WINDOWS = [
    "window(time, '10 microseconds')",
    "window(time, '20 microseconds', '5 microseconds')",
    "session_window(time, '7 microseconds')",
]
WHERES = ["", "WHERE price > 3", "WHERE price <= 7 AND paid", "WHERE gem_pack = 'a'"]


def random_texts(rng: random.Random, count: int) -> list[str]:
    return [
        f"SELECT gem_pack, COUNT(*), COUNT(DISTINCT user_id) FROM purchases {rng.choice(WHERES)} "
        f"GROUP BY {rng.choice(WINDOWS)}, gem_pack"
        for _ in range(count)
    ]


def keeps(query: ActiveQuery, row: Row) -> bool:
    return truth(query.logical.where, {k: discrete(v) for k, v in row.items()}) is True


def missed(query: ActiveQuery, row: Row, watermark: int) -> bool:
    """Whether a window of the query that holds the tuple was emitted before it came."""
    time, window = discrete(row["time"]), query.logical.window
    if isinstance(window, SessionWindow):
        return bool(time + window.gap_us <= watermark)
    assert isinstance(window, TimeWindow)
    starts = range(time - window.size_us + 1, time + 1)
    return any(s % window.slide_us == 0 and s + window.size_us <= watermark for s in starts)


@pytest.mark.parametrize("seed", range(30))
def test_late_tuples_are_counted_for_each_query_that_missed_them(seed: int) -> None:
    rng = random.Random(seed)
    texts = random_texts(rng, 4)
    queries = active(texts, [rng.choice([BEGINNING, 20]) for _ in texts])
    rows, watermark = random_purchases(rng, 60), rng.randint(0, 70)
    made = ingest(planned(queries), *table_of(rows), watermark)
    late = {
        int(q.uid): [
            n
            for n, r in enumerate(rows)
            if keeps(q, r) and discrete(r["time"]) >= q.since_us and missed(q, r, watermark)
        ]
        for q in queries
    }
    assert made.late == {uid: len(some) for uid, some in late.items() if some}
    flagged = set() if made.late_rows is None else set(np.flatnonzero(made.late_rows).tolist())
    assert flagged == {n for some in late.values() for n in some}


@pytest.mark.parametrize("seed", range(6))
def test_late_tuples_of_too_many_classes_are_counted_alike(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    queries = active(random_texts(rng, 8))
    rows, watermark = random_purchases(rng, 120), 50
    usual = ingest(planned(queries), *table_of(rows), watermark)
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 0)
    plan = planned(queries)
    varied = ingest(plan, *table_of(rows), watermark)
    assert any(len(g.group.axes) > 1 for g in plan.groups.values())
    assert varied.late == usual.late
    assert usual.late_rows is not None
    assert varied.late_rows is not None
    assert varied.late_rows.tolist() == usual.late_rows.tolist()


def test_in_time_nothing_is_late() -> None:
    queries = active(random_texts(random.Random(1), 3))
    made = ingest(planned(queries), *table_of(random_purchases(random.Random(1), 50)), BEGINNING)
    assert made.late == {}
    assert made.late_rows is None or not made.late_rows.any()


@pytest.mark.parametrize("seed", range(15))
def test_a_selection_gets_the_tuples_it_keeps_in_their_order(seed: int) -> None:
    rng = random.Random(seed)
    texts = [f"SELECT price, gem_pack FROM purchases {where}" for where in WHERES]
    queries = active(texts, [rng.choice([BEGINNING, 30]) for _ in texts])
    rows = random_purchases(rng, 40)
    made = ingest(planned(queries), *table_of(rows), BEGINNING)
    for query in queries:
        kept = [r for r in rows if keeps(query, r) and discrete(r["time"]) >= query.since_us]
        found = made.selected.get(int(query.uid))
        listed = [] if found is None else found.to_pylist()
        assert listed == [{"price": r["price"], "gem_pack": r["gem_pack"]} for r in kept]


def test_every_tuple_that_somebody_wants_is_counted_once_in_each_group() -> None:
    queries = active(
        [f"SELECT COUNT(*) FROM purchases {w} GROUP BY {WINDOWS[0]}" for w in WHERES[1:]]
    )
    rows = random_purchases(random.Random(5), 80)
    plan = planned(queries)
    made = ingest(plan, *table_of(rows), BEGINNING)
    for number, group in plan.groups.items():
        uids = {m.uid for m in group.group.members}
        wanted = [r for r in rows if any(keeps(q, r) for q in queries if q.uid in uids)]
        assert group.group.representation == "cells"
        assert made.cells[number].rows.sum() == len(wanted)


def test_a_group_that_nobody_wants_a_tuple_of_makes_no_cells() -> None:
    queries = active([f"SELECT COUNT(*) FROM purchases WHERE price > 99 GROUP BY {WINDOWS[0]}"])
    made = ingest(planned(queries), *table_of(random_purchases(random.Random(1), 9)), BEGINNING)
    assert made.cells == {}


def test_an_empty_table_makes_nothing_of_note() -> None:
    queries = active(random_texts(random.Random(2), 3))
    made = ingest(planned(queries), *table_of([]), 10)
    assert all(not len(c.rows) for c in made.cells.values())
    assert made.late == {}
    assert made.selected == {}


def test_values_that_are_null_are_no_distinct_values() -> None:
    (query,) = active([f"SELECT COUNT(DISTINCT user_id) FROM purchases GROUP BY {WINDOWS[0]}"])
    rows = random_purchases(random.Random(3), 60)
    plan = planned([query])
    (number,) = [n for n, g in plan.groups.items() if g.group.value == "user_id"]
    cells = ingest(plan, *table_of(rows), BEGINNING).cells[number]
    assert cells.rows.sum() == sum(r["user_id"] is not None for r in rows)


def test_a_sketch_keeps_the_highest_rank_of_each_register() -> None:
    (query,) = active(
        ["SELECT approx_count_distinct(user_id) FROM purchases GROUP BY window(time, '1 second')"]
    )
    (need,) = needs_of(query.logical)
    assert need.value == derived_name(
        "CASE WHEN (`user_id`) IS NOT NULL THEN xxhash64(`user_id`) END"
    )
    hashes: list[Any] = [random.Random(n).getrandbits(64) - 2**63 for n in range(3000)]
    hashes[7] = None
    rows = random_purchases(random.Random(1), 3000)
    table, times = table_of(rows)
    table = table.drop_columns([need.value]).append_column(need.value, pa.array(hashes, pa.int64()))
    plan: CompiledPlan = planned([query])
    (number,) = [n for n, g in plan.groups.items() if g.group.sketch == need.sketch == 9]
    cells = ingest(plan, table, times, BEGINNING).cells[number].sparse()
    known = np.array([h for h in hashes if h is not None], dtype=np.int64)
    wanted: dict[int, int] = {}
    for register, rank in zip(*(a.tolist() for a in hll_registers(known, 9)), strict=True):
        wanted[register] = max(wanted.get(register, 0), rank)
    registers = cells.keys.column("value").take(pa.array(cells.coordinates[2])).to_pylist()
    assert dict(zip(registers, cells.states[0].parts["v"].tolist(), strict=True)) == wanted
