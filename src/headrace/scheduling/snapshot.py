"""What a policy sees: every pipeline that waits for a turn, at one moment."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.progress.sweep import SweepEstimate


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a pipeline with a queue of its own; on Spark there is one, in the simulator one
    per operator."""

    queued: float
    """Events that wait in front of it."""
    per_event_s: float
    selectivity: float
    """Events that leave it per event that enters."""


@dataclass(frozen=True, slots=True)
class SweepView:
    """The next sweep of one input stream of a pipeline."""

    estimate: SweepEstimate
    arrived_at_s: float | None = None
    """When the sweeping watermark came, where that is known before it is processed."""


@dataclass(frozen=True, slots=True)
class PipelineView:
    """One pipeline that wants to run."""

    name: str
    stages: tuple[Stage, ...]
    sweeps: tuple[SweepView, ...]
    """One per input stream; none before anything is known of its windows."""
    waits_since_s: float
    """Since when it asks for a turn."""
    last_turn_s: float
    """When its last turn began."""
    oldest_s: float
    """When the oldest event that waits came in."""
    deadline_s: float
    """End of the next window, in event time."""
    fixed_s: float = 0.0
    """What a run takes, however little it processes."""
    sweep_s: float = 0.0
    """What the sweep itself takes: firing the window, once its events are in."""
    downstream_s: float = 0.0
    """What other instances said that the rest of the query takes."""
    in_progress: bool = False
    """Had a turn and has not passed a sweeping watermark since."""
    hurried: bool = False
    """Somebody waits for all that it has: its turn is not put off."""

    @property
    def queued(self) -> float:
        """Events that wait anywhere in it."""
        return sum(stage.queued for stage in self.stages)

    @property
    def selectivity(self) -> float:
        """Events that leave it per event that enters."""
        product = 1.0
        for stage in self.stages:
            product *= stage.selectivity
        return product

    @property
    def path_s(self) -> float:
        """What one event takes from end to end, less what is filtered on the way."""
        seconds, share = 0.0, 1.0
        for stage in self.stages:
            seconds += share * stage.per_event_s
            share *= stage.selectivity
        return seconds

    @property
    def events_s(self) -> float:
        """What all queued events take to the end of the pipeline."""
        seconds, rest = 0.0, 0.0
        for stage in reversed(self.stages):
            rest = stage.per_event_s + stage.selectivity * rest
            seconds += stage.queued * rest
        return seconds

    @property
    def cost_s(self) -> float:
        """cost(t) of the paper: all that stands between now and the window's output."""
        return self.fixed_s + self.events_s + self.sweep_s + self.downstream_s


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory in use, and the memory mode that a policy may be in."""

    used: float = 0.0
    bound: float = float("inf")
    entered_at_s: float | None = None
    """Since when memory mode is on; None while it is off."""
    used_at_entry: float = 0.0

    @property
    def share(self) -> float:
        """Of the bound that is in use."""
        return self.used / self.bound if self.bound > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything that a policy may look at."""

    now_s: float
    cycle_s: float
    """How long a decision holds: r of the paper, about a micro-batch on Spark."""
    pipelines: tuple[PipelineView, ...]
    """Those that wait for a turn and are not asleep."""
    memory: Memory = Memory()
    asleep_until_s: float = float("inf")
    """When the first of those becomes due that were held before and are left out."""
