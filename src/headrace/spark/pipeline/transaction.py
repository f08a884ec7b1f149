"""One transaction: a micro-batch or a firing without one, from the state before to the one after.

Results that the last batch left for this one are fired by tasks beside the ingest tasks, in the
same job, before the batch's own tuples count; what the batch itself makes due is fired by a job
after it, unless that is left for the next batch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.approximate.early import EarlyDue, EarlyWindows
from headrace.connectors.offsets import after
from headrace.connectors.store import Store
from headrace.kernels.answers import Setting
from headrace.optimizer import Statistics
from headrace.progress.epochs import NO_DELAYS, Moments
from headrace.runtime.firing import starts_of, still_needed
from headrace.runtime.journal import Begin, Journal
from headrace.runtime.messages import Message, SectionRef
from headrace.runtime.state import PipelineState
from headrace.spark.fire.delivery import TaskSink, part_prefix
from headrace.spark.fire.emitter import Emitter, Listener
from headrace.spark.fire.job import FireJob, replaced
from headrace.spark.fire.task import FireTask
from headrace.spark.ingest.culprits import find_culprits
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.ingest.job import Ingest
from headrace.spark.ingest.task import BatchFrame
from headrace.spark.pipeline.plans import PlanBook
from headrace.spark.query import Query
from headrace.spark.streams import Stream
from headrace.types import BEGINNING, Clock

log = logging.getLogger("headrace")


@dataclass(frozen=True)
class Outcome:
    """What a transaction led to."""

    state: PipelineState
    infos: list[dict[str, Any]]
    failed: dict[int, str]
    used_files: set[str]
    """Bucket files that were there before or on the way; those not in the state can go."""
    rows: int
    """Results that were delivered."""
    ingest_s: float
    fire_s: float | None
    """How long the firing took, None where nothing was due."""

    @property
    def tuples(self) -> int:
        """How many were read."""
        return sum(i["tuples"] for i in self.infos)

    @property
    def delays(self) -> Moments:
        """Of tuples on their way to the source, where that is known."""
        found = [Moments(*i["delays"]) for i in self.infos if i.get("delays")]
        return reduce(Moments.plus, found, NO_DELAYS)

    @property
    def statistics(self) -> Statistics | None:
        """How many tuples and keys there were, if there were any."""
        tuples = self.tuples
        keys = max((i["keys"] for i in self.infos), default=0)
        slices = {s for i in self.infos for ref in i["sections"] for s in ref["slices"]}
        if not (tuples and keys and slices):
            return None
        return Statistics(tuples / len(slices), float(keys))


@dataclass(frozen=True)
class Transaction:
    """Runs under the pipeline's lock, on the state of the last commit."""

    spark: SparkSession
    stream: Stream
    journal: Journal
    plans: PlanBook
    setting: Setting
    clock: Clock
    queries: Mapping[int, Query]
    state: PipelineState
    purge: bool
    give_up_files: Callable[[str], None]
    exclude: Callable[[Mapping[int, str]], int]
    """Takes queries that raise out of the plan and returns the version without them."""
    listeners: Sequence[Listener]
    early: EarlyWindows
    _sinks: dict[int, dict[int, TaskSink]] = field(default_factory=dict)

    def run(
        self,
        begin: Begin,
        batch: Batch | None,
        *,
        defer: bool,
        early: tuple[EarlyDue, ...] = (),
    ) -> Outcome:
        """With `defer`, what this batch makes due is left for the next one. Without a batch, these
        windows of approximate queries are answered `early`; a batch finds out itself."""
        state, sections, fresh = self.state, list(self.state.sections), list[SectionRef]()
        used = {s.file for s in sections}
        emitter = Emitter(self.spark, self.queries, begin.txn, self.clock, self.listeners)
        infos: list[dict[str, Any]] = []
        upto = state.emitted_upto_us
        begun = time.monotonic()
        if batch is not None:
            begin, owed, messages = self._ingest(begin, batch, waited=defer)
            upto = max(upto, state.progress.watermark_us)
            early = () if owed is None else owed.early
            emitter.begin_firing(sessions=owed is not None and bool(owed.session_lives))
            infos = [m.value for m in messages if m.kind == "info"]
            emitter.take(messages)
            self._fire_job(begin, "r", state.emitted_upto_us, upto).finish(emitter)
            sections = replaced(sections, emitter.take_compacted())
            fresh = [SectionRef.from_json(s) for i in infos for s in i["sections"]]
            used |= {s.file for s in (*sections, *fresh)}
        closed = _closed(state.closed_upto_us, early)
        ingested = time.monotonic()
        late = self._note_late(infos)
        highest = _highest(infos)
        progress = state.progress.heard(highest, begin.now_s) if highest else state.progress
        progress = progress.at(begin.now_s)
        if batch is not None:
            self.early.heard(infos, begin.now_s, progress.watermark_us)
        if not defer and (batch is not None or progress.watermark_us > upto):
            more = self.early.due(
                starts_of([*sections, *fresh]),
                max(upto, progress.watermark_us),
                progress.highest_us,
                closed,
                begin.now_s,
                state.sampling,
                complete=batch is None,
            )
            early = more if batch is not None else (*early, *more)
        if not defer:
            job = self._fire_job(begin, "f", upto, progress.watermark_us, early)
            closed = _closed(closed, early)
            job.run([*sections, *fresh], emitter)
            sections = replaced([*sections, *fresh], emitter.take_compacted())
            used |= {s.file for s in sections}
            upto, fresh = max(upto, progress.watermark_us), []
        self.early.answered(emitter.strengths, emitter.pending, begin.now_s, early)
        emitter.deliver()
        self._deliver_late(emitter, begin.txn)
        active = [q for q in self.plans[begin.version].queries if int(q.uid) not in emitter.failed]
        # Only a firing of sessions tells which are still open; without one all pieces stay.
        held_from = emitter.held_from_us if emitter.fired_sessions else BEGINNING
        kept = still_needed(active, sections, self.plans.plans, upto, held_from)
        answered = [(name, end) for name, end in state.answered if end > upto]
        used |= {name for name, _ in (*state.answered, *emitter.answered)}
        then = replace(
            state,
            progress=progress,
            txn=begin.txn,
            batch_id=begin.batch_id if batch is not None else state.batch_id,
            emitted_upto_us=upto,
            sections=(*kept, *fresh),
            tuples=state.tuples + sum(i["tuples"] for i in infos),
            without_time=state.without_time + sum(i["without_time"] for i in infos),
            from_future=state.from_future + sum(i["from_future"] for i in infos),
            offsets=None if state.offsets is None else after(state.offsets, begin.ranges),
            late=late,
            closed_upto_us=closed,
            sampling=self.early.schedule(
                state.sampling, progress.highest_us, progress.watermark_us
            ),
            answered=(*answered, *emitter.answered),
        )
        fired = then.emitted_upto_us > state.emitted_upto_us
        return Outcome(
            then,
            infos,
            emitter.failed,
            used,
            emitter.rows,
            ingested - begun,
            time.monotonic() - ingested if fired else None,
        )

    def _ingest(
        self, begin: Begin, batch: Batch, *, waited: bool
    ) -> tuple[Begin, FireTask | None, list[Message]]:
        """Run the ingest job; queries whose expressions raise are taken out and it runs again.

        Tuples of a stream that catches up have `waited` at the source for nobody knows how long."""
        progress = self.state.progress
        upto = max(self.state.emitted_upto_us, progress.watermark_us)
        while True:
            entry = self.plans[begin.version]
            where = entry.queries[0].logical.where_sql if len(entry.queries) == 1 else None
            frame = BatchFrame(
                buckets=self.journal.buckets,
                txn=begin.txn,
                watermark_us=upto,
                now_us=int(begin.now_s * 1e6),
                highest_us=progress.highest_us if progress.highest_us > BEGINNING else None,
                max_ahead_us=self.stream.max_ahead_us,
                sinks=self._task_sinks(begin),
                time_zone=self.setting.time_zone,
                keep_late=self.stream.late_sink is not None,
                sampling=self.state.sampling,
                since_us=None if waited else self.early.since_us(begin.now_s),
            )
            job = Ingest(self.stream, entry.plan, entry.handle, frame, where)
            owed = self._owed(begin, upto)
            try:
                messages = job.run(batch, owed)
                unreadable = [str(m.value) for m in messages if m.kind == "unreadable"]
                if not unreadable:
                    return begin, owed, messages
                take_back(self.queries.values(), begin.txn)
                self.give_up_files(unreadable[0])
                batch = batch.without_files()
            except Exception as error:
                culprits = find_culprits(job, batch, [q.logical for q in entry.queries], error)
                if not culprits:
                    raise
                take_back(self.queries.values(), begin.txn)
                reasons = {int(entry.queries[n].uid): reason for n, reason in culprits.items()}
                begin = replace(begin, version=self.exclude(reasons))
                self.journal.begin(begin)

    def _owed(self, begin: Begin, upto: int) -> FireTask | None:
        """What the last batch made due and left. A stream that catches up answers nothing early,
        but what is made of a sample has to be answered while the sample is there."""
        state = self.state
        if upto <= state.emitted_upto_us:
            return None
        early = self.early.due(
            starts_of(state.sections),
            upto,
            state.progress.highest_us,
            state.closed_upto_us,
            begin.now_s,
            state.sampling,
            complete=True,
        )
        job = self._fire_job(begin, "r", state.emitted_upto_us, upto, early)
        return job.task(state.sections)

    def _fire_job(
        self,
        begin: Begin,
        prefix: str,
        emitted_upto_us: int,
        watermark_us: int,
        early: tuple[EarlyDue, ...] = (),
    ) -> FireJob:
        """`prefix` is ``r`` for what the last batch left, ``f`` for what is due after this one."""
        column = self.stream.schema.find(self.stream.schema.event_time)
        return FireJob(
            spark=self.spark,
            journal=self.journal,
            plans=self.plans,
            setting=self.setting,
            begin=begin,
            sinks=self._task_sinks(begin),
            emitted_upto_us=emitted_upto_us,
            watermark_us=watermark_us,
            ntz=column is not None and column.type == "timestamp_ntz",
            prefix=prefix,
            take_back=lambda task: take_back(self.queries.values(), begin.txn, task),
            purge=self.purge,
            early=early,
            closed_upto_us=dict(self.state.closed_upto_us),
            sampled=self.early.sampled,
            sampling=self.state.sampling,
            learners=self.early.learners(begin.now_s),
            answered=tuple(name for name, _ in self.state.answered),
        )

    def _task_sinks(self, begin: Begin) -> dict[int, TaskSink]:
        """One object for sinks that are alike: pickled once, whatever the number of queries."""
        if begin.version not in self._sinks:
            alike: dict[TaskSink, TaskSink] = {}
            made = self._sinks[begin.version] = {}
            for query in self.plans[begin.version].queries:
                since = query.since_us if query.partial_first else None
                sink = self.queries[int(query.uid)].sink.for_tasks(since)
                made[int(query.uid)] = alike.setdefault(sink, sink)
        return self._sinks[begin.version]

    def _note_late(self, infos: list[dict[str, Any]]) -> dict[int, int]:
        late = dict(self.state.late)
        for info in infos:
            for name, count in info["late"].items():
                uid = int(name)
                late[uid] = late.get(uid, 0) + count
                if uid in self.queries:
                    self.queries[uid].missed(count)
        return late

    def _deliver_late(self, emitter: Emitter, txn: int) -> None:
        """Late tuples go to the stream's own sink, if it has one; at least once."""
        if self.stream.late_sink is None or not emitter.late:
            return
        names = [c.name for c in self.stream.schema.columns]
        table = pa.concat_tables([t.select(names) for t in emitter.late])
        try:
            self.stream.late_sink.deliver(self.spark, table, txn)
        except Exception:
            name = self.stream.schema.name
            log.warning("the sink for late tuples of %r failed", name, exc_info=True)


def take_back(queries: Iterable[Query], txn: int, task: str = "") -> None:
    """Remove the files that an unfinished transaction has written to parquet sinks."""
    for query in list(queries):
        if query.sink.kind != "parquet":
            continue
        folder = Store(query.sink.options["path"])
        prefix = part_prefix(txn, int(query.uid), task)
        for name in folder.names():
            if name.startswith(prefix):
                folder.delete(name)


def _closed(upto_us: Mapping[int, int], early: Iterable[EarlyDue]) -> dict[int, int]:
    """By query, up to where its windows are answered after these."""
    closed = dict(upto_us)
    for one in early:
        closed |= {uid: max(one.span[1], closed.get(uid, BEGINNING)) for uid in one.uids}
    return closed


def _highest(infos: list[dict[str, Any]]) -> dict[str, int]:
    """The highest event time of each partition."""
    highest: dict[str, int] = {}
    for info in infos:
        for partition, time_us in info["highest_us"].items():
            highest[partition] = max(highest.get(partition, time_us), time_us)
    return highest
