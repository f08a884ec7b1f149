"""The gate: every pipeline asks here before its micro-batch works, and the policy says who goes.

It is the paper's runtime scheduler in the words of section 5: a pipeline that asks is registered;
for every decision the gate collects what those that wait know; it starts the next ones, at most so
many at a time, and all others stay paused. A decision is made when a pipeline asks or is done, and
while some wait, at least once a cycle.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.scheduling.order import Turn
from headrace.scheduling.patience import PATIENCE_S, with_patience
from headrace.scheduling.policies import Policy
from headrace.scheduling.snapshot import Memory, PipelineView, Snapshot
from headrace.types import Clock

log = logging.getLogger("headrace")

CYCLE_S = 0.12
_KEPT = 200
"""Decisions that can be read back."""


class Gated(Protocol):
    """What the gate asks of a pipeline."""

    @property
    def name(self) -> str:
        """By which it is ordered."""
        ...

    def view(self, now_s: float, waits_since_s: float) -> PipelineView:
        """What it knows of itself. Must not wait for a batch."""
        ...


@dataclass(frozen=True)
class Decision:
    """Who was let in, out of which snapshot, and the order of all who waited."""

    snapshot: Snapshot
    turns: tuple[Turn, ...]
    started: tuple[str, ...]
    room: int
    patience_s: float

    @property
    def at_s(self) -> float:
        """When."""
        return self.snapshot.now_s


@dataclass
class _Waiting:
    pipeline: Gated
    since_s: float
    turn: Turn | None = None
    let_in: threading.Event = field(default_factory=threading.Event)


class Gate:
    """Lets pipelines in, in the policy's order."""

    def __init__(
        self,
        policy: Policy,
        concurrency: int,
        clock: Clock,
        *,
        used_memory: Callable[[], Memory] = Memory,
        patience_s: float = PATIENCE_S,
        cycle_s: float = CYCLE_S,
    ) -> None:
        self._policy = policy
        self._concurrency = concurrency
        self._clock = clock
        self._used_memory = used_memory
        self._patience_s = patience_s
        self._cycle_s = cycle_s
        self._changed = threading.Condition()
        self._waiting: dict[str, _Waiting] = {}
        self._running: set[str] = set()
        self._memory = Memory()
        self._closed = False
        self._thread: threading.Thread | None = None
        self.decisions: deque[Decision] = deque(maxlen=_KEPT)
        self.decided = 0
        self.deciding_s = 0.0

    # -- settings -----------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """Who decides."""
        return self._policy

    @property
    def concurrency(self) -> int:
        """So many batches run at a time at most."""
        return self._concurrency

    def change(self, policy: Policy, concurrency: int) -> None:
        """From the next decision on."""
        with self._changed:
            self._policy, self._concurrency = policy, concurrency
            self._memory = Memory()
            self._changed.notify_all()

    @property
    def memory_mode(self) -> bool:
        """Whether the policy frees memory first."""
        return self._memory.entered_at_s is not None

    @property
    def waiting(self) -> tuple[str, ...]:
        """Pipelines that wait for their turn."""
        with self._changed:
            return tuple(self._waiting)

    # -- for pipelines ------------------------------------------------------------------------

    def enter(self, pipeline: Gated, alive: Callable[[], bool]) -> Turn | None:
        """Wait for a turn; None when the gate closes or the pipeline is no longer alive.

        Whoever got a turn calls `leave` when its batch is done.
        """
        entry = _Waiting(pipeline, self._clock.now())
        with self._changed:
            if self._closed:
                return None
            if not self._policy.gated:
                self._running.add(pipeline.name)
                return Turn(pipeline.name, "no gate")
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="headrace-gate", daemon=True)
                self._thread.start()
            self._waiting[pipeline.name] = entry
            self._changed.notify_all()
        while not entry.let_in.wait(1.0):
            if not alive():
                break
        with self._changed:
            self._waiting.pop(pipeline.name, None)
            return entry.turn

    def leave(self, pipeline: Gated) -> None:
        """A batch is done."""
        with self._changed:
            self._running.discard(pipeline.name)
            self._changed.notify_all()

    def dismiss(self, pipeline: Gated) -> None:
        """It no longer wants a turn."""
        with self._changed:
            entry = self._waiting.pop(pipeline.name, None)
            if entry is not None:
                entry.let_in.set()

    def close(self) -> None:
        """Nobody is let in any more, and nobody waits."""
        with self._changed:
            self._closed = True
            for entry in self._waiting.values():
                entry.let_in.set()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    # -- deciding -----------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._can_decide())
                if self._closed:
                    return
                entries = dict(self._waiting)
                room = self._room()
            try:
                started = self._decide(entries, room)
            except Exception:  # a gate that stays shut would stop every pipeline
                log.exception("the policy %r failed; everybody is let in", self._policy.name)
                started = self._start({name: Turn(name, "the policy failed") for name in entries})
            if not started:
                self._await_change(set(entries))

    def _await_change(self, waited: set[str]) -> None:
        """Nobody was let in: until somebody else asks, or the next cycle."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or set(self._waiting) != waited, self._cycle_s
            )

    def _room(self) -> int:
        if not self._policy.gated:
            return len(self._waiting)
        return self._concurrency - len(self._running)

    def _can_decide(self) -> bool:
        return bool(self._waiting) and self._room() > 0

    def _decide(self, entries: dict[str, _Waiting], room: int) -> int:
        begun = time.perf_counter()
        now_s = self._clock.now()
        views = tuple(e.pipeline.view(now_s, e.since_s) for e in entries.values())
        used = self._used_memory()
        memory = Memory(
            used.used, used.bound, self._memory.entered_at_s, self._memory.used_at_entry
        )
        snapshot = Snapshot(now_s, self._cycle_s, views, memory)
        order = with_patience(self._policy.order(snapshot), snapshot, self._patience_s)
        self._memory = order.memory
        chosen = {turn.name: turn for turn in order.ready[:room]}
        self.deciding_s += time.perf_counter() - begun
        self.decided += 1
        if chosen:
            self.decisions.append(
                Decision(snapshot, order.turns, tuple(chosen), room, self._patience_s)
            )
        return self._start(chosen)

    def _start(self, turns: dict[str, Turn]) -> int:
        count = 0
        with self._changed:
            for name, turn in turns.items():
                entry = self._waiting.pop(name, None)
                if entry is not None:
                    entry.turn = turn
                    self._running.add(name)
                    entry.let_in.set()
                    count += 1
        return count
