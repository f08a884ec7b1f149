"""Answers from a part of a window's tuples, with bounds that hold them at a stated confidence.

A share p of the tuples is there: those that have come, or of them those that were sampled. Each is
taken to be there or not independently of its value and its group, so

| aggregate | estimate | variance |
|---|---|---|
| COUNT | n / p | n (1 − p) / p² + estimate² · c² |
| SUM | Σx / p | Σx² (1 − p) / p² + estimate² · c² |
| AVG | x̄ | s² / n · (1 − p) |

where c² is the relative variance of the number of all tuples, from which p is known. A count or a
sum carries that error, a mean does not. Bounds are Student's, with as many degrees of freedom as
there are tuples less one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_CAUTION = 0.8
"""Of what may lie outside the bounds: values are skewed and their deviation is itself estimated, so
bounds at the very confidence would hold a little less often."""
FEWEST = 30
"""With fewer tuples than this nothing is guaranteed: the deviation itself is a guess then."""


def cautious(confidence: float) -> float:
    """The confidence at which bounds are computed, to hold at the one that is asked for."""
    return 1.0 - _CAUTION * (1.0 - confidence)


@dataclass(frozen=True, slots=True)
class Seen:
    """What part of a window is there."""

    share: float
    """p."""
    relative_variance: float = 0.0
    """c²."""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        return self.share >= 1.0 and self.relative_variance <= 0.0


@dataclass(frozen=True, slots=True)
class Bounded:
    """Estimates of one aggregate for many groups, each with its bounds."""

    value: Floats
    lower: Floats
    upper: Floats
    enough: Flags
    """Whether there were tuples enough to state bounds at all."""

    def within(self, error: float) -> Flags:
        """Whether the bounds are no farther from the value than this share of it."""
        reach = np.maximum(self.upper - self.value, self.value - self.lower)
        return self.enough & (reach <= error * np.abs(self.value))


def count(n: Floats, seen: Seen, confidence: float) -> Bounded:
    """COUNT, of so many tuples there."""
    value = n / seen.share
    variance = n * (1.0 - seen.share) / seen.share**2 + value**2 * seen.relative_variance
    return _bounded(value, variance, n, seen, confidence)


def total(n: Floats, mean: Floats, variance: Floats, seen: Seen, confidence: float) -> Bounded:
    """SUM, of tuples with this mean and sample variance."""
    value = n * mean / seen.share
    squares = np.maximum(n - 1.0, 0.0) * variance + n * mean**2
    spread = squares * (1.0 - seen.share) / seen.share**2 + value**2 * seen.relative_variance
    return _bounded(value, spread, n, seen, confidence)


def average(n: Floats, mean: Floats, variance: Floats, seen: Seen, confidence: float) -> Bounded:
    """AVG, of tuples with this mean and sample variance."""
    spread = variance / np.maximum(n, 1.0) * (1.0 - seen.share)
    return _bounded(mean, spread, n, seen, confidence)


def _bounded(value: Floats, variance: Floats, n: Floats, seen: Seen, confidence: float) -> Bounded:
    if seen.whole:
        return Bounded(value, value, value, np.ones(len(value), bool))
    from scipy import special  # of the extra `bench`, and slow to import

    freedom = np.maximum(n - 1.0, 1.0)
    quantile = special.stdtrit(freedom, (1.0 + cautious(confidence)) / 2.0)
    reach = quantile * np.sqrt(np.maximum(variance, 0.0))
    return Bounded(value, value - reach, value + reach, n >= FEWEST)
