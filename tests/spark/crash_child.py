"""The process that test_crash kills: reads a prepared stream while queries come and go.

Run as ``python crash_child.py FOLDER SEED``. It goes on from whatever an earlier, killed run left
in the folder, and writes ``done.json`` with the lives of all queries when the stream is finished.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from pathlib import Path

import headrace as hr
from tests.spark.crash_data import SCHEMA, TABLES, template


def main(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    spark = hr.local_spark(2)
    source = hr.testing.MemoryStream(SCHEMA, path=folder / "stream", tables_per_batch=1)
    with hr.Session(spark, checkpoint=str(folder / "checkpoint")) as session:
        session.stream("s", source, event_time="time", lateness="3 seconds")
        first = not session.queries

        def create() -> None:
            number = len(session.queries)
            session.sql(
                template(number),
                name=f"q{number}",
                sink="parquet",
                options={"path": str(folder / "out" / f"q{number}")},
            )

        if first:
            for _ in range(4):
                create()
        session.start()
        pause = threading.Event()
        while session.metrics().tuples < TABLES * 50:
            before = session.metrics().batches
            if len(session.queries) < 30 and rng.random() < 0.7:
                create()
            active = [q for q in session.queries if q.status == "active"]
            if len(active) > 3 and rng.random() < 0.4:
                rng.choice(active).stop()
            while session.metrics().batches == before:
                pause.wait(0.05)
                if session.metrics().tuples >= TABLES * 50:
                    break
        session.process_all_available()
        lives = {
            q.name: [
                q.status,
                q.effective_start.isoformat() if q.effective_start else None,
                q.effective_end.isoformat() if q.effective_end else None,
            ]
            for q in session.queries
        }
        (folder / "done.json").write_text(json.dumps(lives))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
