"""Runs queries on two executors; prints what the test checks. ``python -m … FOLDER``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

import headrace as hr


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
            "spark.executorEnv.HEADRACE_TRACE": str(trace),
            "spark.executorEnv.PYTHONPATH": os.getcwd(),
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
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
