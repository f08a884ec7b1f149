"""Bounds of answers that are made from the tuples themselves: deviations, percentiles, means.

All of them rest on the bounds of a mean (`bounds.average`). A variance is the mean of squared
deviations. A percentile is where the share of smaller tuples, a mean of ones and zeros, reaches its
percentage: the bounds of that share, read off the values, are those of the percentile (Woodruff).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.approximate.bounds import (
    Bounded,
    Floats,
    Found,
    Strata,
    average,
    cautious,
    deviations_at,
    strength_of_average,
)

Ints = npt.NDArray[np.int64]
_Z = deviations_at(0.95)
_CAUTION = 0.5


@dataclass(frozen=True, slots=True)
class Tuples:
    """Of one group: how often each value is there in which stratum."""

    stratum: Ints
    counts: Floats
    strata: Strata

    @property
    def weights(self) -> Floats:
        """How many tuples each will stand for."""
        weights: Floats = self.counts / self.strata.share[self.stratum, 0]
        return weights

    def found(self, values: Floats) -> Found:
        """Some number of each tuple, by strata."""
        size = len(self.strata.there)
        n = np.bincount(self.stratum, self.counts, size)
        mean = np.bincount(self.stratum, self.counts * values, size) / np.maximum(n, 1.0)
        off = self.counts * (values - mean[self.stratum]) ** 2
        columns = (n, mean, np.bincount(self.stratum, off, size))
        return Found(*(c[:, None].astype(np.float64) for c in columns))


@dataclass(frozen=True, slots=True)
class Made:
    """An answer, and how well a part of the tuples tells the whole of it."""

    bounded: Bounded
    strength: float


def mean_of(tuples: Tuples, values: Floats, confidence: float) -> Made:
    """The mean of a number of each tuple."""
    found = tuples.found(values)
    strength = strength_of_average(found.scaled(tuples.strata))
    return Made(average(found, tuples.strata, confidence), float(strength[0]))


def mean_square_of(tuples: Tuples, squares: Floats, confidence: float) -> Made:
    """The mean of squared distances. Squares have longer tails than values: of few of them the
    deviation is told too small, so bounds are computed for a higher confidence, and more tuples are
    needed for them."""
    higher = 1.0 - _CAUTION * (1.0 - confidence)
    made = mean_of(tuples, squares, higher)
    wider = deviations_at(cautious(higher)) / deviations_at(cautious(confidence))
    return Made(made.bounded, made.strength / wider**2)


def variance_of(tuples: Tuples, values: Floats, confidence: float, *, sampled: bool) -> Made:
    """VAR_POP, or VAR_SAMP of all tuples there will be."""
    weights = tuples.weights
    total = weights.sum()
    center = float(weights @ values) / max(total, 1e-9)
    made = mean_square_of(tuples, (values - center) ** 2, confidence)
    factor = total / (total - 1.0) if sampled and total > 1.0 else 1.0
    return Made(_scaled(made.bounded, lambda x: factor * x), made.strength)


def deviation_of(tuples: Tuples, values: Floats, confidence: float, *, sampled: bool) -> Made:
    """The root of the variance: its relative error is half as large."""
    made = variance_of(tuples, values, confidence, sampled=sampled)
    rooted = _scaled(made.bounded, lambda x: np.sqrt(np.maximum(x, 0.0)))
    return Made(rooted, 4.0 * made.strength)


def percentile_of(tuples: Tuples, values: Floats, share: float, confidence: float) -> Made:
    """The value that this share of the tuples does not exceed."""
    order = np.argsort(values, kind="stable")
    ranked, upto = values[order], np.cumsum(tuples.weights[order])
    total = float(upto[-1])

    def at(part: float) -> float:
        rank = max(min(part, 1.0), 0.0) * total
        # Weights add up to a rank only nearly.
        place = int(np.searchsorted(upto, rank * (1.0 - 1e-12), side="left"))
        return float(ranked[min(place, len(ranked) - 1)])

    value = at(share)
    below = mean_of(tuples, (values <= value).astype(np.float64), confidence).bounded
    reach = float(below.upper[0] - below.value[0])
    lower, upper = value, value
    if not tuples.strata.is_whole:
        lower, upper = at(share - reach), at(share + reach)
    bounded = Bounded(
        np.array([value]),
        np.array([min(lower, value)]),
        np.array([max(upper, value)]),
        below.sample,
        below.input,
        below.enough,
    )
    # Of half of the tuples the share of smaller ones would be known as well as of a sample of all.
    half = _Z * math.sqrt(share * (1.0 - share) / max(total, 1.0))
    off = max(at(share + half) - value, value - at(share - half))
    strength = (_Z * abs(value) / off) ** 2 if off > 0.0 else math.inf
    return Made(bounded, strength)


def _scaled(bounded: Bounded, change: Callable[[Floats], Floats]) -> Bounded:
    value, lower, upper = (change(x) for x in (bounded.value, bounded.lower, bounded.upper))
    return Bounded(value, lower, upper, bounded.sample, bounded.input, bounded.enough)
