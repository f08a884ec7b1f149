"""The pipeline of the joins of some streams: it has no source, and reads what the streams keep.

Every side of a join is a query of its stream that is never answered there. When the slowest of the
streams has passed the end of a window, the sides meet; what was read is released, and goes with the
streams' next commits. A thread of its own holds the turn.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.kernels.answers import Setting
from headrace.query.sides import sides_of, uid_of_side
from headrace.registry.changelog import ActiveQuery
from headrace.runtime import faults
from headrace.runtime import life as lives
from headrace.runtime.emitted import Emitted
from headrace.runtime.entries import Begin
from headrace.runtime.joining import Source, plan_joining
from headrace.runtime.life import Request
from headrace.runtime.messages import Message, SectionRef
from headrace.runtime.outcome import Outcome
from headrace.runtime.plans import JoinBook, PlanEntry
from headrace.runtime.state import InputState
from headrace.spark import internals
from headrace.spark.fire.delivery import TaskSink
from headrace.spark.fire.finishing import Finishing
from headrace.spark.fire.join_task import JoinTask, Read
from headrace.spark.pipeline.handles import Feed
from headrace.spark.pipeline.keeper import Keeper, Surroundings
from headrace.spark.pipeline.loans import Lent
from headrace.spark.pipeline.runner import Pipeline, Remake
from headrace.spark.premises import Premises
from headrace.spark.query import Query
from headrace.spark.worker.plans import Broadcasts, PlanHandle
from headrace.types import BEGINNING, QueryUid

log = logging.getLogger("headrace")


class JoinPipeline(Keeper):
    """Runs all joins of the same streams together."""

    what = "join"

    def __init__(
        self,
        name: str,
        streams: Mapping[str, Pipeline],
        store: Store,
        setting: Setting,
        around: Surroundings,
    ) -> None:
        plans: JoinBook[PlanHandle] = JoinBook(Broadcasts(around.spark.sparkContext), name)
        inputs = {s: InputState(p.state.inputs[p.stream.name].progress) for s, p in streams.items()}
        super().__init__(name, store, around, inputs, plans)
        self.streams = streams
        self.setting = setting
        self._sides: dict[int, tuple[Feed, ...]] = {}
        """Of joins that take part, or are about to."""
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        for pipeline in streams.values():
            pipeline.on_commit.append(self._wake.set)

    @property
    def is_running(self) -> bool:
        """Whether it looks after its streams."""
        return self._thread is not None and self._thread.is_alive()

    def _serve(self) -> None:
        pass

    # -- joins ----------------------------------------------------------------------------------

    @property
    def fed_by(self) -> set[int]:
        """The sides of its joins, by uid."""
        return {int(feed.uid) for feeds in list(self._sides.values()) for feed in feeds}

    def create(self, query: Query) -> None:
        """Ask for a join to take part, once all its streams feed it."""
        self._add(query)
        uid = int(query.uid)
        feeds = tuple(
            Feed(uid_of_side(uid, number), query.name, logical, number)
            for number, logical in enumerate(sides_of(query.logical))
        )
        self._adopt(query, feeds)
        for feed in feeds:
            self.streams[feed.logical.stream].feed(feed)

    def _adopt(self, query: Query, feeds: tuple[Feed, ...]) -> None:
        uid = int(query.uid)
        self._sides[uid] = feeds
        for feed in feeds:
            feed.on_begun = lambda: self._begun(query)
            feed.on_ended = lambda error: self._starved(uid, error)
            feed.on_missed = query.missed

    def _begun(self, query: Query) -> None:
        """A side has begun: with the last of them, the join does, where the latest of them does."""
        feeds = self._sides.get(int(query.uid), ())
        since = [f.since_us for f in feeds if f.since_us is not None]
        if feeds and len(since) == len(feeds):
            self._request(lives.Create(query.record(), query.logical, max(since)))

    def _starved(self, uid: int, error: str | None) -> None:
        """A side has ended: by itself only because it cannot go on."""
        if uid in self._sides and error is not None:
            self._request(lives.Stop(uid, error))

    def request_stop(self, query: Query) -> None:
        """Ask for a join to end; one that its streams do not feed yet ends at once."""
        if query.uid not in self.registry.active:
            for feed in self._sides.get(int(query.uid), ()):
                feed.on_begun = lambda: None
        super().request_stop(query)

    def _drain(self) -> list[Request]:
        asked = super()._drain()
        for request in asked:
            match request:
                case lives.Stop(uid, error) if QueryUid(uid) not in self.registry.active:
                    if uid in self._sides:  # it never began
                        self._end(uid, None, error)
        return asked

    def nudge(self) -> None:
        """Whoever holds the turn looks at the requests."""
        self._wake.set()

    def _end(self, uid: int, until_us: int | None, error: str | None) -> None:
        super()._end(uid, until_us, error)
        for feed in self._sides.pop(uid, ()):
            self.streams[feed.logical.stream].starve(int(feed.uid))

    def explain(self) -> str:
        """The joins and the stream that holds them back, in words."""
        now = self._life
        if now.status == "closed":
            return f"join {self.name!r}: closed"
        marks = {s: p.state.settled_us for s, p in self.streams.items()}
        slowest = min(marks, key=lambda s: marks[s])
        told = (
            f"join {self.name!r}: {len(now.registry.active)} queries; waits for {slowest!r}, the "
            "slowest of its streams"
        )
        return f"{told}\n  {self.failure}" if self.failure else told

    def explain_query(self, query: Query) -> str:
        """Which streams feed it."""
        join = query.logical.join
        assert join is not None
        names = ", ".join(s.stream for s in join.sides)
        return f"query {query.name!r}: {query.status}; a join of {names}, which feed it"

    # -- life -----------------------------------------------------------------------------------

    def restore(self, remake: Remake) -> None:
        """Load what an earlier run committed, once its streams have; sides of joins that it does
        not know are half-made, and end."""
        self._journal.make()
        found = self._journal.found()
        for lost in found.lost:
            log.warning("join %r: %s; going on from the records before it", self.name, lost)
        now = replace(self._life, status="restoring")
        if found.state is not None:
            now = replace(now, state=found.state)
        gone = {e.uid: e for change in found.changes for e in change.deleted}
        records = {r.uid: r for change in found.changes for r in (*change.created, *change.moved)}
        made = {uid: remake(record, gone.get(uid)) for uid, record in records.items()}
        logical = {uid: one.logical for uid, one in made.items()}
        self._life = lives.restored(now, found.changes, logical, found.begun, found.before)
        feeds = {uid: f for p in self.streams.values() for uid, f in p.feeds.items()}
        needed = {int(q.uid) for q in self._life.active}
        if self._life.begun is not None:
            needed |= {int(q.uid) for q in self._life.editions[self._life.begun.version].queries}
        for uid in sorted(needed):
            query = made[uid].query
            assert isinstance(query, Query)
            self._add(query)
            if QueryUid(uid) in self._life.registry.active:
                self._adopt(query, self._feeds_of(query, feeds))
                query.activated(self._life.registry.active[QueryUid(uid)].since_us)
        for uid, sink in self._sinks.items():
            sink.rewind(self._life.state.txn, uid)
            made[uid].noted.rewind(self._life.state.txn, uid)
            self._note_sink(uid)
        if found.state is None:
            self._journal.commit(self._life.state)
        self._release()

    def _feeds_of(self, query: Query, feeds: Mapping[int, Feed]) -> tuple[Feed, ...]:
        """The sides of a join that the checkpoint goes on with."""
        join = query.logical.join
        assert join is not None
        found = []
        for number, side in enumerate(join.sides):
            uid = uid_of_side(int(query.uid), number)
            if uid not in feeds:
                raise ExecutionError(
                    f"join {self.name!r}: stream {side.stream!r} no longer keeps what query "
                    f"{query.name!r} needs: its records do not fit those of the join; restore the "
                    "checkpoint from a copy, or begin with a new one"
                )
            found.append(feeds[uid])
        return tuple(found)

    def start(self) -> None:
        """Begin to look after the streams, which have begun to be read."""
        with self._failing(), self._turn:
            self._handover.start(self._life.state)
            begun = self._life.begun
            self._replays = None if begun is None else begun.txn
            self._refuse_lost_sinks()
            self._life = replace(self._life, status="running")
        self._thread = threading.Thread(
            target=self._run, name=f"headrace-join {self.name}", daemon=True
        )
        self._thread.start()
        self._wake.set()

    def process_all_available(self) -> None:
        """Wait until all windows are out that the streams have passed."""
        self._raise_failure()
        with self._failing():
            self._pass_silent()
            for stream in self.streams.values():
                stream.settle()
            with self._turn:
                self._advance(wait=True)
        self._raise_failure()
        self._handover.drain()

    def close(self, *, for_good: bool = False) -> None:
        """Stop after the running firing."""
        with self._turn:
            if self.status == "closed":
                return
            self._life = replace(self._life, status="closed")
        self._wake.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._handover.close()
        with suppress(*internals.UNREACHABLE):
            self._plans.keep(set())

    def watch(self) -> None:
        """Look after sinks; called about once a second."""
        self._handover.watch()
        now_s = self._clock.now()
        for query in list(self._handles.values()):
            query.expire(now_s)
        for stream in self.streams.values():
            if stream.failure and self.status == "running":
                self.fail(ExecutionError(stream.failure))
        self._pass_silent()
        self._wake.set()

    def _pass_silent(self) -> None:
        """Streams that have fallen silent are waited for no longer: they note it first."""
        waiting = [p for p in self.streams.values() if not p.is_silent]
        if self._life.registry.active and waiting:
            upto_us = min(p.state.settled_us for p in waiting)
            for stream in self.streams.values():
                if stream not in waiting:
                    stream.overtake(upto_us)

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            if self.status != "running":
                return
            try:
                with self._turn:
                    self._advance(wait=True)
            except Exception as error:
                if not self.is_over:
                    log.error("join %r failed", self.name, exc_info=True)
                    self.fail(error)

    # -- transactions ---------------------------------------------------------------------------

    def _advance(self, *, wait: bool) -> None:
        """Under the turn: serve requests, and answer what the streams have passed."""
        while self.status == "running":
            if not self._owes_replay:
                self._drain()
            begun = self._life.begun
            frontier_us = min(p.state.settled_us for p in self.streams.values())
            goal_us = self._life.state.emitted_upto_us if begun is None else begun.frontier_us
            if frontier_us < goal_us or (begun is None and frontier_us == goal_us):
                return
            if begun is None and not self._life.registry.active:
                return
            with self._room(wait=wait) as there:
                if not there:
                    return
                if begun is None:
                    self._do(
                        lives.begins(self._life, "tick", self._clock.now(), frontier_us=frontier_us)
                    )
                self._transact()

    @contextmanager
    def _room(self, *, wait: bool) -> Iterator[bool]:
        there = self._around.gate.admit(wait=wait)
        try:
            yield there
        finally:
            if there:
                self._around.gate.leave()

    def _transact(self) -> None:
        """Run the transaction that was begun, and commit it."""
        begin = self._life.begun
        assert begin is not None
        lent = {name: p.lend() for name, p in self.streams.items()}
        try:
            faults.reach("before transaction")
            outcome = self._outcome(begin, lent)
            faults.reach("after transaction")
        finally:
            for name, pipeline in self.streams.items():
                pipeline.give_back(lent[name])
        noted = self._handover.post(outcome, self._sinks)
        step = lives.finished(self._life, outcome, noted, self._plans.plans, purged=True)
        entry = self._entry(begin)
        uids = [int(q.uid) for q in entry.queries]
        queries = {uid: self._handles[uid] for uid in uids if uid in self._handles}
        self._do(step)
        self._handover.committed(outcome, queries, noted)
        self._release()

    def _entry(self, begin: Begin) -> PlanEntry[PlanHandle]:
        return self._plans.entry(begin.version, self._life.editions[begin.version])

    def _outcome(self, begin: Begin, lent: Mapping[str, Lent]) -> Outcome:
        state, entry, started = self._life.state, self._entry(begin), time.monotonic()
        joining = plan_joining(
            entry.queries,
            {n: Source(one.state.sections, one.plans) for n, one in lent.items()},
            state.emitted_upto_us,
            begin.frontier_us,
        )
        emitted = Emitted()
        emitted.begin_firing(sessions=False)
        if joining.is_needed:
            at = self._premises(begin, entry.queries)
            reads = {n: self._read(n, one, joining.refs[n]) for n, one in lent.items()}
            task = JoinTask(at, "j", entry.handle, reads, joining)
            rows = self._spark.sparkContext.parallelize([0], 1).mapPartitions(task).collect()
            emitted.take([Message(k, u, p) for k, u, p in rows])
            ntz = any(p.stream.has_ntz_time for p in self.streams.values())
            take_back = self._take_back(begin, entry)
            Finishing(self._spark, at, entry.logical, "j", take_back, ntz).run(emitted)
        inputs = {
            n: InputState(one.state.inputs[self.streams[n].stream.name].progress)
            for n, one in lent.items()
        }
        then = replace(
            state, inputs=inputs, txn=begin.txn, emitted_upto_us=begin.frontier_us, sections=()
        )
        return Outcome(then, (), emitted, frozenset(), 0.0, time.monotonic() - started)

    def _read(self, stream: str, lent: Lent, refs: Sequence[SectionRef]) -> Read:
        """A stream with the plans that tell what its sections hold, and no others: those may go."""
        versions = {r.version for r in refs if r.uids is None}
        return Read(self.streams[stream].buckets, {v: lent.handles[v] for v in versions})

    def _premises(self, begin: Begin, queries: tuple[ActiveQuery, ...]) -> Premises:
        sinks = {int(q.uid): TaskSink.of(self._sinks[int(q.uid)], None) for q in queries}
        return Premises(
            begin.txn,
            begin.version,
            self._journal.buckets,
            self._journal.staging,
            sinks,
            self.setting,
        )

    def _take_back(self, begin: Begin, entry: PlanEntry[PlanHandle]) -> Callable[[str], None]:
        def take_back(task: str) -> None:
            for query in entry.queries:
                self._sinks[int(query.uid)].abort(begin.txn, int(query.uid), task)

        return take_back

    def _release(self) -> None:
        """Tell the streams how far what they keep was read. The commit before the last one can
        still be gone back to."""
        before = self._life.before
        upto_us = BEGINNING if before is None else before.emitted_upto_us
        told: dict[str, dict[int, int]] = {}
        for feeds in self._sides.values():
            for feed in feeds:
                told.setdefault(feed.logical.stream, {})[int(feed.uid)] = upto_us
        for stream, read in told.items():
            self.streams[stream].release(read)
