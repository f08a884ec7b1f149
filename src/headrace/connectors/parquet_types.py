"""Which columns of parquet files Arrow reads with the values that Spark's reader gives.

Spark decides by the physical and the logical type in the file. So does this, and says no wherever
Spark raises, takes the bits for something else or cuts values off: then Spark has to do it.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from headrace.query.schema import decimal_of

Calendar = Literal["datetime", "int96"]
"""By which of Spark's two rules a column's old days are told from new ones."""

_WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_TIMES = {"timestamp", "timestamp_ntz"}
_TEXTS = {"String", "Enum", "JSON", "None"}
_DIGITS = {32: 10, 64: 20}
"""Before the point, in a decimal that holds all whole numbers of so many bits, as Spark counts."""


def reads_alike(column: Any, wanted: str) -> bool:
    """Whether a column of a file (pyarrow's `ColumnSchema`), cast by Arrow to a declared type of
    Spark's, has Spark's values."""
    logical = json.loads(column.logical_type.to_json())
    kind = logical["Type"]
    match column.physical_type:
        case "BOOLEAN":
            return wanted == "boolean"
        case "FLOAT":
            return wanted in {"float", "double"}
        case "DOUBLE":
            return wanted == "double"
        case "INT96":
            return wanted in _TIMES
        case "BYTE_ARRAY" if kind in _TEXTS:
            return wanted in {"string", "binary"}
        case "FIXED_LEN_BYTE_ARRAY" if kind == "None":
            return wanted == "binary"
        case "INT32" | "INT64" if kind in {"None", "Int"}:
            bits = logical.get("bitWidth", 64 if column.physical_type == "INT64" else 32)
            return _holds_whole(bits, logical.get("isSigned", True), wanted)
        case "INT32" if kind == "Date":
            return wanted == "date"
        case "INT64" if kind == "Timestamp":
            return wanted in _TIMES and logical["timeUnit"] in {"microseconds", "milliseconds"}
    return kind == "Decimal" and _holds_decimal(logical["precision"], logical["scale"], wanted)


def calendar_of(column: Any, wanted: str) -> Calendar | None:
    """The rule for a column's old days; None where it has none, or they are new in every file."""
    if wanted == "timestamp":
        return "int96" if column.physical_type == "INT96" else "datetime"
    return "datetime" if wanted == "date" else None


def _holds_whole(bits: int, signed: bool, wanted: str) -> bool:
    if wanted in _WHOLE:
        return bits < _WHOLE[wanted] or (signed and bits == _WHOLE[wanted])
    if wanted == "double":
        return bits < 32 or (signed and bits == 32)
    decimal = decimal_of(wanted)
    return signed and decimal is not None and decimal[0] - decimal[1] >= _DIGITS[max(bits, 32)]


def _holds_decimal(precision: int, scale: int, wanted: str) -> bool:
    """Whether no digit before or behind the point is lost."""
    decimal = decimal_of(wanted)
    if decimal is None:
        return False
    return 0 <= decimal[1] - scale <= decimal[0] - precision
