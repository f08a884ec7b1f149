"""One transaction: a micro-batch or a firing without one, from the state before to the one after.

Results that the last batch left for this one are fired by tasks beside the ingest tasks, in the
same job, before the batch's own tuples count; what the batch itself makes due is fired by a job
after it, unless that is left for the next batch.

A transaction changes nothing but files that no commit names yet. What it found out, it returns.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import SparkSession

from headrace.approximate.early import EarlyDue, EarlyWindows
from headrace.connectors.offsets import after
from headrace.connectors.sinks import Sink
from headrace.kernels.answers import Setting
from headrace.runtime.emitted import Emitted
from headrace.runtime.entries import Begin
from headrace.runtime.firing import starts_of, still_needed
from headrace.runtime.journal import Journal
from headrace.runtime.life import Life
from headrace.runtime.messages import FilesUnreadable, Ingested, SectionRef
from headrace.runtime.outcome import Culprits, FilesGivenUp, Outcome
from headrace.runtime.plans import PlanBook, PlanEntry
from headrace.runtime.state import InputState, PipelineState
from headrace.spark.fire.delivery import TaskSink
from headrace.spark.fire.early_task import EarlyKnown
from headrace.spark.fire.job import Approximate, FireJob, replaced
from headrace.spark.fire.task import FireTask
from headrace.spark.ingest.culprits import find_culprits
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.ingest.job import Ingest
from headrace.spark.ingest.task import BatchFrame
from headrace.spark.premises import Premises
from headrace.spark.streams import Stream
from headrace.spark.worker.plans import PlanHandle
from headrace.types import BEGINNING


@dataclass(frozen=True)
class Transaction:
    """Works on the life of a pipeline as it is when the transaction begins."""

    spark: SparkSession
    stream: Stream
    journal: Journal
    life: Life
    plans: PlanBook[PlanHandle]
    sinks: Mapping[int, Sink]
    setting: Setting
    early: EarlyWindows

    def run(
        self, batch: Batch | None, *, defer: bool, early: tuple[EarlyDue, ...] = ()
    ) -> Outcome | Culprits | FilesGivenUp:
        """With `defer`, what this batch makes due is left for the next one. Without a batch, these
        windows of approximate queries are answered `early`; a batch finds out itself."""
        state, begin = self.life.state, self.begin
        sections, fresh = list(state.sections), list[SectionRef]()
        used = {s.file for s in sections}
        emitted = Emitted()
        told: tuple[Ingested, ...] = ()
        upto = state.emitted_upto_us
        begun = time.monotonic()
        if batch is not None:
            upto = max(upto, state.watermark_us)
            owed = self._owed(upto)
            found = self._ingest(batch, owed, emitted, waited=defer)
            if not isinstance(found, tuple):
                return found
            told = found
            early = () if owed is None else owed.firing.early
            self._fire_job("r", state.emitted_upto_us, upto).finish(emitted)
            sections = replaced(sections, emitted.take_compacted())
            fresh = [s for i in told for s in i.sections]
            used |= {s.file for s in (*sections, *fresh)}
        closed = _closed(state.closed_upto_us, early)
        ingested = time.monotonic()
        after_input = self._after(told, batch)
        progress = after_input.progress
        if batch is not None:
            spent_s = sum(i.statistics_s for i in told)
            counted = [i.sub_streams for i in told]
            self.early.heard(counted, spent_s, begin.now_s, progress.watermark_us)
        if not defer and (batch is not None or progress.watermark_us > upto):
            more = self.early.due(
                starts_of([*sections, *fresh]),
                max(upto, progress.watermark_us),
                progress.highest_us,
                closed,
                begin.now_s,
                after_input.sampling,
                complete=batch is None,
            )
            early = more if batch is not None else (*early, *more)
        if not defer:
            job = self._fire_job("f", upto, progress.watermark_us, early)
            closed = _closed(closed, early)
            job.run([*sections, *fresh], emitted)
            sections = replaced([*sections, *fresh], emitted.take_compacted())
            used |= {s.file for s in sections}
            upto, fresh = max(upto, progress.watermark_us), []
        self.early.answered(emitted.strengths, emitted.pending, begin.now_s, early)
        active = [q for q in self.entry.queries if int(q.uid) not in emitted.failed]
        # Only a firing of sessions tells which are still open; without one all pieces stay.
        held_from = emitted.held_from_us if emitted.fired_sessions else BEGINNING
        kept = still_needed(
            active, sections, self.plans.plans, upto, held_from, self.life.read_upto_us
        )
        answered = [(name, end) for name, end in state.answered if end > upto]
        used |= {name for name, _ in (*state.answered, *emitted.answered)}
        sampling = self.early.schedule(
            after_input.sampling, progress.highest_us, progress.watermark_us
        )
        then = replace(
            state.after_input(self.stream.name, replace(after_input, sampling=sampling)),
            txn=begin.txn,
            emitted_upto_us=upto,
            sections=(*kept, *fresh),
            late=_late(state, told),
            closed_upto_us=closed,
            answered=(*answered, *emitted.answered),
        )
        fired = then.emitted_upto_us > state.emitted_upto_us
        return Outcome(
            then,
            told,
            emitted,
            frozenset(used),
            ingested - begun,
            time.monotonic() - ingested if fired else None,
        )

    @property
    def begin(self) -> Begin:
        """What was fixed beforehand."""
        assert self.life.begun is not None
        return self.life.begun

    @cached_property
    def entry(self) -> PlanEntry[PlanHandle]:
        """The plan that it runs under."""
        version = self.begin.version
        return self.plans.entry(version, self.life.editions[version])

    @cached_property
    def premises(self) -> Premises:
        """What all tasks know. Sinks that are alike are one object: pickled once, whatever the
        number of queries."""
        alike: dict[str, TaskSink] = {}
        sinks: dict[int, TaskSink] = {}
        for query in self.entry.queries:
            since = query.since_us if query.partial_first else None
            sink = TaskSink.of(self.sinks[int(query.uid)], since)
            sinks[int(query.uid)] = alike.setdefault(repr(sink), sink)
        return Premises(
            self.begin.txn,
            self.begin.version,
            self.journal.buckets,
            self.journal.staging,
            sinks,
            self.setting,
        )

    def take_back(self, task: str = "") -> None:
        """Undo what tasks have staged in sinks; the transaction, or a part of it, is done again."""
        for query in self.entry.queries:
            self.sinks[int(query.uid)].abort(self.begin.txn, int(query.uid), task)

    # -- ingest -------------------------------------------------------------------------------

    def _ingest(
        self, batch: Batch, owed: FireTask | None, emitted: Emitted, *, waited: bool
    ) -> tuple[Ingested, ...] | Culprits | FilesGivenUp:
        """Run the ingest job. Tuples of a stream that catches up have `waited` at the source for
        nobody knows how long."""
        begin, entry = self.begin, self.entry
        given = self.life.state.inputs[self.stream.name]
        highest_us = given.progress.highest_us
        frame = BatchFrame(
            at=self.premises,
            watermark_us=max(self.life.state.emitted_upto_us, self.life.state.watermark_us),
            joined_upto_us=self.life.state.joined_upto_us,
            now_us=int(begin.now_s * 1e6),
            highest_us=highest_us if highest_us > BEGINNING else None,
            max_ahead_us=self.stream.max_ahead_us,
            keep_late=self.stream.late_sink is not None,
            sampling=given.sampling,
            since_us=None if waited else self.early.since_us(begin.now_s),
        )
        where = entry.queries[0].logical.where_sql if len(entry.queries) == 1 else None
        job = Ingest(self.stream, entry.plan, entry.handle, frame, where)
        try:
            messages = job.run(batch, owed)
        except Exception as error:
            culprits = find_culprits(job, batch, [q.logical for q in entry.queries], error)
            if not culprits:
                raise
            return Culprits({int(entry.queries[n].uid): why for n, why in culprits.items()})
        emitted.begin_firing(sessions=owed is not None and bool(owed.firing.session_lives))
        told = list[Ingested]()
        for message in messages:
            match message.told if message.kind in _OURS else None:
                case Ingested() as one:
                    told.append(one)
                case FilesUnreadable(reason):
                    return FilesGivenUp(reason)
        emitted.take(m for m in messages if m.kind not in _OURS)
        return tuple(told)

    def _after(self, told: tuple[Ingested, ...], batch: Batch | None) -> InputState:
        """The input after what tasks have told of it."""
        begin, given = self.begin, self.life.state.inputs[self.stream.name]
        highest: dict[str, int] = {}
        for info in told:
            for partition, time_us in info.highest_us.items():
                highest[partition] = max(highest.get(partition, time_us), time_us)
        progress = given.progress.heard(highest, begin.now_s) if highest else given.progress
        return replace(
            given,
            progress=progress.at(begin.now_s),
            batch_id=begin.batch_id if batch is not None else given.batch_id,
            offsets=None if given.offsets is None else after(given.offsets, begin.ranges),
            tuples=given.tuples + sum(i.tuples for i in told),
            without_time=given.without_time + sum(i.without_time for i in told),
            from_future=given.from_future + sum(i.from_future for i in told),
        )

    # -- firing -------------------------------------------------------------------------------

    def _owed(self, upto: int) -> FireTask | None:
        """What the last batch made due and left. A stream that catches up answers nothing early,
        but what is made of a sample has to be answered while the sample is there."""
        state = self.life.state
        if upto <= state.emitted_upto_us:
            return None
        early = self.early.due(
            starts_of(state.sections),
            upto,
            state.highest_us,
            state.closed_upto_us,
            self.begin.now_s,
            state.inputs[self.stream.name].sampling,
            complete=True,
        )
        return self._fire_job("r", state.emitted_upto_us, upto, early).task(state.sections)

    def _fire_job(
        self,
        prefix: str,
        emitted_upto_us: int,
        watermark_us: int,
        early: tuple[EarlyDue, ...] = (),
    ) -> FireJob:
        """`prefix` is ``r`` for what the last batch left, ``f`` for what is due after this one."""
        state = self.life.state
        known = EarlyKnown(
            dict(state.closed_upto_us),
            tuple(name for name, _ in state.answered),
            self.early.learners(self.begin.now_s),
        )
        sampling = state.inputs[self.stream.name].sampling
        return FireJob(
            spark=self.spark,
            at=self.premises,
            plans=self.plans,
            entry=self.entry,
            prefix=prefix,
            emitted_upto_us=emitted_upto_us,
            watermark_us=watermark_us,
            approximate=Approximate(early, known, self.early.sampled, sampling),
            take_back=self.take_back,
            purge=self.life.purge,
            ntz=self.stream.has_ntz_time,
            read_upto_us=self.life.read_upto_us,
        )


_OURS = {Ingested.__name__, FilesUnreadable.__name__}
"""What the driver is told of ingest; other messages are about rows."""


def _late(state: PipelineState, told: Iterable[Ingested]) -> dict[int, int]:
    late = dict(state.late)
    for info in told:
        for uid, count in info.late.items():
            late[uid] = late.get(uid, 0) + count
    return late


def _closed(upto_us: Mapping[int, int], early: Iterable[EarlyDue]) -> dict[int, int]:
    """By query, up to where its windows are answered after these."""
    closed = dict(upto_us)
    for one in early:
        closed |= {uid: max(one.span[1], closed.get(uid, BEGINNING)) for uid in one.uids}
    return closed
