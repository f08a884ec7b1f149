"""The pipeline of one stream on Spark: it gets batches, and runs transactions in its turn.

The turn is held by Spark's callback with a micro-batch, by the ticker when only time has passed, by
the clock of early answers, or by a caller whose request can be served at once.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from headrace.approximate.early import EarlyDue, EarlyWindows, lightest_first
from headrace.approximate.early_clock import EarlyClock
from headrace.connectors.offsets import Offsets
from headrace.connectors.sinks import Sink
from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.kernels.answers import Setting
from headrace.optimizer.cut_sub_streams import cut_sub_streams
from headrace.progress.watermark import Progress
from headrace.query.logical import LogicalQuery
from headrace.runtime import faults
from headrace.runtime import life as lives
from headrace.runtime.checkpoint import fitting
from headrace.runtime.entries import EndRecord, QueryRecord
from headrace.runtime.explain import explain_plan, explain_query
from headrace.runtime.firing import starts_of
from headrace.runtime.outcome import Culprits, FilesGivenUp, Outcome
from headrace.runtime.plans import StreamBook
from headrace.runtime.state import InputState
from headrace.scheduling.order import Turn
from headrace.spark import internals
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.pipeline.candidate import Candidate
from headrace.spark.pipeline.handles import Feed
from headrace.spark.pipeline.handover import LateSink
from headrace.spark.pipeline.intake import intake_of
from headrace.spark.pipeline.keeper import Keeper, Surroundings
from headrace.spark.pipeline.transaction import Transaction
from headrace.spark.query import Query
from headrace.spark.streams import Stream
from headrace.spark.worker.plans import Broadcasts, PlanHandle

log = logging.getLogger("headrace")

_SOON_S = 0.3
"""A batch that follows within this time was waiting while the last one ran."""
_BEHIND_S = 10.0
"""A stream whose newest tuple is older than this is catching up."""
_IDLE_S = 5.0
"""A stream that is silent for so long has time to let go of what no commit needs."""
_LONG_BATCH_MS = 1_000.0
"""Results do not wait for batches that take longer."""


@dataclass(frozen=True, slots=True)
class Remade:
    """A query of a checkpoint."""

    logical: LogicalQuery
    query: Query | Feed
    noted: Sink
    """Where it was to write; whoever asks for it again may give it another place."""


Remake = Callable[[QueryRecord, EndRecord | None], Remade]
"""Reads the text of a query of the checkpoint again, and makes its handle."""


class Pipeline(Keeper):
    """Runs the queries of one stream together."""

    what = "stream"

    def __init__(
        self, name: str, stream: Stream, store: Store, setting: Setting, around: Surroundings
    ) -> None:
        plans: StreamBook[PlanHandle] = StreamBook(
            Broadcasts(around.spark.sparkContext),
            stream.schema,
            rows_in_jvm=stream.rows_in_jvm,
            reads_files=stream.reads_files,
            keeps_late=stream.late_sink is not None,
        )
        late = None
        if stream.late_sink is not None:
            late = LateSink(stream.late_sink, tuple(c.name for c in stream.schema.columns))
        fresh = InputState(_fresh(stream, around.clock.now()))
        super().__init__(name, store, around, {stream.name: fresh}, plans, late)
        self.stream = stream
        self.setting = setting
        self._book = plans
        self._streaming: StreamingQuery | None = None
        self._intake = intake_of(name, stream, plans.give_up_files)
        self.candidate = Candidate(
            name, around.gate, self._intake, self._clock, stream.lateness_us, lambda: self.state
        )
        self.early = EarlyWindows(stream.closing, rows_in_jvm=stream.rows_in_jvm)
        self._early_clock = EarlyClock(self._clock, self.early.next_end_us, self._close_early)
        self.on_commit: list[Callable[[], object]] = []
        """Called after every commit, by whoever made it."""
        self._released: Offsets | None = None
        """The source was told that nothing before will be read again."""
        self._ended_at = -math.inf
        self.batches = 0
        self.last_batch_ms = 0.0

    @property
    def is_running(self) -> bool:
        """Whether the stream is being read."""
        return self._streaming is not None and internals.death_of(self._streaming) is None

    def explain(self) -> str:
        """The current plan in words."""
        now = self._life
        if now.status == "closed":
            return f"stream {self.name!r}: closed"
        plan = self._plans.entry(now.version, now.newest).plan
        reader = self._book.read_by(plan)
        width = now.registry.width
        told = explain_plan(self.name, plan, now.newest.queries, now.state.sections, width, reader)
        return f"{told}\n  {self.failure}" if self.failure else told

    def explain_query(self, query: Query) -> str:
        """Where one query runs, and why."""
        now = self._life
        active = now.registry.active.get(query.uid)
        if active is None or now.status == "closed":
            return f"query {query.name!r}: {query.status}"
        plan = self._plans.entry(now.version, now.newest).plan
        return explain_query(active, plan, self._book.read_by(plan))

    # -- life -----------------------------------------------------------------------------------

    def restore(self, remake: Remake) -> None:
        """Load what an earlier run committed.

        A transaction that was begun but not committed is done again by `start`, under the version
        and the clock it began with, before anything else happens.
        """
        self._journal.make()
        found = self._journal.found()
        for lost in found.lost:
            log.warning("stream %r: %s; going on from the records before it", self.name, lost)
        now = replace(self._life, status="restoring")
        if found.state is not None:
            keeps = not self.stream.rows_in_jvm
            state = fitting(
                found.state,
                self.stream.name,
                _fresh(self.stream, self._clock.now()),
                keeps_offsets=keeps,
            )
            now = replace(now, state=state)
        given = now.state.inputs[self.stream.name]
        begins = self._intake.begin(given.offsets)
        now = replace(
            now,
            state=now.state.after_input(self.stream.name, replace(given, offsets=begins)),
        )
        gone = {e.uid: e for change in found.changes for e in change.deleted}
        records = {r.uid: r for change in found.changes for r in (*change.created, *change.moved)}
        made = {uid: remake(record, gone.get(uid)) for uid, record in records.items()}
        for uid, one in made.items():
            if uid not in gone:
                self._add(one.query)
        logical = {uid: one.logical for uid, one in made.items()}
        self._life = lives.restored(now, found.changes, logical, found.begun, found.before)
        self._plans.keep(set())
        for version in self._life.state.versions:
            self._plans.entry(version, self._life.editions[version])
        for query in self._life.active:
            self._handles[int(query.uid)].activated(query.since_us)
        for uid, late in self._life.state.late.items():
            if uid in self._handles:
                self._handles[uid].missed(late)
        self._serve()
        self._journal.drop_orphans(self._life.state.files | self._life.doomed)
        begun = self._life.begun
        if begun is not None:
            # Those that have ended since take part in what is done again, for the last time.
            for query in self._life.editions[begun.version].queries:
                if int(query.uid) not in self._handles:
                    self._add(made[int(query.uid)].query)
            if begun.kind == "batch" and self.stream.rows_in_jvm:
                self._journal.call_again(begun.batch_id)
        for uid, sink in self._sinks.items():
            sink.rewind(self._life.state.txn, uid)
            made[uid].noted.rewind(self._life.state.txn, uid)
            if self._life.records[uid].side is None:
                self._note_sink(uid)
        if found.state is None:
            # From now on, a stream without any commit has lost them.
            self._journal.commit(self._life.state)

    def start(self) -> None:
        """Begin to read the stream."""
        with self._failing(), self._turn:
            self._handover.start(self._life.state)
            begun = self._life.begun
            self._replays = None if begun is None else begun.txn
            if begun is not None and begun.kind == "tick":
                self._transact(None)
            self._refuse_lost_sinks()
            if self._life.begun is None:
                self._drain()
            writer = (
                self._intake.frame(self._spark)
                .writeStream.queryName(f"headrace {self.name} {id(self)}")
                .foreachBatch(self._on_batch)
                .option("checkpointLocation", self._journal.store.sub("spark").address)
                .trigger(processingTime=self._around.trigger)
            )
            self._life = replace(self._life, status="running")
            try:
                self._streaming = self.candidate.streaming = writer.start()
            except (PySparkException, Py4JJavaError) as error:
                raise ExecutionError(f"stream {self.name!r}: {self._reason(error)}") from error

    @property
    def feeds(self) -> dict[int, Feed]:
        """Sides of joins that take part, or are about to."""
        return {u: h for u, h in list(self._handles.items()) if isinstance(h, Feed)}

    def feed(self, side: Feed) -> None:
        """Ask for a side of a join to take part from the next changelog on."""
        self._add(side)
        self._request(lives.Create(side.record(), side.logical))

    def starve(self, uid: int) -> None:
        """Ask for a side of a join to end."""
        self._request(lives.Stop(uid))

    @property
    def is_silent(self) -> bool:
        """Whether none of its partitions has spoken for as long as one is waited for."""
        progress = self._life.state.only.progress
        since_s = max((p.heard_at_s for p in progress.partitions.values()), default=math.inf)
        return self._clock.now() - since_s >= progress.idle_after_s

    def settle(self) -> None:
        """Commit now what was asked for and what time has made of it."""
        with self.candidate.hurry():
            self.tick(wait=True)

    def overtake(self, upto_us: int) -> None:
        """Joins do not wait for it any longer, up to an event time."""
        if upto_us > max(self._life.overtaken_us, self._life.state.settled_us):
            self._request(lives.Overtake(upto_us))

    def release(self, upto_us: Mapping[int, int]) -> None:
        """Joins have read what some of their sides have kept, up to these event times."""
        self._request(lives.Release(upto_us))

    def start_after(self, highest_us: int) -> None:
        """Queries created here begin after this event time, whatever the pipeline has seen."""
        with self._turn:
            self._life = replace(self._life, start_after_us=highest_us)

    def process_all_available(self) -> None:
        """Wait until everything the source has now is processed and its windows are out."""
        self._raise_failure()
        self.nudge()
        with self.candidate.hurry():
            if self._streaming is not None:
                try:
                    self._intake.await_all(self._streaming)
                except Exception as error:
                    if self.status == "closed":
                        return
                    self._raise_failure()
                    raise ExecutionError(f"stream {self.name!r}: {reason_of(error)}") from error
            self._notice_death()
            self._raise_failure()
            self.nudge()
            self.tick(wait=True)
        self._handover.drain()
        self.nudge()

    def close(self, *, for_good: bool = False) -> None:
        """Stop after the running batch; its successor, if Spark is that quick, is turned away.
        With `for_good` nobody will go on where it stops.

        Spark is stopped outside the turn: it waits for a callback that may wait for the turn.
        """
        with self._turn:
            if self.status == "closed":
                return
            self._life = replace(self._life, status="closed")
            streaming, self._streaming = self._streaming, None
        self._intake.close(for_good=for_good)
        self._early_clock.close()
        self.candidate.dismiss()
        with suppress(*internals.UNREACHABLE):  # a JVM that has ended has no more to be stopped
            if streaming is not None:
                streaming.stop()
        self._handover.close()
        with suppress(*internals.UNREACHABLE):
            self._plans.keep(set())

    def _notice_death(self) -> None:
        """Spark may end a streaming query without having called for a batch, or end altogether."""
        streaming = self._streaming
        if streaming is not None and self.status == "running":
            died = internals.death_of(streaming)
            if died is not None:
                self.fail(died)

    def _serve(self) -> None:
        active = self._life.active
        self.candidate.serves(active)
        sub_stream_us = cut_sub_streams(q.logical for q in active)
        self.early.serves(active, sub_stream_us, self._life.state.highest_us)
        self._early_clock.look()

    # -- transactions ---------------------------------------------------------------------------

    def _on_batch(self, given: DataFrame, batch_id: int) -> None:
        """Spark's callback for every micro-batch."""
        if batch_id <= self._life.state.only.batch_id:
            return
        try:
            if not self._owes_replay and not self._intake.await_tuples(
                self._life.state.only.offsets, self._is_wanted
            ):
                return
            if not self._catches_up(time.monotonic()):
                self._early_clock.hold(self.last_batch_ms / 1000.0)
            with self.candidate.turn(self._is_wanted) as turn, self._turn:
                if turn is not None and not self.is_over:
                    self._batch(given, batch_id, turn)
                elif self.status == "failed" or not self._intake.may_skip:
                    # Returning would let Spark commit a batch that never ran, or call for ever.
                    ended = self.failure or f"stream {self.name!r} closed"
                    raise ExecutionError(f"{ended}; batch {batch_id} is left")
        except Exception as error:
            self.fail(error)
            raise
        self.nudge()

    def _is_wanted(self) -> bool:
        """Whether anybody still waits for the batch that Spark has called for."""
        return self._streaming is None or internals.death_of(self._streaming) is None

    def _batch(self, given: DataFrame, batch_id: int, turn: Turn) -> None:
        started = time.monotonic()
        if self._life.begun is None:
            self._drain()
            ranges = self._intake.ranges(self._life.state.only.offsets, turn.until_s)
            self._do(
                lives.begins(
                    self._life, "batch", self._clock.now(), batch_id=batch_id, ranges=ranges
                )
            )
        begun = self._life.begun
        assert begun is not None
        self.candidate.settles(begun.now_s, turn)
        batch = self._intake.batch(given, begun.ranges, self._streaming)
        self._transact(batch, defer=self._catches_up(started))
        self._drain()
        self.batches += 1
        self._ended_at = time.monotonic()
        self.last_batch_ms = (self._ended_at - started) * 1000.0

    def _catches_up(self, started: float) -> bool:
        """Whether results may wait for the next batch, which is about to come: the stream is far
        behind the clock and its batches follow each other, so a job saved brings it nearer. The
        end of a window by the clock means nothing to it."""
        lag_s = self._clock.now() - self._life.state.highest_us / 1e6
        follows = started - self._ended_at < _SOON_S
        return follows and lag_s > _BEHIND_S and self.last_batch_ms < _LONG_BATCH_MS

    def tick(self, *, wait: bool = False) -> None:
        """Fire what became due because time passed: idle partitions no longer hold it back, or
        results were left for a batch that did not come. With `wait`, after the running batch."""
        if not wait and not self._may_tick():
            return
        with self.candidate.room(wait=wait) as there:
            if not there or not self._turn.acquire(blocking=wait):
                return
            try:
                if self.status == "running" and not self._owes_replay:
                    self._drain()
                if self._may_tick():
                    self._tick(self._clock.now())
            except Exception as error:
                self._turn.release()
                self.fail(error)
                raise
            self._turn.release()
        self.nudge()

    def watch(self) -> None:
        """Look after sinks; called about once a second."""
        self._handover.watch()
        self._notice_death()
        now_s = self._clock.now()
        for query in list(self._handles.values()):
            query.expire(now_s)

    def _close_early(self, end_us: int) -> None:
        """A window is about to end: answer it then from what was read, if that is enough."""
        try:
            self._answer_early(end_us / 1e6)
        except Exception as error:
            if not self.is_over:
                log.error("stream %r: early answers failed", self.name, exc_info=True)
                self.fail(error)

    def _answer_early(self, end_s: float) -> None:
        if self._owes_replay or self.status != "running":
            return
        with self.candidate.room(wait=True) as there, self._turn:
            if not there or self.is_over:
                return
            if self._catches_up(time.monotonic()):
                return
            now, state = self._clock.now(), self._life.state
            empty_for_s = self._intake.empty_for_s()
            if empty_for_s is not None:
                self.early.silent(now - empty_for_s)
            ahead_s = max(end_s - now, 0.0)
            due = self.early.due(
                starts_of(state.sections),
                max(state.emitted_upto_us, state.watermark_us),
                state.highest_us,
                state.closed_upto_us,
                now + ahead_s,
                state.only.sampling,
                ahead_s=ahead_s,
            )
            if due:
                time.sleep(max(end_s - self._clock.now(), 0.0))
            for some in lightest_first(due):
                # The watermark may pass some of them while the others are answered.
                passed_us = self._life.state.emitted_upto_us
                still = tuple(d for d in some if d.complete or d.span[1] > passed_us)
                if still:
                    self._tick(now + ahead_s, still)
        self.nudge()

    def _tick(self, now_s: float, early: tuple[EarlyDue, ...] = ()) -> None:
        """A transaction without a batch."""
        self._do(lives.begins(self._life, "tick", now_s))
        self._transact(None, early=early)

    def _may_tick(self) -> bool:
        """Whether anything is due that no batch will fire soon."""
        now = self._life
        if now.status != "running" or self._owes_replay:
            return False
        progress = now.state.only.progress.at(self._clock.now())
        overtaken = now.overtaken_us > now.state.joined_upto_us
        idle_s, hurried = time.monotonic() - self._ended_at, self.candidate.hurried
        held = bool(now.doomed) or now.state.only.offsets != self._released
        tidies = now.purge or (held and (hurried or idle_s >= _IDLE_S))
        if progress.watermark_us <= now.state.emitted_upto_us and not (tidies or overtaken):
            return False
        return hurried or idle_s >= _SOON_S

    def _transact(
        self, batch: Batch | None, *, defer: bool = False, early: tuple[EarlyDue, ...] = ()
    ) -> None:
        """Run the transaction that was begun, without whoever cannot go on, and commit it."""
        while True:
            transaction = Transaction(
                spark=self._spark,
                stream=self.stream,
                journal=self._journal,
                life=self._life,
                plans=self._plans,
                sinks=self._sinks,
                setting=self.setting,
                early=self.early,
            )
            faults.reach("before transaction")
            outcome = transaction.run(batch, defer=defer, early=early)
            faults.reach("after transaction")
            match outcome:
                case Outcome():
                    break
                case FilesGivenUp(reason):
                    transaction.take_back()
                    self._intake.give_up_files(reason)
                    assert batch is not None
                    batch = batch.without_files()
                case Culprits(reasons):
                    transaction.take_back()
                    self._do(lives.excluded(self._life, reasons))
        begun = transaction.begin
        if begun.txn != self._replays:
            self.candidate.learn(begun, outcome)
        noted = self._handover.post(outcome, self._sinks)
        step = lives.finished(self._life, outcome, noted, self._plans.plans, purged=not defer)
        uids = [int(q.uid) for q in transaction.entry.queries]
        queries = {uid: self._handles[uid] for uid in uids if uid in self._handles}
        before = self._life.state.only.offsets
        self._do(step)
        # The commit before the last one can still be gone back to.
        self._intake.done(before)
        self._released = before
        self._handover.committed(outcome, queries, noted)
        for heard in self.on_commit:
            heard()


def _fresh(stream: Stream, now_s: float) -> Progress:
    return Progress.start(stream.lateness_us, stream.idle_after_s, stream.partitions, now_s)
