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

How many are needed follows from the windows before: how well a part of a group told the whole of
it. Groups differ, so the weaker ones decide; the very weakest may have to wait for all tuples.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import numpy.typing as npt

from headrace.approximate.bounds import cautious, deviations_at
from headrace.approximate.usual import Size, Usual

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
    room = (error / deviations_at(confidence)) ** 2 - relative_variance
    if room <= 0.0 or strength <= 0.0:
        return 1.0
    return 1.0 / (1.0 + strength * room)


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
    _found: tuple[Usual, float] | None = None
    """What was found last: it stays while nothing changes."""

    def slack_s(self, usual: Usual | None) -> float | None:
        """How long to wait after the end; None while no delay is known."""
        if usual is None:
            return None
        if self._found is not None and self._found[0] is usual:
            return self._found[1]
        allowed = min(self.error * self.correction, 0.5)
        low, high = 0.0, usual.delay_s(1.0)
        for _ in range(30):
            middle = (low + high) / 2.0
            missing = 1.0 - usual.share_between(middle, middle + self.window_s)
            low, high = (middle, high) if missing > allowed else (low, middle)
        self._found = usual, high
        return high

    def lacked(self, share: float) -> None:
        """After a window turned out to have lacked this share (a proportional and differential
        step towards the error)."""
        off = (self.error - share) / self.error
        step = _PROPORTIONAL * off + _DIFFERENTIAL * (off - self._last)
        self.correction = min(max(self.correction * math.exp(0.2 * step), 0.05), 1.0)
        self._last, self._found = off, None


_WINDOWS = 10
"""Windows that tell how strong groups are."""
_WEAKEST = 0.05
"""Groups weaker than this share of them may have to wait for all of their tuples."""
_MARGIN, _MARGIN_OF_VALUES = 1.2, 1.6
"""So many times the tuples that are needed are sampled: luck decides how many are; and where values
count, windows differ in how much these do."""


def weak(strengths: npt.NDArray[np.float64], share: float = _WEAKEST) -> float | None:
    """How strong the groups of a window are at least, this share of them left out; None where there
    is none."""
    return float(np.quantile(strengths, share, method="lower")) if len(strengths) else None


@dataclass(slots=True)
class Aion:
    """Enough has come to state the answer of a window within the error."""

    error: float
    confidence: float
    doubts_size: bool = True
    """Whether its answers carry the error of the number of tuples: a mean does not."""
    only_counts: bool = False
    """Whether no answer depends on values."""
    _strengths: deque[float] = field(default_factory=lambda: deque(maxlen=_WINDOWS))

    def learned(self, strength: float) -> None:
        """After a window: how strong its weaker groups were."""
        self._strengths.append(strength)

    @property
    def is_new(self) -> bool:
        """Whether few windows have told."""
        return len(self._strengths) < _WINDOWS

    def needed(self, size: Size) -> float | None:
        """The share of tuples that suffices; None while no window has told."""
        if not self._strengths:
            return None
        doubt = size.relative_variance if self.doubts_size else 0.0
        return needed_share(median(self._strengths), self.error, cautious(self.confidence), doubt)

    def closes(self, size: Size | None, rate: float = 1.0) -> bool:
        """Whether a window that has ended may be closed, of whose tuples this rate was kept."""
        if size is None or size.surprise > STEADY:
            return False
        needed = self.needed(size)
        return needed is not None and size.share * rate >= needed

    def rate(self, size: Size | None) -> float:
        """What to sample of a window of which so much will have come at its end."""
        needed = None if size is None else self.needed(size)
        if size is None or needed is None:
            return 1.0
        margin = _MARGIN if self.only_counts else _MARGIN_OF_VALUES
        return min(margin * needed / max(size.share, 1e-9), 1.0)
