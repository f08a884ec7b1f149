"""The baseline: every query as a Structured Streaming query of its own.

Tuned as far as it goes on one machine: as many shuffle partitions as cores, the in-memory state
store (faster than RocksDB at this size), adaptive execution off, room for the generated classes of
all queries (`local_spark`), and the more queries, the less often one without data looks for some
(60 of them that look every 10 ms keep two cores busy). Jobs are run in the order they came: with a
FAIR pool per query (``scheduler=FAIR``) and more pools than cores, Spark prefers the pool whose
name sorts first, and the last ones get nothing as long as there is data. Tuples are read in the
JVM, from parquet files in memory; only the columns that a query needs. Of what it gives, three
columns are collected, in the job of the batch: a third stage that sums them up on the executors,
or a sink with an observed aggregate, takes at least as long.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import NumericType, TimestampType

import headrace as hr
from headrace.lab.bench.adapters import take
from headrace.lab.bench.adapters.spool import Spool
from headrace.lab.bench.driver.protocol import Driver, Task

_DEFAULTS: dict[str, str | float | int] = {
    "cores": 0,
    "driver_memory": "6g",
    "scheduler": "FIFO",
}
_CLASSES = "spark.sql.codegen.cache.maxEntries"
_POLLING, _POLL_MS = "spark.sql.streaming.pollingDelay", 10


class Adapter:
    """Runs one streaming query for each query."""

    def __init__(self, driver: Driver, options: Mapping[str, str]) -> None:
        taken = take(options, _DEFAULTS)
        cores = int(taken["cores"]) or None
        self._driver = driver
        self._scheduler = taken["scheduler"]
        self._spark = hr.local_spark(
            cores,
            **{
                "spark.scheduler.mode": str(taken["scheduler"]),
                "spark.driver.memory": str(taken["driver_memory"]),
                "spark.sql.files.ignoreMissingFiles": "true",
                # Without a checksum file beside every file of a checkpoint: half as many of them.
                "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
                # There is always data: a batch that only moves the watermark would be one more.
                "spark.sql.streaming.noDataMicroBatches.enabled": "false",
                # Listing more than 32 files would be a job of its own in every batch.
                "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
            },
        )
        memory = Path("/dev/shm")
        self._folder = Path(
            tempfile.mkdtemp(
                prefix="headrace-bench-plain-", dir=memory if memory.is_dir() else None
            )
        )
        self._spools: dict[str, Spool] = {}
        self._running: dict[str, StreamingQuery] = {}
        self._failure: hr.HeadraceError | None = None
        self._stopping = False

    def start(self, task: Task) -> dict[str, Any]:
        # Each query that waits for data lists the files again after this time.
        delay_ms = min(max(_POLL_MS, _POLL_MS * len(task.queries) // 2), 20 * _POLL_MS)
        self._spark.conf.set(_POLLING, f"{delay_ms}ms")
        for info in task.streams:
            self._spools[info.name] = Spool(self._driver, info, self._folder)
        for name, text in task.queries.items():
            self._begin(name, text)
        for spool in self._spools.values():
            spool.start()
        conf = self._spark.conf
        return {
            "spark": self._spark.version,
            "spark.sql.shuffle.partitions": conf.get("spark.sql.shuffle.partitions"),
            "spark.sql.adaptive.enabled": conf.get("spark.sql.adaptive.enabled"),
            "spark.scheduler.mode": str(self._scheduler),
            "state store": "HDFSBackedStateStoreProvider (in memory)",
            "source": "parquet files in memory, written once, read by every query's own scan",
            "trigger": "as soon as the last batch is done",
            "spark.sql.streaming.noDataMicroBatches.enabled": "false",
            _CLASSES: conf.get(_CLASSES),
            _POLLING: conf.get(_POLLING),
            "sink": "foreachBatch: three columns collected in the batch's own job",
        }

    def create(self, queries: Mapping[str, str]) -> dict[str, str]:
        errors: dict[str, str] = {}
        for name, text in queries.items():
            try:
                self._begin(name, text)
            except Exception as error:  # whatever Spark raises is this query's answer
                errors[name] = str(error).splitlines()[0]
        return errors

    def delete(self, names: Sequence[str]) -> dict[str, str]:
        for name in names:
            query = self._running.pop(name, None)
            if query is not None:
                query.stop()
                for spool in self._spools.values():
                    spool.close(name)
        return {}

    def check(self) -> None:
        for spool in self._spools.values():
            spool.check()
        if self._failure is not None:
            raise self._failure
        for name, query in list(self._running.items()):
            if not query.isActive:
                first_line = str(query.exception()).partition("\n")[0]  # then come plans
                raise hr.HeadraceError(f"query {name!r} failed: {first_line}")

    def stop(self) -> None:
        self._stopping = True
        for query in self._running.values():
            query.stop()
        for spool in self._spools.values():
            spool.stop()
        self._spark.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _begin(self, name: str, text: str) -> None:
        words = set(re.findall(r"\w+", text))
        for spool in self._spools.values():
            if spool.info.name in words:
                spool.open(name)
                self._declare(spool)
        context = self._spark.sparkContext
        if self._scheduler == "FAIR":
            context.setLocalProperty("spark.scheduler.pool", name)
        writer = (
            self._spark.sql(text)
            .writeStream.queryName(name)
            .foreachBatch(lambda frame, _: self._told(name, frame))
            .outputMode("append")
            .option("checkpointLocation", str(self._checkpoint(name)))
            .trigger(processingTime="0 seconds")
        )
        self._running[name] = writer.start()
        context.setLocalProperty("spark.scheduler.pool", None)  # type: ignore[arg-type]

    def _checkpoint(self, name: str) -> Path:
        return self._folder / "checkpoints" / name

    def _declare(self, spool: Spool) -> None:
        """The stream, under its name."""
        info = spool.info
        frame = self._spark.readStream.schema(from_arrow_schema(info.schema)).parquet(
            str(spool.folder)
        )
        frame.withWatermark(info.event_time, info.lateness).createOrReplaceTempView(info.name)

    def _told(self, name: str, frame: DataFrame) -> None:
        """Tell a batch; Spark loses the words of a long error on its way through the JVM."""
        try:
            self._tell(name, frame)
        except Exception as error:
            if self._failure is None and not self._stopping:
                self._failure = hr.HeadraceError(f"query {name!r}: {error!r}")
            raise

    def _tell(self, name: str, frame: DataFrame) -> None:
        total = sf.lit(0.0)
        for column in frame.schema:
            if isinstance(column.dataType, TimestampType):
                total = total + sf.unix_seconds(column.name).cast("double")
            elif isinstance(column.dataType, NumericType):
                total = total + sf.coalesce(sf.col(column.name).cast("double"), sf.lit(0.0))
        rows = frame.select("window_end", "event_time", total.alias("checksum")).toArrow()
        if rows.num_rows:
            wanted = [("event_time", "max"), ("checksum", "sum"), ("checksum", "count")]
            summed = rows.group_by("window_end").aggregate(wanted)
            names = pa.array([name] * summed.num_rows, pa.string())
            table = summed.rename_columns(["window_end", "event_time", "checksum", "rows"])
            self._driver.put(table.append_column("query", names))
        for spool in self._spools.values():
            spool.read_by(name, self._checkpoint(name) / "sources")
