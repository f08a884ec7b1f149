"""Aggregates of plain Python values, as Spark defines them: the twin of lift, merge and finish."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.holistic import hll_precision
from headrace.query.expression import Expression
from headrace.query.logical import AggregateCall, Function
from headrace.query.schema import decimal_of

from .hll import count_of
from .naive import is_nan

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
TYPES: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "int": (pa.int32(), lambda r: r.randint(-9, 9)),
    "bigint": (pa.int64(), lambda r: r.randint(-(2**58), 2**58)),
    "double": (pa.float64(), lambda r: r.choice([-1.5, -0.0, 0.0, 0.1, 7e9, math.nan, math.inf])),
    "float": (pa.float32(), lambda r: r.choice([-1.5, 0.0, 0.25, 3.0])),
    "decimal(10,2)": (pa.decimal128(10, 2), lambda r: Decimal(r.randint(-(10**10), 10**10)) / 100),
    "decimal(30,2)": (pa.decimal128(30, 2), lambda r: Decimal(r.randint(-(10**26), 10**26)) / 100),
    "string": (pa.string(), lambda r: r.choice(["", "a", "B", "b", "ä", "zz"])),
    "binary": (pa.binary(), lambda r: r.choice([b"", b"a", b"\xff"])),
    "boolean": (pa.bool_(), lambda r: r.random() < 0.5),
    "date": (pa.date32(), lambda r: dt.date(1969, 12, 28) + dt.timedelta(r.randint(0, 9))),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        lambda r: EPOCH + dt.timedelta(microseconds=r.randint(-99, 99)),
    ),
}
NUMBERS = ["int", "bigint", "double", "float", "decimal(10,2)", "decimal(30,2)"]
SUMS = {
    "int": "bigint",
    "bigint": "bigint",
    "double": "double",
    "float": "double",
    "decimal(10,2)": "decimal(20,2)",
    "decimal(30,2)": "decimal(38,2)",
}


def random_values(rng: random.Random, type_: str, rows: int, nulls: float) -> list[Any]:
    make = TYPES[type_][1]
    return [None if rng.random() < nulls else make(rng) for _ in range(rows)]


def call_of(function: Function, type_: str, *, ignore_nulls: bool = False) -> AggregateCall:
    """An aggregate over the column ``x`` of a type, typed as Spark types it."""
    result = type_
    if function is Function.COUNT:
        result = "bigint"
    elif function is Function.SUM:
        result = SUMS[type_]
    elif function is Function.AVG:
        result = {"decimal(10,2)": "decimal(14,6)", "decimal(30,2)": "decimal(34,6)"}.get(
            type_, "double"
        )
    elif function in {Function.VAR_POP, Function.VAR_SAMP, *_ROOTS}:
        result = "double"
    return AggregateCall(function, Expression("`x`", type_, "x"), result, ignore_nulls=ignore_nulls)


_ROOTS = {Function.STDDEV_POP, Function.STDDEV_SAMP}


def order(value: Any) -> tuple[Any, ...]:
    """Spark's order: null, then values, then NaN."""
    if value is None:
        return (0,)
    if is_nan(value):
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def expected(call: AggregateCall, rows: list[tuple[int, Any]]) -> Any:
    """The aggregate of some (event time, value) tuples."""
    known = [v for _, v in rows if v is not None]
    match call.function:
        case Function.COUNT:
            return len(known)
        case Function.FIRST | Function.LAST:
            timed = [(t, order(v), v) for t, v in rows if v is not None or not call.ignore_nulls]
            if not timed:
                return None
            pick = min if call.function is Function.FIRST else max
            return pick(timed, key=lambda e: e[:2])[2]
        case Function.COUNT_DISTINCT if not known:
            return 0
        case Function.APPROX_COUNT_DISTINCT:
            return count_of(known, hll_precision(call.relative_sd))
    if not known:
        return None
    match call.function:
        case Function.MIN:
            return min(known, key=order)
        case Function.MAX:
            return max(known, key=order)
        case Function.SUM:
            return sum(known[1:], start=known[0])
        case Function.AVG:
            return _average(call, known)
        case Function.COUNT_DISTINCT:
            return len({order(v + 0.0 if isinstance(v, float) else v) for v in known})
        case Function.PERCENTILE_APPROX:
            ranked = sorted(known, key=order)
            found = [ranked[max(math.ceil(p * len(ranked)), 1) - 1] for p in call.percentages]
            return found[0] if call.single_percentage else found
        case _:
            return _spread(call.function, [float(v) for v in known])


def _average(call: AggregateCall, known: list[Any]) -> Any:
    if not isinstance(known[0], Decimal):
        return float(sum(known[1:], start=known[0])) / len(known)
    decimal = decimal_of(call.result_type)
    assert decimal is not None
    with localcontext() as context:
        context.prec = 80
        exact = sum(known[1:], start=known[0]) / len(known)
        return exact.quantize(Decimal(1).scaleb(-decimal[1]), ROUND_HALF_UP)


def _spread(function: Function, values: list[float]) -> float | None:
    sampled = function in {Function.VAR_SAMP, Function.STDDEV_SAMP}
    if sampled and len(values) == 1:
        return None
    with np.errstate(invalid="ignore"):
        variance = float(np.var(np.array(values), ddof=1 if sampled else 0))
    return math.sqrt(variance) if function in _ROOTS and not math.isnan(variance) else variance


def same(found: Any, wanted: Any, *, close: bool = False) -> bool:
    """Equal, one NaN like another; floats within rounding when they are sums."""
    if isinstance(found, float) and isinstance(wanted, float):
        if math.isnan(found) or math.isnan(wanted):
            return math.isnan(found) and math.isnan(wanted)
        return math.isclose(found, wanted, rel_tol=1e-9, abs_tol=1e-9) if close else found == wanted
    return bool(found == wanted)
