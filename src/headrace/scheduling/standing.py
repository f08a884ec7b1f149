"""What one pipeline of micro-batches knows of itself: its cost, its progress, its last run.

The watermark of a batch is known only once the batch has been read. But every batch tells how far
the watermark was behind the clock when the batch was settled; a sweep is due when the clock has
gone as far past its deadline and the lateness.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from headrace.progress.distance import Distance
from headrace.progress.epochs import NO_DELAYS, EpochDelays, Moments
from headrace.progress.sweep import SweepEstimate, Sweeps, anchor_s
from headrace.scheduling.cost import PipelineCost
from headrace.scheduling.snapshot import PipelineView, Stage, SweepView


@dataclass(slots=True)
class Standing:
    """Kept by a pipeline, read by the gate. One thread writes; readers see whole values."""

    lateness_s: float
    cost: PipelineCost = field(default_factory=PipelineCost)
    distance: Distance = field(default_factory=Distance)
    delays: EpochDelays = field(default_factory=EpochDelays)
    """Of tuples on their way to the source, by epoch."""
    last_turn_s: float = 0.0
    settled_s: float = 0.0
    """When the last batch was settled: what waits has come since."""
    in_progress: bool = False
    _expected: tuple[Sweeps, float, SweepEstimate] | None = None
    """The last estimate, with what it was made of."""

    def ran(
        self,
        *,
        settled_s: float,
        tuples: int,
        rows: int,
        ingest_s: float,
        fire_s: float | None,
        watermark_s: float | None,
        swept: bool,
        delays: Moments = NO_DELAYS,
    ) -> None:
        """After a batch; `fire_s` is None where nothing was due."""
        self.cost = self.cost.ingested(tuples, ingest_s)
        if fire_s is not None:
            self.cost = self.cost.fired(rows, fire_s)
        self.settled_s = self.last_turn_s = settled_s
        self.in_progress = not swept
        self.delays = self.delays.heard(delays)
        if swept:
            self.delays = self.delays.swept()
        if watermark_s is not None:
            self.distance = self.distance.heard(settled_s - watermark_s - self.lateness_s)

    def expected(self, deadline_s: float) -> SweepEstimate | None:
        """When a window's sweep can be had; None while the stream does not move with the clock."""
        distance, kept = self.distance, self._expected  # another thread may replace them meanwhile
        if not distance.steady:
            return None
        sweeps = distance.sweeps
        if kept is not None and kept[0] is sweeps and kept[1] == deadline_s:
            return kept[2]
        anchor = anchor_s(deadline_s, self.lateness_s)
        estimate = sweeps.estimate(anchor, tuples=self.delays.expected)
        self._expected = (sweeps, deadline_s, estimate)
        return estimate

    def view(
        self,
        name: str,
        *,
        now_s: float,
        waits_since_s: float,
        queued: float,
        oldest_s: float | None,
        deadline_s: float | None,
        hurried: bool,
        told: SweepEstimate | None = None,
        downstream_s: float = 0.0,
    ) -> PipelineView:
        """For a decision now; what another instance told of the sweep goes before one's own guess,
        and what it said that the rest of the query takes is added."""
        estimate = told
        if told is None and deadline_s is not None:
            estimate = self.expected(deadline_s)
        ingest = self.cost.ingest
        stage = Stage(queued, ingest.per_event_s, min(self.cost.selectivity, 1.0))
        return PipelineView(
            name=name,
            stages=(stage,),
            sweeps=() if estimate is None else (SweepView(estimate),),
            waits_since_s=waits_since_s,
            last_turn_s=self.last_turn_s,
            oldest_s=self.settled_s if oldest_s is None else oldest_s,
            deadline_s=float("inf") if deadline_s is None else deadline_s,
            fixed_s=ingest.fixed_s,
            sweep_s=self.cost.sweep_s,
            downstream_s=downstream_s,
            in_progress=self.in_progress,
            hurried=hurried,
        )
