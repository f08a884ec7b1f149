"""Counters of a session and its pipelines, as they are told."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from headrace.kernels.classify import intervals
from headrace.progress.sweep import SweepEstimate
from headrace.query.plan import Group, Lane
from headrace.runtime.messages import SectionRef


@dataclass(frozen=True)
class Counters:
    """Makes a dataclass of counters readable as a mapping too: ``dict(session.metrics())``."""

    def keys(self) -> Iterator[str]:
        """Names of the counters."""
        return (f.name for f in fields(self))

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)


@dataclass(frozen=True)
class PipelineMetrics(Counters):
    """Counters of one pipeline, as of its last committed transaction.

    ``tuples_per_s`` is over the last ten seconds, None until there is something to compare.
    ``late_tuples`` sums over active queries: a tuple that comes too late for two counts twice.

    ``classes`` are those that the plan cuts single columns into, and of groups over several columns
    those that occur in the state; a group that keeps one result per query has none there.

    For the scheduler: ``sweep`` is when the next window can be closed, as an interval, and
    ``slack_s`` how long the pipeline can stay idle until then; both None while its stream does not
    move with the clock. A batch costs ``fixed_cost_s`` and ``event_cost_s`` for every tuple.
    ``delay_s`` is how long tuples take to the source, where it tells when they came.

    Of approximate queries: ``statistics_s`` was spent on counting, sampling and estimating so far,
    by tasks and by the driver; answers had to wait for ``decisions`` that closed windows for
    ``deciding_s``; most are made before a window ends. ``sampling`` is the share of tuples that
    sampled queries see now.
    """

    name: str
    queries: int
    slack_s: float | None
    sweep: SweepEstimate | None
    queued: float
    fixed_cost_s: float
    event_cost_s: float
    delay_s: float | None
    delay_deviation_s: float | None
    lane: Lane | None
    plan_version: int
    query_set_bits: int
    groups: int
    classes: int
    slices: int
    sections: int
    state_bytes: int
    tuples: int
    tuples_per_s: float | None
    batches: int
    last_batch_ms: float | None
    watermark: dt.datetime | None
    highest_event_time: dt.datetime | None
    late_tuples: int
    from_future: int
    without_time: int
    statistics_s: float
    deciding_s: float
    decisions: int
    sampling: float


@dataclass(frozen=True)
class ScheduleMetrics(Counters):
    """The scheduler's own figures since the policy was chosen.

    ``deciding_share`` is the processor time that its decisions took, over the time that passed.
    """

    policy: str
    concurrency: int
    waiting: int
    running: int
    decisions: int
    deciding_share: float
    memory_share: float
    memory_mode: bool


@dataclass(frozen=True)
class SessionMetrics(Counters):
    """Sums over the pipelines of a session, and the pipelines themselves.

    ``queries`` are those that take part now, ``scans`` the pipelines that serve at least one;
    ``rows`` and ``windows`` are what all queries, past ones too, were given.
    """

    queries: int
    scans: int
    groups: int
    classes: int
    slices: int
    sections: int
    state_bytes: int
    tuples: int
    tuples_per_s: float | None
    batches: int
    late_tuples: int
    from_future: int
    without_time: int
    rows: int
    windows: int
    schedule: ScheduleMetrics
    pipelines: tuple[PipelineMetrics, ...]

    @property
    def queries_per_scan(self) -> float:
        """How many queries one reading of a stream serves, on average."""
        return self.queries / self.scans if self.scans else 0.0


@dataclass(frozen=True)
class Delivered:
    """What queries were given that are no longer listed."""

    rows: int = 0
    windows: int = 0

    def plus(self, rows: int, windows: int) -> Delivered:
        """With those of one more query."""
        return Delivered(self.rows + rows, self.windows + windows)


def classes_of(group: Group, sections: Sequence[SectionRef]) -> int:
    """How many classes a group has on its one column; or, on several, the most that a section of
    it tells of."""
    if len(group.axes) <= 1:
        return len(intervals(group).query_sets)
    return max((ref.classes or 0 for ref in sections), default=0)
