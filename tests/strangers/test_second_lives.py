"""Folders that are used for a second life, and transactions that are done a second time."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import faults
from headrace.testing import MemoryStream
from tests.spark.helpers import SCHEMA, at, pairs, rows

pytestmark = pytest.mark.spark

WINDOW = "FROM s {where} GROUP BY window(time, '10 seconds')"
COUNT = f"SELECT window.start AS start, COUNT(*) AS n {WINDOW}"


class Folders:
    """A stream whose tuples stay, a checkpoint, and folders for results."""

    def __init__(self, spark: SparkSession, path: Path) -> None:
        self.spark, self.path = spark, path
        self.checkpoint = path / "checkpoint"
        self.stream = MemoryStream(SCHEMA, path=path / "stream")

    def session(self, checkpoint: Path | None = None) -> hr.Session:
        session = hr.Session(self.spark, checkpoint=str(checkpoint or self.checkpoint))
        source = MemoryStream(SCHEMA, path=self.path / "stream", tables_per_batch=1)
        session.stream("s", source, event_time="time")
        return session

    def ask(self, session: hr.Session, out: str = "out", name: str = "q") -> hr.Query:
        text = COUNT.format(where="")
        return session.sql(text, name=name, sink="parquet", options={"path": str(self.path / out)})

    def run(self, out: str = "out", checkpoint: Path | None = None) -> None:
        with self.session(checkpoint) as session:
            self.ask(session, out)
            session.start()
            session.process_all_available()

    def written(self, *folders: str) -> list[tuple[object, ...]]:
        there = [f for f in folders or ("out",) if any((self.path / f).glob("*.parquet"))]
        return sorted(r for f in there for r in pairs(pq.read_table(self.path / f), "start", "n"))

    @property
    def newest_commit(self) -> Path:
        return max((self.checkpoint / "streams" / "s" / "log").glob("*.commit.json"))


@pytest.fixture
def folders(spark: SparkSession, tmp_path: Path) -> Folders:
    return Folders(spark, tmp_path)


def dying(point: str, when: Callable[[], bool]) -> Callable[[str], None]:
    """For `faults.at`: nothing more happens once the point was reached and the condition holds."""
    dead = False

    def reached(name: str) -> None:
        nonlocal dead
        dead = dead or (name == point and when())
        if dead:
            raise hr.ExecutionError("killed")

    return reached


@pytest.mark.parametrize("restored", [False, True], ids=["deleted", "restored from a copy"])
def test_a_checkpoint_folder_used_again_knows_nothing_of_its_first_life(
    folders: Folders, restored: bool
) -> None:
    """Workers outlive sessions, and remember what they were sent."""
    folders.stream.push(rows(range(25)))
    if restored:
        folders.session().close()
        shutil.copytree(folders.checkpoint, folders.path / "copy")
    found = []
    for select, where in (("COUNT(*)", "v > 2"), ("COUNT(*)", "v > 14"), ("SUM(v)", "v > 2")):
        shutil.rmtree(folders.checkpoint, ignore_errors=True)
        if restored:
            shutil.copytree(folders.path / "copy", folders.checkpoint)
        with folders.session() as session:
            text = f"SELECT {select} AS n {WINDOW}".format(where=f"WHERE {where}")
            query = session.sql(text, name="q")
            session.start()
            session.process_all_available()
            found.append(query.collect().column("n").to_pylist())
    assert found == [[7, 10], [5], [42, 145]]


def test_results_of_an_earlier_run_stay_in_the_folder(folders: Folders) -> None:
    folders.stream.push(rows([1, 12, 25]))
    for number in range(2):
        folders.run(checkpoint=folders.path / f"checkpoint {number}")
    assert folders.written() == [(at(0), 1), (at(0), 1), (at(10), 1), (at(10), 1)]


def test_a_commit_that_is_lost_when_more_was_written_already(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    for second in (1, 12, 25, 36):
        folders.stream.push(rows([second]))
    # Two windows are written and the second is not committed when the process dies, ...
    with monkeypatch.context() as patch:
        patch.setattr(faults, "at", dying("after transaction", lambda: len(folders.written()) > 1))
        with pytest.raises(hr.ExecutionError, match="killed"):
            folders.run()
    assert folders.written() == [(at(0), 1), (at(10), 1)]
    # ... and the commit of the first is lost, too.
    folders.newest_commit.write_bytes(b"")
    folders.run()
    assert folders.written() == [(at(s), 1) for s in (0, 10, 20)]


def test_another_path_of_a_sink_after_a_crash(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    for second in (1, 12, 25):
        folders.stream.push(rows([second]))
    with monkeypatch.context() as patch:
        patch.setattr(faults, "at", dying("after transaction", lambda: len(folders.written()) > 1))
        with pytest.raises(hr.ExecutionError, match="killed"):
            folders.run()
    folders.run(out="elsewhere")
    assert folders.written("out", "elsewhere") == [(at(0), 1), (at(10), 1)]


def test_another_path_of_a_sink_is_kept_by_whoever_does_not_ask_again(folders: Folders) -> None:
    folders.stream.push(rows([1, 12]))
    folders.run()
    folders.stream.push(rows([25]))
    folders.run(out="elsewhere")
    folders.stream.push(rows([36]))
    with folders.session() as session:
        session.start()
        session.process_all_available()
        (query,) = session.queries
        with pytest.raises(hr.QueryError, match=r"other options of its sink: .*elsewhere"):
            folders.ask(session)
        assert folders.ask(session, "elsewhere") is query
    assert folders.written() == [(at(0), 1)]
    assert folders.written("elsewhere") == [(at(10), 1), (at(20), 1)]


def test_a_query_that_was_stopped_takes_part_in_what_is_done_again(folders: Folders) -> None:
    with folders.session() as session:
        query = folders.ask(session)
        called = session.sql(COUNT.format(where=""), name="called", sink=print)
        session.start()
        for second in (1, 12, 25):
            folders.stream.push(rows([second]))
            session.process_all_available()
        query.stop()
        called.stop()
    folders.newest_commit.write_bytes(b"")
    with folders.session() as session:
        session.start()
        session.process_all_available()
    assert folders.written() == [(at(0), 1), (at(10), 1)]


@pytest.mark.parametrize("streams", ["st", "ts"], ids=["ended first", "running first"])
def test_a_name_that_moved_to_another_stream_is_that_of_the_query_that_runs(
    folders: Folders, streams: str
) -> None:
    """The stream that it left remembers it, too, and is restored before or after the other."""

    def session() -> hr.Session:
        session = hr.Session(folders.spark, checkpoint=str(folders.checkpoint))
        for name in streams:
            source = MemoryStream(SCHEMA, path=folders.path / f"stream {name}")
            source.push(rows([5]))
            session.stream(name, source, event_time="time")
        return session

    def ask(session: hr.Session, stream: str, name: str) -> hr.Query:
        text = COUNT.format(where="").replace("FROM s", f"FROM {stream}")
        return session.sql(text, name=name, sink="parquet", options={"path": folders.path / name})

    with session() as first:
        for stream in streams:
            ask(first, stream, f"keeps {stream} open")
        left = ask(first, "s", "q")
        first.start()
        first.process_all_available()
        left.stop()
        ask(first, "t", "q").await_active(60)
    with session() as second:
        second.start()
        [q] = [q for q in second.queries if q.name == "q"]
        assert (q.status, " t " in q.logical.text) == ("active", True)
        with pytest.raises(hr.QueryError, match="active query named 'q'"):
            ask(second, "s", "q")
        q.stop()
        assert ask(second, "s", "q").await_active(60)
