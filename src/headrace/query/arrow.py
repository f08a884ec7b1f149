"""Spark's types as Arrow's, for results that never pass through the JVM."""

from __future__ import annotations

import pyarrow as pa

from headrace.query.schema import decimal_of

_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}


def arrow_type(type_: str, time_zone: str = "UTC") -> pa.DataType:
    """The Arrow type that Spark itself uses for one of its types."""
    if type_ in _TYPES:
        return _TYPES[type_]
    if type_.startswith("string collate "):
        return pa.string()
    if type_.startswith("interval ") and "year" not in type_ and "month" not in type_:
        return pa.duration("us")
    if type_ == "timestamp":
        return pa.timestamp("us", time_zone)
    if decimal := decimal_of(type_):
        return pa.decimal128(*decimal)
    if type_.startswith("array<") and type_.endswith(">"):
        return pa.list_(arrow_type(type_[6:-1], time_zone))
    if type_.startswith("map<") and type_.endswith(">"):
        key, value = _parts(type_[4:-1])
        return pa.map_(arrow_type(key, time_zone), arrow_type(value, time_zone))
    if type_.startswith("struct<") and type_.endswith(">"):
        named = [part.split(":", 1) for part in _parts(type_[7:-1])]
        if any(len(n) < 2 for n in named):
            raise TypeError(f"no Arrow type for Spark's {type_}")
        return pa.struct([pa.field(n, arrow_type(t, time_zone)) for n, t in named])
    raise TypeError(f"no Arrow type for Spark's {type_}")


def has_arrow_type(type_: str) -> bool:
    """Whether results may have columns of a type."""
    try:
        arrow_type(type_)
    except TypeError:
        return False
    return True


def _parts(text: str) -> list[str]:
    """Pieces between commas that stand outside all brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append(text[begin:place])
            begin = place + 1
    return [*parts, text[begin:]]
