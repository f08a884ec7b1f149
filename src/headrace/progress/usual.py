"""What complete sub-streams tell of others: how many tuples one has, and how long they take.

The expected size of a sub-stream that is partly there weighs what is usual against what has come:
``E[N | n] = μ + k (n − F μ)`` with ``k = F σ² / (F² σ² + F (1 − F) μ + τ² μ²)``; F is the share
that should have come, τ² its variance from one sub-stream to the next, and μ and σ² are mean and
variance of complete ones. With an even rate (σ = 0) only the usual size counts; the less even it
is, and the more even delays are, the more what has come does. The variance left over is
``σ² (1 − k F)``, and that of the mean itself on top.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
_ODD, _ODD_S = 8.0, 0.02
"""Delays farther from the usual ones than so many times their deviation, and a little, are odd."""


def bin_of(delays_s: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The bin of every delay."""
    return np.clip(np.searchsorted(EDGES_S, delays_s, side="right") - 1, 0, BINS - 1)


@dataclass(frozen=True, slots=True)
class Heard:
    """What has come of one sub-stream."""

    count: int
    kept: int
    """Of them as a sample; all, where nothing is sampled."""
    delays: Counts
    """Of some of them."""

    @classmethod
    def all_of(cls, delays: Counts) -> Heard:
        """Tuples that were all kept, and whose delays are all known."""
        count = int(delays.sum())
        return cls(count, count, delays)

    def plus(self, other: Heard) -> Heard:
        """With what came later."""
        return Heard(self.count + other.count, self.kept + other.kept, self.delays + other.delays)


NOTHING = Heard(0, 0, np.zeros(BINS, np.int64))


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
    each: npt.NDArray[np.float64]
    """The same of every sub-stream by itself, a row each."""
    noise: float
    """Of a share of one sub-stream, times share (1 − share): few of its delays are looked at."""

    @classmethod
    def of(cls, ended: Sequence[Heard]) -> Usual:
        """Of some complete sub-streams. Those whose tuples took oddly long or short, as in a cold
        start, say nothing of delays."""
        sizes = np.array([one.count for one in ended], dtype=np.float64)
        found = np.array([one.delays for one in ended], dtype=np.int64)
        found = found[_usual_delays(found)]
        variance = float(sizes.var(ddof=1)) if len(sizes) > 1 else 0.0
        looked_at = found.sum(axis=1, keepdims=True)
        each = np.cumsum(found, axis=1) / np.maximum(looked_at, 1)
        noise = float(np.mean(1.0 / looked_at)) if len(found) else 0.0
        # One delay that was not seen yet is longer than all that were.
        shares = np.cumsum(found.sum(axis=0)) / (found.sum() + 1)
        return cls(
            float(sizes.mean()),
            variance,
            len(sizes),
            np.concatenate([[0.0], shares]),
            np.pad(each, ((0, 0), (1, 0))),
            noise,
        )

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
        return float(_between(self.shares[None, :], youngest_s, oldest_s)[0])

    def doubt_between(self, youngest_s: float, oldest_s: float) -> float:
        """The variance of that share from one sub-stream to the next."""
        if len(self.each) < 2:
            return 0.0
        found = _between(self.each, youngest_s, oldest_s)
        share = float(found.mean())
        return max(float(found.var(ddof=1)) - share * (1.0 - share) * self.noise, 0.0)

    def size(self, arrived: float, share: float, doubt: float = 0.0) -> Size:
        """Of a sub-stream of which so many have come, and this share should have, which itself has
        a variance."""
        due, spread = share * self.mean, share * (1.0 - share) * self.mean
        seen = share**2 * self.variance + spread + doubt * self.mean**2
        weight = share * self.variance / seen if seen > 0.0 else 0.0
        expected = max(self.mean + weight * (arrived - due), arrived)
        left = self.variance * (1.0 - weight * share)
        of_mean = self.variance / self.count * (1.0 - weight * share) ** 2
        return Size(
            arrived, expected, left + of_mean, due, seen + share**2 * self.variance / self.count
        )


def _between(
    shares: npt.NDArray[np.float64], youngest_s: float, oldest_s: float
) -> npt.NDArray[np.float64]:
    """For every row of shares at the edges: the mean over ages from youngest to oldest."""
    if oldest_s <= youngest_s:
        return _at(shares, oldest_s)
    low, high = max(youngest_s, 0.0), max(oldest_s, 0.0)
    first = int(EDGES_S.searchsorted(low, side="right"))
    last = max(int(EDGES_S.searchsorted(high, side="left")), first)
    ages = np.concatenate([[low], EDGES_S[first:last], [high]])
    ends = _at(shares, low)[:, None], _at(shares, high)[:, None]
    whole = np.concatenate([ends[0], shares[:, first:last], ends[1]], axis=1)
    area = ((whole[:, :-1] + whole[:, 1:]) / 2.0) @ (ages[1:] - ages[:-1])
    found: npt.NDArray[np.float64] = np.minimum(area / (oldest_s - youngest_s), 1.0)
    return found


def _at(shares: npt.NDArray[np.float64], age_s: float) -> npt.NDArray[np.float64]:
    """Every row at an age, straight between the edges."""
    place = min(max(int(EDGES_S.searchsorted(age_s, side="right")) - 1, 0), BINS - 1)
    into = float((age_s - EDGES_S[place]) / (EDGES_S[place + 1] - EDGES_S[place]))
    step = min(max(into, 0.0), 1.0)
    found: npt.NDArray[np.float64] = (1.0 - step) * shares[:, place] + step * shares[:, place + 1]
    return found


def _usual_delays(found: Counts) -> npt.NDArray[np.bool_]:
    """Which rows have a mean delay not too far from that of most of them."""
    counts = found.sum(axis=1)
    some: npt.NDArray[np.bool_] = counts > 0
    if not some.any():
        return some
    means = found @ ((EDGES_S[:-1] + EDGES_S[1:]) / 2.0) / np.maximum(counts, 1)
    middle = np.median(means[some])
    spread = np.median(np.abs(means[some] - middle))
    usual: npt.NDArray[np.bool_] = some & (np.abs(means - middle) <= _ODD * spread + _ODD_S)
    return usual
