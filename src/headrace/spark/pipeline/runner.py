"""One pipeline on Spark: it holds the turn, runs transactions, and does what the life says.

Whoever moves the pipeline on holds its turn: Spark's callback with a micro-batch, the ticker when
only time has passed, a caller whose request can be served at once. What comes next is decided in
`runtime.life`; here it is done. Everybody else looks at the last life.
"""

from __future__ import annotations

import errno
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.approximate.early import EarlyDue, EarlyWindows, lightest_first
from headrace.approximate.early_clock import EarlyClock
from headrace.connectors.offsets import Offsets
from headrace.connectors.sinks import Sink, is_lost
from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.kernels.answers import Setting
from headrace.optimizer.cut_sub_streams import cut_sub_streams
from headrace.progress.watermark import Progress
from headrace.query.logical import LogicalQuery
from headrace.query.plan import SharedPlan
from headrace.registry.changelog import Registry
from headrace.runtime import faults
from headrace.runtime import life as lives
from headrace.runtime.checkpoint import fitting
from headrace.runtime.entries import EndRecord, QueryRecord
from headrace.runtime.explain import explain_plan, explain_query
from headrace.runtime.firing import starts_of
from headrace.runtime.gate import Gate
from headrace.runtime.journal import Journal
from headrace.runtime.life import Create, Instruction, Life, Request, Step, Stop
from headrace.runtime.listeners import Listeners
from headrace.runtime.locks import OrderedLock
from headrace.runtime.outcome import Culprits, FilesGivenUp, Outcome
from headrace.runtime.plans import PlanBook
from headrace.runtime.records import disk_sentence
from headrace.runtime.state import InputState, PipelineState
from headrace.scheduling.order import Turn
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.pipeline.candidate import Candidate
from headrace.spark.pipeline.handover import HandOver
from headrace.spark.pipeline.intake import intake_of
from headrace.spark.pipeline.transaction import Transaction
from headrace.spark.query import Query
from headrace.spark.streams import Stream
from headrace.spark.worker.plans import Broadcasts, PlanHandle
from headrace.types import Clock, QueryUid

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
    query: Query
    noted: Sink
    """Where it was to write; whoever asks for it again may give it another place."""


Remake = Callable[[QueryRecord, EndRecord | None], Remade]
"""Reads the text of a query of the checkpoint again, and makes its handle."""


@dataclass(frozen=True)
class Surroundings:
    """What all pipelines of a session share."""

    spark: SparkSession
    clock: Clock
    gate: Gate
    listeners: Listeners
    owned: Callable[[], None]
    """Raises when the checkpoint belongs to another session by now."""
    trigger: str = "0 seconds"
    sink_timeout_s: float = 60.0
    outbox_bytes: int = 1 << 30


