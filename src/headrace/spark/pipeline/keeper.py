"""What a pipeline knows and owes: its life, the records of it, its queries, its requests.

Whoever moves the pipeline on holds its turn. What comes next is decided in `runtime.life`; here it
is written down and done, in that order. Everybody else looks at the last life, and waits for
nobody.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from headrace.connectors.sinks import Sink, is_lost
from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.progress.watermark import Progress
from headrace.query.plan import SharedPlan
from headrace.registry.changelog import Registry
from headrace.runtime import faults
from headrace.runtime import life as lives
from headrace.runtime.explain import explain_plan, explain_query
from headrace.runtime.gate import Gate
from headrace.runtime.journal import Journal
from headrace.runtime.life import Create, Instruction, Life, Move, Request, Step, Stop
from headrace.runtime.listeners import Listeners
from headrace.runtime.locks import OrderedLock
from headrace.runtime.plans import PlanBook
from headrace.runtime.records import disk_sentence
from headrace.runtime.state import InputState, PipelineState
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.pipeline.handover import HandOver
from headrace.spark.query import Query
from headrace.spark.sinks import recorded
from headrace.spark.streams import Stream
from headrace.spark.worker.plans import Broadcasts, PlanHandle
from headrace.types import Clock, QueryUid


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


class Keeper(ABC):
    """The part of a pipeline that is the same whatever its tuples come from."""

    def __init__(self, name: str, stream: Stream, store: Store, around: Surroundings) -> None:
        self.name = name
        self.stream = stream
        self._around = around
        self._spark = around.spark
        self._clock = around.clock
        self._journal = Journal(store, around.owned)
        self._turn = OrderedLock("pipeline")
        self._requests: deque[Request] = deque()
        self._handles: dict[int, Query] = {}
        self._sinks: dict[int, Sink] = {}
        self._life = Life(PipelineState({stream.name: InputState(self._fresh())}))
        self._plans: PlanBook[PlanHandle] = PlanBook(
            Broadcasts(self._spark.sparkContext),
            stream.schema,
            rows_in_jvm=stream.rows_in_jvm,
            reads_files=stream.reads_files,
            keeps_late=stream.late_sink is not None,
        )
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

    def _fresh(self) -> Progress:
        stream = self.stream
        return Progress.start(
            stream.lateness_us, stream.idle_after_s, stream.partitions, self._clock.now()
        )

    @abstractmethod
    def _serve(self) -> None:
        """Other queries are active now."""

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
    def is_over(self) -> bool:
        """Whether nothing more will happen."""
        return self.status in ("failed", "closed")

    @property
    def failure(self) -> str:
        """Why it failed, in words; empty where it has not."""
        return self._life.reason

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

    def rows_waiting(self, uid: QueryUid) -> int:
        """Rows of a query that were committed and not handed over yet."""
        return self._handover.rows_waiting(int(uid))

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

    def _refuse_lost_sinks(self) -> None:
        """A callable cannot be stored: a restored query needs it again, or it ends here."""
        reason = "its callable sink was not given again after the restart"
        for uid, sink in self._sinks.items():
            if is_lost(sink):
                self._requests.append(Stop(uid, reason))

    def _add(self, query: Query) -> None:
        uid = int(query.uid)
        self._handles[uid], self._sinks[uid] = query, query.sink
        self._handover.add(query)

    def _note_sink(self, uid: int) -> None:
        """Who asks for a query of the checkpoint may give its sink other options."""
        record = self._life.records[uid]
        sink = recorded(self._sinks[uid])
        if record.sink != sink:
            self._requests.append(Move(replace(record, sink=sink)))

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

    @property
    def _owes_replay(self) -> bool:
        """Whether a transaction of an earlier run has to be done before anything else."""
        begun = self._life.begun
        return begun is not None and begun.txn == self._replays

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

    def _end(self, uid: int, until_us: int | None, error: str | None) -> None:
        """A query is over. Rows it is still owed are handed over, unless it has failed."""
        handle = self._handles.pop(uid, None)
        self._sinks.pop(uid, None)
        if error is not None:
            self._handover.give_up(uid)
        if handle is not None:
            handle.ended(until_us, error)

    # -- failing --------------------------------------------------------------------------------

    def fail(self, error: Exception) -> None:
        """It cannot go on, and none of its queries either."""
        with self._turn:
            if self.is_over:
                return
            self._error = error
            sentence = None
            if not isinstance(error, OSError) or error.errno in (errno.ENOSPC, errno.EDQUOT):
                sentence = disk_sentence(error, self._journal.store.address)
            told = f"stream {self.name!r} stopped: {sentence or self._reason(error)}"
            self._do(lives.broken(self._life, told))
            for query in list(self._handles.values()):
                query.ended(None, self.failure)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """An error of what is done inside ends the pipeline, and goes on to the caller."""
        try:
            yield
        except Exception as error:
            self.fail(error)
            raise

    def _raise_failure(self) -> None:
        if self.status == "failed":
            raise ExecutionError(self.failure) from self._error

    def _reason(self, error: Exception) -> str:
        """In words, with what to do where it is Spark's own checkpoint that is damaged."""
        folder, told = self._journal.store.sub("spark").address, str(error)
        if folder not in told and "offset log" not in told:
            return reason_of(error)
        return (
            f"Spark cannot go on with its own checkpoint {folder}: {reason_of(error)}; restore the "
            "folder from a copy, or begin with a new checkpoint"
        )


_WRITES = (lives.WriteChange, lives.WriteBegin, lives.WriteCommit)
