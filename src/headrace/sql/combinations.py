"""Several values as one: bytes that are equal exactly where Spark holds the values for equal."""

from __future__ import annotations

from collections.abc import Sequence


def combination_sql(parts: Sequence[str], types: Sequence[str]) -> str:
    """SQL for the combination of some expressions; NULL where one of them is, as COUNT takes it.

    Every part is written with its length before it, so that no two combinations read alike.
    """
    known = " AND ".join(f"({p}) IS NOT NULL" for p in parts)
    written = [_bytes_sql(p, t) for p, t in zip(parts, types, strict=True)]
    sized = [f"CAST(concat(octet_length({w}), ':') AS BINARY), {w}" for w in written]
    return f"CASE WHEN {known} THEN concat({', '.join(sized)}) END"


def _bytes_sql(part: str, type_: str) -> str:
    """One value as bytes, the same for all values that Spark groups together."""
    if type_ == "binary":
        return f"({part})"
    if type_ == "string":
        return f"CAST({part} AS BINARY)"
    if type_.startswith("string"):
        return f"collation_key({part})"
    if type_ in ("float", "double"):
        # The two zeros are one value, and so is every NaN, which is written as a word.
        part = f"CASE WHEN ({part}) = 0 THEN CAST(0 AS {type_}) ELSE ({part}) END"
    elif type_ == "timestamp":
        # A text would be in local time, where an hour comes twice.
        part = f"unix_micros({part})"
    return f"CAST(CAST({part} AS STRING) AS BINARY)"
