"""Compares what a query emitted with what it must have emitted."""

from __future__ import annotations

import datetime as dt
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

import headrace as hr
from tests.oracle.queries import RandomQuery
from tests.oracle.reference import Life, Reference
from tests.oracle.workload import micros

Row = tuple[Any, ...]


def check_query(
    query: RandomQuery,
    handle: hr.Query,
    reference: Reference,
    life: Life,
    read: Callable[[], pa.Table] | None = None,
    *,
    in_order: bool = True,
) -> str | None:
    """What is wrong with a query's results, or None. They are read back by `read`, if that is
    given, and have to be in the query's order unless the place they were put in has none."""
    if handle.status == "failed":
        return f"it failed: {handle.error}"
    expected = [plain_row(r) for r in reference.answer(query, life)]
    table = handle.collect() if read is None else read()
    if table.schema != handle.schema:
        return f"results are {table.schema}, declared are {handle.schema}"
    found = rows_of(table)
    exact = [c.exact for c in query.columns]
    if life.partial_first:
        exact.append(True)
    wrong = difference(found, expected, exact=exact, ordered=query.is_ordered and in_order)
    if wrong is not None:
        return wrong
    return late_difference(query, handle, reference, life)


def late_difference(
    query: RandomQuery, handle: hr.Query, reference: Reference, life: Life
) -> str | None:
    """What is wrong with the late tuples it counted, or None."""
    late, counted = reference.late_tuples(query, life), handle.metrics().late_tuples
    return None if late == counted else f"{counted} late tuples counted, {late} expected"


def rows_of(table: pa.Table) -> list[Row]:
    """Rows of an Arrow table as plain values."""
    columns = [table.column(n).to_pylist() for n in range(table.num_columns)]
    return [plain_row(r) for r in zip(*columns, strict=True)]


def plain_row(row: Sequence[Any]) -> Row:
    """Times as microseconds, structs and lists as tuples."""
    return tuple(plain(v) for v in row)


def plain(value: Any) -> Any:
    """One value in the form that both sides share."""
    if isinstance(value, dt.datetime):
        return ("time", micros(value))
    if isinstance(value, dict):
        return tuple(plain(v) for v in value.values())
    if isinstance(value, list | tuple):
        return tuple(plain(v) for v in value)
    return value


def difference(
    found: Sequence[Row],
    expected: Sequence[Row],
    *,
    exact: Sequence[bool] | None = None,
    ordered: bool = False,
) -> str | None:
    """The first difference between two sets of rows, in words."""
    exact = exact or [True] * max((len(r) for r in (*found, *expected)), default=0)
    if ordered:
        return _by_window(found, expected, exact)
    missing = _unmatched(found, expected, exact)
    return None if missing is None else missing


def _by_window(found: Sequence[Row], expected: Sequence[Row], exact: Sequence[bool]) -> str | None:
    """Rows of a window must come in order; windows of one firing may come in any."""
    mine, other = defaultdict(list), defaultdict(list)
    for rows, groups in ((found, mine), (expected, other)):
        for row in rows:
            groups[row[0]].append(row)
    for start in sorted({*mine, *other}):
        if len(mine[start]) != len(other[start]) or not all(
            _alike(a, b, exact) for a, b in zip(mine[start], other[start], strict=True)
        ):
            return f"at {start}: found {mine[start]}, expected {other[start]}"
    return None


def _unmatched(found: Sequence[Row], expected: Sequence[Row], exact: Sequence[bool]) -> str | None:
    """Match rows one to one: sort both, then allow small numeric differences."""
    if len(found) != len(expected):
        mine, other = set(map(_rounded, found)), set(map(_rounded, expected))
        return (
            f"{len(found)} rows found, {len(expected)} expected; "
            f"only found {_few(mine - other)}, only expected {_few(other - mine)}"
        )
    key = _order_of(exact, (*found, *expected))
    for mine_row, other_row in zip(sorted(found, key=key), sorted(expected, key=key), strict=True):
        if not _alike(mine_row, other_row, exact):
            return f"found {mine_row}, expected {other_row} ({len(found)} rows)"
    return None


def _order_of(exact: Sequence[bool], rows: Sequence[Row]) -> Callable[[Row], tuple[str, ...]]:
    """Sort by what is exact first: columns of doubles and estimates may differ a little."""
    soft = {n for row in rows for n, v in enumerate(row) if isinstance(v, float)}
    places = sorted(range(len(exact)), key=lambda n: (not exact[n], n in soft))

    def key(row: Row) -> tuple[str, ...]:
        return tuple(repr(_rounded_value(row[n])) for n in places)

    return key


def _number(value: Any) -> Any:
    """Whole numbers compare as such, whether decimal, float or int."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | Decimal):
        return Decimal(value).normalize() + 0
    return value


def _rounded_value(value: Any) -> Any:
    return float(f"{value:.9g}") + 0.0 if isinstance(value, float) else _number(value)


def _rounded(row: Row) -> str:
    return repr(tuple(_rounded_value(v) for v in row))


def _few(rows: set[str]) -> str:
    return "; ".join(sorted(rows)[:3]) + (" …" if len(rows) > 3 else "") if rows else "nothing"


def _alike(mine: Row, other: Row, exact: Sequence[bool]) -> bool:
    return len(mine) == len(other) and all(
        alike(a, b, exact=e) for a, b, e in zip(mine, other, exact, strict=True)
    )


def alike(mine: Any, other: Any, *, exact: bool = True) -> bool:
    """Equal; doubles within 1e-9, estimates of distinct counts within three standard errors, or two
    of few values that share a register of the sketch."""
    if mine is None or other is None:
        return mine is None and other is None
    if isinstance(mine, tuple):
        return isinstance(other, tuple) and len(mine) == len(other) and all(map(alike, mine, other))
    if not exact:
        return abs(mine - other) <= max(2, 3 * 0.05 * other)
    if isinstance(mine, bool) or isinstance(other, bool):
        return mine is other
    if isinstance(mine, float) or isinstance(other, float):
        if math.isnan(mine) or math.isnan(other):
            return math.isnan(mine) and math.isnan(other)
        return math.isclose(mine, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(mine == other)
