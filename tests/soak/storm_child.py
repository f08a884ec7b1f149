"""The process that the storm kills: two streams, queries of all shapes, all sinks that outlive a
process, and names that are used again and again.

Run as ``python -m tests.soak.storm_child FOLDER SEED STEPS``. It goes on from whatever a killed run
left, writes its process id into ``up`` when it is at work, notes the lives of queries in
``lives.jsonl``, and writes ``done`` when all steps are made.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from tests.soak.storm_data import ASKED, DDL, NAMES, SCHEMA, SHAPES, SINKS, STAYS, tables

LATENESS = "3 seconds"


def call(folder: Path, generation: int) -> object:
    """A sink that appends lines to a file."""

    def write(table: pa.Table, txn: int) -> None:
        path = folder / "called" / f"{generation}"
        path.parent.mkdir(exist_ok=True)
        lines = [json.dumps([str(v) for v in row.values()]) for row in table.to_pylist()]
        with path.open("a") as out:
            out.write("".join(f"{line}\n" for line in lines))
            out.flush()
            os.fsync(out.fileno())

    return write


def ask(session: hr.Session, folder: Path, generation: int) -> hr.Query:
    """The query of a generation: shape, stream, sink and name follow from its number."""
    kind = SINKS[generation % len(SINKS)]
    options = {"generation": str(generation), "path": str(folder / kind / str(generation))}
    text = SHAPES[generation % len(SHAPES)].format(stream="st"[generation % 2])
    sink = call(folder, generation) if kind == "called" else kind
    name = f"stays {generation}" if generation < STAYS else f"q{generation % NAMES}"
    return session.sql(text, name=name, sink=sink, options=options)  # type: ignore[arg-type]


def note(folder: Path, query: hr.Query) -> None:
    """The life of a query as it is known now."""
    write(
        folder,
        int(query.sink.options["generation"]),
        query.status,
        str(query.effective_start),
        None if query.effective_end is None else str(query.effective_end),
    )


def write(folder: Path, *life: object) -> None:
    """Lines are there once this returns."""
    with (folder / "lives.jsonl").open("a") as out:
        out.write(json.dumps(life) + "\n")
        out.flush()
        os.fsync(out.fileno())


def noted(folder: Path) -> int:
    """The newest generation that any run has asked for."""
    path = folder / "lives.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return max((json.loads(line)[0] for line in lines), default=-1)


def live(folder: Path, seed: int, steps: int) -> None:
    spark = hr.local_spark(2)
    files = folder / "files"
    files.mkdir(exist_ok=True)
    source = hr.testing.MemoryStream(SCHEMA, path=folder / "stream", partitions=2)
    with hr.Session(spark, checkpoint=str(folder / "checkpoint")) as session:
        session.stream("s", source, event_time="time", lateness=LATENESS)
        frame = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 2).parquet(str(files))
        session.stream("t", frame, event_time="time", lateness=LATENESS)
        # A function cannot be stored: whoever may still run gets it again.
        newest = noted(folder)
        for generation in range(max(newest + 1, STAYS)):
            may_run = generation < STAYS or generation > newest - NAMES
            if may_run and SINKS[generation % len(SINKS)] == "called":
                ask(session, folder, generation)
        for generation in range(STAYS):
            if SINKS[generation % len(SINKS)] != "called":
                ask(session, folder, generation)
        session.start()
        (folder / "up").write_text(str(os.getpid()))
        for query in session.queries:
            note(folder, query)
        made = len(list(files.glob("*.parquet")))
        for step, (left, right, other) in enumerate(tables(seed, steps)):
            if step >= made:
                # Files last: a step whose file is there was made wholly.
                for partition, table in enumerate((left, right)):
                    if source.latest_offsets((10**9, 10**9))[partition] <= step:
                        source.push(table, partition=partition)
                pq.write_table(other, files / f".{step:05d}")
                (files / f".{step:05d}").rename(files / f"{step:05d}.parquet")
            generation = STAYS + step
            if generation > max(newest, noted(folder)):
                known = {q.name: q for q in session.queries}
                before = known.get(f"q{generation % NAMES}")
                if before is not None and not before.has_ended:
                    before.stop()
                if before is not None:
                    note(folder, before)
                # From here on its name may be its own, also in a run that is killed before it
                # hears of it.
                write(folder, generation, ASKED, "", None)
                query = ask(session, folder, generation)
                query.await_active(120)
                note(folder, query)
            if step >= made - 1:
                session.process_all_available()
        for query in session.queries:
            note(folder, query)
    (folder / "done").touch()


if __name__ == "__main__":
    live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
