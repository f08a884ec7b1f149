"""kernels/states.py: lift and merge, in any order and grouping, are the aggregate itself."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.finish import finish
from headrace.kernels.states import State, concat, count_rows, lift, merge
from headrace.query.logical import AggregateCall, Function
from headrace.query.needs import need_of
from headrace.query.plan import ROWS, Partial

from .aggregation import NUMBERS, TYPES, call_of, expected, random_values, same

CASES = [
    *((Function.COUNT, t, False) for t in TYPES),
    *((Function.SUM, t, False) for t in NUMBERS),
    *((Function.AVG, t, False) for t in ("int", "double")),
    *((f, t, False) for f in (Function.MIN, Function.MAX) for t in TYPES),
    *((f, t, i) for f in (Function.FIRST, Function.LAST) for t in TYPES for i in (False, True)),
    *((f, "double", False) for f in (Function.VAR_POP, Function.VAR_SAMP, Function.STDDEV_POP)),
]
IDS = [f"{f}-{t}{'-ignore' if i else ''}" for f, t, i in CASES]


def lifted(call: AggregateCall, values: list[Any], type_: str, times: list[int]) -> State:
    partial = need_of(call).partial
    assert partial is not None
    return lift(partial, pa.array(values, TYPES[type_][0]), np.array(times, dtype=np.int64))


def finished(call: AggregateCall, state: State, rows: Any) -> list[Any]:
    return finish(call, state, rows, time_zone="UTC", ansi=True).to_pylist()


@pytest.mark.parametrize(("function", "type_", "ignore"), CASES, ids=IDS)
@pytest.mark.parametrize("nulls", [0.0, 0.4, 1.0], ids=["no nulls", "nulls", "only nulls"])
def test_merging_once_gives_the_aggregate_of_each_group(
    function: Function, type_: str, ignore: bool, nulls: float
) -> None:
    rng = random.Random(f"{function}{type_}{nulls}")
    call = call_of(function, type_, ignore_nulls=ignore)
    values, times = random_values(rng, type_, 60, nulls), [rng.randint(-3, 3) for _ in range(60)]
    groups = [*range(8), *(rng.randrange(8) for _ in range(52))]
    numbers = np.array(groups)
    state = merge(lifted(call, values, type_, times), numbers, 8)
    found = finished(call, state, count_rows(None, numbers, 8))
    for group in range(8):
        rows = [(t, v) for t, v, g in zip(times, values, groups, strict=True) if g == group]
        assert same(found[group], expected(call, rows), close=True), (group, rows)


@pytest.mark.parametrize(("function", "type_", "ignore"), CASES, ids=IDS)
@pytest.mark.parametrize("seed", range(2))
def test_batches_merged_one_by_one_and_then_together_give_the_same(
    function: Function, type_: str, ignore: bool, seed: int
) -> None:
    rng = random.Random(f"{function}{type_}{seed}")
    call = call_of(function, type_, ignore_nulls=ignore)
    states, counts, keys = [], [], []
    rows: dict[int, list[tuple[int, Any]]] = {}
    for _ in range(rng.randint(2, 4)):
        # A batch may hold no null at all, or only nulls: then its state has other components.
        size, nulls = rng.randint(1, 12), rng.choice([0.0, 0.5, 1.0])
        values = random_values(rng, type_, size, nulls)
        times = [rng.randint(-3, 3) for _ in range(size)]
        groups = [rng.randrange(4) for _ in range(size)]
        used, numbers = np.unique(groups, return_inverse=True)
        states.append(merge(lifted(call, values, type_, times), numbers, len(used)))
        counts.append(count_rows(None, numbers, len(used)))
        keys.append(used)
        for time, value, group in zip(times, values, groups, strict=True):
            rows.setdefault(group, []).append((time, value))
    whole, count, key = concat(states, counts), np.concatenate(counts), np.concatenate(keys)
    used, numbers = np.unique(key, return_inverse=True)
    merged = merge(whole, numbers, len(used), count)
    found = finished(call, merged, count_rows(count, numbers, len(used)))
    for group, value in zip(used.tolist(), found, strict=True):
        assert same(value, expected(call, rows[group]), close=True), (group, rows[group])


# -- sums -----------------------------------------------------------------------------------------


def total(values: list[int], batches: int = 1) -> int | None:
    """The sum of one group, in batches, as a bigint."""
    call = call_of(Function.SUM, "bigint")
    states, counts = [], []
    for part in np.array_split(np.array(values, dtype=np.int64), batches):
        zeros = np.zeros(len(part), dtype=np.int64)
        states.append(merge(lifted(call, part.tolist(), "bigint", zeros.tolist()), zeros, 1))
        counts.append(np.array([len(part)]))
    whole = concat(states, counts)
    merged = merge(whole, np.zeros(batches, dtype=np.int64), 1, np.concatenate(counts))
    (value,) = finished(call, merged, np.array([len(values)]))
    return value  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(20))
def test_whole_number_sums_are_exact_far_beyond_what_a_float_holds(seed: int) -> None:
    rng = random.Random(seed)
    # Narrow values are summed plainly, wide ones as limbs; a sum may meet both.
    values = [
        rng.randint(-(2 ** rng.choice([3, 31, 33, 57])), 2 ** rng.choice([3, 31, 33, 57]))
        for _ in range(40)
    ]
    assert total(values, rng.randint(1, 5)) == sum(values)


def test_limbs_carry_through_partial_sums_that_leave_the_range() -> None:
    # 2**63 does not fit, yet the whole sum does.
    values = [2**62, 2**62, -(2**62), -(2**62), 5]
    assert total(values, 2) == 5
    assert total([2**63 - 1, -(2**63), 2**63 - 1, -(2**63), 2], 1) == 0


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 9_100_000_000_000_000_000])
def test_a_sum_at_the_end_of_the_range_still_fits(value: int) -> None:
    half = value // 2
    assert total([half, value - half]) == value


def test_decimal_sums_are_exact_with_signs_and_carries() -> None:
    call = call_of(Function.SUM, "decimal(30,2)")
    rng = random.Random(9)
    values = random_values(rng, "decimal(30,2)", 500, 0.1)
    state = merge(lifted(call, values, "decimal(30,2)", [0] * 500), np.zeros(500, np.int64), 1)
    known = [v for v in values if v is not None]
    assert finished(call, state, np.array([500])) == [sum(known)]


# -- moments --------------------------------------------------------------------------------------


def test_a_small_spread_around_a_large_mean_is_not_lost() -> None:
    values = 1e9 + np.random.default_rng(3).random(10_000)
    call = call_of(Function.VAR_POP, "double")
    numbers = np.arange(10_000) % 100
    state = merge(lifted(call, values.tolist(), "double", [0] * 10_000), numbers, 100)
    merged = merge(state, np.zeros(100, np.int64), 1, np.full(100, 100))
    (found,) = finished(call, merged, np.array([10_000]))
    assert found == pytest.approx(np.var(values), rel=1e-6)


@pytest.mark.parametrize("widest", [100, 2**15 - 1, 2**15, 2**62])
def test_squares_add_up_exactly_while_they_fit_and_nearly_after(widest: int) -> None:
    rng = random.Random(widest)
    values = [None if rng.random() < 0.2 else rng.randint(-widest, widest) for _ in range(300)]
    values[0] = widest
    state = lift(Partial("squares", "x", "bigint"), pa.array(values, pa.int64()), np.arange(300))
    merged = merge(state, np.arange(300) % 3, 3)
    for group in range(3):
        known = [v for v in values[group::3] if v is not None]
        total = sum(v * v for v in known)
        found = merged.parts["s"][group]
        assert found == (total if widest < 2**15 else pytest.approx(total))
        assert merged.parts["n"][group] == len(known)


# -- first and last -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "wanted"), [("first", None), ("last", 9), ("first_known", 4), ("last_known", 9)]
)
def test_ties_in_time_are_broken_by_value_and_null_is_the_smallest(op: Any, wanted: Any) -> None:
    #   time   1        1     1        2     2
    #   value  7        4     null     9     null
    partial = Partial(op, "x", "int")
    state = lift(partial, pa.array([7, 4, None, 9, None]), np.array([1, 1, 1, 2, 2]))
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 4, 0, 3, 1]):
        merged = merge(state.take(np.array(order)), np.zeros(5, np.int64), 1)
        found = int(merged.parts["v"][0]) if merged.parts["n"][0] else None
        assert found == wanted


# -- what costs nothing ---------------------------------------------------------------------------


def test_counting_tuples_needs_no_column() -> None:
    state = lift(ROWS, None, np.arange(3))
    assert state.parts == {}
    assert merge(state, np.array([0, 0, 1]), 2).parts == {}
    assert count_rows(np.array([2, 3, 4]), np.array([0, 0, 1]), 2).tolist() == [5, 4]


@pytest.mark.parametrize("op", ["count", "sum", "squares", "min", "max", "moments"])
def test_a_column_without_nulls_keeps_no_count_of_its_own(op: Any) -> None:
    assert "n" not in lift(Partial(op, "x", "int"), pa.array([1, 2]), np.arange(2)).parts


def test_taking_some_cells_keeps_their_components_together() -> None:
    call = call_of(Function.MIN, "string")
    state = lifted(call, ["b", None, "a"], "string", [0, 0, 0]).take(np.array([2, 1]))
    assert state.size == 2
    assert finished(call, merge(state, np.array([0, 1]), 2), np.ones(2, np.int64)) == ["a", None]
