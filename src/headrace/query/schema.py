"""Streams and their columns, with Spark's type names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Domain = Literal["integer", "float", "string", "other"]
"""How a column's values are ordered when they are classified: whole numbers, floats, bytes."""

_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_INTEGERS = {
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
}


@dataclass(frozen=True, slots=True)
class Column:
    """A stream's column: its name as declared and Spark's simple type string."""

    name: str
    type: str

    @property
    def domain(self) -> Domain:
        """What kind of constants cut this column into classes."""
        return domain_of(self.type)


def domain_of(type_: str) -> Domain:
    """The domain of a Spark type; dates, times and short decimals are whole numbers."""
    if type_ in _INTEGERS:
        return "integer"
    if type_ in {"float", "double"}:
        return "float"
    if type_ == "string":
        return "string"
    decimal = decimal_of(type_)
    return "integer" if decimal and decimal[0] <= 18 else "other"


def decimal_of(type_: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, or None."""
    match = _DECIMAL.fullmatch(type_)
    return (int(match.group(1)), int(match.group(2))) if match else None


@dataclass(frozen=True, slots=True)
class StreamSchema:
    """A declared stream: its columns and the one that carries event time."""

    name: str
    columns: tuple[Column, ...]
    event_time: str

    def find(self, name: str) -> Column | None:
        """The column of that name, case-insensitively as Spark resolves names."""
        folded = name.lower()
        return next((c for c in self.columns if c.name.lower() == folded), None)


def quoted(name: str) -> str:
    """A name as Spark writes any identifier safely."""
    return "`" + name.replace("`", "``") + "`"
