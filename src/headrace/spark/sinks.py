"""Which sink a query asks for; Spark's own writers among them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.connectors.sinks import (
    CallableSink,
    DigestSink,
    MemorySink,
    ParquetSink,
    Place,
    Sink,
    SinkBase,
    SinkFunction,
    options_of,
)
from headrace.errors import QueryError
from headrace.runtime.entries import SinkRecord

_KINDS: dict[str, Callable[[Mapping[str, str]], Sink]] = {
    "memory": MemorySink,
    "parquet": ParquetSink,
    "digest": DigestSink,
    "callable": CallableSink,
}


@dataclass(frozen=True)
class WriterSink(SinkBase):
    """Any format that Spark can write, appended to by the driver, at least once."""

    kind: str = ""
    spark: SparkSession | None = None
    place: ClassVar[Place] = "outbox"

    def commit(self, table: pa.Table, txn: int) -> None:
        assert self.spark is not None
        frame = self.spark.createDataFrame(table)
        frame.write.format(self.kind).options(**self.options).mode("append").save()


def sink_of(
    spark: SparkSession, sink: str | SinkFunction, options: Mapping[str, Any] | None
) -> Sink:
    """What `session.sql` was given."""
    given = options_of(options)
    if callable(sink):
        lazy = (
            inspect.iscoroutinefunction,
            inspect.isgeneratorfunction,
            inspect.isasyncgenfunction,
        )
        if any(is_lazy(sink) for is_lazy in lazy):
            raise QueryError(
                "a sink that is called must do its work: this one is async or a generator, and "
                "would only return something to be run",
                choices=("a plain function",),
            )
        return CallableSink(given, sink)
    if not sink or sink == "callable":
        raise QueryError(
            f"sink must be a name or a callable, not {sink!r}",
            choices=("memory", "parquet", "digest", "a Spark writer format", "a callable"),
        )
    if sink in _KINDS:
        return _KINDS[sink](given)
    return WriterSink(given, sink, spark)


def recorded(sink: Sink) -> SinkRecord:
    """For the journal."""
    return SinkRecord(sink.kind, dict(sink.options))


def restored_sink(spark: SparkSession, record: SinkRecord) -> Sink:
    """Back from the journal."""
    made = _KINDS.get(record.kind)
    return made(record.options) if made else WriterSink(record.options, record.kind, spark)
