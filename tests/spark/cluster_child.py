"""Runs queries on two executors, exact and approximate ones; prints what the tests check.

``python -m tests.spark.cluster_child FOLDER``
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.playing import Events, play, start_s

TOTAL = "window.start AS start, k, SUM(v) AS total FROM s GROUP BY window(time, '1 second'), k"
QUESTIONS = {"exact": f"SELECT {TOTAL}", "held": f"SELECT /*+ APPROX(error => 0.05) */ {TOTAL}"}


class Traced(hr.sources.RandomFields):
    """Notes which processes fetch tuples."""

    def read(
        self, partition: int, start: int, end: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        note = Path(os.environ["HEADRACE_TRACE"]) / f"{os.getpid()}-{os.getppid()}"
        note.touch()
        yield from super().read(partition, start, end, columns)


def main(folder: Path) -> None:
    trace = folder / "trace"
    trace.mkdir()
    os.environ["HEADRACE_TRACE"] = str(trace)
    spark = hr.local_spark(
        **{
            "spark.master": "local-cluster[2,1,1024]",
            # Were tuples to reach the driver, Spark would stop the job: they are over 20 MB.
            "spark.driver.maxResultSize": "2m",
            "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
            "spark.executorEnv.HEADRACE_TRACE": str(trace),
            # This checkout, whichever one is installed.
            "spark.executorEnv.PYTHONPATH": f"{os.getcwd()}/src:{os.getcwd()}",
        }
    )
    total = 800_000
    source = Traced(
        rate=None, total=total, rows_per_batch=200_000, event_rate=100_000.0, start_s=1.7e9
    )
    with hr.Session(spark, checkpoint=str(folder / "checkpoint")) as session:
        session.stream("s", source, event_time="time")
        queries = [
            session.sql(
                f"SELECT window.start AS start, key % 10 AS k, SUM(f0) AS total, COUNT(*) AS n "
                f"FROM s WHERE f1 < {100 * (n + 1)} GROUP BY window(time, '2 seconds'), key % 10"
            )
            for n in range(5)
        ]
        plain = session.sql(
            "SELECT window.start AS start, key, MAX(f2) AS high FROM s WHERE f3 >= 500 "
            "GROUP BY window(time, '1 second'), key",
            sink="parquet",
            options={"path": str(folder / "out")},
        )
        session.start()
        session.process_all_available()
        found = {
            "tuples": session.metrics().tuples,
            "expected": total,
            "counts": [sum(q.collect().column("n").to_pylist()) for q in queries],
            "rows": plain.metrics().rows,
            "error": [q.error for q in [*queries, plain]],
            "processes": sorted(os.listdir(trace)),
            "driver": os.getpid(),
        }
    print(json.dumps(found | {"early": answered_early(spark)}))
    spark.stop()


def answered_early(spark: SparkSession) -> dict[str, list[tuple[float, str, float, bool]]]:
    """Rows of an exact query and of an approximate one over the same stream."""
    played = play(spark, Events.drawn(3, 3_000, 11.0), QUESTIONS, seconds=11.0, step_s=0.5)
    return {
        name: [(start_s(r), r["k"], r["total"], r.get("exact", True)) for _, r in heard.rows]
        for name, heard in played.heard.items()
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]))
