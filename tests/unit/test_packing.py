"""kernels/packing.py: tuples added up in one pass give what they give one by one."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.packing import Packing, Tuples
from headrace.kernels.states import Partials, State, lift
from headrace.query.plan import Partial

ROWS = Partial("rows")
COUNT, SUM, SQUARES = (Partial(op, "x", "bigint") for op in ("count", "sum", "squares"))  # type: ignore[arg-type]
OTHER = Partial("sum", "y", "int")
MOMENTS = Partial("moments", "x", "bigint")
RANGES = {
    "short": (0, 1_000),
    "negative": (-700, -3),
    "both": (-50, 90),
    "one value": (7, 7),
    "wide": (-(2**30), 2**30),
    "limbs": (-(2**50), 2**60),
}


def drawn(
    rng: random.Random, count: int, span: tuple[int, int], nulls: float
) -> dict[Partial, State]:
    x = pa.array(
        [None if rng.random() < nulls else rng.randint(*span) for _ in range(count)], pa.int64()
    )
    y = pa.array([rng.randint(-5, 30) for _ in range(count)], pa.int32())
    times = np.arange(count)
    columns = {COUNT: x, SUM: x, SQUARES: x, MOMENTS: x, OTHER: y}
    return {ROWS: lift(ROWS, None, times)} | {p: lift(p, c, times) for p, c in columns.items()}


def assert_same(found: tuple[np.ndarray, tuple[State, ...]], states: Partials, at: object) -> None:
    groups, size = at  # type: ignore[misc]
    counts, wanted = states.merge(groups, size)
    np.testing.assert_array_equal(found[0], counts)
    for one, other in zip(found[1], wanted, strict=True):
        assert one.partial == other.partial
        assert one.parts.keys() == other.parts.keys()
        for name, part in other.parts.items():
            np.testing.assert_allclose(one.parts[name], part, rtol=1e-12)
            assert one.parts[name].dtype == part.dtype


@pytest.mark.parametrize("span", RANGES.values(), ids=RANGES.keys())
@pytest.mark.parametrize("nulls", [0.0, 0.3], ids=["known", "with nulls"])
@pytest.mark.parametrize("seed", range(4))
def test_packed_or_one_by_one(span: tuple[int, int], nulls: float, seed: int) -> None:
    rng = random.Random(seed)
    held = drawn(rng, 2_000, span, nulls)
    packing = Packing()
    wanted = [[ROWS, SQUARES, SUM], [ROWS, SUM], [COUNT, OTHER, SUM], [ROWS, MOMENTS, SUM], [ROWS]]
    for partials in wanted:
        size = rng.choice([1, 40, 3_000])
        chosen = np.array(sorted(rng.sample(range(2_000), 900))) if rng.random() < 0.5 else None
        groups = np.array([rng.randrange(size) for _ in range(2_000 if chosen is None else 900)])
        states = [held[p] for p in partials]
        taken = [s if chosen is None else s.take(chosen) for s in states]
        found = Tuples(states, chosen, packing).merge(groups, size)
        assert_same(found, Partials(taken), (groups, size))


def test_a_cell_with_more_tuples_than_there_is_room_for_is_noticed() -> None:
    held = drawn(random.Random(3), 60_000, RANGES["short"], 0.0)
    states = [held[ROWS], held[SUM], held[SQUARES]]
    groups = np.where(np.arange(60_000) < 50_000, 17, np.arange(60_000) % 20_000)
    packing = Packing()
    assert_same(
        Tuples(states, None, packing).merge(groups, 20_000), Partials(states), (groups, 20_000)
    )
    assert packing.crowded
    assert_same(
        Tuples(states, None, packing).merge(groups, 20_000), Partials(states), (groups, 20_000)
    )


def test_a_group_that_keeps_less_uses_what_another_one_packed() -> None:
    held = drawn(random.Random(5), 1_000, RANGES["short"], 0.0)
    packing = Packing()
    both = packing.word([held[SUM], held[SQUARES]], 1_000, 100)
    assert both is not None
    assert both.states == {SUM, SQUARES}
    assert packing.word([held[ROWS], held[SUM]], 1_000, 100) is both
    assert packing.word([held[ROWS]], 1_000, 100) is None, "nothing to pack"
