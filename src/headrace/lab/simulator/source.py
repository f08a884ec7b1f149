"""A simulated source: events at a rate, watermarks by its own clock, delays on the way in.

Backpressure stops the source together with its clock, as in the paper, whose latencies run from the
source operator: what would wait outside the engine is not in them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from headrace.lab.delays import Delay
from headrace.lab.simulator.model import QuerySpec
from headrace.lab.simulator.queues import Watermark
from headrace.progress.sweep import Sweeps

_DRAWS = 256
_ENOUGH = 60
"""Estimates count once they are made of so many sweeps."""


class Drawn:
    """Delays drawn many at a time, taken one by one."""

    def __init__(self, delay: Delay, rng: np.random.Generator) -> None:
        self._delay = delay
        self._rng = rng
        self._waiting: list[float] = []

    def next(self) -> float:
        """One more."""
        if not self._waiting:
            self._waiting = self._delay.draw(self._rng, _DRAWS).tolist()
        return self._waiting.pop()


@dataclass(slots=True)
class Source:
    """One input stream of a query."""

    stream: int
    spec: QuerySpec
    every_s: float
    lateness_s: float
    delays: Drawn
    sweeps: Sweeps
    clock_s: float = 0.0
    behind_s: float = 0.0
    """The wall clock less its own."""
    emitted: int = 0
    swept_s: float = 0.0
    ingested_s: float = -math.inf
    hits: list[tuple[bool, float]] = field(default_factory=list)
    """Of every sweep whose time was estimated: whether the interval held it, and its width."""

    def generate(self, now_s: float, seconds: float) -> tuple[float, list[tuple[float, Watermark]]]:
        """What it sends in the last `seconds`: events, and watermarks with the times they come."""
        self.clock_s += seconds
        self.behind_s = now_s - self.clock_s
        marks = []
        while (self.emitted + 1) * self.every_s <= self.clock_s + 1e-9:
            self.emitted += 1
            marks.append(self._emit(self.emitted * self.every_s))
        return self.spec.rate_per_s * seconds, marks

    def _emit(self, at_s: float) -> tuple[float, Watermark]:
        wall_s = at_s + self.behind_s
        # A watermark cannot overtake the one before it.
        self.ingested_s = max(wall_s + self.delays.next(), self.ingested_s)
        time_s = at_s - self.lateness_s
        slide = self.spec.slide_s
        deadline = math.floor(time_s / slide + 1e-9) * slide
        if deadline <= self.swept_s + 1e-9:
            return self.ingested_s, Watermark(self.stream, time_s, wall_s)
        self.swept_s = deadline
        return self.ingested_s, Watermark(self.stream, time_s, wall_s, deadline)

    def ingested(self, watermark: Watermark, at_s: float, confidence: float) -> None:
        """A sweeping watermark has come in: was it expected then?"""
        if self.sweeps.moments.count >= _ENOUGH:
            estimate = self.sweeps.estimate(watermark.emitted_at_s, confidence=confidence)
            self.hits.append((estimate.holds(at_s), estimate.width_s))
        self.sweeps = self.sweeps.swept(at_s - watermark.emitted_at_s)
