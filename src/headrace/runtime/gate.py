"""The gate: every pipeline asks here before its micro-batch works, and the policy says who goes.

It is the paper's runtime scheduler in the words of section 5: a pipeline that asks is registered;
for every decision the gate collects what those that wait know; it starts the next ones, at most so
many at a time, and all others stay paused. A decision is made when a pipeline asks or is done, and
when one that is held becomes due. Those that are held sleep until then, and decisions leave them
out; once a second everybody is looked at.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from headrace.runtime.counters import ScheduleMetrics
from headrace.scheduling.decision import Decision
from headrace.scheduling.order import Turn
from headrace.scheduling.patience import PATIENCE_S
from headrace.scheduling.policies import Policy
from headrace.scheduling.scheduler import Scheduler
from headrace.scheduling.snapshot import Memory, PipelineView
from headrace.types import Clock

log = logging.getLogger("headrace")

_LOOK_S = 1.0
"""Everybody who waits is looked at again after so long, if not before."""
_KEPT = 200
"""Decisions that can be read back."""


class Gated(Protocol):
    """What the gate asks of a pipeline."""

    @property
    def name(self) -> str:
        """By which it is ordered."""
        ...

    @property
    def hurried(self) -> bool:
        """Whether somebody waits for all that it has."""
        ...

    def view(self, now_s: float, waits_since_s: float) -> PipelineView:
        """What it knows of itself. Must not wait for a batch."""
        ...


@dataclass
class _Waiting:
    pipeline: Gated
    since_s: float
    turn: Turn | None = None
    view: PipelineView | None = None
    held_until_s: float | None = None
    let_in: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Seen:
    """What a decision is made from."""

    views: list[PipelineView] = field(default_factory=list)
    silent: dict[str, Turn] = field(default_factory=dict)
    """Those that could not be asked."""
    asleep_until_s: float = float("inf")
    """When the first of those becomes due that were not asked."""


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
    ) -> None:
        self._scheduler = Scheduler(policy, patience_s=patience_s)
        self._concurrency = concurrency
        self._clock = clock
        self._used_memory = used_memory
        self._changed = threading.Condition()
        self._waiting: dict[str, _Waiting] = {}
        self._running = 0
        self._closed = False
        self._looked_s = float("-inf")
        """When everybody who waits was last looked at."""
        self._hurried = False
        """Whether somebody has begun to wait for a pipeline since everybody was held."""
        self._thread: threading.Thread | None = None
        self.decisions: deque[Decision] = deque(maxlen=_KEPT)
        self.decided = 0
        self.deciding_s = 0.0
        self._since = time.perf_counter()

    # -- settings -----------------------------------------------------------------------------

    @property
    def policy(self) -> Policy:
        """Who decides."""
        return self._scheduler.policy

    def change(self, policy: Policy, concurrency: int) -> None:
        """From the next decision on."""
        with self._changed:
            self._scheduler = Scheduler(policy, patience_s=self._scheduler.patience_s)
            self._concurrency = concurrency
            self._looked_s = float("-inf")
            self.decided, self.deciding_s, self._since = 0, 0.0, time.perf_counter()
            self._changed.notify_all()

    @property
    def memory_mode(self) -> bool:
        """Whether the policy frees memory first."""
        return self._scheduler.memory_mode

    def metrics(self) -> ScheduleMetrics:
        """How it decides, and what that takes."""
        with self._changed:
            elapsed = time.perf_counter() - self._since
            memory = self.decisions[-1].snapshot.memory.share if self.decisions else 0.0
            return ScheduleMetrics(
                policy=self.policy.name,
                concurrency=self._concurrency,
                waiting=len(self._waiting),
                running=self._running,
                decisions=self.decided,
                deciding_share=self.deciding_s / elapsed if elapsed > 0 else 0.0,
                memory_share=memory,
                memory_mode=self.memory_mode,
            )

    # -- for pipelines ------------------------------------------------------------------------

    def enter(self, pipeline: Gated, alive: Callable[[], bool]) -> Turn | None:
        """Wait for a turn; None when the gate closes or the pipeline is no longer alive.

        Whoever got a turn calls `leave` when its batch is done.
        """
        entry = _Waiting(pipeline, self._clock.now())
        with self._changed:
            if self._closed:
                return None
            if not self.policy.gated:
                self._running += 1
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

    def admit(self, *, wait: bool) -> bool:
        """Room for work that is no batch, which no policy orders; whether there was any.

        Whoever got it calls `leave`, too.
        """
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: self._closed or self._room() > 0)
            if self._closed or (self.policy.gated and self._room() <= 0):
                return False
            self._running += 1
            return True

    def leave(self) -> None:
        """A batch is done, or other work."""
        with self._changed:
            self._running -= 1
            self._changed.notify_all()

    def dismiss(self, pipeline: Gated) -> None:
        """It no longer wants a turn."""
        with self._changed:
            entry = self._waiting.pop(pipeline.name, None)
            if entry is not None:
                entry.let_in.set()

    def hurry(self) -> None:
        """Somebody waits for one of the pipelines now, which may be held."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()

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
                log.exception("the policy %r failed; everybody is let in", self.policy.name)
                turns = {name: Turn(name, "the policy failed") for name in entries}
                started = self._start(turns, len(turns))
            if not started:
                self._await_change(entries)

    def _await_change(self, entries: dict[str, _Waiting]) -> None:
        """Nobody was let in: until somebody asks, hurries or is due, or it is time to look."""
        ends = [e.held_until_s for e in entries.values() if e.held_until_s is not None]
        pause_s = min([*ends, self._looked_s + _LOOK_S]) - self._clock.now()
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or self._hurried or self._waiting.keys() != entries.keys(),
                max(pause_s, 0.001),
            )
            self._hurried = False

    def _room(self) -> int:
        if not self.policy.gated:
            return max(len(self._waiting), 1)
        return self._concurrency - self._running

    def _can_decide(self) -> bool:
        return bool(self._waiting) and self._room() > 0

    def _decide(self, entries: dict[str, _Waiting], room: int) -> int:
        begun = time.thread_time()
        now_s = self._clock.now()
        seen = self._look(entries, now_s)
        decision = None
        if seen.views:
            used = self._used_memory()
            decision = self._scheduler.decide(
                now_s, tuple(seen.views), used, room, seen.asleep_until_s
            )
            for turn in decision.turns:
                entries[turn.name].held_until_s = turn.held_until_s if turn.held else None
        self.deciding_s += time.thread_time() - begun
        let_in = self._start(seen.silent, len(seen.silent))
        if decision is None:
            return let_in
        self.decided += 1
        self.decisions.append(decision)
        turns = {turn.name: turn for turn in decision.turns}
        return let_in + self._start({name: turns[name] for name in decision.started})

    def _look(self, entries: dict[str, _Waiting], now_s: float) -> _Seen:
        """What the pipelines know that are awake: of those held, the ones that are due or hurried
        now. Now and then, and in memory mode, all are awake."""
        seen = _Seen()
        again = now_s >= self._looked_s + _LOOK_S
        if again:
            self._looked_s = now_s
        for name, entry in entries.items():
            held_until_s = entry.held_until_s
            due = held_until_s is not None and now_s >= held_until_s
            afresh = again or due or entry.view is None or entry.pipeline.hurried
            if held_until_s is not None and not afresh and not self.memory_mode:
                seen.asleep_until_s = min(seen.asleep_until_s, held_until_s)
                continue
            try:
                if entry.view is None or afresh:
                    entry.view = entry.pipeline.view(now_s, entry.since_s)
                seen.views.append(entry.view)
            except Exception:  # its own batch will say what is wrong; others are not to suffer
                log.warning("pipeline %r cannot tell what waits for it", name, exc_info=True)
                seen.silent[name] = Turn(name, "what waits for it cannot be told")
        return seen

    def _start(self, turns: dict[str, Turn], room: int | None = None) -> int:
        """Let them in, as far as there is still room: other work may have come meanwhile."""
        count = 0
        with self._changed:
            room = self._room() if room is None else room
            for name, turn in turns.items():
                if count >= room:
                    break
                entry = self._waiting.pop(name, None)
                if entry is not None:
                    entry.turn = turn
                    self._running += 1
                    entry.let_in.set()
                    count += 1
        return count
