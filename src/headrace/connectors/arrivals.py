"""When the tuples of an Arrow source came, as far as it was asked.

A source that tells how far it has come is asked once for all of its pipelines. What it answered is
kept with the time, so that an offset has a time and a time has offsets, to the gap between two
answers.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from headrace.connectors.offsets import Came, Offsets, Range
from headrace.connectors.source import Source

_ASK_EVERY_S = 0.02
_POINTS = 64
"""So many offsets of a range are told with their times."""
_KEPT = 20_000
"""Answers kept: several minutes' worth."""


class Arrivals:
    """Of one source, for all pipelines that read it. Safe to use from any thread."""

    def __init__(self, source: Source, now: Callable[[], float] = time.time) -> None:
        able = source.abilities
        self._ask = source.newest if able.newest and able.counts else None
        self._now = now
        self._lock = threading.Lock()
        self._times: list[float] = []
        self._offsets: list[dict[str, int]] = []

    @property
    def known(self) -> bool:
        """Whether the source tells how far it has come."""
        return self._ask is not None

    def newest(self, within_s: float = _ASK_EVERY_S) -> Offsets:
        """How far the source has come, as of a moment ago; asking it takes a round trip."""
        assert self._ask is not None
        with self._lock:
            now = self._now()
            if not self._times or now - self._times[-1] >= within_s:
                self._times.append(now)
                self._offsets.append({p: int(o) for p, o in self._ask().items()})
                if len(self._times) > _KEPT:
                    del self._times[: _KEPT // 2], self._offsets[: _KEPT // 2]
            return self._offsets[-1]

    def came_at(self, start: Offsets) -> float | None:
        """When the first tuple after these offsets came; None when none has."""
        with self._lock:
            found = []
            for partition, offset in start.items():
                at = bisect_right(self._offsets, int(offset), key=lambda o, p=partition: o[p])  # type: ignore[misc]
                if at < len(self._times):
                    found.append(self._times[at])
            return min(found, default=None)

    def of(self, mine: Range) -> Came:
        """When the tuples of a range came, at some offsets of it."""
        with self._lock:
            low = bisect_right(self._offsets, int(mine.start), key=lambda o: o[mine.partition])
            high = bisect_left(self._offsets, int(mine.end), key=lambda o: o[mine.partition])
            numbers = range(max(low - 1, 0), min(high + 1, len(self._times)))
            step = max(len(numbers) // _POINTS, 1)
            kept = sorted({*numbers[::step], *numbers[-1:]})
            return Came(
                tuple(self._offsets[n][mine.partition] for n in kept),
                tuple(self._times[n] for n in kept),
            )

    def upto(self, time_s: float) -> Offsets | None:
        """How far the source had come at a time, or soon after; None before it was asked."""
        with self._lock:
            at = bisect_left(self._times, time_s)
            return self._offsets[at] if at < len(self._times) else None
