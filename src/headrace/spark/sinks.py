"""Which sink a query asks for; Spark's own writers among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from headrace.connectors.sinks import (
    CallableSink,
    DigestSink,
    MemorySink,
    ParquetSink,
    Place,
    Sink,
    SinkBase,
    SinkFunction,
    check_names,
    options_of,
)
from headrace.errors import QueryError
from headrace.query.logical import Output
from headrace.runtime.entries import SinkRecord
from headrace.spark import internals
from headrace.spark.arguments import check_kind, check_sink_function
from headrace.spark.ingest.culprits import reason_of

_KINDS: dict[str, Callable[[Mapping[str, str]], Sink]] = {
    "memory": MemorySink,
    "digest": DigestSink,
    "callable": CallableSink,
}
_NAMES = ("memory", "parquet", "digest", "a Spark writer format", "a callable")


@dataclass(frozen=True)
class WriterSink(SinkBase):
    """Any format that Spark can write, appended to by the driver, at least once."""

    kind: str = ""
    spark: SparkSession | None = None
    place: ClassVar[Place] = "outbox"

    def check(self, outputs: Iterable[Output], label: str) -> None:
        """A format that there is not, or that has no way to write such columns, is refused now and
        not with the first window."""
        assert self.spark is not None
        outputs = tuple(outputs)
        try:
            writer = internals.writer_format(self.spark, self.kind)
            if writer is None:
                return
            if "path" not in self.options:
                raise QueryError(
                    f"the sink {self.kind!r} writes files and needs options={{'path': …}}",
                    query=label,
                )
            check_names(outputs, label, self.kind)
            columns = StructType(
                [StructField(o.name, DataType.fromDDL(o.type)) for o in outputs]
            ).json()
            internals.check_writer(self.spark, writer, self.options, columns)
        except (PySparkException, Py4JJavaError) as error:
            raise QueryError(
                f"Spark cannot write the result as {self.kind!r}: {reason_of(error)}",
                query=label,
                choices=_NAMES,
            ) from error

    def commit(self, table: pa.Table, txn: int) -> None:
        assert self.spark is not None
        # Of a table with an empty chunk Spark 4.3 takes what is before it, and loses the rest.
        frame = self.spark.createDataFrame(table.combine_chunks())
        frame.write.format(self.kind).options(**self.options).mode("append").save()


def sink_of(
    spark: SparkSession,
    checkpoint: str,
    sink: str | SinkFunction,
    options: Mapping[str, Any] | None,
) -> Sink:
    """What `session.sql` was given; files of the sink are those of the checkpoint of this name."""
    given = options_of(options)
    if callable(sink):
        check_sink_function(sink)
        return CallableSink(given, sink)
    check_kind("sink", sink, str, ", ".join(_NAMES))
    if sink in ("", "callable"):
        raise QueryError(
            f"sink must be a name or a callable, not {sink!r}",
            choices=_NAMES,
        )
    return _named(spark, checkpoint, sink, given)


def recorded(sink: Sink) -> SinkRecord:
    """For the journal."""
    return SinkRecord(sink.kind, dict(sink.options))


def restored_sink(spark: SparkSession, checkpoint: str, record: SinkRecord) -> Sink:
    """Back from the journal."""
    return _named(spark, checkpoint, record.kind, record.options)


def _named(spark: SparkSession, checkpoint: str, kind: str, options: Mapping[str, str]) -> Sink:
    if kind == "parquet":
        return ParquetSink(options, checkpoint)
    made = _KINDS.get(kind)
    return made(options) if made else WriterSink(options, kind, spark)
