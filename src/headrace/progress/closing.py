"""When a window may be closed: four ways to deal with tuples that are still under way.

| way | a window is closed when |
|---|---|
| lateness | the highest event time is a fixed time past its end |
| k-slack | it is past the end by the longest delay seen so far |
| aq-k-slack | it is past the end by as much as leaves out no more than the error allows |
| aion | its end has passed, and enough has come to state the answer within the error |

The first two wait for everything. AQ-K-slack waits for the share that a sum may lack, and steers by
what windows turned out to lack. Only Aion estimates what is missing: it closes by the clock, and
waits only where too few tuples have come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

from headrace.progress.substreams import Size, Usual

STEADY = 4.0
"""What has come is no more than so many standard deviations away from what should have."""


def needed_share(
    strength: float, error: float, confidence: float, relative_variance: float = 0.0
) -> float:
    """The share of tuples that suffices for a relative error at a confidence.

    The variance of every estimate is ``(1 − p) / (p · strength)`` of its square: the strength of a
    count is its number of tuples, that of a sum ``(Σx)² / Σx²``, and that of a mean the number of
    tuples over the square of their coefficient of variation. A count or a sum carries the relative
    variance of the number of all tuples besides. 1 means that nothing less than all will do.

    >>> round(needed_share(1_500, 0.05, 0.95), 2)
    0.51
    """
    if not (0.0 < error < 1.0 and 0.0 < confidence < 1.0):
        raise ValueError(f"error and confidence lie between 0 and 1, not at {error}, {confidence}")
    z = NormalDist().inv_cdf((1.0 + confidence) / 2.0)
    room = (error / z) ** 2 - relative_variance
    if room <= 0.0 or strength <= 0.0:
        return 1.0
    return 1.0 / (1.0 + strength * room)


def is_enough(size: Size | None, strength: float, error: float, confidence: float) -> bool:
    """Whether so much of a window has come that its answer can be stated (Aion)."""
    if size is None or size.surprise > STEADY:
        return False
    return size.share >= needed_share(strength, error, confidence, size.relative_variance)


@dataclass(slots=True)
class KSlack:
    """The longest delay seen, and never less again."""

    slack_s: float = 0.0

    def heard(self, longest_s: float) -> None:
        """After tuples of which the slowest took so long."""
        self.slack_s = max(self.slack_s, longest_s)

    def closes(self, end_s: float, highest_s: float) -> bool:
        """Whether a window with this end may be closed, at this highest event time."""
        return highest_s - self.slack_s >= end_s


_PROPORTIONAL, _DIFFERENTIAL = 0.5, 0.1


@dataclass(slots=True)
class AqKSlack:
    """As much slack as leaves no more than the error behind, corrected by what was left behind."""

    error: float
    window_s: float
    correction: float = 1.0
    """Times the share that may be missing."""
    _last: float = 0.0

    def slack_s(self, usual: Usual | None) -> float | None:
        """How long to wait after the end; None while no delay is known."""
        if usual is None:
            return None
        allowed = min(self.error * self.correction, 0.5)
        low, high = 0.0, usual.delay_s(1.0)
        for _ in range(30):
            middle = (low + high) / 2.0
            missing = 1.0 - usual.share_between(middle, middle + self.window_s)
            low, high = (middle, high) if missing > allowed else (low, middle)
        return high

    def lacked(self, share: float) -> None:
        """After a window turned out to have lacked this share (a proportional and differential
        step towards the error)."""
        off = (self.error - share) / self.error
        step = _PROPORTIONAL * off + _DIFFERENTIAL * (off - self._last)
        self.correction = min(max(self.correction * math.exp(0.2 * step), 0.05), 1.0)
        self._last = off
