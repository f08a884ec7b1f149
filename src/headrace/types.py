"""Ids, time units and the clock: the few words every layer shares.

Event time is carried as whole microseconds since the Unix epoch (Spark's own resolution).
"""

from __future__ import annotations

import datetime as dt
import re
import time
from typing import Literal, NewType, Protocol

from headrace.errors import QueryError

QueryUid = NewType("QueryUid", int)
"""Never reused within a checkpoint, unlike bit positions and names."""

Version = NewType("Version", int)
"""Number of a changelog entry: the registry's state after applying it."""

Status = Literal["pending", "active", "stopping", "stopped", "failed"]

BEGINNING = -(2**62)
"""Before every event time: the effective start of a query that sees its stream from the start."""
FOREVER = 2**62
"""After every event time: the end of a life that is not over."""

_UNITS_US = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-z]+)", re.IGNORECASE)


class Clock(Protocol):
    """Wall-clock time in seconds since the epoch."""

    def now(self) -> float: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> float:
        return time.time()


def duration_us(text: str) -> int:
    """Microseconds of a Spark interval such as ``'8 seconds'`` or ``'1 minute 30 seconds'``.

    >>> duration_us("1 minute 30 seconds")
    90000000
    """
    if not isinstance(text, str):
        raise QueryError(f"{text!r} is not a duration", choices=("a text like '8 seconds'",))
    body = text.strip()
    if body.lower().startswith("interval "):
        body = body[9:].strip()
    total, end = 0.0, 0
    for part in _PART.finditer(body):
        if body[end : part.start()].strip():
            break
        unit = part.group(2).lower().rstrip("s") or "s"
        if unit not in _UNITS_US:
            raise QueryError(
                f"duration {text!r} has the unit {part.group(2)!r}",
                choices=(f"units: {', '.join(_UNITS_US)}",),
            )
        total += float(part.group(1)) * _UNITS_US[unit]
        end = part.end()
    if end == 0 or body[end:].strip():
        raise QueryError(
            f"{text!r} is not a duration", choices=("write it like '8 seconds' or '1 minute'",)
        )
    return round(total)


def to_datetime(time_us: int) -> dt.datetime:
    """Event time as an aware UTC datetime; the ends of time become datetime's own ends."""
    if time_us <= BEGINNING:
        return dt.datetime.min.replace(tzinfo=dt.UTC)
    if time_us >= FOREVER:
        return dt.datetime.max.replace(tzinfo=dt.UTC)
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=time_us)
