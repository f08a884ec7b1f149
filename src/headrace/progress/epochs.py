"""Delays per epoch: mean and second moment, over a history of epochs (Klink, section 3.1).

An epoch ends with a sweeping watermark, the first that passes the deadline of a window. Every epoch
of the history counts alike, however many tuples it had.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

HISTORY = 400
"""Epochs remembered, as in the paper's experiments."""


@dataclass(frozen=True, slots=True)
class Moments:
    """How many delays there were, their mean and the mean of their squares, in seconds.

    Delays may be negative: the clocks of source and engine need not agree.
    """

    count: int = 0
    mean_s: float = 0.0
    second_s2: float = 0.0

    @classmethod
    def of(cls, delays_s: Iterable[float]) -> Moments:
        """Of so many delays, one by one.

        >>> Moments.of([1.0, 3.0])
        Moments(count=2, mean_s=2.0, second_s2=5.0)
        """
        values = tuple(delays_s)
        if not values:
            return cls()
        count = len(values)
        return cls(count, sum(values) / count, sum(v * v for v in values) / count)

    def plus(self, other: Moments) -> Moments:
        """Of both together."""
        count = self.count + other.count
        if not count:
            return self
        share = other.count / count
        return Moments(
            count,
            self.mean_s + share * (other.mean_s - self.mean_s),
            self.second_s2 + share * (other.second_s2 - self.second_s2),
        )

    @property
    def variance_s2(self) -> float:
        """Never below zero, whatever rounding did."""
        return max(self.second_s2 - self.mean_s**2, 0.0)

    @property
    def deviation_s(self) -> float:
        """The standard deviation."""
        return float(self.variance_s2**0.5)


NO_DELAYS = Moments()


@dataclass(frozen=True, slots=True)
class EpochDelays:
    """Delays of the tuples of one stream: the epoch that runs, and those before it."""

    running: Moments = NO_DELAYS
    ended: tuple[Moments, ...] = ()
    history: int = HISTORY

    def heard(self, delays: Moments) -> EpochDelays:
        """After more tuples of the running epoch."""
        return replace(self, running=self.running.plus(delays))

    def swept(self) -> EpochDelays:
        """After a sweeping watermark; an epoch without a tuple tells nothing and is not kept."""
        if not self.running.count:
            return self
        ended = (*self.ended, self.running)[-self.history :]
        return replace(self, running=NO_DELAYS, ended=ended)

    @property
    def expected(self) -> Moments:
        """What to expect of the next epoch: the mean over epochs (eq. 3 and 4), or the running
        one while there is no other. No count means that nothing is known."""
        if not self.ended:
            return self.running
        count = len(self.ended)
        return Moments(
            sum(e.count for e in self.ended),
            sum(e.mean_s for e in self.ended) / count,
            sum(e.second_s2 for e in self.ended) / count,
        )
