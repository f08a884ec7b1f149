"""Reduce parquet files where they are read: no tuple passes through the JVM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.connectors.parquet_file import ParquetFile, ReadRules, Unreadable
from headrace.query.plan import SharedPlan
from headrace.runtime.messages import FilesUnreadable, Message
from headrace.spark.ingest.task import BatchFrame, Reducer, chunks, stamps_of
from headrace.spark.worker.plans import PlanHandle


@dataclass(frozen=True)
class ReduceFiles:
    """Task `number` of `tasks` takes every so manieth row group of all files."""

    handle: PlanHandle
    frame: BatchFrame
    files: tuple[str, ...]
    rules: ReadRules
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
            for table in chunks(self._batches(number)):
                times = stamps_of(table.column(self.event_time))
                partitions = "0" if self.partition is None else _names(table, self.partition)
                yield from reducer.reduce(table, times, partitions)
        except Unreadable as error:
            yield Message.of(FilesUnreadable(str(error)))
            return
        yield reducer.info()

    def _batches(self, number: int) -> Iterator[pa.RecordBatch]:
        place = 0
        for path in self.files:
            with ParquetFile(path, self.types, self.rules, self.frame.at.setting.time_zone) as file:
                for group in range(file.row_groups):
                    if (place + group) % self.tasks == number:
                        yield from file.read(group)
                place += file.row_groups


def _names(table: pa.Table, column: str) -> Any:
    return table.column(column).cast(pa.string()).to_numpy()
