"""What a pipeline knows and owes: its life, the records of it, its queries, its requests.

Whoever moves the pipeline on holds its turn. What comes next is decided in `runtime.life`; here it
is written down and done, in that order. Everybody else looks at the last life, and waits for
nobody.
"""

from __future__ import annotations

import errno
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from pyspark.sql import SparkSession

from headrace.connectors.sinks import Sink, is_lost
from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.query.plan import SharedPlan
from headrace.registry.changelog import Registry
from headrace.runtime import faults
from headrace.runtime import life as lives
from headrace.runtime.gate import Gate
from headrace.runtime.journal import Journal
from headrace.runtime.life import Create, Instruction, Life, Move, Request, Step, Stop
from headrace.runtime.listeners import Listeners
from headrace.runtime.locks import OrderedLock
from headrace.runtime.plans import PlanBook
from headrace.runtime.records import disk_sentence
from headrace.runtime.state import InputState, PipelineState
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.pipeline.handles import Handle
from headrace.spark.pipeline.handover import HandOver, LateSink
from headrace.spark.pipeline.loans import Lent, Loans
from headrace.spark.query import Query
from headrace.spark.sinks import recorded
from headrace.spark.worker.plans import PlanHandle
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

    what: ClassVar[str]
    """What people call it."""

    def __init__(
        self,
        name: str,
        store: Store,
        around: Surroundings,
        inputs: Mapping[str, InputState],
        plans: PlanBook[PlanHandle],
        late: LateSink | None = None,
    ) -> None:
        self.name = name
        self._around = around
        self._spark = around.spark
        self._clock = around.clock
        self._journal = Journal(store, around.owned)
        self._turn = OrderedLock("pipeline")
        self._requests: deque[Request] = deque()
        self._handles: dict[int, Handle] = {}
        self._sinks: dict[int, Sink] = {}
        self._life = Life(PipelineState(inputs))
        self._plans = plans
        self._handover = HandOver(
            name,
            late,
            self._journal.outbox,
            self._clock,
            around.listeners,
            lambda uid, reason: self._request(Stop(uid, reason)),
            around.sink_timeout_s,
            around.outbox_bytes,
        )
        self._loans = Loans()
        self._error: Exception | None = None
        self._replays: int | None = None
        """The transaction that an earlier run began."""

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

    @abstractmethod
    def explain(self) -> str:
        """What it does, in words."""

    @abstractmethod
    def explain_query(self, query: Query) -> str:
        """Where one query runs, and why."""

    def rows_waiting(self, uid: QueryUid) -> int:
        """Rows of a query that were committed and not handed over yet."""
        return self._handover.rows_waiting(int(uid))

    @property
    def buckets(self) -> Store:
        """Where its sections are."""
        return self._journal.buckets

    def lend(self) -> Lent:
        """The last committed state, to be read until it is given back."""
        state = self._loans.lend(lambda: self._life.state)
        return Lent(state, self._plans.plans, self._plans.handles)

    def give_back(self, lent: Lent) -> None:
        """It was read."""
        self._journal.delete(self._loans.give_back(lent.state))

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

    def _add(self, query: Handle) -> None:
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

    def _drain(self) -> list[Request]:
        """Under the turn: do what was asked for; returns it."""
        asked: list[Request] = []
        while self._requests:
            asked.append(self._requests.popleft())
        if asked:
            self._do(lives.drained(self._life, asked, self._plans.plans))
        return asked

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
        self._plans.keep(step.life.editions.keys() | self._loans.versions)

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
                self._journal.delete(self._loans.may_go(names))
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
            told = f"{self.what} {self.name!r} stopped: {sentence or self._reason(error)}"
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
