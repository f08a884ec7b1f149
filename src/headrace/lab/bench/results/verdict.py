"""Whether a system held a rate, and the search for the highest rate it holds.

A rate is sustained when neither the queue in front of the system nor the latency of its results
keeps growing. What comes and goes (a pause, a burst) is allowed: trends are medians of slopes, and
a trend counts only when it has also led somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WARM_UP = 0.25
"""The first part of a run that is not looked at."""
_QUEUE_SHARE = 0.01
"""A queue that grows by less than this share of the rate may be noise."""
_RISE = 0.01
"""… and so may one that has grown by less than what arrives in this share of the run …"""
_SCATTER = 0.5
"""… and this share of how far the queue commonly lies from its trend: batches make it a saw."""
_LATENCY_SLOPE = 0.01
"""Seconds per second: a system that loses one percent of the time falls behind by as much."""
_LATENCY_S = 0.25
_LATENCY_SHARE = 0.2
"""Latency may rise by less than this share of itself: batches are not all of one length."""

STEP, SMALL_STEP = 2.0, 1.2
"""How far a search goes at once while rates are held; small where it is about known which are."""
_SLOWLY = 0.2
"""A system that loses less than this share of the time may only be settling at a new rate."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """What the driver saw at one moment of a run."""

    at_s: float
    queued: int
    latency_s: float | None = None
    """Event-time latency of the results that came since the last sample, if any came."""


@dataclass(frozen=True)
class Verdict:
    """Whether a rate was held, with the trends that say so."""

    sustained: bool
    reason: str
    queue_growth: float
    """Events per second by which the queue grew."""
    latency_slope: float
    """Seconds per second by which latency grew."""
    may_settle: bool = False
    """Whether what grew did so slowly enough to come to an end."""


def judge(samples: Sequence[Sample], rate: float, *, dropped: bool = False) -> Verdict:
    """Judge the samples of one run at `rate` events per second."""
    if dropped:
        return Verdict(False, "the connection was dropped", 0.0, 0.0)
    end = max((s.at_s for s in samples), default=0.0)
    seen = [s for s in samples if s.at_s >= WARM_UP * end]
    if len(seen) < 4:
        return Verdict(False, "the run was too short to judge", 0.0, 0.0)
    queue, queue_rise, scatter = trend([s.at_s for s in seen], [float(s.queued) for s in seen])
    timed = [(s.at_s, s.latency_s) for s in seen if s.latency_s is not None]
    if not timed:
        return Verdict(False, "no result came after the warm-up", queue, 0.0)
    latency, latency_rise, _ = trend([t for t, _ in timed], [v for _, v in timed])
    slowly = queue < _SLOWLY * rate and latency < _SLOWLY
    if queue > _QUEUE_SHARE * rate and queue_rise > _RISE * end * rate + _SCATTER * scatter:
        reason = f"the queue grew by {queue:,.0f} events/s"
        return Verdict(False, reason, queue, latency, slowly)
    allowed = max(_LATENCY_S, _LATENCY_SHARE * float(np.median([v for _, v in timed])))
    if latency > _LATENCY_SLOPE and latency_rise > allowed:
        reason = f"latency grew by {1000 * latency:.0f} ms every second"
        return Verdict(False, reason, queue, latency, slowly)
    return Verdict(True, "queue and latency stayed level", queue, latency)


def trend(times: Sequence[float], values: Sequence[float]) -> tuple[float, float, float]:
    """The median of all slopes (Theil and Sen), the rise from the first third to the last, and the
    median distance from the line through the median with that slope.
    """
    t, v = np.asarray(times), np.asarray(values)
    if len(t) < 2:
        return 0.0, 0.0, 0.0
    first, second = np.triu_indices(len(t), k=1)
    apart = t[second] - t[first]
    kept = apart > 0
    slopes: Numbers = (v[second] - v[first])[kept] / apart[kept]
    third = max(len(v) // 3, 1)
    rise = float(np.median(v[-third:]) - np.median(v[:third]))
    slope = float(np.median(slopes)) if len(slopes) else 0.0
    left = v - slope * t
    return slope, rise, float(np.median(np.abs(left - np.median(left))))


@dataclass(frozen=True)
class Tried:
    """One run of a search: the rate offered, how it ended, and what the system can take."""

    rate: float
    verdict: Verdict
    capacity: float | None
    """Events taken per second, where the run was long enough to tell."""


def search(
    run: Callable[[float], Tried],
    start: float,
    *,
    highest: float = math.inf,
    tolerance: float = 0.05,
    most: int = 12,
    step: float = STEP,
) -> tuple[float, list[Tried]]:
    """The highest sustained rate within `tolerance`, and every run on the way.

    `step` times the rate as long as it is held, or a `step`-th of it until one is; then half-way
    between what was held and what was not.
    What a system took from the queue when it could not hold a rate bounds what it can hold, so
    after a failure the next try is just above that where it lies below the half-way mark. A failure
    that is followed only by rates that are held is tried again before it is believed: something
    else may have kept the machine busy, or the system was not warm.
    """
    tries: list[Tried] = []
    low, high, rate = 0.0, math.inf, min(start, highest)
    while len(tries) < most:
        tried = run(rate)
        tries.append(tried)
        held = tried.verdict.sustained
        if held and rate == high:
            high, step = math.inf, SMALL_STEP
        low, high = (rate, high) if held else (low, rate)
        if held and rate >= highest:
            break
        if low and high - low <= tolerance * low:
            if not _doubtful(tries):
                break
            rate = high
        elif math.isinf(high):
            rate = min(step * rate, highest)
        else:
            middle = (low + high) / 2 if low else high / step
            hint = (tried.capacity or 0.0) * (1 + tolerance / 2)
            rate = hint if not held and low < hint < max(middle, 0.8 * high) else middle
    return low, tries


def _doubtful(tries: Sequence[Tried]) -> bool:
    """Whether more than one rate was held since one failed."""
    return [t.verdict.sustained for t in tries[-2:]] == [True, True]
