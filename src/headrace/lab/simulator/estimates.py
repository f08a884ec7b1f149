"""How often sweeps come within the interval in which they were expected, and how wide it is.

The paper's figure 9c. Its rival is a linear regression of delays over the last epochs; the paper
does not say how many, so there is one over a few and one over as many as our estimate has.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from headrace.lab.delays import read_delay
from headrace.lab.simulator.outcome import Numbers
from headrace.progress.sweep import Sweeps

DELAYS = ("uniform:50ms,250ms", "zipf:0.99,1ms", "exponential:240ms", "gamma:60,4ms")
CONFIDENCES = (0.90, 0.95)
_FEW = 10
_HELD_OUT = 5_000


@dataclass(frozen=True, slots=True)
class Sequel:
    """Sweeps of one stream: a history to learn from, and those that are held out."""

    delay: str
    history: int
    seed: int
    held_out: int = _HELD_OUT


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of one estimator."""

    estimator: str
    delay: str
    confidence: float
    covered: float
    """Share of the held-out sweeps that came within their interval."""
    width: float
    """Mean width of the intervals, in standard deviations of the delay."""


def accuracies(sequel: Sequel) -> list[Accuracy]:
    """Every estimator at every confidence, over the same sweeps."""
    rng = np.random.default_rng([sequel.seed, 3])
    history = sequel.history
    delays_s = read_delay(sequel.delay).draw(rng, history + sequel.held_out)
    found = []
    for confidence, (covered, width_s) in _learned(delays_s, history).items():
        found.append(("klink", confidence, covered, width_s))
    for epochs in sorted({min(_FEW, history), history}):
        for confidence in CONFIDENCES:
            covered, width_s = regressed(delays_s, history, epochs, confidence)
            found.append((f"regression of {epochs}", confidence, covered, width_s))
    deviation_s = float(delays_s.std())
    return [
        Accuracy(name, sequel.delay, confidence, covered, width_s / deviation_s)
        for name, confidence, covered, width_s in found
    ]


def _learned(delays_s: Numbers, history: int) -> dict[float, tuple[float, float]]:
    """By confidence: share within and mean width, each estimated before the sweep is shown."""
    sweeps = Sweeps(history=history)
    hits: dict[float, list[tuple[bool, float]]] = {c: [] for c in CONFIDENCES}
    for number, delay_s in enumerate(delays_s.tolist()):
        if number >= history:
            for confidence, hit in hits.items():
                estimate = sweeps.estimate(0.0, confidence=confidence)
                hit.append((estimate.holds(delay_s), estimate.width_s))
        sweeps = sweeps.swept(delay_s)
    return {
        confidence: (float(np.mean([h for h, _ in hit])), float(np.mean([w for _, w in hit])))
        for confidence, hit in hits.items()
    }


def regressed(delays_s: Numbers, first: int, epochs: int, confidence: float) -> tuple[float, float]:
    """Share within and mean width, for all delays from the `first` on.

    A line through the delays of the last epochs is drawn one epoch further; the interval is normal,
    as wide as the residuals of that line are.
    """
    before = sliding_window_view(delays_s[first - epochs : -1], epochs)
    x = np.arange(epochs) - (epochs - 1) / 2.0
    middle = before.mean(axis=1)
    slope = before @ x / (x @ x)
    residuals = before - middle[:, None] - slope[:, None] * x
    deviation = np.sqrt((residuals**2).sum(axis=1) / (epochs - 2))
    half = NormalDist().inv_cdf((1.0 + confidence) / 2.0) * deviation
    expected = middle + slope * (x[-1] + 1.0)
    within = np.abs(delays_s[first:] - expected) <= half
    return float(within.mean()), float(2.0 * half.mean())
