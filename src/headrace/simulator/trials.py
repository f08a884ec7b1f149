"""One simulation of an experiment, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.scheduling.policies import Policy
from headrace.simulator.model import Conditions, queries
from headrace.simulator.outcome import Numbers, Outcome
from headrace.simulator.run import simulate
from headrace.simulator.workers import stop_if_asked

CONFIDENCE = 0.95
"""Of the intervals over repeats."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What is simulated, to the seed. Equal trials have equal results."""

    workload: str
    queries: int
    conditions: Conditions
    policy: Policy


@dataclass(frozen=True, slots=True)
class Seen:
    """What is kept of a trial."""

    figures: Mapping[str, float]
    latencies_s: Numbers
    """In ascending order, of all windows that count."""
    at_s: Numbers
    """When memory and cores were looked at."""
    queued: Numbers
    busy_cores: Numbers
    """Since the look before."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean over the repeats, and its interval where there are several."""

    mean: float
    low: float | None = None
    high: float | None = None


def run_trial(trial: Trial) -> Seen:
    """Simulate it."""
    conditions = trial.conditions
    specs = queries(trial.workload, trial.queries, conditions.seed, conditions.nodes)
    outcome = simulate(specs, conditions, stop_if_asked, policy=trial.policy)
    at_s = np.array([m.at_s for m in outcome.moments])
    busy_s = np.array([m.busy_s for m in outcome.moments])
    return Seen(
        _figures(outcome),
        np.sort(outcome.latencies_s),
        at_s,
        np.array([m.queued for m in outcome.moments]),
        np.diff(busy_s, prepend=0.0) / np.diff(at_s, prepend=0.0),
    )


def _figures(outcome: Outcome) -> dict[str, float]:
    windows = len(outcome.latencies_s)
    return {
        "mean_s": outcome.mean_s,
        "p50_s": outcome.percentile_s(50),
        "p90_s": outcome.percentile_s(90),
        "p99_s": outcome.percentile_s(99),
        "slowdown": float(outcome.slowdowns.mean()) if windows else math.nan,
        "throughput_per_s": outcome.throughput_per_s,
        "cores_busy": outcome.cores_busy,
        "memory_mean": float(outcome.queued.mean()),
        "memory_p90": float(np.percentile(outcome.queued, 90)),
        "memory_mode": outcome.in_memory_mode,
        "unfinished": float(outcome.unfinished),
        "windows": float(windows),
    }


def averaged(seen: Sequence[Seen]) -> dict[str, Spread]:
    """Every figure over the repeats of a trial."""
    return {name: spread([s.figures[name] for s in seen]) for name in seen[0].figures}


def spread(values: Sequence[float]) -> Spread:
    """By Student's t.

    >>> spread([2.0])
    Spread(mean=2.0, low=None, high=None)
    """
    mean = float(np.mean(values))
    if len(values) < 2:
        return Spread(mean)
    from scipy import stats  # of the extra `bench`, and slow to import

    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    half = error * float(stats.t.ppf((1.0 + CONFIDENCE) / 2.0, len(values) - 1))
    return Spread(mean, mean - half, mean + half)
