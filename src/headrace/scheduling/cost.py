"""What a run costs, learned from runs: a fixed part and a part per event.

Ingest and fire are learned apart: every run ingests, only some fire.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_KEEP = 0.95
"""Weight of what was known when one more run comes: about twenty runs are remembered."""
_RIDGE = 0.05
"""How strongly the slope is drawn to the mean cost per event while all runs were of one size."""


@dataclass(frozen=True, slots=True)
class LinearCost:
    """Seconds of a run against its events: least squares over the last runs, never negative."""

    weight: float = 0.0
    events: float = 0.0
    seconds: float = 0.0
    squares: float = 0.0
    products: float = 0.0

    def ran(self, events: float, seconds: float) -> LinearCost:
        """After one more run. What cannot be (a clock that went back) is left out."""
        if events < 0 or seconds < 0:
            return self
        return LinearCost(
            _KEEP * self.weight + 1.0,
            _KEEP * self.events + events,
            _KEEP * self.seconds + seconds,
            _KEEP * self.squares + events * events,
            _KEEP * self.products + events * seconds,
        )

    @property
    def known(self) -> bool:
        """Whether there was any run."""
        return self.weight > 0.0

    @property
    def per_event_s(self) -> float:
        """The slope, between nothing and all of the cost."""
        if not self.known or self.events <= 0.0:
            return 0.0
        mean = self.events / self.weight
        spread = self.squares / self.weight - mean * mean
        together = self.products / self.weight - mean * self.seconds / self.weight
        # Runs of one size tell nothing of the slope: half of their cost is then put down to it.
        prior = _RIDGE * mean * mean
        even = self.seconds / self.events
        slope = (together + prior * even / 2.0) / (spread + prior)
        return min(max(slope, 0.0), even)

    @property
    def fixed_s(self) -> float:
        """The intercept."""
        if not self.known:
            return 0.0
        return max((self.seconds - self.per_event_s * self.events) / self.weight, 0.0)

    def of(self, events: float) -> float:
        """What a run of so many events takes."""
        return self.fixed_s + self.per_event_s * events


@dataclass(frozen=True, slots=True)
class PipelineCost:
    """Costs of one pipeline: ingest by events, fire by rows, and rows per event."""

    ingest: LinearCost = LinearCost()
    fire: LinearCost = LinearCost()
    events: float = 0.0
    rows: float = 0.0

    def ingested(self, events: float, seconds: float) -> PipelineCost:
        """After an ingest."""
        return replace(
            self,
            ingest=self.ingest.ran(events, seconds),
            events=_KEEP * self.events + events,
            rows=_KEEP * self.rows,
        )

    def fired(self, rows: float, seconds: float) -> PipelineCost:
        """After a firing."""
        return replace(self, fire=self.fire.ran(rows, seconds), rows=self.rows + rows)

    @property
    def selectivity(self) -> float:
        """Rows out per event in."""
        return self.rows / self.events if self.events > 0.0 else 1.0

    @property
    def sweep_s(self) -> float:
        """What firing takes, at its usual number of rows."""
        if not self.fire.known:
            return 0.0
        return self.fire.seconds / self.fire.weight
