"""The queue in front of the system under test: one per partition, in memory, bounded.

Tuples have offsets. Consumers pull ranges, may pull them again until they commit, and what all
consumers have committed is let go.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa

import headrace as hr

_ADVANCES = 20
"""So many commits of each consumer are remembered."""


class QueueFull(hr.HeadraceError):
    """The system under test is so far behind that the driver gives up."""


@dataclass(frozen=True)
class Pull:
    """A range that a consumer took: when, up to which offset, up to which event time."""

    at_s: float
    end: int
    event_time_us: int


@dataclass
class _Consumer:
    committed: int
    taken: int
    advanced_s: deque[float] = field(default_factory=lambda: deque(maxlen=_ADVANCES))


class Queue:
    """One partition of a stream."""

    def __init__(self, capacity: int, *, backpressure: bool = False) -> None:
        self.capacity = capacity
        self._backpressure = backpressure
        self._batches: list[pa.RecordBatch | None] = []
        self._firsts: list[int] = []
        """The offset of the first tuple of each batch."""
        self._latest_us: list[int] = []
        """The largest event time of each batch and all before it."""
        self._end = 0
        self._kept_from = 0
        self._consumers: dict[str, _Consumer] = {}
        self._pulls: dict[str, list[Pull]] = {}
        self._lock = threading.Lock()

    def append(self, batch: pa.RecordBatch) -> None:
        """Put tuples at the end; their event time is the column `time`."""
        if not batch.num_rows:
            return
        highest = int(batch.column("time").view(pa.int64()).to_numpy().max())
        with self._lock:
            held = self._end + batch.num_rows - self._kept_from
            if held > self.capacity and not self._backpressure:
                raise QueueFull(
                    f"the queue is full: {self.capacity:,} events of one partition wait to be "
                    "taken or committed"
                )
            before = self._latest_us[-1] if self._latest_us else highest
            self._batches.append(batch)
            self._firsts.append(self._end)
            self._latest_us.append(max(before, highest))
            self._end += batch.num_rows

    @property
    def end(self) -> int:
        """The offset after the last tuple."""
        return self._end

    @property
    def held(self) -> int:
        """Tuples in memory: not taken, or taken and not committed."""
        return self._end - self._kept_from

    @property
    def has_room(self) -> bool:
        """Whether more may be put in; without backpressure that is found out by trying."""
        return not self._backpressure or self.held < self.capacity

    def open(self, consumer: str, *, at_end: bool) -> int:
        """Let a consumer begin: with the oldest tuple that is still here, or with the next one."""
        with self._lock:
            known = self._consumers.get(consumer)
            if known is not None:
                return known.committed
            start = self._end if at_end else self._kept_from
            self._consumers[consumer] = _Consumer(start, start)
            return start

    def close(self, consumer: str) -> None:
        """It will not read again."""
        with self._lock:
            self._consumers.pop(consumer, None)
            self._let_go()

    def read(
        self, consumer: str, start: int, end: int, columns: Sequence[str], now_s: float
    ) -> list[pa.RecordBatch]:
        """The tuples of a range; those given up between two runs are left out.

        A reader that is no consumer takes nothing away: it reads for others, who commit.
        """
        with self._lock:
            if start < self._kept_from:
                raise hr.HeadraceError(
                    f"offset {start} was committed and is gone; the oldest is {self._kept_from}"
                )
            if end > self._end:
                raise hr.HeadraceError(f"offset {end} is not there yet; the newest is {self._end}")
            found: list[pa.RecordBatch] = []
            number = max(bisect_right(self._firsts, start) - 1, 0)
            last = number
            while number < len(self._batches) and self._firsts[number] < end:
                batch, first = self._batches[number], self._firsts[number]
                last = number
                if batch is not None:
                    low, high = max(start - first, 0), min(end - first, batch.num_rows)
                    if high > low:
                        found.append(batch.slice(low, high - low))
                number += 1
            reader = self._consumers.get(consumer)
            if reader is not None:
                reader.taken = max(reader.taken, end)
            pulls = self._pulls.setdefault(consumer, [])
            if found and (not pulls or end > pulls[-1].end):
                pulls.append(Pull(now_s, end, self._latest_us[last]))
        return [b.select(list(columns)) for b in found] if columns else found

    def commit(self, consumer: str, offset: int, now_s: float) -> None:
        """The consumer will not ask for anything before this offset again."""
        with self._lock:
            reader = self._consumers.get(consumer)
            if reader is not None:
                if offset > reader.committed:
                    reader.advanced_s.append(now_s)
                reader.committed = max(reader.committed, min(offset, self._end))
                reader.taken = max(reader.taken, reader.committed)
                self._let_go()

    def discard(self) -> None:
        """Give up all tuples that nobody has taken; their offsets stay, without tuples."""
        with self._lock:
            taken = max((c.taken for c in self._consumers.values()), default=self._end)
            for number, first in enumerate(self._firsts):
                if first >= taken:
                    self._batches[number] = None

    def taken(self) -> dict[str, int]:
        """How far each consumer has read."""
        with self._lock:
            return {name: c.taken for name, c in self._consumers.items()}

    def waiting(self) -> int:
        """How many tuples the slowest consumer has not taken yet; none without a consumer."""
        with self._lock:
            slowest = min((c.taken for c in self._consumers.values()), default=self._end)
            return self._end - slowest

    def pulls(self) -> dict[str, list[Pull]]:
        """What each reader took, in order."""
        with self._lock:
            return {name: list(pulls) for name, pulls in self._pulls.items()}

    def between_commits(self) -> list[float]:
        """Seconds from one commit to the next, of each consumer: how long its batches take."""
        with self._lock:
            advanced = [list(c.advanced_s) for c in self._consumers.values()]
        return [b - a for times in advanced for a, b in pairwise(times)]

    def _let_go(self) -> None:
        upto = min((c.committed for c in self._consumers.values()), default=self._kept_from)
        count = 0
        while count < len(self._firsts) - 1 and self._firsts[count + 1] <= upto:
            count += 1
        if count:
            del self._batches[:count], self._firsts[:count], self._latest_us[:count]
        self._kept_from = max(self._kept_from, upto)


def pulled_at(pulls: Sequence[Pull], event_times_us: np.ndarray) -> np.ndarray:
    """When a tuple of each event time was taken, in seconds; NaN when it was not yet."""
    if not pulls:
        return np.full(len(event_times_us), np.nan)
    upto = np.array([p.event_time_us for p in pulls])
    at = np.append(np.array([p.at_s for p in pulls]), np.nan)
    return at[np.searchsorted(upto, event_times_us, side="left")]
