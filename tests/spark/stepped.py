"""A live stream that a test moves by hand, and what a crash at a named point leaves on disk.

Nothing here looks at the machine's clock: a batch runs when tuples are pushed, and a window is
closed by the clock when `Life.end` says that it ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import faults
from tests.spark.by_hand import EndsByHand
from tests.spark.helpers import DAY
from tests.spark.playing import LATENESS_S, SCHEMA, Events

_POINTS = {
    "after WriteBegin": "begun",
    "before WriteCommit": "delivered",
    "after WriteCommit": "committed",
}


@dataclass
class Images:
    """Copies of a folder as it is at the points of the transactions that a test names: `begun`
    when the begin record is there, `delivered` before the commit record is, `committed` after. A
    process that is killed there leaves just that."""

    live: Path
    kept: Path
    name: str | None = None
    """Of the transaction that is copied, None for no copy."""
    taken: list[str] = field(default_factory=list)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Look at all transactions from now on."""
        patch.setattr(faults, "at", self._reached)

    def _reached(self, point: str) -> None:
        name = f"{self.name}-{_POINTS.get(point)}"
        if self.name is not None and point in _POINTS and name not in self.taken:
            self.taken.append(name)
            shutil.copytree(self.live, self.kept / name)

    def restore(self, name: str) -> None:
        """The folder is as it was then."""
        shutil.rmtree(self.live)
        shutil.copytree(self.kept / name, self.live)
        for lease in self.live.rglob("lease-*.json"):
            lease.unlink()  # its owner, this very process, is dead as far as the test goes


class Life:
    """One process's time with a stream, from a second of the day on: approximate queries that
    write to parquet, two batches a second. What came by `pushed_s` is in the source already."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        events: Events,
        questions: Mapping[str, str],
        clocks: list[EndsByHand],
        now_s: float = 0.0,
        pushed_s: float = 0.0,
    ) -> None:
        self._folder, self._events, self._clocks = folder, events, clocks
        self._clock = hr.testing.ManualClock(DAY.timestamp() + now_s)
        self._pushed_s = pushed_s
        self._source = hr.testing.MemoryStream(SCHEMA, path=folder / "stream")
        self.session = hr.Session(spark, clock=self._clock, checkpoint=str(folder / "checkpoint"))
        self.session.stream(
            "s", self._source, event_time="time", lateness=f"{LATENESS_S:g} seconds"
        )
        for name, text in questions.items():
            path = {"path": str(folder / name)}
            self.session.sql(text, name=name, sink="parquet", options=path)
        self.session.start()

    def batch(self, now_s: float) -> None:
        """All that has come by then is read."""
        self._clock.advance(DAY.timestamp() + now_s - self._clock.now())
        came = self._events.came_s
        self._source.push(self._events.table((came > self._pushed_s) & (came <= now_s)))
        self._pushed_s = now_s
        self.session.process_all_available()

    def end(self, now_s: float) -> None:
        """A window ends by the clock."""
        self._clock.advance(DAY.timestamp() + now_s - self._clock.now())
        self._clocks[-1].close_windows(round((DAY.timestamp() + now_s) * 1e6))

    def second(self, number: int) -> None:
        """A whole one: two batches, and the end of a window."""
        self.batch(number + 0.49)
        self.batch(number + 0.99)
        self.end(number + 1.0)


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """What a query has written, as far as it is on disk."""
    rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist() if folder.exists() else []
    return [{**row, "start": (row["start"] - DAY).total_seconds()} for row in rows]
