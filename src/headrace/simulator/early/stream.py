"""Streams whose tuples are under way for a while: delays, gaps and values as the paper has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from headrace.delays import Constant, Delay, read_delay

Floats = npt.NDArray[np.float64]
Aggregate = Literal["count", "sum", "avg"]


@dataclass(frozen=True)
class Setting:
    """How long tuples take, and how far apart they are made (in mean gaps)."""

    name: str
    delay: Delay
    gap: Delay


SETTINGS = {
    "CC": Setting("CC", Constant(0.150), Constant(1.0)),
    "GG": Setting("GG", read_delay("gamma:60,4ms"), read_delay("gamma:2,500ms")),
    "EC": Setting("EC", read_delay("exponential:240ms"), Constant(1.0)),
    "EG": Setting("EG", read_delay("exponential:240ms"), read_delay("gamma:2,500ms")),
}
"""C: constant, G: gamma, E: exponential; first the delay, then the gap."""


@dataclass(frozen=True)
class Question:
    """What is asked of every window."""

    name: str
    aggregate: Aggregate
    groups: int
    passes: float
    """The share of tuples that its WHERE lets through."""
    values: Callable[[np.random.Generator, int], Floats]


def _ones(_rng: np.random.Generator, count: int) -> Floats:
    return np.ones(count)


def _distances(rng: np.random.Generator, count: int) -> Floats:
    """Miles of taxi trips: many short ones and a long tail."""
    return rng.lognormal(0.6, 0.75, count)


QUESTIONS = {
    "ysb": Question("ysb", "count", 1, 1 / 3, _ones),
    "ysb-campaigns": Question("ysb-campaigns", "count", 100, 1 / 3, _ones),
    "nyt": Question("nyt", "avg", 1, 1.0, _distances),
    "nyt-zones": Question("nyt-zones", "sum", 20, 1.0, _distances),
}


@dataclass(frozen=True)
class Tuples:
    """In the order of their event times."""

    time_s: Floats
    came_s: Floats
    group: npt.NDArray[np.int64]
    """-1 where the question's WHERE does not let it through."""
    value: Floats
    luck: Floats
    """Between 0 and 1: tuples below the sampling rate are kept."""

    def between(self, start_s: float, end_s: float) -> Tuples:
        """Those of a window."""
        low, high = np.searchsorted(self.time_s, [start_s, end_s])
        return self.where(slice(low, high))

    def where(self, chosen: slice | npt.NDArray[np.bool_]) -> Tuples:
        """Some of them."""
        return Tuples(
            self.time_s[chosen],
            self.came_s[chosen],
            self.group[chosen],
            self.value[chosen],
            self.luck[chosen],
        )


def make(
    question: Question, setting: Setting, rate: float, seconds: float, rng: np.random.Generator
) -> Tuples:
    """A stream of so many seconds."""
    count = int(rate * seconds)
    gaps = setting.gap.draw(rng, count)
    time_s = np.cumsum(gaps / (setting.gap.mean * rate))
    passes = rng.random(count) < question.passes
    group = np.where(passes, rng.integers(0, question.groups, count), -1)
    return Tuples(
        time_s,
        time_s + setting.delay.draw(rng, count),
        group,
        question.values(rng, count),
        rng.random(count),
    )
