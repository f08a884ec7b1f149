"""The figures of one moment of the demo, as plain data for whichever view shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import headrace as hr
from headrace.lab.demo.crowd import Answer, Coming, Crowd


@dataclass(frozen=True, slots=True)
class Latency:
    """How long something took: usually, and at worst."""

    median_ms: float
    worst_ms: float

    @classmethod
    def of(cls, values: Iterable[float | None]) -> Latency | None:
        """None when nothing was measured yet."""
        known = [v for v in values if v is not None]
        return cls(median(known), max(known)) if known else None


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """One stream: how fast it is read and how many queries read along."""

    name: str
    events_per_s: float
    batches: int
    batch_ms: float | None
    queries: int


@dataclass(frozen=True, slots=True)
class Figures:
    """What the demo shows."""

    events: int
    events_per_s: float
    streams: tuple[StreamFigures, ...]
    active: int
    served: int
    failed: tuple[str, ...]
    queries_per_scan: float
    groups: int
    classes: int
    slices: int
    state_bytes: int
    late_events: int
    deployment: Latency | None
    event_time: Latency | None
    rows: int
    windows: int
    answers: tuple[Answer, ...]
    comings: tuple[Coming, ...]

    @property
    def batches(self) -> int:
        """Batches of the stream that has seen the fewest."""
        return min((s.batches for s in self.streams), default=0)


def take_figures(session: hr.Session, crowd: Crowd) -> Figures:
    """The figures now.

    Deployment latency is that of queries which came while the streams ran; event-time latency is
    how long after the ends of their windows the last answers came.
    """
    metrics = session.metrics()
    queries = session.queries
    return Figures(
        events=metrics.tuples,
        events_per_s=metrics.tuples_per_s or 0.0,
        streams=tuple(
            StreamFigures(p.name, p.tuples_per_s or 0.0, p.batches, p.last_batch_ms, p.queries)
            for p in metrics.pipelines
        ),
        active=metrics.queries,
        served=sum(1 for q in queries if q.status != "pending"),
        failed=tuple(f"{q.name}: {q.error}" for q in queries if q.status == "failed"),
        queries_per_scan=metrics.queries_per_scan,
        groups=metrics.groups,
        classes=metrics.classes,
        slices=metrics.slices,
        state_bytes=metrics.state_bytes,
        late_events=metrics.late_tuples,
        deployment=Latency.of(q.metrics().deployment_latency_ms for q in crowd.late_comers),
        event_time=Latency.of(crowd.waits_ms),
        rows=metrics.rows,
        windows=metrics.windows,
        answers=crowd.answers,
        comings=crowd.comings,
    )
