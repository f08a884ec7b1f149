"""Driver and system under test set up against each other; stretches of time are measured on it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pyarrow as pa

from headrace.lab.bench.driver.load import Load
from headrace.lab.bench.driver.process import SystemFailed, SystemProcess
from headrace.lab.bench.driver.queues import Pull
from headrace.lab.bench.driver.requests import Plan, Request, Requests
from headrace.lab.bench.driver.server import Server
from headrace.lab.bench.workloads import Workload

SAMPLE_S = 0.25
_WARM_QUERIES = 5
"""So many queries run before those of a scenario come, so that these do not meet a cold system."""
_ROUNDS = 20
"""After so many rounds of a scenario that deletes queries, its texts come again."""
_LEVEL_S = 10.0
"""A queue that has not grown over so long is what the system keeps waiting by its own choice."""
_GIVE_UP = 0.6
"""A queue that grew by this share of all that a run will offer can no longer be worked off."""


@dataclass(frozen=True)
class Setup:
    """What is measured, and with what."""

    workload: Workload
    sut: str
    queries: int
    seed: int = 7
    partitions: int = 2
    options: Mapping[str, str] = field(default_factory=dict)
    queue_bytes: int = 4 * 2**30
    backpressure: bool = False
    """Whether events wait before a full queue; otherwise a full queue ends the run."""
    answer_s: float = 180.0
    """So long a system may take to start, and then to give its first result."""

    @property
    def label(self) -> str:
        """The system's name, with what makes it another one."""
        off = self.options.get("sharing") == "off"
        return f"{Path(self.sut).stem}{' (sharing off)' if off else ''}"


@dataclass(frozen=True)
class Moment:
    """What the driver saw at one moment."""

    at_s: float
    offered: int
    queued: int
    taken: dict[str, int]
    cpu_cores: float
    memory_mb: float
    driver_cores: float
    active: int
    latency_s: float | None


@dataclass
class Stretch:
    """A measured stretch of time: everything the driver saw, not yet judged."""

    start_s: float
    seconds: float
    rate: float
    moments: list[Moment] = field(default_factory=list)
    outputs: list[tuple[float, pa.Table]] = field(default_factory=list)
    pulls: dict[str, list[list[Pull]]] = field(default_factory=dict)
    """By reader: what it took from each partition."""
    requests: list[Request] = field(default_factory=list)
    late_s: float = 0.0
    full: str = ""
    gave_up: bool = False
    interrupted: bool = False
    failure: str = ""


Watch = Callable[[Moment, float], object]
"""Told about every moment of a stretch, with the share of it that is over."""


