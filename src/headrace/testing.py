"""Tools for tests: a stream that a test pushes tables into, a clock that it moves by hand."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

__all__ = ["ManualClock", "MemoryStream"]


class ManualClock:
    """A wall clock that stands still until a test moves it; for `Session(clock=…)`.

    ``now_s`` is where it begins: seconds since the epoch, or a datetime.
    """

    def __init__(self, now_s: float | dt.datetime = 0.0) -> None:
        self._now_s = now_s.timestamp() if isinstance(now_s, dt.datetime) else float(now_s)
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Move it forward by so many `seconds`; raises ValueError for fewer than none."""
        if seconds < 0:
            raise ValueError("a clock does not run backwards")
        with self._lock:
            self._now_s += seconds


class MemoryStream:
    """A source that a test pushes tables into.

    Its tuples have the columns of `schema`, in as many `partitions` as given. Tables are kept as
    Arrow files in a folder (a temporary one unless `path` is given), so that Spark's workers see
    them and a restarted process finds them again. One offset is one table; a batch takes at most
    `tables_per_batch` of each partition (default: all).

    >>> stream = MemoryStream(pa.schema([("k", pa.int64()), ("time", pa.timestamp("us", "UTC"))]))
    >>> stream.push({"k": [1], "time": [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)]})
    1
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        partitions: int = 1,
        path: str | os.PathLike[str] | None = None,
        tables_per_batch: int | None = None,
    ) -> None:
        self._schema = schema
        self._partitions = partitions
        self._limit = tables_per_batch
        self.path = str(path) if path is not None else tempfile.mkdtemp(prefix="headrace-stream-")
        for partition in range(partitions):
            Path(self._folder(partition)).mkdir(parents=True, exist_ok=True)

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tuples."""
        return self._schema

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return self._partitions

    def push(
        self,
        rows: pa.Table | pa.RecordBatch | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]],
        *,
        partition: int = 0,
    ) -> int:
        """Append `rows` to a `partition` as one table; returns how many tables it holds then.

        Rows are a table, a record batch, a mapping of columns, or a sequence of mappings.
        """
        table = self._table(rows)
        number = self._count(partition)
        final = Path(self._folder(partition)) / f"{number:08d}.arrow"
        hidden = final.with_name(f".{final.name}")
        with pa.OSFile(str(hidden), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
        hidden.rename(final)
        return number + 1

    def _table(self, rows: Any) -> pa.Table:
        if isinstance(rows, pa.RecordBatch):
            rows = pa.Table.from_batches([rows])
        if isinstance(rows, pa.Table):
            return rows.select(self._schema.names).cast(self._schema)
        if isinstance(rows, Mapping):
            return pa.table(dict(rows), schema=self._schema)
        return pa.Table.from_pylist([dict(r) for r in rows], schema=self._schema)

    def initial_offsets(self) -> tuple[int, ...]:
        """Every partition begins at its first table."""
        return (0,) * self._partitions

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """All tables pushed so far, or as many after `start` as a batch may take."""
        ends = [self._count(p) for p in range(self._partitions)]
        if self._limit is not None:
            ends = [min(e, s + self._limit) for e, s in zip(ends, start, strict=True)]
        return tuple(ends)

    def read(
        self, partition: int, start: int, end: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Tables `start` to before `end` of a `partition`; `columns` is not used."""
        for number in range(start, end):
            name = str(Path(self._folder(partition)) / f"{number:08d}.arrow")
            with pa.OSFile(name, "rb") as source:
                yield from pa.ipc.open_file(source).read_all().to_batches()

    def _folder(self, partition: int) -> str:
        return str(Path(self.path) / f"p{partition}")

    def _count(self, partition: int) -> int:
        return sum(
            1 for n in os.listdir(self._folder(partition)) if n.endswith(".arrow") and n[0] != "."
        )
