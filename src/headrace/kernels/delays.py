"""Delays of tuples on their way to the source: a sample, as mean and second moment.

When a tuple came is known for some offsets and lies evenly between them. Every sixteenth tuple is
looked at, which costs a task next to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_EVERY = 16


class DelaySample:
    """Of the tuples of one range of offsets, chunk by chunk."""

    def __init__(self, first: int, offsets: Sequence[int], times_s: Sequence[float]) -> None:
        self._next = first
        self._offsets = np.asarray(offsets, dtype=np.float64)
        self._times_s = np.asarray(times_s, dtype=np.float64)
        self._count, self._sum_s, self._squares_s2 = 0, 0.0, 0.0

    def add(self, stamps_us: npt.NDArray[np.int64]) -> None:
        """Event times of the next tuples, none left out."""
        first, self._next = self._next, self._next + len(stamps_us)
        if not len(self._offsets):
            return
        sampled = stamps_us[::_EVERY] * 1e-6
        places = np.arange(first, first + len(stamps_us), _EVERY, dtype=np.float64)
        delays = np.interp(places, self._offsets, self._times_s) - sampled
        self._count += len(delays)
        self._sum_s += float(delays.sum())
        self._squares_s2 += float(delays @ delays)

    @property
    def moments(self) -> tuple[int, float, float]:
        """How many, their mean, and the mean of their squares, in seconds."""
        if not self._count:
            return 0, 0.0, 0.0
        return self._count, self._sum_s / self._count, self._squares_s2 / self._count
