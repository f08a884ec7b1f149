"""How far a watermark is behind the clock, batch by batch, and what of it is usual.

A batch that could not run for a while, a source that was held up, a restart: each leaves a distance
that tells nothing of the next sweep, and a few of them among many would make every interval
seconds wide. So a level is taken from the last batches, by medians, and only what lies near it is
learned from. A stream that moves to another level is followed once most of them have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from headrace.progress.sweep import Sweeps

_HISTORY = 100
"""Batches remembered: delays are those of the last minutes, not of the last hour."""
_RECENT = 15
"""Batches that tell the level."""
_NEAR_S = 0.5
"""What lies within this of the level is always near it …"""
_NEAR = 12.0
"""… and so is what lies within so many median deviations."""
_WIDEST_S = 5.0
"""A stream whose interval is wider than this is catching up: nothing is expected of it."""


@dataclass(frozen=True, slots=True)
class Distance:
    """Of one stream, as one pipeline sees it."""

    behind_s: tuple[float, ...] = ()
    """In the order they came."""
    sweeps: Sweeps = field(default_factory=Sweeps)
    """The usual ones."""
    steady: bool = False
    """Whether the stream moves with the clock: the last batch found it where it was expected."""

    def heard(self, behind_s: float) -> Distance:
        """After one more batch; a watermark ahead of the clock is as far behind it as is said."""
        behind = (*self.behind_s, behind_s)[-_HISTORY:]
        level = median(behind[-_RECENT:])
        reach = max(_NEAR_S, _NEAR * median(abs(b - level) for b in behind[-_RECENT:]))
        usual = Sweeps.of((b for b in behind if abs(b - level) <= reach), _HISTORY)
        steady = (
            bool(self.behind_s)
            and abs(behind_s - level) <= reach
            and usual.estimate(0.0).width_s <= _WIDEST_S
        )
        return Distance(behind, usual, steady)
