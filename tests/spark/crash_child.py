"""The process that the crash tests kill: a stream that goes on while queries come and go.

Run as ``python -m tests.spark.crash_child FOLDER SEED TABLES [POINT TXN]``. It goes on from
whatever an earlier, killed run left in the folder, and writes ``done.json`` with the lives of all
queries when the stream is finished. At the point of a transaction that is given, ``begun`` or
``delivered``, it kills itself and all that it has started.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime.entries import Begin
from headrace.runtime.journal import Journal
from headrace.runtime.state import PipelineState
from tests.spark.crash_data import QUERIES, SCHEMA, tables, template


def die_at(point: str, last: int) -> None:
    """As SIGKILL from outside would, but not at some time: `begun` is when the begin record of the
    transaction is there, `delivered` when its results are and its commit record is not."""
    begin, commit = Journal.begin, Journal.commit

    def begin_or_die(journal: Journal, record: Begin) -> None:
        begin(journal, record)
        if (point, last) == ("begun", record.txn):
            os.killpg(0, signal.SIGKILL)

    def commit_or_die(journal: Journal, state: PipelineState) -> None:
        if (point, last) == ("delivered", state.txn):
            os.killpg(0, signal.SIGKILL)
        commit(journal, state)

    Journal.begin, Journal.commit = begin_or_die, commit_or_die  # type: ignore[method-assign]


def live(spark: SparkSession, folder: Path, seed: int, count: int) -> None:
    """Read what is left of so many tables."""
    source = hr.testing.MemoryStream(SCHEMA, path=folder / "stream", tables_per_batch=1)
    goes_on = (folder / "checkpoint" / "session.json").exists()
    with hr.Session(spark, checkpoint=str(folder / "checkpoint")) as session:
        session.stream("s", source, event_time="time", lateness="3 seconds")
        pushed = source.latest_offsets((10**9,))[0] if goes_on else 0
        session.start()
        for number, table in enumerate(tables(seed, count)):
            if number < pushed - 1:
                continue
            if number >= pushed:
                source.push(table)
            # While the batch runs.
            change(session, folder, number)
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


def change(session: hr.Session, folder: Path, number: int) -> None:
    """A query comes with every table, and from the eighth on every third one goes. What a killed
    run has done already is not done again."""
    known = {q.name: q for q in session.queries}
    name = f"q{number}"
    if number < QUERIES and name not in known:
        path = {"path": str(folder / "out" / name)}
        session.sql(template(number), name=name, sink="parquet", options=path)
    gone = known.get(f"q{number - 7}")
    if number % 3 == 0 and gone is not None and gone.status == "active":
        gone.stop()


if __name__ == "__main__":
    if len(sys.argv) > 4:
        die_at(sys.argv[4], int(sys.argv[5]))
    live(hr.local_spark(2), Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
