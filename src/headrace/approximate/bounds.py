"""Answers from a part of a window's tuples, with bounds that hold them at a stated confidence.

A window is cut into strata. Of a stratum, m tuples of the stream are there: those that have come,
or of them those that were sampled. There will be N, as far as is known, with variance v. Which of
them are there has nothing to do with their values, so p = m / N of anything is there, and with y
the value of a tuple that the query counts in a group and 0 for any other tuple,

| aggregate | estimate | variance |
|---|---|---|
| SUM | Σ T / p | Σ Q m/(m−1) (1 − p) / p² + Σ (T/m)² v |
| COUNT | the same, with y = 1 | |
| AVG | SUM / COUNT = R | that of the SUM of y − R, over COUNT² |

where T is the sum of y over the tuples that are there and Q the sum of its squared deviations. The
second term is the error of N: a count or a sum carries it whole, of a mean it nearly cancels.
Bounds are Student's, with as many degrees of freedom as the group has tuples, less one.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
from scipy import special

from headrace.approximate.substreams import FEWEST, Stratum

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_CAUTION = 0.8
"""Of what may lie outside the bounds: values are skewed and their deviation is itself estimated, so
bounds at the very confidence would hold a little less often."""


def cautious(confidence: float) -> float:
    """The confidence at which bounds are computed, to hold at the one that is asked for."""
    return 1.0 - _CAUTION * (1.0 - confidence)


def deviations_at(confidence: float) -> float:
    """How many standard deviations bounds are away from a value that is made from many tuples.

    >>> round(deviations_at(0.95), 2)
    1.96
    """
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)


@dataclass(frozen=True, slots=True)
class Strata:
    """What part of a window is there: one number a stratum, as columns."""

    there: Floats
    """m."""
    expected: Floats
    """N."""
    variance: Floats
    """v."""

    @classmethod
    def of(cls, strata: tuple[Stratum, ...]) -> Strata:
        """From what sub-streams tell."""
        sizes = [s.size for s in strata]
        return cls.made(
            [s.kept for s in strata], [s.expected for s in sizes], [s.variance for s in sizes]
        )

    @classmethod
    def made(cls, there: list[float], expected: list[float], variance: list[float]) -> Strata:
        """As columns."""
        columns = (np.array(c, dtype=np.float64)[:, None] for c in (there, expected, variance))
        return cls(*columns)

    @classmethod
    def complete(cls) -> Strata:
        """One stratum of which all is there."""
        return cls.made([1.0], [1.0], [0.0])

    @property
    def share(self) -> Floats:
        """p."""
        known = np.clip(self.there / np.maximum(self.expected, 1e-9), 1e-12, 1.0)
        share: Floats = np.where(self.expected > 0.0, known, 1.0)
        return share

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return bool((self.share >= 1.0).all() and (self.variance <= 0.0).all())


@dataclass(frozen=True, slots=True)
class Found:
    """What is there of one value: a row a stratum, a column a group."""

    n: Floats
    """Tuples that count."""
    mean: Floats
    squares: Floats
    """Of deviations from the mean, summed."""

    @classmethod
    def ones(cls, n: Floats) -> Found:
        """Tuples that are only counted."""
        return cls(n, np.ones_like(n), np.zeros_like(n))

    @property
    def sums(self) -> Floats:
        """T."""
        return self.n * self.mean

    def around(self, center: Floats) -> Found:
        """The same values less something."""
        return Found(self.n, self.mean - center, self.squares)

    def scaled(self, strata: Strata) -> Found:
        """As many tuples of the same kind as there will be."""
        return Found(self.n / strata.share, self.mean, self.squares / strata.share)

    def together(self) -> Found:
        """All strata as one."""
        n = self.n.sum(axis=0, keepdims=True)
        mean = self.sums.sum(axis=0, keepdims=True) / np.maximum(n, 1.0)
        squares = (self.squares + self.n * (self.mean - mean) ** 2).sum(axis=0, keepdims=True)
        return Found(n, mean, squares)


@dataclass(frozen=True, slots=True)
class Bounded:
    """Estimates of one aggregate for many groups, each with its bounds."""

    value: Floats
    lower: Floats
    upper: Floats
    sample: Floats
    """Tuples it was made from."""
    input: Floats
    """Tuples there will be, as far as is known."""
    enough: Flags
    """Whether there were tuples enough to state bounds at all."""

    def within(self, error: float) -> Flags:
        """Whether the bounds are no farther from the value than this share of it."""
        reach = np.maximum(self.upper - self.value, self.value - self.lower)
        return self.enough & (reach <= error * np.abs(self.value))


def count(n: Floats, strata: Strata, confidence: float) -> Bounded:
    """COUNT, of so many tuples there."""
    return total(Found.ones(n), strata, confidence)


def total(found: Found, strata: Strata, confidence: float) -> Bounded:
    """SUM."""
    value, variance = _total(found, strata)
    return _bounded(value, variance, found.n, strata, confidence)


def average(found: Found, strata: Strata, confidence: float) -> Bounded:
    """AVG."""
    tuples = (found.n / strata.share).sum(axis=0)
    sums = (found.sums / strata.share).sum(axis=0)
    mean = sums / np.maximum(tuples, 1e-9)
    _, variance = _total(found.around(mean), strata)
    return _bounded(mean, variance / np.maximum(tuples, 1e-9) ** 2, found.n, strata, confidence)


def _total(found: Found, strata: Strata) -> tuple[Floats, Floats]:
    """The estimate of a sum and its variance."""
    share, there = strata.share, np.maximum(strata.there, 1.0)
    part = np.minimum(found.n / there, 1.0)
    off = found.squares + found.n * found.mean**2 * (1.0 - part)
    spread = off * there / np.maximum(there - 1.0, 1.0) * (1.0 - share) / share**2
    doubt = (found.sums / there) ** 2 * strata.variance
    return (found.sums / share).sum(axis=0), (spread + doubt).sum(axis=0)


def _bounded(
    value: Floats, variance: Floats, n: Floats, strata: Strata, confidence: float
) -> Bounded:
    sample, there_will_be = n.sum(axis=0), (n / strata.share).sum(axis=0)
    if strata.is_whole:
        return Bounded(value, value, value, sample, sample, np.ones(len(value), bool))
    freedom = np.maximum(sample - 1.0, 1.0)
    quantile = special.stdtrit(freedom, (1.0 + cautious(confidence)) / 2.0)
    reach = quantile * np.sqrt(np.maximum(variance, 0.0))
    return Bounded(value, value - reach, value + reach, sample, there_will_be, sample >= FEWEST)


def strength_of_total(found: Found) -> Floats:
    """How well a part tells the whole of a sum or a count: the variance of its estimate from a
    share p is ``(1 − p) / (p · strength)`` of its square."""
    one = found.together()
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.where(one.n > 1.0, one.squares / (one.n - 1.0), 0.0)[0]
        square = one.mean[0] ** 2
        strength: Floats = np.where(one.n[0] > 0.0, one.n[0] * square / (square + spread), np.inf)
    return np.nan_to_num(strength, nan=0.0, posinf=np.inf)


def strength_of_average(found: Found) -> Floats:
    """The same for a mean: the tuples over the square of their coefficient of variation."""
    one = found.together()
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = one.squares[0] / np.maximum(one.n[0] - 1.0, 1.0)
        strength: Floats = np.where(spread > 0.0, one.n[0] * one.mean[0] ** 2 / spread, np.inf)
    return strength