class Stage:
    """Runs one system under test for as many stretches as wanted."""

    def __init__(self, setup: Setup, *, keep_log: Path | None = None) -> None:
        self.setup = setup
        workload = setup.workload
        self.requests = Requests()
        self.load = Load(
            workload,
            partitions=setup.partitions,
            seed=setup.seed,
            queue_bytes=setup.queue_bytes,
            backpressure=setup.backpressure,
        )
        scenario = workload.scenario
        rounds = _ROUNDS * scenario.count if scenario is not None else 0
        texts = workload.queries(max(setup.queries, rounds, 1), setup.seed)
        self._plan = Plan(scenario, texts) if scenario is not None else None
        self._first_texts = texts[:_WARM_QUERIES]
        asked = texts[: setup.queries] if scenario is None else []
        first = {f"q{n}": t for n, t in enumerate(asked)}
        self._count = len(first)
        self.server = Server(self.load.infos, self.load.queues, first, self.requests)
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
        log_file = keep_log or self._folder / "system.log"
        self.process = SystemProcess(setup.sut, self.server.address, setup.options, log_file)
        self._driver = psutil.Process()
        self._driver_last = (time.monotonic(), 0.0)
        self._outputs_seen = 0
        self._pause = threading.Event()

    # -- life ---------------------------------------------------------------------------------

    def await_ready(self) -> None:
        """Until the system says that its queries run."""
        limit = time.monotonic() + self.setup.answer_s
        while not self.server.ready.wait(0.1):
            self.process.check()
            if time.monotonic() > limit:
                raise SystemFailed(
                    f"{self.setup.sut} was not ready after {self.setup.answer_s:.0f} s; "
                    f"its log is {self.process.log_file}"
                )
        self.load.start()

    def settle(self, rate: float, watch: Callable[[float], object] | None = None) -> None:
        """Offer `rate` until results come and the queue is short, or no longer grows: nothing of it
        is measured.

        Where all queries are still to come, a few are asked for meanwhile, and end again.
        """
        if self._plan is not None and not self.requests.all:
            self._warm(rate, watch)
        else:
            self._settle(rate, watch)

    def _warm(self, rate: float, watch: Callable[[float], object] | None) -> None:
        names = [f"warm{n}" for n in range(len(self._first_texts))]
        for name, text in zip(names, self._first_texts, strict=True):
            self.requests.add("create", name, text, time.time())
        self._settle(rate, watch)
        for name in names:
            self.requests.add("delete", name, "", time.time())
        limit = time.monotonic() + self.setup.answer_s
        while self.requests.unacknowledged() and time.monotonic() < limit:
            self._pause.wait(SAMPLE_S)
            self.process.check()

    def _settle(self, rate: float, watch: Callable[[float], object] | None) -> None:
        self.load.set_rate(rate)
        begun = time.monotonic()
        seen = self._outputs_seen
        queued: deque[int] = deque(maxlen=round(2 * _LEVEL_S / SAMPLE_S))
        while True:
            self._pause.wait(SAMPLE_S)
            self.process.check()
            waited = time.monotonic() - begun
            if watch is not None:
                watch(waited)
            answered = len(self.server.outputs(seen)) > 0
            queued.append(self.load.waiting())
            if answered and queued[-1] <= rate * max(2.0, 2.5 * self.load.batch_s()):
                return
            if answered and _is_level(queued):
                return
            if self.load.full is not None and answered:
                return
            if waited > self.setup.answer_s:
                if answered:
                    return
                raise SystemFailed(
                    f"{self.setup.sut} gave no result within {self.setup.answer_s:.0f} s"
                )

    def change(self, name: str, value: str) -> None:
        """Change a setting of the running system, and wait until it says that it has."""
        self.requests.add("change", name, value, time.time())
        asked = self.requests.all[-1]
        limit = time.monotonic() + self.setup.answer_s
        while asked.acknowledged_s is None:
            self._pause.wait(SAMPLE_S)
            self.process.check()
            if time.monotonic() > limit:
                raise SystemFailed(f"{self.setup.sut} did not change {name} to {value}")
        if asked.error:
            raise SystemFailed(f"{self.setup.sut}: {asked.error}")

    def relieve(self) -> None:
        """After too high a rate: give up what waits, and let the system come to rest."""
        self.load.set_rate(0.0)
        self.load.discard()
        self.load.full = None
        begun = time.monotonic()
        while self.load.waiting() and time.monotonic() - begun < self.setup.answer_s:
            self._pause.wait(SAMPLE_S)
            self.process.check()

    def close(self) -> None:
        """End the system and the driver."""
        self.load.stop()
        self.requests.stop()
        self.process.end()
        self.server.shutdown()
        self.load.queues.clear()

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            self.process.kill()
        self.close()
        if kind is None:  # otherwise its log may be wanted
            shutil.rmtree(self._folder, ignore_errors=True)

    # -- measuring ----------------------------------------------------------------------------

    def measure(self, rate: float, seconds: float, watch: Watch | None = None) -> Stretch:
        """Offer `rate` for so long. What was seen is kept, however it ends."""
        stretch = Stretch(time.time(), seconds, rate)
        first_request = len(self.requests.all)
        self._outputs_seen = len(self.server.outputs())
        first_output = self._outputs_seen
        self.load.set_rate(rate * self.setup.workload.rate_share(0.0))
        self.process.usage()
        self._driver_cores()
        try:
            self._watch(stretch, watch)
        except KeyboardInterrupt:
            stretch.interrupted = True
        except SystemFailed as failed:
            stretch.failure = str(failed)
        stretch.seconds = min(seconds, time.time() - stretch.start_s)
        stretch.outputs = self.server.outputs(first_output)
        stretch.requests = self.requests.all[first_request:]
        stretch.late_s = self.load.late_s(stretch.start_s)
        stretch.pulls = self.pulls()
        return stretch

    def _watch(self, stretch: Stretch, watch: Watch | None) -> None:
        profile, rate = self.setup.workload, stretch.rate
        while (at := time.time() - stretch.start_s) < stretch.seconds:
            self.process.check()
            if self.load.failure is not None:
                raise SystemFailed(f"the driver itself failed: {self.load.failure!r}")
            if profile.profile:
                self.load.set_rate(rate * profile.rate_share(at / stretch.seconds))
            if self._plan is not None:
                for request in self._plan.due(at, stretch.start_s):
                    self.requests.add(*request)
            moment = self._look(at, stretch.start_s)
            stretch.moments.append(moment)
            if watch is not None:
                watch(moment, at / stretch.seconds)
            if self.load.full is not None:
                stretch.full = str(self.load.full)
                return
            grown = moment.queued - stretch.moments[0].queued
            if grown > _GIVE_UP * rate * stretch.seconds:
                stretch.gave_up = True
                return
            self._pause.wait(SAMPLE_S - (time.time() - stretch.start_s) % SAMPLE_S)

    def _look(self, at_s: float, start_s: float) -> Moment:
        queued = self.load.waiting()
        fresh = self.server.outputs(self._outputs_seen)
        self._outputs_seen += len(fresh)
        cores, memory = self.process.usage()
        return Moment(
            at_s=at_s,
            offered=self.load.offered(),
            queued=queued,
            taken=self.load.taken(),
            cpu_cores=cores,
            memory_mb=memory,
            driver_cores=self._driver_cores(),
            active=self._count if self._plan is None else self._plan.active,
            latency_s=_latency_s(fresh, start_s),
        )

    def pulls(self) -> dict[str, list[list[Pull]]]:
        """By reader: what it took from each partition."""
        found: dict[str, list[list[Pull]]] = {}
        for queue in self.load.all_queues():
            for name, pulls in queue.pulls().items():
                found.setdefault(name, []).append(pulls)
        return found

    def _driver_cores(self) -> float:
        times = self._driver.cpu_times()
        now, used = time.monotonic(), times.user + times.system
        before, used_before = self._driver_last
        self._driver_last = now, used
        return float(used - used_before) / max(now - before, 1e-9)