class Pipeline:
    """Runs the queries of one stream together."""

    def __init__(
        self, name: str, stream: Stream, store: Store, setting: Setting, around: Surroundings
    ) -> None:
        self.name = name
        self.stream = stream
        self.setting = setting
        self._around = around
        self._spark = around.spark
        self._clock = around.clock
        self._journal = Journal(store, around.owned)
        self._turn = OrderedLock("pipeline")
        self._requests: deque[Request] = deque()
        self._handles: dict[int, Query] = {}
        self._sinks: dict[int, Sink] = {}
        self._streaming: StreamingQuery | None = None
        self._life = Life(PipelineState({stream.name: InputState(self._fresh())}))
        self._plans: PlanBook[PlanHandle] = PlanBook(
            Broadcasts(self._spark.sparkContext),
            stream.schema,
            rows_in_jvm=stream.rows_in_jvm,
            reads_files=stream.reads_files,
            keeps_late=stream.late_sink is not None,
        )
        self._intake = intake_of(name, stream, self._plans.give_up_files)
        self.candidate = Candidate(
            name, around.gate, self._intake, self._clock, stream.lateness_us, lambda: self.state
        )
        self.early = EarlyWindows(stream.closing, rows_in_jvm=stream.rows_in_jvm)
        self._early_clock = EarlyClock(self._clock, self.early.next_end_us, self._close_early)
        self._handover = HandOver(
            stream,
            self._journal.outbox,
            self._clock,
            around.listeners,
            lambda uid, reason: self._request(Stop(uid, reason)),
            around.sink_timeout_s,
            around.outbox_bytes,
        )
        self._error: Exception | None = None
        self._replays: int | None = None
        """The transaction that an earlier run began."""
        self._released: Offsets | None = None
        """The source was told that nothing before will be read again."""
        self._ended_at = -math.inf
        self.batches = 0
        self.last_batch_ms = 0.0

    def _fresh(self) -> Progress:
        stream = self.stream
        return Progress.start(
            stream.lateness_us, stream.idle_after_s, stream.partitions, self._clock.now()
        )

    # -- what others see ------------------------------------------------------------------------

    @property
    def life(self) -> Life:
        """As it is now; never waits."""
        return self._life

    @property
    def status(self) -> lives.Status:
        """``declared``, ``restoring``, ``running``, ``failed`` or ``closed``."""
        return self._life.status

    @property
    def state(self) -> PipelineState:
        """The last committed state."""
        return self._life.state

    @property
    def plan(self) -> SharedPlan | None:
        """The plan to run next, None once the pipeline is closed."""
        now = self._life
        return None if now.status == "closed" else self._plans.entry(now.version, now.newest).plan

    @property
    def registry(self) -> Registry:
        """Active queries and their positions."""
        return self._life.registry

    @property
    def is_running(self) -> bool:
        """Whether the stream is being read."""
        return self._streaming is not None and self._streaming.isActive

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("failed", "closed")

    @property
    def failure(self) -> str:
        """Why it failed, in words; empty where it has not."""
        reason = self._life.reason
        return f"stream {self.name!r} stopped: {reason}" if reason else ""

    @property
    def has_ended(self) -> bool:
        """Whether it had queries and none runs any more; a failed one stays, to say so."""
        now = self._life
        idle = now.version > 0 and not now.registry.active and not self._requests
        return now.status == "running" and idle and self._handover.is_done

    def explain(self) -> str:
        """The current plan in words."""
        now = self._life
        if now.status == "closed":
            return f"stream {self.name!r}: closed"
        plan = self._plans.entry(now.version, now.newest).plan
        reader = self._plans.read_by(plan)
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
        return explain_query(active, plan, self._plans.read_by(plan))

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
            state = fitting(found.state, self.stream.name, self._fresh(), keeps_offsets=keeps)
            now = replace(now, state=state)
        given = now.state.inputs[self.stream.name]
        begins = self._intake.begin(given.offsets)
        now = replace(
            now,
            state=now.state.after_input(self.stream.name, replace(given, offsets=begins)),
        )
        gone = {e.uid: e for change in found.changes for e in change.deleted}
        made = {
            record.uid: remake(record, gone.get(record.uid))
            for change in found.changes
            for record in change.created
        }
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

    def start_after(self, highest_us: int) -> None:
        """Queries created here begin after this event time, whatever the pipeline has seen."""
        with self._turn:
            self._life = replace(self._life, start_after_us=highest_us)

    def _refuse_lost_sinks(self) -> None:
        """A callable cannot be stored: a restored query needs it again, or it ends here."""
        reason = "its callable sink was not given again after the restart"
        for uid, sink in self._sinks.items():
            if is_lost(sink):
                self._requests.append(Stop(uid, reason))

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
        if streaming is not None:
            streaming.stop()
        self._handover.close()
        self._plans.keep(set())

    def _notice_death(self) -> None:
        """Spark may end a streaming query without having called for a batch."""
        streaming = self._streaming
        if streaming is not None and self.status == "running" and not streaming.isActive:
            died = streaming.exception()
            self.fail(died if died is not None else ExecutionError("Spark ended the query"))

    def _raise_failure(self) -> None:
        if self.status == "failed":
            raise ExecutionError(self.failure) from self._error

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """An error of what is done inside ends the pipeline, and goes on to the caller."""
        try:
            yield
        except Exception as error:
            self.fail(error)
            raise

    def fail(self, error: Exception) -> None:
        """It cannot go on, and none of its queries either."""
        with self._turn:
            if self.is_over:
                return
            self._error = error
            sentence = None
            if not isinstance(error, OSError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
                sentence = disk_sentence(error, self._journal.store.address)
            self._do(lives.broken(self._life, sentence or self._reason(error)))
            for query in list(self._handles.values()):
                query.ended(None, self.failure)

    def _reason(self, error: Exception) -> str:
        """In words, with what to do where it is Spark's own checkpoint that is damaged."""
        folder, told = self._journal.store.sub("spark").address, str(error)
        if folder not in told and "offset log" not in told:
            return reason_of(error)
        return (
            f"Spark cannot go on with its own checkpoint {folder}: {reason_of(error)}; restore the "
            "folder from a copy, or begin with a new checkpoint"
        )

    # -- requests -------------------------------------------------------------------------------

    def create(self, query: Query) -> None:
        """Ask for a query to take part from the next changelog on."""
        self._add(query)
        self._request(Create(query.record(), query.logical))

    def request_stop(self, query: Query) -> None:
        """Ask for a query to end."""
        self._request(Stop(int(query.uid)))

    def _request(self, request: Request) -> None:
        self._requests.append(request)
        self.nudge()

    def _add(self, query: Query) -> None:
        uid = int(query.uid)
        self._handles[uid], self._sinks[uid] = query, query.sink
        self._handover.add(query)

    def nudge(self) -> None:
        """Serve requests now if nobody has the turn; otherwise whoever has it does so."""
        while self._requests and self.status == "running" and not self._owes_replay:
            if not self._turn.acquire(blocking=False):
                return
            try:
                self._drain()
            except Exception as error:
                self._turn.release()
                self.fail(error)
                return
            self._turn.release()

    def _drain(self) -> None:
        asked = []
        while self._requests:
            asked.append(self._requests.popleft())
        if asked:
            self._do(lives.drained(self._life, asked, self._plans.plans))

    # -- doing what the life says ---------------------------------------------------------------

    def _do(self, step: Step) -> None:
        """What has to be written first, then the new life, then what follows from it."""
        for instruction in step.todo:
            if isinstance(instruction, _WRITES):
                self._perform(instruction)
        self._life = step.life
        for instruction in step.todo:
            if not isinstance(instruction, _WRITES):
                self._perform(instruction)
        self._plans.keep(step.life.editions.keys())

    def _perform(self, instruction: Instruction) -> None:
        name = type(instruction).__name__
        faults.reach(f"before {name}")
        match instruction:
            case lives.WriteChange(change):
                self._journal.change(change)
            case lives.WriteBegin(begin):
                self._journal.begin(begin)
            case lives.WriteCommit(state):
                self._journal.commit(state)
            case lives.ReplaceChanges(snapshot):
                self._journal.replace_changes(snapshot)
            case lives.DeleteFiles(names):
                self._journal.delete(names)
            case lives.Serve():
                self._serve()
            case lives.TellBegun(uid, since_us):
                self._handles[uid].activated(since_us)
            case lives.TellEnded(uid, until_us, error):
                self._end(uid, until_us, error)
        faults.reach(f"after {name}")

    def _serve(self) -> None:
        active = self._life.active
        self.candidate.serves(active)
        sub_stream_us = cut_sub_streams(q.logical for q in active)
        self.early.serves(active, sub_stream_us, self._life.state.highest_us)
        self._early_clock.look()

    def _end(self, uid: int, until_us: int | None, error: str | None) -> None:
        """A query is over. Rows it is still owed are handed over, unless it has failed."""
        handle = self._handles.pop(uid, None)
        self._sinks.pop(uid, None)
        if error is not None:
            self._handover.give_up(uid)
        if handle is not None:
            handle.ended(until_us, error)

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

    @property
    def _owes_replay(self) -> bool:
        """Whether a transaction of an earlier run has to be done before anything else."""
        begun = self._life.begun
        return begun is not None and begun.txn == self._replays

    def _is_wanted(self) -> bool:
        """Whether anybody still waits for the batch that Spark has called for."""
        return self._streaming is None or self._streaming.isActive

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
        idle_s, hurried = time.monotonic() - self._ended_at, self.candidate.hurried
        held = bool(now.doomed) or now.state.only.offsets != self._released
        tidies = now.purge or (held and (hurried or idle_s >= _IDLE_S))
        if progress.watermark_us <= now.state.emitted_upto_us and not tidies:
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

    def rows_waiting(self, uid: QueryUid) -> int:
        """Rows of a query that were committed and not handed over yet."""
        return self._handover.rows_waiting(int(uid))


_WRITES = (lives.WriteChange, lives.WriteBegin, lives.WriteCommit)
