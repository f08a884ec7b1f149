"""Counters of a session and its pipelines: read at any time, without waiting for a batch."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from headrace.query.plan import SharedPlan
from headrace.runtime.counters import (
    Delivered,
    PipelineMetrics,
    ScheduleMetrics,
    SessionMetrics,
    classes_of,
)
from headrace.runtime.messages import SectionRef
from headrace.scheduling.scheduler import CYCLE_S
from headrace.scheduling.slack import slack_s
from headrace.types import BEGINNING, to_datetime

if TYPE_CHECKING:
    from headrace.spark.pipeline.runner import Pipeline
    from headrace.spark.query import Query

_RATE_OVER_S = 10.0
"""A rate is told over so long: several batches, yet short enough to follow a change."""


class Meter:
    """Watches one pipeline; a thread that samples it now and then makes its rate known."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._samples: tuple[tuple[float, int], ...] = ()
        self._intervals: tuple[SharedPlan | None, int] = (None, 0)

    def sample(self) -> None:
        """Note how many tuples there were by now."""
        now = time.monotonic()
        kept = [s for s in self._samples if s[0] > now - _RATE_OVER_S]
        self._samples = (*kept, (now, self._pipeline.state.tuples))

    def read(self) -> PipelineMetrics:
        """Its counters now. Costs one walk over the live sections."""
        pipeline = self._pipeline
        state, registry, plan = pipeline.state, pipeline.registry, pipeline.plan
        candidate = pipeline.candidate
        now_s, delays = candidate.now_s, candidate.standing.delays.expected
        # A stream that does not run, or has failed, may have no source that could be asked.
        view = candidate.view(now_s, now_s) if pipeline.is_running else None
        return PipelineMetrics(
            name=pipeline.name,
            queries=sum(not q.logical.feeds for q in registry.active.values()),
            slack_s=slack_s(view, now_s, CYCLE_S) if view is not None else None,
            sweep=view.sweeps[0].estimate if view is not None and view.sweeps else None,
            queued=view.queued if view is not None else 0.0,
            fixed_cost_s=candidate.standing.cost.ingest.fixed_s,
            event_cost_s=candidate.standing.cost.ingest.per_event_s,
            delay_s=delays.mean_s if delays.count else None,
            delay_deviation_s=delays.deviation_s if delays.count else None,
            lane=plan.lane if plan is not None else None,
            plan_version=int(registry.version),
            query_set_bits=registry.width,
            groups=len(plan.groups) if plan is not None else 0,
            classes=self._count_classes(plan, state.sections),
            slices=len({x for s in state.sections if not s.session for x in s.slices}),
            sections=len(state.sections),
            state_bytes=state.state_bytes,
            tuples=state.tuples,
            tuples_per_s=self._rate(),
            batches=pipeline.batches,
            last_batch_ms=pipeline.last_batch_ms if pipeline.batches else None,
            watermark=_moment(state.watermark_us),
            highest_event_time=_moment(state.highest_us),
            late_tuples=sum(state.late.values()),
            from_future=state.only.from_future,
            without_time=state.only.without_time,
            statistics_s=pipeline.early.statistics_s,
            deciding_s=pipeline.early.deciding_s,
            decisions=pipeline.early.decisions,
            sampling=state.only.sampling[-1][1] if state.only.sampling else 1.0,
        )

    def _count_classes(self, plan: SharedPlan | None, sections: Sequence[SectionRef]) -> int:
        """Compiling predicates takes a while with a thousand queries: once a plan is enough."""
        if plan is None:
            return 0
        known, count = self._intervals
        if plan is not known:
            count = sum(classes_of(g, ()) for g in plan.groups if len(g.axes) <= 1)
            self._intervals = (plan, count)
        found: dict[int, list[SectionRef]] = {}
        for ref in sections:
            if ref.version == plan.version and ref.classes is not None:
                found.setdefault(ref.group, []).append(ref)
        return count + sum(classes_of(plan.groups[g], refs) for g, refs in found.items())

    def _rate(self) -> float | None:
        samples = self._samples
        if len(samples) < 2:
            return None
        (began, before), (ended, after) = samples[0], samples[-1]
        return (after - before) / (ended - began)


def session_metrics(
    meters: Iterable[Meter],
    queries: Iterable[Query],
    past: Delivered,
    schedule: ScheduleMetrics,
    joins: int,
) -> SessionMetrics:
    """The sums over all pipelines and queries; of the queries, so many join streams."""
    pipelines = tuple(meter.read() for meter in meters)
    served = [query.metrics() for query in queries]
    rates = [p.tuples_per_s for p in pipelines if p.tuples_per_s is not None]
    return SessionMetrics(
        queries=sum(p.queries for p in pipelines) + joins,
        scans=sum(1 for p in pipelines if p.queries or p.groups),
        groups=sum(p.groups for p in pipelines),
        classes=sum(p.classes for p in pipelines),
        slices=sum(p.slices for p in pipelines),
        sections=sum(p.sections for p in pipelines),
        state_bytes=sum(p.state_bytes for p in pipelines),
        tuples=sum(p.tuples for p in pipelines),
        tuples_per_s=sum(rates) if rates else None,
        batches=sum(p.batches for p in pipelines),
        late_tuples=sum(p.late_tuples for p in pipelines),
        from_future=sum(p.from_future for p in pipelines),
        without_time=sum(p.without_time for p in pipelines),
        rows=past.rows + sum(m.rows for m in served),
        windows=past.windows + sum(m.windows for m in served),
        schedule=schedule,
        pipelines=pipelines,
    )


def _moment(time_us: int) -> dt.datetime | None:
    return None if time_us <= BEGINNING else to_datetime(time_us)
