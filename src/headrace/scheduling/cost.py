"""What a run costs, learned from runs: a fixed part and a part per event.

Medians, not means: the first batch of a cold process takes ten times as long as any other, and a
pause of the machine now and then must not change who runs next. Ingest and fire are learned apart:
every run ingests, only some fire.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from statistics import median

_RUNS = 20
"""Runs remembered."""
_APART = 0.1
"""Two runs tell a slope if their sizes differ by this share of the mean size."""
_KEEP = 0.95
"""Weight of what was known of rows and events when one more run comes."""


@dataclass(frozen=True, slots=True)
class LinearCost:
    """Seconds of a run against its events: the median of all slopes (Theil and Sen) over the last
    runs, and the median of what is left. Neither is ever negative."""

    runs: tuple[tuple[float, float], ...] = ()
    per_event_s: float = 0.0
    fixed_s: float = 0.0
    usual_s: float = 0.0
    """What a run takes as a rule."""

    def ran(self, events: float, seconds: float) -> LinearCost:
        """After one more run. What cannot be (a clock that went back) is left out."""
        if events < 0 or seconds < 0:
            return self
        runs = (*self.runs, (events, seconds))[-_RUNS:]
        slope = _slope(runs)
        left = median(s - slope * n for n, s in runs)
        return LinearCost(runs, slope, max(left, 0.0), median(s for _, s in runs))

    @property
    def known(self) -> bool:
        """Whether there was any run."""
        return bool(self.runs)

    def of(self, events: float) -> float:
        """What a run of so many events takes."""
        return self.fixed_s + self.per_event_s * events


def _slope(runs: tuple[tuple[float, float], ...]) -> float:
    mean = sum(n for n, _ in runs) / len(runs)
    if mean <= 0.0:
        return 0.0
    slopes = [
        (t - s) / (m - n) for (n, s), (m, t) in combinations(runs, 2) if abs(m - n) >= _APART * mean
    ]
    even = median(s for _, s in runs) / mean
    # Runs of one size tell nothing of the slope: half of their cost is then put down to it.
    return min(max(median(slopes), 0.0), even) if slopes else even / 2.0


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
        return self.fire.usual_s
