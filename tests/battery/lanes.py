"""The ways on which tuples come to the engine: one kind of source for each."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol, get_args

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.testing import MemoryStream
from tests.battery.rows import schema_of

Lane = Literal["arrow", "file", "jvm", "catalyst"]
LANES: tuple[Lane, ...] = get_args(Lane)


class Feed(Protocol):
    """A source that is given one table at a time."""

    @property
    def source(self) -> DataFrame | MemoryStream:
        """What `session.stream` takes."""
        ...

    def push(self, table: pa.Table) -> None:
        """Add tuples."""
        ...


class _Memory:
    """Arrow tables: the tuples never see the JVM unless an expression needs it."""

    def __init__(self, stream: str, folder: Path) -> None:
        self.source = MemoryStream(schema_of(stream), path=folder)

    def push(self, table: pa.Table) -> None:
        self.source.push(table)


class _Files:
    """Parquet files, read by tasks; with `through_jvm` by Spark, row by row."""

    def __init__(
        self, spark: SparkSession, stream: str, folder: Path, *, through_jvm: bool
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._written = folder, 0
        schema = from_arrow_schema(schema_of(stream), prefer_timestamp_ntz=True)
        read = spark.readStream.schema(schema).parquet(str(folder))
        self.source = read.select("*") if through_jvm else read

    def push(self, table: pa.Table) -> None:
        final = self._folder / f"{self._written:04d}.parquet"
        hidden = final.with_name(f".{final.name}")
        pq.write_table(table, hidden, coerce_timestamps="us")
        hidden.rename(final)
        self._written += 1


def feed(lane: Lane, spark: SparkSession, stream: str, folder: Path) -> Feed:
    """A source of a stream's tuples; queries of the lane `catalyst` each run alone over it."""
    if lane == "arrow":
        return _Memory(stream, folder)
    return _Files(spark, stream, folder, through_jvm=lane != "file")
