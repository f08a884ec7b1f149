"""Compares what a text gave with what Spark's batch SQL gave."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tests.battery.oracle import Failed, Outcome, Refused, error_class
from tests.oracle.static import schema_difference

Row = tuple[Any, ...]

_SUMMED = re.compile(r"\b(sum|avg|mean|std|stddev\w*|var\w*|variance)\b", re.IGNORECASE)
_RELATIVE = 1e-9


def verdict(sql: str, mine: Outcome, spark: Outcome) -> str | None:
    """What is wrong with an outcome, in words; None if it is what Spark's is.

    Names, types and rows must be the same, in any order, to the last bit; only doubles of texts
    that add doubles up may differ by a billionth. Where Spark raises, the query must have failed
    with the same error class, or have been refused with it.
    """
    if isinstance(spark, pa.Table):
        if not isinstance(mine, pa.Table):
            return f"{_words(mine)}; Spark gives {spark.num_rows} rows"
        wrong = schema_difference(mine.schema, spark.schema)
        return wrong or _difference(mine, spark, soft=_SUMMED.search(sql) is not None)
    if isinstance(mine, pa.Table):
        return f"it gives {mine.num_rows} rows; in Spark {_words(spark)}"
    if isinstance(spark, Refused) and isinstance(mine, Failed):
        return f"{_words(mine)}; Spark refuses it: {_first_line(spark.message)}"
    name = error_class(spark.message)
    if name and name not in mine.message:
        return f"{_words(mine)}; in Spark {_words(spark)}"
    return None


def _words(outcome: Refused | Failed) -> str:
    said = "it is refused" if isinstance(outcome, Refused) else "it failed"
    return f"{said}: {_first_line(outcome.message)}"


def _first_line(message: str) -> str:
    lines = message.strip().splitlines()
    return lines[0][:300] if lines else "no message"


def _difference(mine: pa.Table, spark: pa.Table, *, soft: bool) -> str | None:
    found, expected = _rows(mine), _rows(spark)
    if Counter(map(repr, found)) == Counter(map(repr, expected)):
        return None
    if soft and len(found) == len(expected):
        pairs = zip(sorted(found, key=_rounded), sorted(expected, key=_rounded), strict=True)
        if all(_near(a, b) for a, b in pairs):
            return None
    only_mine = Counter(map(repr, found)) - Counter(map(repr, expected))
    only_spark = Counter(map(repr, expected)) - Counter(map(repr, found))
    return (
        f"{len(found)} rows, Spark has {len(expected)}; "
        f"only here: {_few(only_mine)}; only in Spark: {_few(only_spark)}"
    )


def _few(rows: Counter[str]) -> str:
    shown = "; ".join(row[:160] for row in sorted(rows)[:2])
    return f"{rows.total()} × {shown}" if rows else "nothing"


def _rows(table: pa.Table) -> list[Row]:
    """Rows as plain values: times and dates as numbers, strings as bytes."""
    columns = [_plain(column).to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True)) if columns else [()] * table.num_rows


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(_plain_type(column.type), safe=False)


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """A type whose values Python has without loss, whatever year or bytes they are of."""
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.binary()
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _plain_type(field.type)) for field in kind])
    return kind


def _rounded(row: Row) -> str:
    return repr(tuple(float(f"{v:.8g}") if isinstance(v, float) else v for v in row))


def _near(mine: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(mine) == len(other) and all(map(_alike, mine, other))


def _alike(mine: Any, other: Any) -> bool:
    if isinstance(mine, float) and isinstance(other, float):
        both_nan = math.isnan(mine) and math.isnan(other)
        # Sums that cancel out are near zero by chance: there a billionth of one is enough.
        return both_nan or math.isclose(mine, other, rel_tol=_RELATIVE, abs_tol=_RELATIVE)
    return type(mine) is type(other) and repr(mine) == repr(other)
