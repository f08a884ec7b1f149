"""One simulation of an experiment, and what is kept of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.lab.repeats import Spread, spread
from headrace.lab.simulator.model import Conditions, queries
from headrace.lab.simulator.outcome import Numbers, Outcome
from headrace.lab.simulator.run import simulate
from headrace.lab.simulator.workers import stop_if_asked
from headrace.scheduling.policies import Policy


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
    useful_cores: Numbers
    """Since the look before, without what garbage collection took."""


def run_trial(trial: Trial) -> Seen:
    """Simulate it."""
    conditions = trial.conditions
    specs = queries(trial.workload, trial.queries, conditions.seed, conditions.nodes)
    outcome = simulate(specs, conditions, stop_if_asked, policy=trial.policy)
    at_s = np.array([m.at_s for m in outcome.moments])
    useful_s = np.array([m.useful_s for m in outcome.moments])
    return Seen(
        _figures(outcome),
        np.sort(outcome.latencies_s),
        at_s,
        np.array([m.queued for m in outcome.moments]),
        np.diff(useful_s, prepend=0.0) / np.diff(at_s, prepend=0.0),
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
