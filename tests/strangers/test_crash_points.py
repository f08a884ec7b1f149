"""A process that dies at any point of any transaction: after the restart every row is there once,
and a sink on the driver has got every row at least once, in order.

The points are those of `runtime.faults`. What a process leaves that dies there is copied when the
point is reached; every copy is then gone on from.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import faults
from tests.spark.kept import Kept

pytestmark = [pytest.mark.spark]

TEN = "GROUP BY window(time, '10 seconds'), k"
QUERIES = {
    "sums": f"SELECT window.start AS start, k, SUM(v) AS n FROM s {TEN}",
    "having": f"SELECT window.start AS start, k, COUNT(*) AS n FROM s {TEN} HAVING COUNT(*) > 1",
    "first": f"SELECT window.start AS start, k, MAX(v) AS n FROM s {TEN} ORDER BY n DESC LIMIT 1",
    "sessions": "SELECT session_window.start AS start, k, COUNT(*) AS n FROM s "
    "GROUP BY session_window(time, '3 seconds'), k",
    "chosen": "SELECT time AS start, k, v AS n FROM s WHERE v % 2 = 0",
    "called": f"SELECT window.start AS start, k, COUNT(*) + 0 AS n FROM s {TEN}",
}
BATCHES: list[list[float]] = [[1, 2, 4, 9], [11, 12, 25], [26, 27, 39, 41], [55, 56, 70]]
DIES = 2
"""In the batch of this number."""


class Folder(Kept):
    """With one stream."""

    def session(self, spark: SparkSession) -> hr.Session:
        session = hr.Session(spark, checkpoint=self.checkpoint)
        session.stream("s", self.source("stream"), event_time="time")
        for name, text in QUERIES.items():
            self.ask(session, name, text)
        session.start()
        return session

    def push(self, number: int) -> None:
        self.push_batch("stream", number, BATCHES[number])

    def results(self) -> dict[str, list[Any]]:
        return self.found(QUERIES)


@dataclass
class Copies:
    """Of the folder as it is at every point, the first time it is reached while it is armed."""

    live: Path
    kept: Path
    armed: str = ""
    names: list[str] = field(default_factory=list)

    def reached(self, point: str) -> None:
        name = f"{self.armed}: {point}"
        if self.armed and name not in self.names:
            self.names.append(name)
            shutil.copytree(self.live, self.kept / name)


@pytest.fixture(scope="module")
def crashed(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Copies, dict[str, list[Any]]]:
    """A run that goes through, with copies on its way, and what it came to."""
    path = tmp_path_factory.mktemp("points")
    folder, copies = Folder(path / "live"), Copies(path / "live", path / "kept")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(faults, "at", copies.reached)
        with folder.session(spark) as session:
            for number in range(len(BATCHES)):
                folder.push(number)
                copies.armed = "batch" if number == DIES else ""
                session.process_all_available()
                copies.armed = ""
                if number == DIES:
                    copies.armed = "create"
                    other = session.sql("SELECT COUNT(*) FROM s " + TEN, name="other")
                    other.await_active()
                    copies.armed = "stop"
                    other.stop()
                    copies.armed = ""
    return copies, folder.results()


def test_all_points_were_seen(crashed: tuple[Copies, dict[str, list[Any]]]) -> None:
    copies, wanted = crashed
    writes = ["WriteBegin", "WriteCommit"]
    for kind, points in {
        "batch": [*writes, "transaction"],
        "create": ["WriteChange", "TellBegun"],
        "stop": ["WriteChange", "TellEnded"],
    }.items():
        for point in points:
            assert f"{kind}: before {point}" in copies.names
            assert f"{kind}: after {point}" in copies.names
    assert "batch: after outbox" in copies.names
    assert all(wanted[name] for name in QUERIES)


POINTS = [
    *(
        f"batch: {when} {what}"
        for what in ("WriteBegin", "WriteCommit")
        for when in ("before", "after")
    ),
    "batch: before transaction",
    "batch: after transaction",
    "batch: after outbox",
    "create: before WriteChange",
    "create: after WriteChange",
    "stop: before WriteChange",
    "stop: after WriteChange",
]


@pytest.mark.parametrize("point", POINTS)
def test_a_process_that_dies_there_loses_nothing_and_repeats_nothing(
    spark: SparkSession, crashed: tuple[Copies, dict[str, list[Any]]], point: str
) -> None:
    copies, wanted = crashed
    shutil.rmtree(copies.live)
    shutil.copytree(copies.kept / point, copies.live)
    for lease in copies.live.rglob("lease-*.json"):
        lease.unlink()  # its owner, this very process, is dead as far as the test goes
    folder = Folder(copies.live)
    with folder.session(spark) as session:
        for number in range(DIES, len(BATCHES)):
            folder.push(number)
            session.process_all_available()
    found = folder.results()
    for name in QUERIES:
        assert found[name] == wanted[name], name
