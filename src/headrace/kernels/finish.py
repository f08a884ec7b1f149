"""From combined partial results to final values, typed as Spark types them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa

from headrace.kernels.columns import Array, Bools, Ints, Values, decimals_of, to_arrow
from headrace.kernels.states import State, about
from headrace.query.arrow import arrow_type
from headrace.query.logical import AggregateCall, Function
from headrace.query.schema import decimal_of

_FITS = 9.0e18


class Overflow(ArithmeticError):
    """A sum or an average has left its type's range while ANSI mode is on."""


def finish(
    call: AggregateCall, state: State, rows: Ints, *, time_zone: str, ansi: bool
) -> pa.Array:
    """The final values of one aggregate for a run of cells."""
    kind = arrow_type(call.result_type, time_zone)
    known = state.parts.get("n", rows)
    match call.function:
        case Function.COUNT:
            return pa.array(known.astype(np.int64))
        case Function.SUM:
            return _sum(state, known, kind, ansi=ansi)
        case Function.AVG:
            return _average(call, state, known, kind, ansi=ansi)
        case Function.MIN | Function.MAX | Function.FIRST | Function.LAST:
            values = Values(state.parts["v"], known > 0, state.dictionary)
            return to_arrow(values, kind)
        case _:
            return _spread(call.function, state, known)


def _sum(state: State, known: Ints, kind: pa.DataType, *, ansi: bool) -> pa.Array:
    empty: Bools = known == 0
    if "s" in state.parts:
        return pa.array(state.parts["s"], mask=empty).cast(kind)
    if pa.types.is_decimal(kind):
        unscaled, fits = _whole(state)
        if fits and kind.precision >= 19:
            return decimals_of(unscaled, empty if empty.any() else None, kind)
        exact = [None if e else _exact(state, i) for i, e in enumerate(empty)]
        return _decimals(_within(exact, kind.precision, "sum", ansi=ansi), kind)
    unscaled, fits = _whole(state)
    if not fits and ansi and any(not -(2**63) <= _exact(state, i) < 2**63 for i in _wide(state)):
        raise Overflow("[ARITHMETIC_OVERFLOW] the sum does not fit a bigint")
    return pa.array(unscaled, mask=empty)


def _wide(state: State) -> list[int]:
    """Rows whose sum may not fit an int64."""
    found: list[int] = np.flatnonzero(np.abs(about(state)) >= _FITS).tolist()
    return found


def _whole(state: State) -> tuple[Ints, bool]:
    """Limbs as int64, and whether they surely fit."""
    limbs = [state.parts[f"l{i}"] for i in range(4) if f"l{i}" in state.parts]
    fits = not _wide(state)
    whole = np.zeros(len(limbs[0]), dtype=np.int64)
    with np.errstate(over="ignore"):
        for i, limb in enumerate(limbs[:2]):
            whole += limb << np.int64(32 * i)
    return whole, fits


def _exact(state: State, row: int) -> int:
    return sum(
        int(state.parts[f"l{i}"][row]) << (32 * i) for i in range(4) if f"l{i}" in state.parts
    )


def _within(values: list[int | None], precision: int, what: str, *, ansi: bool) -> list[int | None]:
    """None instead of what has more digits; raises Overflow instead in ANSI mode."""
    bound = 10**precision
    found = [v if v is None or abs(v) < bound else None for v in values]
    if ansi and found != values:
        raise Overflow(f"[ARITHMETIC_OVERFLOW] the {what} of decimals does not fit its type")
    return found


def _decimals(unscaled: list[int | None], kind: pa.DataType) -> pa.Array:
    with localcontext() as context:
        context.prec = 60
        scale = Decimal(1).scaleb(-kind.scale)
        return pa.array([None if v is None else Decimal(v) * scale for v in unscaled], type=kind)


def _average(
    call: AggregateCall, state: State, known: Ints, kind: pa.DataType, *, ansi: bool
) -> pa.Array:
    empty = known == 0
    if pa.types.is_decimal(kind):
        return _decimal_average(call, state, known, kind, ansi=ansi)
    return pa.array(about(state) / np.maximum(known, 1), mask=empty)


def _decimal_average(
    call: AggregateCall, state: State, known: Ints, kind: pa.DataType, *, ansi: bool
) -> pa.Array:
    """Spark divides at the result's scale and rounds half up. Both the sum, which has ten digits
    more than a value, and the quotient have to fit their types."""
    assert call.argument is not None
    decimal = decimal_of(call.argument.type)
    assert decimal is not None
    shift = kind.scale - decimal[1]
    empty: Bools = known == 0
    unscaled, fits = _whole(state)
    widest = float(np.abs(unscaled).max()) if len(unscaled) else 0.0
    if fits and widest * 10.0**shift < _FITS:
        return decimals_of(_half_up(unscaled * 10**shift, np.maximum(known, 1)), empty, kind)
    sums = [None if e else _exact(state, row) for row, e in enumerate(empty)]
    sums = _within(sums, min(decimal[0] + 10, 38), "sum", ansi=ansi)
    exact: list[int | None] = []
    with localcontext() as context:
        context.prec = 100
        for total, n in zip(sums, known, strict=True):
            if total is None:
                exact.append(None)
                continue
            quotient = Decimal(total * 10**shift) / Decimal(int(n))
            exact.append(int(quotient.to_integral_value(ROUND_HALF_UP)))
    return _decimals(_within(exact, kind.precision, "average", ansi=ansi), kind)


def _half_up(numerator: Ints, denominator: Ints) -> Ints:
    size = np.abs(numerator)
    quotient = size // denominator
    rounded = quotient + (2 * (size - quotient * denominator) >= denominator)
    signed: Ints = np.where(numerator < 0, -rounded, rounded)
    return signed


def _spread(function: Function, state: State, known: Ints) -> pa.Array:
    n, m2 = known.astype(np.float64), state.parts["m2"]
    sampled = function in (Function.VAR_SAMP, Function.STDDEV_SAMP)
    empty = known == 0 if not sampled else known <= 1
    with np.errstate(invalid="ignore", divide="ignore"):
        value: Array = m2 / (n - 1 if sampled else n)
        if function in (Function.STDDEV_SAMP, Function.STDDEV_POP):
            value = np.sqrt(value)
    return pa.array(value, mask=empty)
