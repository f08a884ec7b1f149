"""The demo itself, in a thread of its own: start Spark, fill the room, run, and leave it tidy."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from enum import Enum
from pathlib import Path
from typing import Any

import headrace as hr
from headrace.lab.demo.crowd import Crowd
from headrace.lab.demo.figures import Figures, take_figures

_CHANGE_EVERY_S = 2.0
_PURCHASES = 2 / 3
"""Their share of all events; the others are ads."""
_WARM_AFTER = 2
"""Batches: the first is slow, and the second works off what it left waiting."""

_SPARK: dict[str, Any] = {
    # A demo is short: code that is compiled quickly beats code that is compiled well.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "2g",
}


class Phase(Enum):
    """Where the demo is; the value is what the viewer is told."""

    STARTING = "Starting Spark"
    ASKING = "Asking the first questions"
    WARMING = "First batches: Spark starts its workers and compiles its plans"
    RUNNING = "Running"
    CLOSING = "Finishing the batch and closing"
    OVER = "Over"


class Show(threading.Thread):
    """Runs until its time is over or it is asked to end; `error` tells whether it got there."""

    def __init__(self, seconds: float, rate: float, queries: int, seed: int = 7) -> None:
        super().__init__(name="headrace-demo", daemon=True)
        self.seconds = seconds
        self.phase = Phase.STARTING
        self.error: Exception | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="headrace-demo-"))
        self._rate = rate
        self._size = queries
        self._seed = seed
        self._end = threading.Event()
        self._running_since: float | None = None
        self._ran_s = 0.0
        self._scene: tuple[hr.Session, Crowd] | None = None
        self._last: Figures | None = None
        self._lock = threading.Lock()

    def end(self) -> None:
        """Ask it to close at the next moment it can."""
        self._end.set()

    @property
    def is_asked_to_end(self) -> bool:
        """Whether somebody did not want to wait until its time is over."""
        return self._end.is_set()

    @property
    def doing(self) -> str:
        """What it is doing now, for the viewer."""
        return "Stopping" if self.is_asked_to_end else self.phase.value

    @property
    def log_file(self) -> Path:
        """What Spark and its workers had to say."""
        return self.folder / "spark.log"

    @property
    def ran_s(self) -> float:
        """How long it has been running, start-up not counted."""
        if self.phase is Phase.RUNNING and self._running_since is not None:
            self._ran_s = time.monotonic() - self._running_since
        return self._ran_s

    def figures(self) -> Figures | None:
        """The figures now, the last ones when it is closing; None before the streams run."""
        with self._lock:
            if self._scene is not None:
                self._last = take_figures(*self._scene)
        return self._last

    def tidy(self) -> None:
        """Remove what it kept on disk."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self) -> None:
        try:
            spark = hr.local_spark(log_file=self.log_file, **_SPARK)
            try:
                with hr.Session(spark, checkpoint=str(self.folder / "checkpoint")) as session:
                    try:
                        self._play(session)
                    finally:
                        self._leave_stage()
            finally:
                spark.stop()
        except Exception as error:
            self.error = error
        finally:
            self.phase = Phase.OVER

    def _play(self, session: hr.Session) -> None:
        self.phase = Phase.ASKING
        purchases = hr.sources.Purchases(
            rate=self._rate * _PURCHASES, seed=self._seed, partitions=1
        )
        ads = hr.sources.Ads(rate=self._rate * (1 - _PURCHASES), seed=self._seed + 1, partitions=1)
        session.stream("purchases", purchases, event_time="time")
        session.stream("ads", ads, event_time="time")
        crowd = Crowd(session, self._size, self._seed)
        for _ in range(self._size):
            if self._end.is_set():
                return
            crowd.come()
        self._scene = (session, crowd)
        self.phase = Phase.WARMING
        session.start()
        while take_figures(session, crowd).batches < _WARM_AFTER:
            self._check(crowd)
            if self._end.wait(0.1):
                return
        self._running_since = time.monotonic()
        self.phase = Phase.RUNNING
        while not self._end.wait(min(_CHANGE_EVERY_S, max(0.0, self.seconds - self.ran_s))):
            if self.ran_s >= self.seconds:
                break
            self._check(crowd)
            crowd.change()

    def _leave_stage(self) -> None:
        """From here on nobody asks the session anything."""
        self.figures()
        with self._lock:
            self.phase = Phase.CLOSING
            self._scene = None

    def _check(self, crowd: Crowd) -> None:
        """None of the demo's questions may fail."""
        present = crowd.present
        failed = [q for q in present if q.status == "failed"]
        if failed:
            raise hr.ExecutionError(f"query {failed[0].name!r} failed: {failed[0].error}")
