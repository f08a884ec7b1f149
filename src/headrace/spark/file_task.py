"""Reduce parquet files where they are read: no tuple passes through the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.query.arrow import arrow_type
from headrace.query.plan import SharedPlan
from headrace.spark.ingest_task import BatchFrame, Reducer, chunks, stamps_of
from headrace.spark.messages import Message
from headrace.spark.task_plans import PlanHandle

_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
"""In the metadata of files with dates of the old calendar, which Spark converts."""


class Unreadable(Exception):
    """A file that does not hold the declared columns as they are declared."""


@dataclass(frozen=True)
class ReduceFiles:
    """Task `number` of `tasks` takes every so manieth row group of all files."""

    handle: PlanHandle
    frame: BatchFrame
    files: tuple[str, ...]
    tasks: int
    types: dict[str, str]
    """The columns to read, with the types that Spark has for them."""
    event_time: str
    partition: str | None = None
    plan: SharedPlan | None = None

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return self.tasks

    def run(self, number: int) -> Iterator[Message]:
        """Messages as any ingest task sends them, or one that says why Spark must read."""
        task = self.handle.get()
        reducer = Reducer(task.compiled.part(self.plan), task.queries, self.frame)
        try:
            for table in chunks(b for t in self._tables(number) for b in t.to_batches()):
                times = stamps_of(table.column(self.event_time))
                partitions = "0" if self.partition is None else _names(table, self.partition)
                yield from reducer.reduce(table, times, partitions)
        except (Unreadable, OSError, pa.ArrowException) as error:
            yield Message.of("unreadable", -1, str(error))
            return
        yield reducer.info()

    def _tables(self, number: int) -> Iterator[pa.Table]:
        place = 0
        for path in self.files:
            with pq.ParquetFile(path, memory_map=True) as file:
                self._check(path, file.schema_arrow)
                mine = [
                    group
                    for group in range(file.num_row_groups)
                    if (place + group) % self.tasks == number
                ]
                place += file.num_row_groups
                for group in mine:
                    table = file.read_row_group(group, columns=list(self.types), use_threads=False)
                    yield table.cast(self._schema, safe=True)

    @property
    def _schema(self) -> pa.Schema:
        zone = self.frame.time_zone
        return pa.schema([pa.field(n, arrow_type(t, zone)) for n, t in self.types.items()])

    def _check(self, path: str, found: pa.Schema) -> None:
        if any(key in (found.metadata or {}) for key in _LEGACY):
            raise Unreadable(f"{path} has dates of the old calendar")
        for wanted in self._schema:
            number = found.get_field_index(wanted.name)
            if number < 0:
                raise Unreadable(f"{path} has no column {wanted.name}")
            if not _holds(found.field(number).type, wanted.type):
                raise Unreadable(f"{path} has a {found.field(number).type} for {wanted}")


def _names(table: pa.Table, column: str) -> Any:
    return table.column(column).cast(pa.string()).to_numpy()


def _holds(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a file's type is the declared one, however it is encoded."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted):
        return bool(found.unit == wanted.unit) and (found.tz is None) == (wanted.tz is None)
    if pa.types.is_large_string(found) or pa.types.is_large_binary(found):
        found = pa.string() if pa.types.is_large_string(found) else pa.binary()
    return bool(found == wanted) and not pa.types.is_nested(found)
