"""When the next sweeping watermark will be ingested: its distribution, anchored to the deadline.

A watermark sweeps a window when it is the first at or past the window's deadline. It can be had at
the earliest when the source says so much: at the deadline plus the stream's lateness, or at the
first emission after that where the source emits watermarks by the clock. What it takes from there,
on the network and until a tuple comes that carries it, is learned from the sweeps before.

The interval is the shorter of two. One is made of order statistics: delays are skewed, and two
standard deviations to either side of an exponential delay reach below zero and yet miss the tail.
The other is normal, which bell-shaped delays fill better than order statistics tell from a few
hundred of them; it is taken only where the sweeps seen do not speak against it.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import NormalDist

from headrace.progress.epochs import HISTORY, NO_DELAYS, Moments

CONFIDENCE = 0.95
_MARGIN = 0.25
"""The shortest of several intervals, chosen by looking, is too short: by about this share of what
it leaves out."""
_NORMAL_MARGIN = 0.07
"""Likewise of a normal one, whose two parameters are estimated."""
_TAILS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of what is left out that may lie below the interval."""


def anchor_s(
    deadline_s: float, lateness_s: float, period_s: float | None = None, phase_s: float = 0.0
) -> float:
    """The earliest time at which a watermark can sweep a window.

    With a period, watermarks are emitted at `phase_s` plus its multiples.

    >>> anchor_s(10.0, 2.0), anchor_s(10.0, 2.0, period_s=5.0)
    (12.0, 15.0)
    """
    earliest = deadline_s + lateness_s
    if period_s is None:
        return earliest
    if period_s <= 0:
        raise ValueError(f"a period of {period_s} s emits no watermarks")
    # A hair is let off, or rounding would skip the emission at the very deadline.
    return phase_s + math.ceil((earliest - phase_s) / period_s - 1e-9) * period_s


@dataclass(frozen=True, slots=True)
class SweepEstimate:
    """The ingestion time of the next sweeping watermark, as far as it is known."""

    anchor_s: float
    mean_s: float
    deviation_s: float
    low_s: float
    high_s: float
    epochs: int
    """Sweeps it is learned from; with none, it is the anchor with what tuples' delays suggest."""

    @property
    def width_s(self) -> float:
        """Length of the interval."""
        return self.high_s - self.low_s

    def holds(self, ingested_s: float) -> bool:
        """Whether the interval held the time at which the watermark came."""
        return self.low_s <= ingested_s <= self.high_s

    def moved(self, seconds: float) -> SweepEstimate:
        """The same, anchored so much later."""
        return replace(
            self,
            anchor_s=self.anchor_s + seconds,
            mean_s=self.mean_s + seconds,
            low_s=self.low_s + seconds,
            high_s=self.high_s + seconds,
        )


@dataclass(frozen=True, slots=True)
class Sweeps:
    """How long after their anchors the last sweeping watermarks of a stream came."""

    delays_s: tuple[float, ...] = ()
    """In the order they came."""
    moments: Moments = NO_DELAYS
    ordered_s: tuple[float, ...] = ()
    history: int = HISTORY

    @classmethod
    def of(cls, delays_s: Iterable[float], history: int = HISTORY) -> Sweeps:
        """As if they had come one by one."""
        kept = tuple(delays_s)[-history:]
        return cls(kept, Moments.of(kept), tuple(sorted(kept)), history)

    def swept(self, delay_s: float) -> Sweeps:
        """After one more; a negative delay is a clock that runs ahead, and counts as it is."""
        if not math.isfinite(delay_s):
            raise ValueError(f"a watermark cannot come {delay_s} s after its anchor")
        kept = (*self.delays_s, delay_s)[-self.history :]
        ordered = list(self.ordered_s)
        if len(kept) <= len(self.delays_s):
            ordered.pop(bisect.bisect_left(ordered, self.delays_s[0]))
        bisect.insort(ordered, delay_s)
        return Sweeps(kept, Moments.of(kept), tuple(ordered), self.history)

    def estimate(
        self,
        anchor: float,
        *,
        tuples: Moments = NO_DELAYS,
        confidence: float = CONFIDENCE,
    ) -> SweepEstimate:
        """Of the sweep anchored there; `tuples` are delays to go by while none has been seen."""
        known = self.moments if self.moments.count else tuples
        low, high = self._interval(known, confidence)
        return SweepEstimate(
            anchor,
            anchor + known.mean_s,
            _predictive(known),
            anchor + low,
            anchor + high,
            self.moments.count,
        )

    def _interval(self, known: Moments, confidence: float) -> tuple[float, float]:
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
        normal = _normal(known, confidence)
        count = len(self.ordered_s)
        spans = math.ceil((confidence + _MARGIN * (1.0 - confidence)) * (count + 1))
        if spans >= count:
            return normal
        left_out = count - 1 - spans
        firsts = {round(share * left_out) for share in _TAILS}
        ordered = [(self.ordered_s[i], self.ordered_s[i + spans]) for i in firsts]
        fits = self._share_within(*normal) >= confidence - 1.5 * math.sqrt(
            confidence * (1.0 - confidence) / count
        )
        return min(
            [normal, *ordered] if fits else ordered,
            key=lambda interval: interval[1] - interval[0],
        )

    def _share_within(self, low: float, high: float) -> float:
        within = bisect.bisect_right(self.ordered_s, high) - bisect.bisect_left(self.ordered_s, low)
        return within / len(self.ordered_s)


def _normal(known: Moments, confidence: float) -> tuple[float, float]:
    wanted = confidence + _NORMAL_MARGIN * (1.0 - confidence)
    half = NormalDist().inv_cdf((1.0 + wanted) / 2.0) * _predictive(known)
    return known.mean_s - half, known.mean_s + half


def _predictive(known: Moments) -> float:
    """Deviation of one more delay: its own, and that of the mean it is measured from."""
    if known.count < 2:
        return known.deviation_s
    return known.deviation_s * math.sqrt(1.0 + 1.0 / known.count)
