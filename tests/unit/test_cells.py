"""kernels/cells.py: partial results per slice, column and key, dense or sparse as it pays."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.cells import Cells, merge_cells, reduce_cells
from headrace.kernels.keys import KEY_GROUPS, encode_keys
from headrace.kernels.slicing import slice_times
from headrace.kernels.states import Partials, lift
from headrace.query.window import TimeWindow

from .aggregation import expected
from .events import CALLS, MORE_CALLS, Events, listed, partials_of, random_events

WINDOWS = [TimeWindow(10, 5)]
COLUMNS = 4
CASES = [CALLS, MORE_CALLS]


def column_of(row: dict[str, Any]) -> int:
    """Stands for a class."""
    return (row["time"] * 7 + (row["p"] or 0)) % COLUMNS


def reduced(events: Events, calls: Any) -> Cells:
    table = events.table.append_column("d", events.table.column("x").cast(pa.float64()))
    states = [
        lift(
            p,
            table.column("d" if p.type == "double" else p.column) if p.column else None,
            events.times,
        )
        for p in partials_of(calls)
    ]
    columns = np.array([column_of(r) for r in events.rows], dtype=np.int64)
    return reduce_cells(
        slice_times(events.times, WINDOWS),
        (columns, COLUMNS),
        encode_keys([table.column("k"), table.column("p")], len(events.rows)),
        Partials(states),
    )


def obvious(rows: list[dict[str, Any]], calls: Any, width: int = 5) -> dict[tuple[Any, ...], Any]:
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        start = row["time"] // width * width
        found.setdefault((start, column_of(row), (row["k"], row["p"])), []).append(row)
    return {
        cell: (
            len(some),
            tuple(
                len(some)
                if c.argument is None
                else expected(c, [(r["time"], r["x"]) for r in some])
                for c in calls
            ),
        )
        for cell, some in found.items()
    }


def assert_same(found: dict[tuple[Any, ...], Any], wanted: dict[tuple[Any, ...], Any]) -> None:
    assert found.keys() == wanted.keys()
    for cell, (rows, values) in wanted.items():
        assert found[cell][0] == rows
        assert found[cell][1] == pytest.approx(values), cell


@pytest.mark.parametrize("calls", CASES, ids=["simple", "more"])
@pytest.mark.parametrize("seed", range(15))
def test_cells_hold_the_aggregates_of_their_tuples(calls: Any, seed: int) -> None:
    rng = random.Random(seed)
    events = random_events(rng, rng.choice([1, 10, 400]), high=rng.choice([5, 60]))
    assert_same(listed(reduced(events, calls), calls), obvious(events.rows, calls))


@pytest.mark.parametrize("seed", range(10))
def test_full_blocks_are_dense_and_scattered_ones_carry_an_index(seed: int) -> None:
    rng = random.Random(seed)
    full = reduced(random_events(rng, 4000, high=9), CALLS)
    assert full.is_dense
    assert len(full.rows) == len(full.slices) * full.columns * full.keys.num_rows
    scattered = reduced(random_events(rng, 30, high=500), CALLS)
    assert not scattered.is_dense
    assert scattered.index is not None
    assert np.all(np.diff(scattered.index) > 0)
    assert scattered.rows.min() > 0


def test_a_dense_block_says_the_same_as_its_sparse_form() -> None:
    cells = reduced(random_events(random.Random(4), 3000, high=9), CALLS)
    sparse = cells.sparse()
    assert cells.is_dense
    assert not sparse.is_dense
    assert sparse.sparse() is sparse
    assert sparse.rows.sum() == cells.rows.sum() == 3000
    assert listed(sparse, CALLS) == listed(cells, CALLS)


def test_keys_are_sorted_by_key_group() -> None:
    cells = reduced(random_events(random.Random(2), 500), CALLS)
    assert np.all(np.diff(cells.key_groups) >= 0)


@pytest.mark.parametrize("rows", [20, 4000], ids=["sparse", "dense"])
@pytest.mark.parametrize("seed", range(8))
def test_parts_by_key_groups_are_together_the_whole(rows: int, seed: int) -> None:
    rng = random.Random(seed)
    cells = reduced(random_events(rng, rows, high=9), CALLS)
    cuts = sorted({0, KEY_GROUPS, *(rng.randrange(KEY_GROUPS) for _ in range(4))})
    parts = [cells.of_key_groups(a, b) for a, b in pairwise(cuts)]
    assert sum(p.keys.num_rows for p in parts) == cells.keys.num_rows
    assert sum(int(p.rows.sum()) for p in parts) == rows
    together: dict[tuple[Any, ...], Any] = {}
    for part in parts:
        mine = listed(part, CALLS)
        assert not together.keys() & mine.keys()
        together |= mine
    assert together == listed(cells, CALLS)
    assert all(p.is_dense == cells.is_dense for p in parts)


def test_a_range_without_keys_is_an_empty_part() -> None:
    cells = reduced(random_events(random.Random(1), 40), CALLS)
    group = int(cells.key_groups[0])
    nothing = cells.of_key_groups(group, group)
    assert nothing.keys.num_rows == 0
    assert listed(nothing, CALLS) == {}
    assert cells.of_key_groups(0, KEY_GROUPS) is cells


@pytest.mark.parametrize("calls", CASES, ids=["simple", "more"])
@pytest.mark.parametrize("seed", range(12))
def test_merged_blocks_are_the_cells_of_all_their_tuples(calls: Any, seed: int) -> None:
    rng = random.Random(seed)
    batches = [random_events(rng, rng.choice([3, 60, 900]), high=12) for _ in range(3)]
    merged = merge_cells([reduced(b, calls) for b in batches])
    assert_same(listed(merged, calls), obvious([r for b in batches for r in b.rows], calls))


@pytest.mark.parametrize("seed", range(6))
def test_slices_may_be_coalesced_while_merging(seed: int) -> None:
    #   0    5    10   15   20   25        slices
    #   |____|____|____|____|____|
    #   |_________|_________|____          coalesced to starts 0, 10, 20 …
    rng = random.Random(seed)
    batches = [random_events(rng, 80, high=40) for _ in range(2)]
    starts = np.arange(0, 50, 10, dtype=np.int64)
    merged = merge_cells([reduced(b, CALLS) for b in batches], starts)
    wanted = obvious([r for b in batches for r in b.rows], CALLS, width=10)
    assert_same(listed(merged, CALLS), wanted)


def test_merging_one_block_is_the_block_itself() -> None:
    cells = reduced(random_events(random.Random(3), 50), CALLS).sparse()
    assert merge_cells([cells]) is cells


@pytest.mark.parametrize("largest", [0, 3, 200, 40_000, 2**40, 2**62])
def test_running_sums_go_over_the_columns_before_each_one(largest: int) -> None:
    part = np.array([[[1, 0], [2, largest], [0, -5]]], dtype=np.int64)
    cells = Cells(
        np.array([0]),
        3,
        pa.table({"k0": ["a", "b"]}),
        np.array([1, 2]),
        None,
        part.reshape(-1),
        (),
    )
    found = cells.running((-1, "rows"))
    assert found.tolist() == [[[0, 0], [1, 0], [3, largest], [3, largest - 5]]]
    assert cells.running((-1, "rows")) is found
    assert cells.nbytes == part.nbytes + found.nbytes
