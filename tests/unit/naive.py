"""Slow, obvious twins: one row at a time, in plain Python."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headrace.query.plan import derived_name
from headrace.query.predicate import (
    Always,
    And,
    Bound,
    IsNull,
    Not,
    Or,
    Predicate,
    Ranges,
    Truth,
)

Tri = bool | None
"""Spark's boolean: TRUE, FALSE or NULL."""


def both(one: Tri, other: Tri) -> Tri:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def either(one: Tri, other: Tri) -> Tri:
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def opposite(one: Tri) -> Tri:
    return None if one is None else not one


def truth(predicate: Predicate, row: Mapping[str, Any]) -> Tri:
    """A predicate for one row of values in their discrete order (None is null)."""
    match predicate:
        case Always():
            return True
        case IsNull(column):
            return row[column] is None
        case Truth(sql):
            value = row[derived_name(sql)]
            return None if value is None else bool(value)
        case Ranges(column, ranges):
            value = row[column]
            if value is None:
                return None
            return any(not below(value, low) and below_end(value, high) for low, high in ranges)
        case Not(item):
            return opposite(truth(item, row))
        case And(items):
            out: Tri = True
            for item in items:
                out = both(out, truth(item, row))
            return out
        case Or(items):
            out = False
            for item in items:
                out = either(out, truth(item, row))
            return out


def below(value: Any, low: Bound) -> bool:
    """Before a range begins; NaN is larger than every number, as in Spark."""
    return low is not None and not is_nan(value) and value < low


def below_end(value: Any, high: Bound) -> bool:
    return high is None or (not is_nan(value) and value < high)


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def discrete(value: Any) -> Any:
    """A value as the kernels order it; decimals have two digits in these tests."""
    match value:
        case str():
            return value.encode()
        case bool():
            return int(value)
        case Decimal():
            return int(value * 100)
        case dt.datetime():
            return (value - dt.datetime(1970, 1, 1, tzinfo=value.tzinfo)) // dt.timedelta(
                microseconds=1
            )
        case dt.date():
            return (value - dt.date(1970, 1, 1)).days
        case _:
            return value
