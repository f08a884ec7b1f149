"""Many simulated streams, and their figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from headrace.lab.simulator.early.run import Conditions, Outcome, simulate
from headrace.lab.simulator.early.stream import QUESTIONS, SETTINGS


@dataclass(frozen=True, slots=True)
class Trial:
    """One stream under one way to close windows."""

    question: str
    setting: str
    way: str
    conditions: Conditions


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a trial."""

    question: str
    setting: str
    rate: float
    window_s: float
    way: str
    windows: int
    latency_s: float
    latency_p99_s: float
    accurate: float
    """The share of answers that were off by no more than the error."""
    error: float
    """The mean of what they were off by."""
    covered: float
    """The share of exact answers that lay within the bounds."""
    width: float
    """Of the bounds, over the exact answer."""
    met: float
    """The share of answers of which the guarantee was stated to be met."""
    kept: float
    """The share of tuples worked on."""
    arrived: float
    """The share of tuples that had come."""


def run_trial(trial: Trial) -> Row:
    """Simulate, and sum up."""
    question, setting = QUESTIONS[trial.question], SETTINGS[trial.setting]
    return row_of(trial, simulate(question, setting, trial.way, trial.conditions))


def row_of(trial: Trial, outcome: Outcome) -> Row:
    """Answers of all groups of all windows count alike."""
    errors = np.concatenate(outcome.errors)
    return Row(
        trial.question,
        trial.setting,
        trial.conditions.rate,
        trial.conditions.window_s,
        trial.way,
        len(outcome.latency_s),
        float(np.mean(outcome.latency_s)),
        float(np.quantile(outcome.latency_s, 0.99)),
        float(np.mean(errors <= trial.conditions.error)),
        float(errors.mean()),
        float(np.mean(np.concatenate(outcome.within))),
        float(np.mean(np.concatenate(outcome.widths))),
        float(np.mean(np.concatenate(outcome.met))),
        float(np.mean(outcome.kept)),
        float(np.mean(outcome.arrived)),
    )


def trials(
    questions: Sequence[str],
    settings: Sequence[str],
    rates: Sequence[float],
    windows_s: Sequence[float],
    ways: Sequence[str],
    conditions: Conditions,
) -> list[Trial]:
    """All of them against each other."""
    return [
        Trial(question, setting, way, replace(conditions, rate=rate, window_s=window_s))
        for question, rate, window_s, setting, way in product(
            questions, rates, windows_s, settings, ways
        )
    ]
