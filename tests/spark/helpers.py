"""Small streams for tests: a schema, a clock that starts at a fixed day, rows by second."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

DAY = dt.datetime(2024, 3, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("v", pa.int64()),
        ("s", pa.string()),
        ("time", pa.timestamp("us", "UTC")),
    ]
)


def at(second: float) -> dt.datetime:
    """The moment so many seconds into the day."""
    return DAY + dt.timedelta(seconds=second)


def rows(seconds: Iterable[float], k: str = "a", s: str = "1") -> list[dict[str, Any]]:
    """One tuple per second given; its value is its number."""
    return [{"k": k, "v": n, "s": s, "time": at(t)} for n, t in enumerate(seconds)]


def pairs(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """Some columns as sorted tuples."""
    columns: Sequence[list[Any]] = [table.column(n).to_pylist() for n in names]
    return sorted(zip(*columns, strict=True))
