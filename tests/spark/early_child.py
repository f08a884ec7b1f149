"""The process that test_early_crash starts: approximate queries over a live stream.

Run as ``python -m tests.spark.early_child FOLDER START_S MASTER``. It goes on from whatever an
earlier, killed run left in the folder, until all windows are out that end by the time that is
written to the file ``end``.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import headrace as hr

RATE, KEYS, DISORDER_S, WINDOW_S = 6_000.0, 4, 1.0, 1
_BY_KEY = f"SUM(f0) AS total FROM s GROUP BY window(time, '{WINDOW_S} second'), key"
TEXTS = {
    "held": f"SELECT /*+ APPROX(error => 0.05) */ window.start AS start, key, {_BY_KEY}",
    "refined": "SELECT /*+ APPROX(error => 0.05, refine => true) */ window.start AS start, key, "
    + _BY_KEY,
}


def source_of(start_s: float) -> hr.sources.RandomFields:
    """Tuples that are up to a second old when they come."""
    return hr.sources.RandomFields(
        rate=RATE, start_s=start_s, disorder_s=DISORDER_S, keys=KEYS, partitions=1
    )


def main(folder: Path, start_s: float, master: str) -> None:
    spark = hr.local_spark(
        2, **{"spark.master": master, "spark.executorEnv.PYTHONPATH": os.getcwd()}
    )
    with hr.Session(spark, checkpoint=str(folder / "checkpoint")) as session:
        session.stream("s", source_of(start_s), event_time="time", lateness=f"{DISORDER_S} seconds")
        for name, text in TEXTS.items():
            session.sql(text, name=name, sink="parquet", options={"path": str(folder / name)})
        session.start()
        pause = threading.Event()
        while not _has_passed(session, folder / "end"):
            pause.wait(0.1)


def _has_passed(session: hr.Session, end: Path) -> bool:
    watermark = session.metrics().pipelines[0].watermark
    if watermark is None or not end.exists():
        return False
    return watermark.timestamp() >= float(end.read_text())


if __name__ == "__main__":
    main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
