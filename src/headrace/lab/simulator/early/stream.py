"""Streams whose tuples are under way for a while: the paper's, and some that change as they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from headrace.lab.delays import Constant, Delay, read_delay

Floats = npt.NDArray[np.float64]
Aggregate = Literal["count", "sum", "avg", "kmeans"]
CLUSTERS = 5


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


def _heavy(rng: np.random.Generator, count: int) -> Floats:
    """Few tuples make most of the sum: the deviation itself is hardly known."""
    return rng.lognormal(0.0, 2.5, count)


def _balanced(rng: np.random.Generator, count: int) -> Floats:
    """A mean near zero, which has no relative error."""
    return rng.normal(0.0, 1.0, count)


def _alike(_rng: np.random.Generator, count: int) -> Floats:
    return np.full(count, 7.0)


_CENTRES = np.array([[20.0, 10.0], [-30.0, 50.0], [0.0, -50.0], [60.0, 50.0], [-80.0, -30.0]])


def _points(rng: np.random.Generator, count: int) -> Floats:
    """Around five centres, as the benchmark makes them."""
    near = _CENTRES[rng.integers(0, len(_CENTRES), count)]
    return np.asarray(near + rng.normal(0.0, 15.0, (count, 2)))


QUESTIONS = {
    "ysb": Question("ysb", "count", 1, 1 / 3, _ones),
    "ysb-campaigns": Question("ysb-campaigns", "count", 100, 1 / 3, _ones),
    "nyt": Question("nyt", "avg", 1, 1.0, _distances),
    "nyt-zones": Question("nyt-zones", "sum", 20, 1.0, _distances),
    "kmeans": Question("kmeans", "kmeans", 1, 1.0, _points),
    "heavy-tails": Question("heavy-tails", "sum", 1, 1.0, _heavy),
    "near-zero": Question("near-zero", "avg", 1, 1.0, _balanced),
    "alike": Question("alike", "sum", 1, 1.0, _alike),
}
"""The paper's, finer ones, and values that are hard to estimate or easy."""


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


Change = Callable[[Tuples, np.random.Generator], Tuples]


def _as_it_is(tuples: Tuples, _rng: np.random.Generator) -> Tuples:
    return tuples


def _calms_down(tuples: Tuples, _rng: np.random.Generator) -> Tuples:
    """Every other 90 s tuples take 150 ms, whatever they took before."""
    calm = (tuples.time_s // 90.0) % 2 == 1
    return replace(tuples, came_s=np.where(calm, tuples.time_s + 0.15, tuples.came_s))


def _bursts(tuples: Tuples, rng: np.random.Generator) -> Tuples:
    """For 6 s of every minute there are two and a half times as many."""
    return tuples.where((tuples.time_s % 60.0 < 6.0) | (rng.random(len(tuples.time_s)) < 0.4))


def _stops(tuples: Tuples, _rng: np.random.Generator) -> Tuples:
    """For 10 s of every two minutes there are none."""
    at = tuples.time_s % 120.0
    return tuples.where((at < 100.0) | (at >= 110.0))


@dataclass(frozen=True)
class Setting:
    """How long tuples take, how far apart they are made (in mean gaps), and what changes."""

    delay: Delay
    gap: Delay
    change: Change = _as_it_is


_GAMMA, _EXPONENTIAL = read_delay("gamma:60,4ms"), read_delay("exponential:240ms")
_GAMMA_GAP = read_delay("gamma:2,500ms")
PAPERS = {
    "CC": Setting(Constant(0.150), Constant(1.0)),
    "GG": Setting(_GAMMA, _GAMMA_GAP),
    "EC": Setting(_EXPONENTIAL, Constant(1.0)),
    "EG": Setting(_EXPONENTIAL, _GAMMA_GAP),
}
"""C: constant, G: gamma, E: exponential; first the delay, then the gap."""
SETTINGS = PAPERS | {
    "EC-CC": Setting(_EXPONENTIAL, Constant(1.0), _calms_down),
    "bursts": Setting(_EXPONENTIAL, Constant(1.0), _bursts),
    "stops": Setting(_EXPONENTIAL, Constant(1.0), _stops),
}


def make(
    question: Question, setting: Setting, rate: float, seconds: float, rng: np.random.Generator
) -> Tuples:
    """A stream of so many seconds."""
    count = int(rate * seconds)
    gaps = setting.gap.draw(rng, count)
    time_s = np.cumsum(gaps / (setting.gap.mean * rate))
    passes = rng.random(count) < question.passes
    group = np.where(passes, rng.integers(0, question.groups, count), -1)
    tuples = Tuples(
        time_s,
        time_s + setting.delay.draw(rng, count),
        group,
        question.values(rng, count),
        rng.random(count),
    )
    return setting.change(tuples, rng)
