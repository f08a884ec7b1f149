"""A declared stream: its source, its schema, and how its event time is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from headrace.connectors.readers import Readers
from headrace.connectors.sinks import Sink
from headrace.connectors.source import Numbered, Source
from headrace.connectors.sources import ArrowSource
from headrace.errors import QueryError, near
from headrace.exchange.upstream import Upstream
from headrace.query.accuracy import CLOSINGS, Closing
from headrace.query.schema import StreamSchema, quoted
from headrace.spark.analysis import columns_of
from headrace.spark.internals import is_parquet
from headrace.types import duration_us

RESERVED = "__hr_"
_TIMES = {"timestamp", "timestamp_ntz"}


@dataclass(frozen=True)
class Stream:
    """What `session.stream` declared."""

    schema: StreamSchema
    frame: DataFrame | None
    """Where Spark reads the tuples."""
    source: Source | None
    """Where tasks fetch them."""
    struct: StructType
    lateness_us: int
    idle_after_s: float
    max_ahead_us: int | None
    partition: str | None
    late_sink: Sink | None = None
    upstream: Upstream | None = None
    closing: Closing = "aion"
    """How windows of approximate queries are closed that do not say it themselves."""

    @classmethod
    def declare(
        cls,
        name: str,
        source: DataFrame | ArrowSource,
        *,
        event_time: str,
        lateness: str,
        idle_after: str,
        max_ahead: str | None,
        partition: str | None,
        late_sink: Sink | None = None,
        upstream: Upstream | None = None,
        progress: str = "aion",
    ) -> Stream:
        """Check a declaration; raises QueryError with the valid choices."""
        if isinstance(source, DataFrame):
            if not source.isStreaming:
                raise QueryError(
                    f"stream {name!r}: the DataFrame is not a stream",
                    choices=(
                        "use spark.readStream",
                        "or an Arrow source of headrace.sources",
                    ),
                )
            struct = source.schema
        elif isinstance(source, ArrowSource):
            struct = from_arrow_schema(source.schema)
        else:
            raise QueryError(
                f"stream {name!r}: {type(source).__name__} is not a source",
                choices=("a streaming DataFrame", "an Arrow source of headrace.sources"),
            )
        schema = StreamSchema(name, columns_of(struct), event_time)
        names = [c.name for c in schema.columns]
        if "" in names:
            raise QueryError(
                f"stream {name!r} has a column without a name",
                choices=("withColumnRenamed(…)",),
            )
        ours = [n for n in names if n.lower().startswith(RESERVED)]
        if ours:
            raise QueryError(
                f"stream {name!r} has a column {ours[0]!r}, and {RESERVED}… are names of Headrace",
                choices=("withColumnRenamed(…)",),
            )
        column = schema.find(event_time)
        if column is None:
            raise QueryError(
                f"stream {name!r} has no column {event_time!r} for its event time",
                choices=near(event_time, names),
            )
        if column.type not in _TIMES:
            raise QueryError(
                f"stream {name!r}: event time {event_time!r} is a {column.type}",
                choices=("the event time must be a timestamp",),
            )
        if partition is not None and schema.find(partition) is None:
            raise QueryError(
                f"stream {name!r} has no column {partition!r} that names its partitions",
                choices=near(partition, names),
            )
        if progress not in CLOSINGS:
            raise QueryError(
                f"stream {name!r}: there is no progress {progress!r}",
                choices=near(progress, CLOSINGS),
            )
        late = duration_us(lateness)
        if late < 0:
            raise QueryError(f"stream {name!r}: lateness may not be negative")
        return cls(
            schema=StreamSchema(name, schema.columns, column.name),
            frame=source if isinstance(source, DataFrame) else None,
            source=None if isinstance(source, DataFrame) else Numbered(source),
            struct=struct,
            lateness_us=late,
            idle_after_s=duration_us(idle_after) / 1e6,
            max_ahead_us=None if max_ahead is None else duration_us(max_ahead),
            partition=partition,
            late_sink=late_sink,
            upstream=upstream,
            closing=cast(Closing, progress),
        )

    @property
    def name(self) -> str:
        """What queries call it."""
        return self.schema.name

    @property
    def has_ntz_time(self) -> bool:
        """Whether its event time is a timestamp without a zone."""
        column = self.schema.find(self.schema.event_time)
        return column is not None and column.type == "timestamp_ntz"

    @property
    def rows_in_jvm(self) -> bool:
        """Whether Spark itself reads the tuples."""
        return self.frame is not None

    @cached_property
    def reads_files(self) -> bool:
        """Whether tasks can probably read the tuples by themselves, without the JVM."""
        return self.frame is not None and is_parquet(self.frame)

    @cached_property
    def readers(self) -> Readers:
        """Of an Arrow source: all pipelines that read it."""
        assert self.source is not None
        return Readers(self.source)

    @property
    def partitions(self) -> tuple[str, ...]:
        """Partitions known beforehand."""
        if self.source is None:
            return () if self.partition is not None else ("0",)
        return self.source.partitions

    @property
    def time_sql(self) -> str:
        """Event time as microseconds since the epoch."""
        column = self.schema.find(self.schema.event_time)
        assert column is not None
        name = quoted(column.name)
        if column.type == "timestamp":
            return f"unix_micros({name})"
        # Differences of such times go by way of the session's zone, which lacks an hour in spring.
        return (
            f"(unix_date(CAST({name} AS DATE)) * 86400000000L + hour({name}) * 3600000000L + "
            f"minute({name}) * 60000000L + CAST(extract(SECOND FROM {name}) * 1000000 AS BIGINT))"
        )

    @property
    def arrow_schema(self) -> pa.Schema:
        """Columns of an Arrow source."""
        assert self.source is not None
        return self.source.schema
