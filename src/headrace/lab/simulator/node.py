"""A simulated machine: its parts of queries, its memory, and its scheduler."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from headrace.lab.simulator.model import Conditions
from headrace.lab.simulator.part import Part
from headrace.lab.simulator.queues import Watermark
from headrace.lab.simulator.source import Source
from headrace.progress.sweep import SweepEstimate, anchor_s
from headrace.scheduling.decision import Decision
from headrace.scheduling.scheduler import Scheduler
from headrace.scheduling.snapshot import Memory, PipelineView, SweepView

_LEAST_S = 1e-4
"""A core that is free for less than this is not given to anybody."""
_ROUNDS = 5
"""So often what some threads left is shared out among the others."""

Left = Callable[[Part, float, float], None]
"""Told which part events left, how many, and when."""
Passed = Callable[[Part, Watermark, float], None]


@dataclass(slots=True)
class Node:
    """Decides alone, from what it sees and what other nodes have told it."""

    number: int
    conditions: Conditions
    scheduler: Scheduler
    parts: list[Part]
    sources: dict[int, list[Source]]
    """By query, for those whose first operator is here."""
    memory: Memory
    told: dict[int, tuple[tuple[SweepView, ...], float]] = field(default_factory=dict)
    """By query: the sweeps that the node before it expects, and what it has to do until then."""
    owed_s: dict[int, float] = field(default_factory=dict)
    """By query: what the rest of it takes on later nodes."""
    busy_s: float = 0.0
    useful_s: float = 0.0
    """Of it, what was left after garbage collection."""

    @property
    def queued(self) -> float:
        """Events that wait on it."""
        return sum(part.queued for part in self.parts)

    @property
    def held_back(self) -> bool:
        """Whether sources may not send: memory is full, or in memory mode, which runs operators
        from the first after the source on and leaves the source out (section 3.4)."""
        return self.scheduler.memory_mode or self.memory.used >= self.memory.bound

    @property
    def speed(self) -> float:
        """How fast a core is while garbage collection takes its share."""
        heap = self.conditions.heap_over_bound * self.memory.bound
        live = min(self.memory.used, 0.99 * heap)
        return 1.0 / (1.0 + self.conditions.collecting * live / (heap - live))

    def cycle(self, now_s: float, passed: Passed, left: Left) -> None:
        """Decide, and run until the next decision."""
        self.memory = replace(self.memory, used=self.queued)
        waiting = [p for p in self.parts if p.has_work]
        for part in waiting:
            if part.waits_since_s is None:
                part.waits_since_s = now_s
        if self.scheduler.policy.gated:
            self._take_turns(now_s, self.decide(now_s, waiting), passed, left)
        else:
            self._share(now_s, waiting, passed, left)

    # -- deciding -----------------------------------------------------------------------------

    def decide(self, now_s: float, waiting: list[Part]) -> Decision:
        """The order of those who have something to do."""
        views = tuple(self.view(part, now_s) for part in waiting)
        return self.scheduler.decide(now_s, views, self.memory, self.conditions.cores)

    def view(self, part: Part, now_s: float) -> PipelineView:
        """What the policy sees of a part."""
        sweeps = self.sweeps(part, now_s)
        oldest = part.oldest_s
        return PipelineView(
            name=str(part.query),
            stages=part.stages(),
            sweeps=sweeps,
            waits_since_s=now_s if part.waits_since_s is None else part.waits_since_s,
            last_turn_s=part.last_turn_s,
            oldest_s=now_s if oldest is None else oldest,
            deadline_s=part.due_s + part.spec.starts_s,
            sweep_s=part.sweep_cost_s,
            downstream_s=self.owed_s.get(part.query, 0.0),
            in_progress=part.in_progress,
        )

    def sweeps(self, part: Part, now_s: float) -> tuple[SweepView, ...]:
        """When the next sweep of each input stream comes, or has come."""
        if part.query in self.sources:
            return tuple(self._expected(part, s) for s in self.sources[part.query])
        if part.query not in self.told:
            return ()
        before, cost_s = self.told[part.query]
        arrived = part.arrived_s[0]
        if arrived:
            first = min(arrived)
            return tuple(SweepView(view.estimate, arrived[first]) for view in before[:1])
        return tuple(SweepView(_later(view, now_s, cost_s)) for view in before)

    def _expected(self, part: Part, source: Source) -> SweepView:
        arrived = part.arrived_s[source.stream]
        due = part.due_s
        anchor = source.behind_s + anchor_s(due, source.lateness_s, source.every_s)
        estimate = source.sweeps.estimate(anchor, confidence=self.conditions.confidence)
        pending = [at for deadline, at in arrived.items() if deadline >= due - 1e-9]
        return SweepView(estimate, min(pending, default=None))

    # -- running ------------------------------------------------------------------------------

    def _take_turns(self, now_s: float, decision: Decision, passed: Passed, left: Left) -> None:
        """Cores go to the first in the order; one that is done early goes to the next."""
        parts = {str(p.query): p for p in self.parts}
        end_s = now_s + self.conditions.cycle_s
        free = [now_s] * self.conditions.cores
        speed = self.speed
        for turn in decision.ready:
            start_s = free[0]
            if end_s - start_s < _LEAST_S:
                break
            part = parts[turn.name]
            part.in_progress = True
            part.waits_since_s = None
            if start_s == now_s:  # what is left of a cycle is a present, not a turn
                part.last_turn_s = now_s
            used = self._process(part, start_s, end_s - start_s, speed, turn.stages, passed, left)
            heapq.heapreplace(free, start_s + used)

    def _share(self, now_s: float, waiting: list[Part], passed: Passed, left: Left) -> None:
        """Without a gate every pipeline is a thread (its operators are chained), and threads share
        the cores alike. What one does not need goes to the others, in rounds."""
        cycle_s, speed = self.conditions.cycle_s, self.speed
        room = whole = self.conditions.cores * cycle_s
        had = dict.fromkeys((part.query for part in waiting), 0.0)
        for part in waiting:
            part.waits_since_s, part.last_turn_s = None, now_s
        for _ in range(_ROUNDS):
            active = [p for p in waiting if p.has_work and had[p.query] < cycle_s - _LEAST_S]
            if not active or room < _LEAST_S:
                return
            for number, part in enumerate(active):
                mine = min(room / (len(active) - number), cycle_s - had[part.query])
                at_s = now_s + cycle_s * (1.0 - room / whole)
                used = self._process(part, at_s, mine, speed, None, passed, left)
                had[part.query] += used
                room -= used

    def _process(
        self,
        part: Part,
        at_s: float,
        seconds: float,
        speed: float,
        stages: int | None,
        passed: Passed,
        left: Left,
    ) -> float:
        used, out = part.run(
            at_s, seconds, speed, lambda mark, at: passed(part, mark, at), last=stages
        )
        self.busy_s += used
        self.useful_s += used * speed
        if out > 0.0:
            left(part, out, at_s + used)
        return used


def _later(view: SweepView, now_s: float, cost_s: float) -> SweepEstimate:
    """When a sweep leaves the node before: once it has come there, and its queue is worked off."""
    estimate = view.estimate
    if view.arrived_at_s is None:
        return estimate.moved(cost_s)
    return replace(
        estimate,
        mean_s=now_s + cost_s,
        low_s=now_s,
        high_s=now_s + 2.0 * cost_s,
        deviation_s=cost_s / 2.0,
    )
