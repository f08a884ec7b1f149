"""The baseline: every query as a Structured Streaming query of its own.

Tuned as far as it goes on one machine: as many shuffle partitions as cores, the in-memory state
store (faster than RocksDB at this size), adaptive execution off, room for all generated classes.
Rows are counted and summed on the executors by an observed aggregate in the same plan, and then
dropped by Spark's noop sink: no job beyond the query's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

SETTINGS = {
    "spark.sql.shuffle.partitions": "the number of cores",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.cache.maxEntries": "2000",
    "spark.scheduler.mode": "FIFO",
    "state store": "HDFSBackedStateStoreProvider (default, in memory)",
    "sink": "noop, after an observed count and sum",
}


@dataclass
class PlainRun:
    """Running queries and how to wait for them."""

    queries: list[Any]

    def process_all_available(self) -> None:
        """Until all have read everything."""
        for query in self.queries:
            query.processAllAvailable()

    def digests(self) -> list[tuple[int, float]]:
        """Rows and sum of each query's output."""
        return [_digest(q) for q in self.queries]

    def stop(self) -> None:
        """End all."""
        for query in self.queries:
            query.stop()


def start(spark: SparkSession, source: DataFrame, queries: list[str], folder: Path) -> PlainRun:
    """Start one Structured Streaming query per text over the stream `s`."""
    source.withWatermark("time", "0 seconds").createOrReplaceTempView("s")
    running = []
    for number, text in enumerate(queries):
        frame = spark.sql(text)
        total = sf.unix_seconds("start").cast("double")
        for name in (c for c in frame.columns if c != "start"):
            total = total + sf.coalesce(sf.col(name).cast("double"), sf.lit(0.0))
        rows = sf.count(sf.lit(1)).alias("rows")
        counted = frame.observe("digest", rows, sf.sum(total).alias("s"))
        running.append(
            counted.writeStream.format("noop")
            .outputMode("append")
            .option("checkpointLocation", str(folder / f"plain{number}"))
            .trigger(processingTime="0 seconds")
            .start()
        )
    return PlainRun(running)


def _digest(query: Any) -> tuple[int, float]:
    rows, total = 0, 0.0
    for progress in query.recentProgress:
        found = progress.observedMetrics.get("digest")
        if found is not None:
            rows += found["rows"] or 0
            total += found["s"] or 0.0
    return rows, total
