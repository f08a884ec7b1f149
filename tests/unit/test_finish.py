"""kernels/finish.py: final values in Spark's types, with Spark's rounding and Spark's overflow."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.finish import Overflow, finish
from headrace.kernels.states import State, count_rows, lift, merge
from headrace.query.arrow import arrow_type
from headrace.query.expression import Expression
from headrace.query.logical import AggregateCall, Function
from headrace.query.needs import need_of

from .aggregation import TYPES, call_of, expected, random_values


def state_of(call: AggregateCall, column: pa.Array, groups: list[int]) -> tuple[State, Any]:
    partial = need_of(call).partial
    assert partial is not None
    numbers = np.array(groups)
    size = max(groups) + 1
    merged = merge(lift(partial, column, np.zeros(len(groups), np.int64)), numbers, size)
    return merged, count_rows(None, numbers, size)


def finished(call: AggregateCall, column: pa.Array, groups: list[int], *, ansi: bool = True) -> Any:
    state, rows = state_of(call, column, groups)
    return finish(call, state, rows, time_zone="UTC", ansi=ansi)


@pytest.mark.parametrize("type_", [t for t in TYPES if t != "double"])
@pytest.mark.parametrize("function", [Function.MIN, Function.MAX, Function.FIRST, Function.LAST])
def test_extremes_and_edges_keep_the_type_of_their_column(type_: str, function: Function) -> None:
    values = random_values(random.Random(1), type_, 9, 0.3)
    found = finished(call_of(function, type_), pa.array(values, TYPES[type_][0]), [0] * 9)
    assert found.type == TYPES[type_][0]


@pytest.mark.parametrize("type_", ["decimal(10,2)", "decimal(30,2)"])
@pytest.mark.parametrize("function", [Function.SUM, Function.AVG])
@pytest.mark.parametrize("seed", range(10))
def test_decimals_are_exact_and_averages_round_half_up(
    type_: str, function: Function, seed: int
) -> None:
    rng = random.Random(seed)
    values = random_values(rng, type_, 60, 0.2)
    groups = [n % 7 for n in range(60)]
    call = call_of(function, type_)
    found = finished(call, pa.array(values, TYPES[type_][0]), groups)
    assert found.type == arrow_type(call.result_type)
    for group, value in enumerate(found.to_pylist()):
        rows = [(0, v) for v, g in zip(values, groups, strict=True) if g == group]
        assert value == expected(call, rows)


@pytest.mark.parametrize(
    ("values", "average"),
    [(["0.01", "0.00"], "0.005000"), (["0.01", "0.00", "0.00"], "0.003333"),
     (["0.02", "0.00", "0.00"], "0.006667"), (["-0.02", "0.00", "0.00"], "-0.006667"),
     (["0.01"] + ["0.00"] * 63, "0.000156"), (["0.05"] + ["0.00"] * 79, "0.000625")],
)  # fmt: skip
def test_an_average_of_decimals_has_four_more_digits(values: list[str], average: str) -> None:
    column = pa.array([Decimal(v) for v in values], pa.decimal128(10, 2))
    found = finished(call_of(Function.AVG, "decimal(10,2)"), column, [0] * len(values))
    assert str(found[0].as_py()) == average


def test_a_bigint_sum_that_overflows_fails_under_ansi_and_wraps_otherwise() -> None:
    column, call = pa.array([2**63 - 1, 1]), call_of(Function.SUM, "bigint")
    with pytest.raises(Overflow, match="bigint"):
        finished(call, column, [0, 0])
    assert finished(call, column, [0, 0], ansi=False).to_pylist() == [-(2**63)]


def test_a_decimal_sum_that_overflows_fails_under_ansi_and_is_null_otherwise() -> None:
    wide = Decimal(9 * 10**37)
    column = pa.array([wide, wide, Decimal(1)], pa.decimal128(38, 0))
    call = AggregateCall(Function.SUM, Expression("`x`", "decimal(38,0)", "x"), "decimal(38,0)")
    with pytest.raises(Overflow, match="decimals"):
        finished(call, column, [0, 0, 1])
    assert finished(call, column, [0, 0, 1], ansi=False).to_pylist() == [None, Decimal(1)]


@pytest.mark.parametrize(
    ("function", "of_one", "of_two"),
    [
        (Function.VAR_POP, 0.0, 1.0),
        (Function.VAR_SAMP, None, 2.0),
        (Function.STDDEV_POP, 0.0, 1.0),
        (Function.STDDEV_SAMP, None, 2.0**0.5),
    ],
)
def test_a_spread_of_one_value_is_zero_or_null_as_it_samples(
    function: Function, of_one: float | None, of_two: float
) -> None:
    column = pa.array([5.0, 1.0, 3.0, None, None])
    found = finished(call_of(function, "double"), column, [0, 1, 1, 2, 2]).to_pylist()
    assert found == [of_one, of_two, None]


@pytest.mark.parametrize("function", [Function.SUM, Function.AVG, Function.MIN, Function.LAST])
def test_only_nulls_give_null_and_a_count_of_zero(function: Function) -> None:
    column = pa.array([None, None], pa.int32())
    assert finished(call_of(function, "int"), column, [0, 1]).to_pylist() == [None, None]
    assert finished(call_of(Function.COUNT, "int"), column, [0, 1]).to_pylist() == [0, 0]


def test_an_average_of_large_whole_numbers_does_not_overflow() -> None:
    found = finished(call_of(Function.AVG, "bigint"), pa.array([2**62] * 4), [0] * 4)
    assert found.to_pylist() == [float(2**62)]


def test_no_cells_finish_to_no_rows() -> None:
    for call in (call_of(Function.SUM, "bigint"), call_of(Function.AVG, "decimal(10,2)")):
        kind = TYPES["bigint" if call.function is Function.SUM else "decimal(10,2)"][0]
        partial = need_of(call).partial
        assert partial is not None
        none = np.empty(0, np.int64)
        state = merge(lift(partial, pa.array([], kind), none), none, 0)
        assert finish(call, state, none, time_zone="UTC", ansi=True).to_pylist() == []
