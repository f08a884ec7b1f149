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
from bisect import bisect_right
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
    curves: npt.NDArray[np.float64]
    """The share of tuples that has come after each edge of the bins, a row an edge. The first
    column is of all sub-streams together, the others are of each by itself."""
    areas: npt.NDArray[np.float64]
    """Under the curves, up to each edge."""
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
        looked_at = found.sum(axis=1)
        noise = float(np.mean(1.0 / looked_at)) if len(found) else 0.0
        curves = np.zeros((BINS + 1, 1 + len(found)))
        # One delay that was not seen yet is longer than all that were.
        curves[1:, 0] = np.cumsum(found.sum(axis=0)) / (found.sum() + 1)
        curves[1:, 1:] = np.cumsum(found, axis=1).T / np.maximum(looked_at, 1)
        areas = np.zeros_like(curves)
        steps = (curves[1:] + curves[:-1]) / 2.0 * np.diff(EDGES_S)[:, None]
        np.cumsum(steps, axis=0, out=areas[1:])
        return cls(float(sizes.mean()), variance, len(sizes), curves, areas, noise)

    def share_by(self, age_s: float) -> float:
        """Of tuples that take no longer than this."""
        return float(np.interp(age_s, EDGES_S, self.curves[:, 0]))

    def delay_s(self, share: float) -> float:
        """The delay that this share of tuples does not exceed."""
        shares = self.curves[:, 0]
        if shares[-1] <= 0.0:
            return 0.0
        place = int(np.searchsorted(shares, min(share, float(shares[-1])), side="left"))
        if place == 0:
            return 0.0
        low, high = shares[place - 1], shares[place]
        step = (share - low) / (high - low) if high > low else 1.0
        return float(EDGES_S[place - 1] + min(step, 1.0) * (EDGES_S[place] - EDGES_S[place - 1]))

    def share_between(self, youngest_s: float, oldest_s: float) -> float:
        """Of tuples of such ages, evenly spread, that should have come."""
        if oldest_s <= youngest_s:
            return self.share_by(oldest_s)
        area = self._area(max(oldest_s, 0.0)) - self._area(max(youngest_s, 0.0))
        return min(area / (oldest_s - youngest_s), 1.0)

    def _area(self, age_s: float) -> float:
        """Under the curve of all sub-streams, up to an age."""
        place = min(bisect_right(_EDGES, age_s) - 1, BINS - 1)
        low, high = float(self.curves[place, 0]), float(self.curves[place + 1, 0])
        into_s, width_s = age_s - _EDGES[place], _EDGES[place + 1] - _EDGES[place]
        # Straight inside a bin, level after the last edge.
        inside_s = min(into_s, width_s)
        inside = inside_s * (low + inside_s / width_s / 2.0 * (high - low))
        return float(self.areas[place, 0]) + inside + (into_s - inside_s) * high

    def shares_in(
        self, youngest_s: float, step_s: float, count: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """By steps of age, so many one after the other: `share_between`, and its variance from one
        sub-stream to the next."""
        ages_s = np.maximum(youngest_s + step_s * np.arange(count + 1), 0.0)
        places = np.clip(np.searchsorted(EDGES_S, ages_s, side="right") - 1, 0, BINS - 1)
        into_s = (ages_s - EDGES_S[places])[:, None]
        low, high = self.curves[places], self.curves[places + 1]
        width_s = (EDGES_S[places + 1] - EDGES_S[places])[:, None]
        inside_s = np.minimum(into_s, width_s)
        areas = self.areas[places] + inside_s * (low + inside_s / width_s / 2.0 * (high - low))
        areas += (into_s - inside_s) * high
        found = np.minimum(np.diff(areas, axis=0) / step_s, 1.0)
        each = found[:, 1:]
        if each.shape[1] < 2:
            return found[:, 0], np.zeros(count)
        mean = each.mean(axis=1)
        variance = each.var(axis=1, ddof=1) - mean * (1.0 - mean) * self.noise
        return found[:, 0], np.maximum(variance, 0.0)

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


_EDGES: list[float] = EDGES_S.tolist()


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
