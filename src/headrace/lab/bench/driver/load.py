"""The load: feeds that run by the clock, the queues they fill, and whether they kept up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from headrace.lab.bench.driver.feed import TICK_S, Feed
from headrace.lab.bench.driver.protocol import StreamInfo
from headrace.lab.bench.driver.queues import Queue, QueueFull
from headrace.lab.bench.makers import maker
from headrace.lab.bench.workloads import StreamSpec, Workload
from headrace.lab.delays import read_delay

LATE_S = 0.5
"""A driver that hands events over later than this does not measure, it disturbs."""


_GULP_S = 0.05
"""After backpressure, events come in steps of this length until the queue is full again."""


class Load:
    """Makes the events of a workload in a thread of its own."""

    def __init__(
        self,
        workload: Workload,
        *,
        partitions: int,
        seed: int,
        queue_bytes: int,
        backpressure: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._workload = workload
        self._backpressure = backpressure
        self._clock = clock
        self.start_s = clock()
        self.full: QueueFull | None = None
        self.failure: Exception | None = None
        self._stop = threading.Event()
        self._skip = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-bench-load", daemon=True)
        self._late: list[tuple[float, float]] = []
        self._feeds: dict[str, list[Feed]] = {}
        self.queues: dict[str, list[Queue]] = {}
        self.infos: list[StreamInfo] = []
        for number, spec in enumerate(workload.streams):
            self._add(spec, partitions, seed + 1000 * number, queue_bytes, len(workload.streams))

    def _add(
        self, spec: StreamSpec, partitions: int, seed: int, queue_bytes: int, streams: int
    ) -> None:
        made = maker(spec.maker, spec.parameters)
        gap = None if spec.gap == "constant" else read_delay(spec.gap)
        self._feeds[spec.name] = [
            Feed(
                made,
                seed=seed,
                partition=partition,
                partitions=partitions,
                start_s=self.start_s,
                delay=read_delay(spec.delay),
                gap=gap,
            )
            for partition in range(partitions)
        ]
        sample = self._feeds[spec.name][0].sample()
        per_event = max(sample.nbytes / sample.num_rows, 1.0)
        capacity = int(queue_bytes / per_event / partitions / streams)
        self.queues[spec.name] = [
            Queue(capacity, backpressure=self._backpressure) for _ in range(partitions)
        ]
        info = StreamInfo.of(spec.name, partitions, spec.lateness, sample.schema)
        self.infos.append(info)

    def start(self) -> None:
        """Begin to make events; at rate 0 until `set_rate`."""
        self._step(self._clock())
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def set_rate(self, rate: float) -> None:
        """Events per second over all streams from now on."""
        for spec in self._workload.streams:
            feeds = self._feeds[spec.name]
            for feed in feeds:
                feed.set_rate(rate * spec.share / len(feeds))

    def discard(self) -> None:
        """Give up what waits in the queues and before them, between two measurements."""
        self._skip.set()
        for queue in self.all_queues():
            queue.discard()

    # -- what has happened --------------------------------------------------------------------

    def offered(self) -> int:
        """Events that have reached the queues."""
        return sum(q.end for q in self.all_queues())

    def waiting(self) -> int:
        """Events that the slowest consumer has not taken."""
        return sum(q.waiting() for q in self.all_queues())

    def taken(self) -> dict[str, int]:
        """How many events each consumer has taken, over all partitions and streams."""
        total: dict[str, int] = {}
        for queue in self.all_queues():
            for name, count in queue.taken().items():
                total[name] = total.get(name, 0) + count
        return total

    def batch_s(self) -> float:
        """How long a batch of the system commonly takes, by its commits."""
        between = [b for q in self.all_queues() for b in q.between_commits()]
        return float(np.median(between)) if between else 0.0

    def late_s(self, since_s: float) -> float:
        """The longest that events came later than they were due, 1 % of the steps left out."""
        late = [length for at, length in self._late if at >= since_s]
        return float(np.quantile(late, 0.99)) if late else 0.0

    def all_queues(self) -> list[Queue]:
        """The queues of all streams."""
        return [q for queues in self.queues.values() for q in queues]

    def _run(self) -> None:
        done = self._clock()
        while not self._stop.is_set():
            now = self._clock()
            try:
                self._step(now)
            except QueueFull as full:
                self.full = full
                self.set_rate(0.0)
            except Exception as error:  # told to whoever waits for the run
                self.failure = error
                return
            finished = self._clock()
            self._late.append((finished, finished - done))
            done = now
            self._stop.wait(max(TICK_S - (self._clock() - now), 0.0))

    def _step(self, now: float) -> None:
        if self._skip.is_set():
            self._skip.clear()
            for feed in (f for feeds in self._feeds.values() for f in feeds):
                feed.skip_to(now)
        for name, feeds in self._feeds.items():
            for feed, queue in zip(feeds, self.queues[name], strict=True):
                self._fill(feed, queue, now)

    def _fill(self, feed: Feed, queue: Queue, now: float) -> None:
        """With backpressure, events wait before a full queue and keep the times they were due."""
        if not self._backpressure:
            for batch in feed.upto(now):
                queue.append(batch)
            return
        while queue.has_room and feed.reached_s < now:
            for batch in feed.upto(min(feed.reached_s + _GULP_S, now)):
                queue.append(batch)


def speed(workload: Workload, *, seconds: float = 1.0, seed: int = 7) -> float:
    """Events per second that one core can make and put into queues."""
    load = Load(workload, partitions=1, seed=seed, queue_bytes=2**40, clock=lambda: 0.0)
    virtual, begun = 0.0, time.perf_counter()
    load.set_rate(5e6)
    while time.perf_counter() - begun < seconds:
        virtual += TICK_S
        load._step(virtual)
    return load.offered() / (time.perf_counter() - begun)
