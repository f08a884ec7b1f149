"""How much of a stretch of event time has arrived, and how much there will be (Aion, section 3).

Event time is cut into sub-streams of equal length. Of each is kept how many tuples have come, by
how long they took. Those that are complete tell how many tuples a sub-stream has and how delays are
distributed; from both follows what is still missing of one that is not.

The expected size of a sub-stream that is partly there weighs what is usual against what has come:
``E[N | n] = μ + k (n − F μ)`` with ``k = F σ² / (F² σ² + F (1 − F) μ)``, where F is the share that
should have come, μ and σ² are mean and variance of complete ones. With an even rate (σ = 0) only
the usual size counts; the less even it is, the more what has come does. The variance left over is
``σ² (1 − k F)``, and that of the mean itself on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

HISTORY = 50
"""Complete sub-streams remembered (m of the paper)."""
_SHORTEST_S, _LONGEST_S, _PER_DECADE = 1e-3, 1e3, 20
_DECADES = round(math.log10(_LONGEST_S / _SHORTEST_S))
EDGES_S: npt.NDArray[np.float64] = np.concatenate(
    [[0.0], np.geomspace(_SHORTEST_S, _LONGEST_S, _DECADES * _PER_DECADE + 1)]
)
"""Delays are counted in bins between these, twenty to a factor of ten. What is shorter, or negative
because clocks disagree, is in the first one, and what is longer in the last."""
BINS = len(EDGES_S) - 1

Counts = npt.NDArray[np.int64]
"""Tuples by bin of delay."""


def bin_of(delays_s: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The bin of every delay."""
    return np.clip(np.searchsorted(EDGES_S, delays_s, side="right") - 1, 0, BINS - 1)


@dataclass(frozen=True, slots=True)
class Size:
    """How many tuples a stretch of event time has, as far as can be told before all have come."""

    arrived: float = 0.0
    expected: float = 0.0
    variance: float = 0.0
    """Of the expected number."""
    due: float = 0.0
    """How many should have come by now."""
    due_variance: float = 0.0

    @property
    def share(self) -> float:
        """Of all tuples that has arrived, as far as is known."""
        return min(self.arrived / self.expected, 1.0) if self.expected > 0.0 else 1.0

    @property
    def relative_variance(self) -> float:
        """Of the expected number."""
        return self.variance / self.expected**2 if self.expected > 0.0 else 0.0

    @property
    def at_most(self) -> float:
        """Over-estimated by two standard deviations, as the paper sizes its samples."""
        return self.expected + 2.0 * math.sqrt(self.variance)

    @property
    def surprise(self) -> float:
        """How many standard deviations what has come is away from what should have."""
        gap = abs(self.arrived - self.due)
        return gap / math.sqrt(max(self.due_variance, 1.0))

    def plus(self, other: Size) -> Size:
        """Of both stretches together."""
        return Size(
            self.arrived + other.arrived,
            self.expected + other.expected,
            self.variance + other.variance,
            self.due + other.due,
            self.due_variance + other.due_variance,
        )

    def scaled(self, part: float) -> Size:
        """Of a part of the stretch, tuples lying evenly in it."""
        return Size(
            self.arrived * part,
            self.expected * part,
            self.variance * part,
            self.due * part,
            self.due_variance * part,
        )


