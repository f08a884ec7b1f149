"""One pipeline: one Structured Streaming query, the queries that share it, and their state.

Transactions run one at a time under the pipeline's lock: micro-batches from Spark's callback, and
firings without a batch when only time has passed. Requests are applied between transactions, so a
batch always sees one version of the plan.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.approximate.early import EarlyDue, EarlyWindows, lightest_first
from headrace.approximate.early_clock import EarlyClock
from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.kernels.answers import Setting
from headrace.optimizer.cut_sub_streams import cut_sub_streams
from headrace.progress.watermark import Progress
from headrace.query.plan import SharedPlan
from headrace.registry.changelog import Registry
from headrace.runtime.firing import members_of, starts_of, still_needed
from headrace.runtime.gate import Gate
from headrace.runtime.journal import Begin, Journal
from headrace.runtime.state import PipelineState
from headrace.scheduling.order import Turn
from headrace.spark.fire.emitter import Listener
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.pipeline.candidate import Candidate
from headrace.spark.pipeline.intake import intake_of
from headrace.spark.pipeline.members import Change, Members
from headrace.spark.pipeline.plans import PlanBook
from headrace.spark.pipeline.transaction import Transaction, take_back
from headrace.spark.query import Query
from headrace.spark.streams import Stream
from headrace.types import BEGINNING, Clock, QueryUid

log = logging.getLogger("headrace")

_SOON_S = 0.3
"""A batch that follows within this time was waiting while the last one ran."""
_BEHIND_S = 10.0
"""A stream whose newest tuple is older than this is catching up."""
_LONG_BATCH_MS = 1_000.0
"""Results do not wait for batches that take longer."""


class Pipeline:
    """Runs the queries of one stream together."""

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        stream: Stream,
        store: Store,
        clock: Clock,
        setting: Setting,
        gate: Gate,
        *,
        trigger: str = "0 seconds",
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.name = name
        self.stream = stream
        self.setting = setting
        self.closed = False
        self._spark = spark
        self._clock = clock
        self._trigger = trigger
        self._listeners = listeners
        self._journal = Journal(store)
        self._store = store
        self._lock = threading.RLock()
        self._streaming: StreamingQuery | None = None
        self._failure: Exception | None = None
        fresh = Progress.start(
            stream.lateness_us, stream.idle_after_s, stream.partitions, clock.now()
        )
        self._state = PipelineState(fresh)
        plans = PlanBook(
            spark.sparkContext,
            store.address,
            stream.schema,
            rows_in_jvm=stream.rows_in_jvm,
            reads_files=stream.reads_files,
            keeps_late=stream.late_sink is not None,
        )
        self.members = Members(self._journal, plans, self._on_change)
        self._intake = intake_of(name, stream, plans.give_up_files)
        self.candidate = Candidate(
            name, gate, self._intake, clock, stream.lateness_us, lambda: self._state
        )
        self.early = EarlyWindows(stream.closing, rows_in_jvm=stream.rows_in_jvm)
        self._early_clock = EarlyClock(clock, self.early.next_end_us, self._close_early)
        self._replaying: Begin | None = None
        self._purge = False
        self._transacts = False
        self._ended_at = -math.inf
        self.batches = 0
        self.last_batch_ms = 0.0

    # -- life ---------------------------------------------------------------------------------

    def restore(self, make_query: Any) -> None:
        """Load what an earlier run committed; `make_query` makes a handle for each active query.

        A transaction that was begun but not committed is done again, under the version and the
        clock it began with, before anything else happens.
        """
        commit = self._journal.last_commit()
        if commit is not None:
            if any("classes" not in section for section in commit["sections"]):
                raise ExecutionError(
                    f"stream {self.name!r}: the checkpoint was made by an earlier version, which "
                    "numbered the classes of its state by its plans; begin with a new one"
                )
            self._state = PipelineState.from_record(commit, self._state.progress)
            if self._state.offsets is None and not self.stream.rows_in_jvm:
                raise ExecutionError(
                    f"stream {self.name!r}: the checkpoint was made by an earlier version, which "
                    "kept the offsets of Arrow sources elsewhere; begin with a new one"
                )
        begins = self._intake.begin(self._state.offsets)
        self._state = replace(self._state, offsets=begins)
        needed = {s.version for s in self._state.sections}
        self._replaying = self._journal.begun(self._state.txn + 1)
        if self._replaying is not None:
            needed.add(self._replaying.version)
        self.members.restore(make_query, needed)
        self._serve()
        self._journal.drop_orphans(self._state.files)
        if self._replaying is not None:
            take_back(self.members.queries.values(), self._replaying.txn)
        for uid, late in self._state.late.items():
            if uid in self.members.queries:
                self.members.queries[uid].missed(late)

    def start(self) -> None:
        """Begin to read the stream."""
        with self._lock:
            begun = self._replaying
            if begun is not None and begun.kind == "tick":
                self._transact(begun, None)
                self._replaying = None
            self.members.refuse_lost_sinks(self._state)
            if self._replaying is None:
                self.members.apply(self._state)
            writer = (
                self._intake.frame(self._spark)
                .writeStream.queryName(f"headrace {self.name} {id(self)}")
                .foreachBatch(self._on_batch)
                .option("checkpointLocation", self._store.sub("spark").address)
                .trigger(processingTime=self._trigger)
            )
            self._streaming = self.candidate.streaming = writer.start()

    @property
    def has_ended(self) -> bool:
        """Whether it had queries and none runs any more; a failed stream stays, to say so."""
        queries = list(self.members.queries.values())
        return bool(queries) and self._failure is None and all(q.has_ended for q in queries)

    def forget(self, query: Query) -> None:
        """Let go of a query that has ended."""
        self.members.forget(query)

    @property
    def state(self) -> PipelineState:
        """The last committed state."""
        return self._state

    @property
    def plan(self) -> SharedPlan | None:
        """The plan to run next, None once the pipeline is closed."""
        return None if self.closed else self.members.plans.newest.plan

    @property
    def registry(self) -> Registry:
        """Active queries and their positions."""
        return self.members.registry

    @property
    def is_running(self) -> bool:
        """Whether the stream is being read."""
        return self._streaming is not None and self._streaming.isActive

    def process_all_available(self) -> None:
        """Wait until everything the source has now is processed and its windows are out."""
        self._raise_failure()
        self.nudge()
        with self.candidate.hurry():
            if self._streaming is not None:
                try:
                    self._intake.await_all(self._streaming)
                except Exception as error:
                    if self.closed:
                        return
                    self._raise_failure()
                    raise ExecutionError(f"stream {self.name!r}: {reason_of(error)}") from error
            self._raise_failure()
            self.nudge()
            self.tick(wait=True)

    def close(self, *, for_good: bool = False) -> None:
        """Stop after the running batch; its successor, if Spark is that quick, is turned away.
        With `for_good` nobody will go on where it stops.

        Spark is stopped outside the lock: it waits for a callback that may wait for the lock.
        """
        with self._lock:
            self.closed = True
            streaming, self._streaming = self._streaming, None
        self._intake.close(for_good=for_good)
        self._early_clock.close()
        self.candidate.dismiss()
        if streaming is not None:
            streaming.stop()
        for query in self.members.queries.values():
            query.wake()
        self.members.plans.keep(set())

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise ExecutionError(
                f"stream {self.name!r} stopped: {reason_of(self._failure)}"
            ) from self._failure

    # -- requests -----------------------------------------------------------------------------

    def request_create(self, query: Query) -> None:
        """Ask for a query to take part from the next changelog on."""
        self.members.ask("create", query)
        self.nudge()

    def request_stop(self, query: Query) -> None:
        """Ask for a query to end."""
        self.members.ask("stop", query)
        self.nudge()

    def nudge(self) -> None:
        """Apply requests now if no transaction runs; otherwise it does so when it ends."""
        while self.members.has_requests and self._streaming is not None and self._replaying is None:
            if not self._lock.acquire(blocking=False):
                return
            try:
                self.members.apply(self._state)
            finally:
                self._lock.release()

    def _on_change(self, change: Change) -> None:
        """Queries came or went: whoever looks at the active ones has to look again."""
        self._serve()
        if change.deleted and not self._transacts:
            # A transaction works on the state it began with, and drops what is unneeded itself.
            self._drop_unneeded()

    def _serve(self) -> None:
        active = self.members.active
        self.candidate.serves(active)
        sub_stream_us = cut_sub_streams(q.logical for q in active)
        self.early.serves(active, sub_stream_us, self._state.progress.highest_us)
        self._early_clock.look()

    def _drop_unneeded(self) -> None:
        """Free the state of queries that are gone; the files go once it is written down."""
        active = self.members.active
        kept = still_needed(
            active,
            self._state.sections,
            self.members.plans.plans,
            self._state.emitted_upto_us,
            BEGINNING,
        )
        alive = {int(q.uid) for q in active}
        self._purge = any(
            2 * len(alive & members) <= len(members)
            for members in (members_of(ref, self.members.plans.plans) for ref in kept)
        )
        if len(kept) == len(self._state.sections):
            return
        before = self._state.files
        self._state = replace(self._state, sections=tuple(kept))
        self._journal.commit(self._state.txn, self._state.record())
        for name in before - self._state.files:
            self._journal.buckets.delete(name)
        self.members.forget_plans(self._state)

    # -- transactions -------------------------------------------------------------------------

    def _on_batch(self, given: DataFrame, batch_id: int) -> None:
        """Spark's callback for every micro-batch."""
        if batch_id <= self._state.batch_id:
            return
        try:
            if self._replaying is None and not self._intake.await_tuples(
                self._state.offsets, self._is_wanted
            ):
                return
            if not self._catches_up(time.monotonic()):
                self._early_clock.hold(self.last_batch_ms / 1000.0)
            with self.candidate.turn(self._is_wanted) as turn, self._lock:
                if turn is not None and not self.closed:
                    self._batch(given, batch_id, turn)
                elif not self._intake.may_skip:
                    # Returning would let Spark commit a batch that never ran.
                    raise ExecutionError(f"stream {self.name!r} closed; batch {batch_id} is left")
        except Exception as error:
            if not self.closed:
                self._fail_all(error)
            raise
        self.nudge()

    def _is_wanted(self) -> bool:
        """Whether anybody still waits for the batch that Spark has called for."""
        return self._streaming is None or self._streaming.isActive

    def _batch(self, given: DataFrame, batch_id: int, turn: Turn) -> None:
        started = time.monotonic()
        begin = self._replaying
        if begin is None:
            self.members.apply(self._state)
            begin = Begin(
                self._state.txn + 1,
                "batch",
                batch_id,
                self.members.version,
                self._clock.now(),
                self._intake.ranges(self._state.offsets, turn.until_s),
            )
            self._journal.begin(begin)
        self.candidate.settles(begin.now_s, turn)
        batch = self._intake.batch(given, begin.ranges, self._streaming)
        self._transact(begin, batch, defer=self._catches_up(started))
        self._replaying = None
        self._intake.done(self._state.offsets)
        self.members.apply(self._state)
        self.batches += 1
        self._ended_at = time.monotonic()
        self.last_batch_ms = (self._ended_at - started) * 1000.0

    def _catches_up(self, started: float) -> bool:
        """Whether results may wait for the next batch, which is about to come: the stream is far
        behind the clock and its batches follow each other, so a job saved brings it nearer. The
        end of a window by the clock means nothing to it."""
        lag_s = self._clock.now() - self._state.progress.highest_us / 1e6
        follows = started - self._ended_at < _SOON_S
        return follows and lag_s > _BEHIND_S and self.last_batch_ms < _LONG_BATCH_MS

    def tick(self, *, wait: bool = False) -> None:
        """Fire what became due because time passed: idle partitions no longer hold it back, or
        results were left for a batch that did not come. With `wait`, after the running batch."""
        if self._replaying is not None or (not wait and not self._may_tick()):
            return
        with self.candidate.room(wait=wait) as there:
            if not there or not self._lock.acquire(blocking=wait):
                return
            try:
                if not self._may_tick():
                    return
                self._tick(self._clock.now())
            finally:
                self._lock.release()

    def _close_early(self, end_us: int) -> None:
        """A window is about to end: answer it then from what was read, if that is enough."""
        try:
            self._answer_early(end_us / 1e6)
        except Exception as error:
            if not self.closed:
                log.error("stream %r: early answers failed", self.name, exc_info=True)
                self._fail_all(error)

    def _answer_early(self, end_s: float) -> None:
        if self._replaying is not None or self._streaming is None:
            return
        with self.candidate.room(wait=True) as there, self._lock:
            if not there or self.closed or self._catches_up(time.monotonic()):
                return
            now, state = self._clock.now(), self._state
            empty_for_s = self._intake.empty_for_s()
            if empty_for_s is not None:
                self.early.silent(now - empty_for_s)
            ahead_s = max(end_s - now, 0.0)
            upto = max(state.emitted_upto_us, state.progress.watermark_us)
            due = self.early.due(
                starts_of(state.sections),
                upto,
                state.progress.highest_us,
                state.closed_upto_us,
                now + ahead_s,
                state.sampling,
                ahead_s=ahead_s,
            )
            if due:
                time.sleep(max(end_s - self._clock.now(), 0.0))
            for some in lightest_first(due):
                # The watermark may pass some of them while the others are answered.
                passed_us = self._state.emitted_upto_us
                still = tuple(d for d in some if d.complete or d.span[1] > passed_us)
                if still:
                    self._tick(now + ahead_s, still)

    def _tick(self, now_s: float, early: tuple[EarlyDue, ...] = ()) -> None:
        """A transaction without a batch."""
        begin = Begin(self._state.txn + 1, "tick", -1, self.members.version, now_s)
        self._journal.begin(begin)
        self._transact(begin, None, early=early)

    def _may_tick(self) -> bool:
        """Whether anything is due that no batch will fire soon."""
        if self._streaming is None:
            return False
        progress = self._state.progress.at(self._clock.now())
        if progress.watermark_us <= self._state.emitted_upto_us and not self._purge:
            return False
        return self.candidate.hurried or time.monotonic() - self._ended_at >= _SOON_S

    def _transact(
        self,
        begin: Begin,
        batch: Batch | None,
        *,
        defer: bool = False,
        early: tuple[EarlyDue, ...] = (),
    ) -> None:
        transaction = Transaction(
            spark=self._spark,
            stream=self.stream,
            journal=self._journal,
            plans=self.members.plans,
            setting=self.setting,
            clock=self._clock,
            queries=self.members.queries,
            state=self._state,
            purge=self._purge,
            give_up_files=self._intake.give_up_files,
            exclude=lambda reasons: self.members.exclude(reasons, self._state),
            listeners=self._listeners,
            early=self.early,
        )
        self._transacts = True
        try:
            outcome = transaction.run(begin, batch, defer=defer, early=early)
        finally:
            self._transacts = False
        if self._replaying is None:
            self.candidate.learn(begin, outcome)
        active = self.members.registry.active
        late = {u: n for u, n in outcome.state.late.items() if QueryUid(u) in active}
        closed = {u: t for u, t in outcome.state.closed_upto_us.items() if QueryUid(u) in active}
        self._state = replace(outcome.state, late=late, closed_upto_us=closed)
        self._journal.commit(begin.txn, self._state.record())
        for name in outcome.used_files - self._state.files:
            self._journal.buckets.delete(name)
        if not defer:
            self._purge = False
        self.members.exclude(outcome.failed, self._state)
        self.members.learned(outcome.statistics, self._state)
        self.members.forget_plans(self._state)

    # -- small things -------------------------------------------------------------------------

    def _fail_all(self, error: Exception) -> None:
        self._failure = error
        for uid in self.members.registry.active:
            self.members.queries[int(uid)].ended(None, f"stream {self.name!r}: {reason_of(error)}")

    def explain(self) -> str:
        """The current plan in words."""
        with self._lock:
            return self.members.explain(self.name, self._state)
