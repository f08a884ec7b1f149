"""What repeats of a measurement say together: their mean, and how far it can be trusted."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean over the repeats, and its interval where there are several."""

    mean: float
    low: float | None = None
    high: float | None = None


def spread(values: Sequence[float]) -> Spread:
    """By Student's t, at 95 %.

    >>> spread([2.0])
    Spread(mean=2.0, low=None, high=None)
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Spread(mean)
    from scipy import stats  # slow to import

    error = statistics.stdev(values) / len(values) ** 0.5
    half = error * float(stats.t.ppf((1.0 + CONFIDENCE) / 2.0, len(values) - 1))
    return Spread(mean, mean - half, mean + half)