def _is_level(queued: deque[int]) -> bool:
    """Whether a queue, short or long, rose no higher in the second half than in the first."""
    if queued.maxlen is None or len(queued) < queued.maxlen:
        return False
    half = len(queued) // 2
    first, second = list(queued)[:half], list(queued)[half:]
    return max(second) <= max(first)


def _latency_s(outputs: list[tuple[float, pa.Table]], since_s: float) -> float | None:
    """The longest event-time latency of results that came together."""
    longest = None
    for at, table in outputs:
        times = event_times_us(table)
        times = times[times >= since_s * 1e6]
        if len(times):
            latency = at - float(times.min()) / 1e6
            longest = latency if longest is None else max(longest, latency)
    return longest


def event_times_us(outputs: pa.Table) -> npt.NDArray[np.int64]:
    """The largest event time behind each result, of those that tell one."""
    column = outputs.column("event_time").drop_null()
    times: npt.NDArray[np.int64] = column.cast(pa.int64()).to_numpy()
    return times


def driver_settings(setup: Setup) -> dict[str, Any]:
    """What the report tells about the driver."""
    return {
        "partitions": setup.partitions,
        "queue_bytes": setup.queue_bytes,
        "backpressure": setup.backpressure,
        "sample_s": SAMPLE_S,
        "cores_of_the_machine": os.cpu_count(),
    }
