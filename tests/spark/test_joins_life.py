"""Joins that come and go, processes that die: every row once, state back to where it was."""

from __future__ import annotations

import os
import random
import shutil
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import faults
from tests.amounts import seeds
from tests.spark.helpers import DAY, SCHEMA, at, rows
from tests.spark.kept import Kept
from tests.waiting import until

pytestmark = [pytest.mark.spark]

L = "(SELECT *, window(time, '10 seconds') AS w FROM s) l"
R = "(SELECT *, window(time, '10 seconds') AS w FROM t) r"
ON = "ON l.w = r.w AND l.k = r.k"
QUERIES = {
    "sums": f"SELECT l.w.start AS start, l.k, SUM(l.v + 1) AS n FROM {L} JOIN {R} {ON} "
    "GROUP BY l.w, l.k",
    "rows": f"SELECT l.w.start AS start, l.k, l.v * r.v AS n FROM {L} JOIN {R} {ON}",
    "left": f"SELECT l.w.start AS start, l.k, COUNT(r.v) AS n FROM {L} LEFT JOIN {R} {ON} "
    "AND r.v > 0 GROUP BY l.w, l.k",
    "called": f"SELECT l.w.start AS start, l.k, COUNT(*) AS n FROM {L} JOIN {R} {ON} "
    "GROUP BY l.w, l.k HAVING n > 1",
    "alone": "SELECT window.start AS start, k, SUM(v) AS n FROM s "
    "GROUP BY window(time, '10 seconds'), k",
}
BATCHES = {
    "s": [[1, 2, 4, 9], [11, 12, 25], [26, 27, 39, 41], [55, 56, 70]],
    "t": [[2, 3], [8, 14, 22], [23, 31, 45], [57, 58, 61, 80]],
}
DIES = 2
"""In the batches of this number."""


@pytest.fixture(autouse=True)
def _joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.sql.judge.JOINS", True)


class Folder(Kept):
    """With two streams that are joined."""

    def session(self, spark: SparkSession) -> hr.Session:
        session = hr.Session(spark, checkpoint=self.checkpoint)
        for name in BATCHES:
            session.stream(name, self.source(name), event_time="time")
        for name, text in QUERIES.items():
            self.ask(session, name, text)
        session.start()
        return session

    def push(self, number: int) -> None:
        for name, batches in BATCHES.items():
            self.push_batch(name, number, batches[number])

    def results(self) -> dict[str, list[Any]]:
        return self.found(QUERIES)


def wanted() -> dict[str, list[Any]]:
    """Row by row."""
    every = {name: [r for some in batches for r in rows(some)] for name, batches in BATCHES.items()}
    found: dict[str, list[Any]] = {name: [] for name in QUERIES}
    for begin in range(0, 70, 10):
        span = at(begin), at(begin + 10)
        left, right = ([r for r in every[n] if span[0] <= r["time"] < span[1]] for n in "st")
        start = str(span[0])
        for k in "ab":
            pairs = [(x, y) for x in left for y in right]
            if pairs:
                found["sums"].append([start, k, sum(x["v"] + 1 for x, _ in pairs)])
                found["rows"] += [[start, k, x["v"] * y["v"]] for x, y in pairs]
            if len(pairs) > 1:
                found["called"].append([start, k, len(pairs)])
            if left:
                met = [y for _, y in pairs if y["v"] > 0]
                found["left"].append([start, k, len(met)])
                found["alone"].append([start, k, sum(x["v"] for x in left)])
    return {name: sorted(some) for name, some in found.items()}


@dataclass
class Copies:
    """Of the folder as it is at every point while it is armed."""

    live: Path
    kept: Path
    armed: bool = False
    names: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reached(self, point: str) -> None:
        with self._lock:
            if self.armed:
                name = f"{len(self.names):03d} {point}"
                self.names.append(name)
                # What joins know first: streams may be ahead of them, never behind.
                joins = Path("checkpoint", "joins")
                _copy(self.live / joins, self.kept / name / joins)
                _copy(self.live, self.kept / name, without="joins")


def _copy(from_: Path, to: Path, without: str = "") -> None:
    """What is there: another thread may be about to write or to delete one thing more."""
    for folder, folders, files in os.walk(from_):
        folders[:] = [name for name in folders if name != without]
        there = to / Path(folder).relative_to(from_)
        there.mkdir(parents=True, exist_ok=True)
        for name in files:
            with suppress(FileNotFoundError):
                if not name.startswith("."):
                    shutil.copyfile(Path(folder, name), there / name)


@pytest.fixture(scope="module")
def crashed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Copies:
    """Copies on the way of a run that goes through."""
    path = tmp_path_factory.mktemp("points")
    folder, copies = Folder(path / "live"), Copies(path / "live", path / "kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headrace.sql.judge.JOINS", True)
        patch.setattr(faults, "at", copies.reached)
        with folder.session(spark) as session:
            for number in range(len(BATCHES["s"])):
                folder.push(number)
                copies.armed = number == DIES
                session.process_all_available()
                copies.armed = False
    assert folder.results() == wanted()
    return copies


