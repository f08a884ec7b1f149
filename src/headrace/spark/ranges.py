"""A streaming data source that yields only offset ranges of an Arrow source.

Spark logs the offsets, replays them and distributes the ranges; the tuples themselves are fetched
inside the Python stage that reduces them.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

from headrace.sources import ArrowSource
from headrace.spark.worker_daemon import hush

FORMAT = "headrace_ranges"
_SCHEMA = "partition int, start bigint, end bigint"


class _Range(InputPartition):
    def __init__(self, partition: int, start: int, end: int) -> None:
        self.partition = partition
        self.start = start
        self.end = end


class _Reader(DataSourceStreamReader):
    def __init__(self, source: ArrowSource) -> None:
        self._source = source

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return _as_dict(self._source.initial_offsets())

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        return _as_dict(self._source.latest_offsets(_as_tuple(start)))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        ranges = zip(_as_tuple(start), _as_tuple(end), strict=True)
        return [_Range(p, s, e) for p, (s, e) in enumerate(ranges) if e > s]

    def commit(self, end: dict[str, int]) -> None:
        told = getattr(self._source, "commit", None)
        if told is not None:
            told(_as_tuple(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, _Range)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array([partition.partition], pa.int32()),
                pa.array([partition.start], pa.int64()),
                pa.array([partition.end], pa.int64()),
            ],
            names=["partition", "start", "end"],
        )


class RangeSource(DataSource):
    """The data source class that is registered with Spark."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        hush()
        return _SCHEMA

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        hush()
        source = cloudpickle.loads(base64.b64decode(self.options["source"]))
        return _Reader(source)


def ranges(spark: SparkSession, source: ArrowSource) -> DataFrame:
    """A streaming DataFrame of offset ranges of the source."""
    spark.dataSource.register(RangeSource)
    packed = base64.b64encode(cloudpickle.dumps(source)).decode()  # type: ignore[no-untyped-call]
    return spark.readStream.format(FORMAT).option("source", packed).load()


def _as_dict(offsets: tuple[int, ...]) -> dict[str, int]:
    return {str(p): o for p, o in enumerate(offsets)}


def _as_tuple(offsets: dict[str, int]) -> tuple[int, ...]:
    return tuple(offsets[str(p)] for p in range(len(offsets)))