@dataclass(frozen=True, slots=True)
class Usual:
    """What complete sub-streams tell: sizes, and the distribution of delays."""

    mean: float
    variance: float
    count: int
    shares: npt.NDArray[np.float64]
    """Of tuples that have come after each edge of the bins."""
    areas_s: npt.NDArray[np.float64]
    """Integral of the share up to each edge."""

    @classmethod
    def of(cls, ended: list[Counts]) -> Usual:
        """Of some complete sub-streams."""
        sizes = np.array([counts.sum() for counts in ended], dtype=np.float64)
        delays = np.sum(ended, axis=0)
        shares = np.concatenate([[0.0], np.cumsum(delays) / max(delays.sum(), 1)])
        steps = np.diff(EDGES_S) * (shares[:-1] + shares[1:]) / 2.0
        variance = float(sizes.var(ddof=1)) if len(sizes) > 1 else 0.0
        areas = np.concatenate([[0.0], np.cumsum(steps)])
        return cls(float(sizes.mean()), variance, len(sizes), shares, areas)

    def share_by(self, age_s: float) -> float:
        """Of tuples that take no longer than this."""
        return float(np.interp(age_s, EDGES_S, self.shares))

    def delay_s(self, share: float) -> float:
        """The delay that this share of tuples does not exceed."""
        if self.shares[-1] <= 0.0:
            return 0.0
        place = int(np.searchsorted(self.shares, min(share, float(self.shares[-1])), side="left"))
        if place == 0:
            return 0.0
        low, high = self.shares[place - 1], self.shares[place]
        step = (share - low) / (high - low) if high > low else 1.0
        return float(EDGES_S[place - 1] + min(step, 1.0) * (EDGES_S[place] - EDGES_S[place - 1]))

    def share_between(self, youngest_s: float, oldest_s: float) -> float:
        """Of tuples of such ages, evenly spread, that should have come."""
        if oldest_s <= youngest_s:
            return self.share_by(oldest_s)
        area = self._area_s(oldest_s) - self._area_s(youngest_s)
        return min(max(area / (oldest_s - youngest_s), 0.0), 1.0)

    def _area_s(self, age_s: float) -> float:
        if age_s <= 0.0:
            return 0.0
        beyond = max(age_s - float(EDGES_S[-1]), 0.0) * float(self.shares[-1])
        place = min(int(np.searchsorted(EDGES_S, age_s, side="right")) - 1, BINS - 1)
        into = min(age_s, float(EDGES_S[-1])) - float(EDGES_S[place])
        width = float(EDGES_S[place + 1] - EDGES_S[place])
        low, high = float(self.shares[place]), float(self.shares[place + 1])
        at = low + (high - low) * into / width
        return float(self.areas_s[place]) + into * (low + at) / 2.0 + beyond

    def size(self, arrived: float, share: float) -> Size:
        """Of a sub-stream of which so many have come, and this share should have."""
        due, spread = share * self.mean, share * (1.0 - share) * self.mean
        seen = share**2 * self.variance + spread
        weight = share * self.variance / seen if seen > 0.0 else 0.0
        expected = max(self.mean + weight * (arrived - due), arrived)
        left = self.variance * (1.0 - weight * share)
        of_mean = self.variance / self.count * (1.0 - weight * share) ** 2
        return Size(
            arrived, expected, left + of_mean, due, seen + share**2 * self.variance / self.count
        )


class SubStreams:
    """Of one stream. Fed by numbers, by one thread."""

    def __init__(self, length_us: int, history: int = HISTORY) -> None:
        if length_us <= 0:
            raise ValueError(f"a sub-stream of {length_us} µs holds nothing")
        self.length_us = length_us
        self._history = history
        self._open: dict[int, Counts] = {}
        self._ended: dict[int, Counts] = {}
        self._next: int | None = None
        """The first sub-stream that is not complete."""
        self._usual: Usual | None = None

    @property
    def usual(self) -> Usual | None:
        """What to expect; None before two sub-streams are complete."""
        if self._usual is None and len(self._ended) >= 2:
            self._usual = Usual.of(list(self._ended.values()))
        return self._usual

    def heard(self, counts: Mapping[int, Counts]) -> None:
        """After a batch: tuples by sub-stream. Those of complete ones are late, and left out."""
        if not counts:
            return
        if self._next is None:
            # The first one is cut short by the beginning of the stream: it tells nothing.
            self._next = min(counts) + 1
        for number, found in counts.items():
            if number >= self._next:
                before = self._open.get(number)
                self._open[number] = found if before is None else before + found

    def completed(self, watermark_us: int) -> None:
        """Nothing before the watermark counts any more. A sub-stream without a tuple does."""
        upto = watermark_us // self.length_us
        if self._next is None or upto <= self._next:
            return
        for number in range(max(self._next, upto - self._history), upto):
            self._ended[number] = self._open.get(number, np.zeros(BINS, np.int64))
        for number in [n for n in self._open if n < upto]:
            del self._open[number]
        for number in list(self._ended)[: -self._history]:
            del self._ended[number]
        self._next = upto
        self._usual = None

    def size(self, start_us: int, end_us: int, now_us: int) -> Size | None:
        """Of a stretch of event time; None while nothing is known."""
        usual = self.usual
        if usual is None or self._next is None:
            return None
        whole, length = Size(), self.length_us
        for number in range(start_us // length, -(-end_us // length)):
            begins, ends = number * length, (number + 1) * length
            if number < self._next:
                ended = self._ended.get(number)
                count = usual.mean if ended is None else float(ended.sum())
                one = Size(count, count, 0.0, count)
            else:
                counts = self._open.get(number)
                arrived = 0.0 if counts is None else float(counts.sum())
                share = usual.share_between((now_us - ends) / 1e6, (now_us - begins) / 1e6)
                one = usual.size(arrived, share)
            part = (min(ends, end_us) - max(begins, start_us)) / length
            whole = whole.plus(one.scaled(part))
        return whole
