"""Delays of tuples on their way to the source: a sample, as moments or by sub-stream.

When a tuple came is known for some offsets and lies evenly between them. Every sixteenth tuple is
looked at, which costs a task next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.kernels.columns import Bools, Ints

_EVERY = 16


class DelaySample:
    """Of the tuples of one range of offsets, chunk by chunk."""

    def __init__(self, first: int, offsets: Sequence[int], times_s: Sequence[float]) -> None:
        self._next = first
        self._offsets = np.asarray(offsets, dtype=np.float64)
        self._times_s = np.asarray(times_s, dtype=np.float64)
        self._count, self._sum_s, self._squares_s2 = 0, 0.0, 0.0

    def add(self, stamps_us: Ints) -> npt.NDArray[np.float64] | None:
        """Event times of the next tuples, none left out; returns the delays of those whose offset
        is a multiple of sixteen, or None where it is not known when they came."""
        first, self._next = self._next, self._next + len(stamps_us)
        if not len(self._offsets):
            return None
        skipped = -first % _EVERY
        sampled = stamps_us[skipped::_EVERY] * 1e-6
        places = np.arange(first + skipped, first + len(stamps_us), _EVERY, dtype=np.float64)
        delays = np.interp(places, self._offsets, self._times_s) - sampled
        self._count += len(delays)
        self._sum_s += float(delays.sum())
        self._squares_s2 += float(delays @ delays)
        return delays

    @property
    def moments(self) -> tuple[int, float, float]:
        """How many, their mean, and the mean of their squares, in seconds."""
        if not self._count:
            return 0, 0.0, 0.0
        return self._count, self._sum_s / self._count, self._squares_s2 / self._count


_FEW = 16
_MANY = 100_000


@dataclass(frozen=True, slots=True)
class SubStreamsFound:
    """The longest delay; by sub-stream how many tuples came, how many are kept, and delays as bins
    with their counts."""

    longest_s: float
    counts: Mapping[int, tuple[int, int, tuple[tuple[int, int], ...]]]


class SubStreamCounts:
    """Tuples by sub-stream: how many came, how many are kept, and some of them by delay.

    Where the source does not tell when tuples came, they came one after the other since the
    beginning of the last batch; without that, nothing is known of their delays.
    """

    def __init__(
        self,
        length_us: int,
        edges_s: npt.NDArray[np.float64],
        since_us: int | None,
        now_us: int,
    ) -> None:
        self._length_us = length_us
        self._edges_s = edges_s
        self._since_us = since_us
        self._now_us = now_us
        self._longest_s = 0.0
        self._counts: dict[int, list[int]] = {}
        self._delays: dict[int, Ints] = {}

    def add(
        self,
        stamps_us: Ints,
        first: int,
        delays_s: npt.NDArray[np.float64] | None = None,
        kept: Bools | None = None,
    ) -> None:
        """Event times of some tuples from an offset on, the delays of those whose offset is a
        multiple of sixteen, and which are kept."""
        if not len(stamps_us):
            return
        looked_at = slice(-first % _EVERY, None, _EVERY)
        for number, count in _counted(stamps_us, self._length_us):
            known = self._counts.setdefault(number, [0, 0])
            known[0] += count
            if kept is None:
                known[1] += count
        if kept is not None:
            for number, count in _counted(stamps_us[kept], self._length_us):
                self._counts[number][1] += count
        if delays_s is None and self._since_us is not None:
            stamps = stamps_us[looked_at]
            came = (np.arange(len(stamps)) + 0.5) / max(len(stamps), 1)
            delays_s = (self._since_us - stamps + (self._now_us - self._since_us) * came) * 1e-6
        if delays_s is None or not len(delays_s):
            return
        self._longest_s = max(self._longest_s, float(delays_s.max()))
        bins = len(self._edges_s) - 1
        bin_of = np.clip(np.searchsorted(self._edges_s, delays_s, side="right") - 1, 0, bins - 1)
        places, place_of = _numbered(stamps_us[looked_at] // self._length_us)
        table = np.bincount(place_of * bins + bin_of, minlength=len(places) * bins)
        for number, row in zip(places.tolist(), table.reshape(-1, bins), strict=True):
            before = self._delays.get(number)
            self._delays[number] = row if before is None else before + row

    @property
    def found(self) -> SubStreamsFound:
        """What was counted."""
        out: dict[int, tuple[int, int, tuple[tuple[int, int], ...]]] = {}
        for number, (count, kept) in self._counts.items():
            delays = self._delays.get(number)
            used = [] if delays is None else np.flatnonzero(delays).tolist()
            bins = tuple((b, int(delays[b])) for b in used)  # type: ignore[index]
            out[int(number)] = (int(count), int(kept), bins)
        return SubStreamsFound(float(self._longest_s), out)


def _numbered(values: Ints) -> tuple[Ints, Ints]:
    """The different values, or a range of them that is not much longer, and where each is in it."""
    low, high = int(values.min()), int(values.max())
    if high - low <= _FEW:
        return np.arange(low, high + 1), values - low
    return np.unique(values, return_inverse=True)


def _counted(stamps_us: Ints, length_us: int) -> list[tuple[int, int]]:
    """How many times fall into each sub-stream."""
    if not len(stamps_us):
        return []
    low, high = int(stamps_us.min()) // length_us, int(stamps_us.max()) // length_us
    if high - low <= _FEW:
        # A comparison is several times cheaper than a division.
        below = [np.count_nonzero(stamps_us < n * length_us) for n in range(low + 1, high + 1)]
        counts = np.diff([0, *below, len(stamps_us)])
        values = np.arange(low, high + 1)
    elif high - low <= _MANY:
        counts = np.bincount(stamps_us // length_us - low)
        values = np.arange(low, high + 1)
    else:
        values, counts = np.unique(stamps_us // length_us, return_counts=True)
    return [(v, n) for v, n in zip(values.tolist(), counts.tolist(), strict=True) if n]