@pytest.mark.parametrize("seed", seeds(8, 60))
def test_a_process_that_dies_anywhere_loses_nothing_and_repeats_nothing(
    spark: SparkSession, crashed: Copies, seed: int, tmp_path: Path
) -> None:
    point = random.Random(seed).choice(crashed.names)
    folder = Folder(crashed.live)
    shutil.rmtree(crashed.live)
    shutil.copytree(crashed.kept / point, crashed.live)
    for lease in crashed.live.rglob("lease-*.json"):
        lease.unlink()  # its owner, this very process, is dead as far as the test goes
    with folder.session(spark) as session:
        for number in range(DIES, len(BATCHES["s"])):
            folder.push(number)
            session.process_all_available()
    found = folder.results()
    for name, some in wanted().items():
        assert found[name] == some, (point, name)


def test_joins_come_and_go_and_leave_nothing_behind(spark: SparkSession) -> None:
    streams = {name: hr.testing.MemoryStream(SCHEMA) for name in "st"}
    with hr.Session(spark) as session:
        for name, stream in streams.items():
            session.stream(name, stream, event_time="time")
        alone = session.sql(QUERIES["alone"], name="alone")
        session.start()
        for stream in streams.values():
            stream.push(rows([1, 2, 5]))
        session.process_all_available()
        kinds = {name: text for name, text in QUERIES.items() if name != "alone"}
        joins = [session.sql(text, name=name) for name, text in kinds.items()]
        since = [q.await_active(60) for q in joins]
        assert all(at(5) < s <= at(5.01) for s in since)
        for stream in streams.values():
            stream.push(rows([7, 12, 13, 31]))
        session.process_all_available()
        assert [str(r["start"]) for r in joins[0].collect().to_pylist()] == [str(at(10))]
        before = {p.name: p.state_bytes for p in session.metrics().pipelines}
        assert before["t"] > 0
        until_ = [q.stop() for q in joins]
        assert until_ == [at(31)] * len(joins)
        for stream in streams.values():
            stream.push(rows([32, 41]))
        session.process_all_available()
        after = {p.name: p for p in session.metrics().pipelines}
        assert (after["t"].state_bytes, after["t"].groups, after["t"].queries) == (0, 0, 0)
        assert (after["s"].groups, after["s"].queries) == (1, 1)
        assert alone.status == "active"


def test_a_join_whose_expression_raises_fails_alone(spark: SparkSession) -> None:
    streams = {name: hr.testing.MemoryStream(SCHEMA) for name in "st"}
    with hr.Session(spark) as session:
        for name, stream in streams.items():
            session.stream(name, stream, event_time="time")
        poor = session.sql(
            f"SELECT SUM(CAST(r.s AS INT)) FROM {L} JOIN {R} {ON} GROUP BY l.w", name="poor"
        )
        good = session.sql(QUERIES["sums"], name="good")
        session.start()
        for stream in streams.values():
            stream.push(rows([1, 2, 31], s="no number"))
        session.process_all_available()
        until(lambda: poor.status == "failed")
        assert "CAST_INVALID_INPUT" in str(poor.error)
        assert good.status == "active"
        assert good.collect().num_rows == 1


def test_joins_do_not_wait_for_a_stream_that_is_silent(spark: SparkSession) -> None:
    clock = hr.testing.ManualClock(DAY)
    streams = {name: hr.testing.MemoryStream(SCHEMA) for name in "st"}
    with hr.Session(spark, clock=clock) as session:
        for name, stream in streams.items():
            session.stream(name, stream, event_time="time", idle_after="60 seconds")
        left = session.sql(QUERIES["left"], name="left")
        own = session.sql(QUERIES["alone"].replace("FROM s", "FROM t"), name="own")
        session.start()
        for stream in streams.values():
            stream.push(rows([1, 2]))
        session.process_all_available()
        clock.advance(50)
        streams["s"].push(rows([12, 25]))
        session.process_all_available()
        assert left.collect().num_rows == 0
        clock.advance(20)
        session.process_all_available()
        found = [(str(r["start"]), r["n"]) for r in left.collect().to_pylist()]
        assert found == [(str(at(0)), 2), (str(at(10)), 0)]
        # What comes at last is late for joins, not for its own stream, whose windows are open.
        streams["t"].push(rows([3, 13, 24, 41]))
        streams["s"].push(rows([42]))
        session.process_all_available()
        found = [(str(r["start"]), r["n"]) for r in left.collect().to_pylist()]
        assert found[2:] == [(str(at(20)), 1)]
        assert left.metrics().late_tuples == 1  # the other is not greater than 0
        assert own.metrics().late_tuples == 0
        assert own.collect().num_rows == 3
