"""Klink: the pipeline whose window is due first, and under memory pressure the one that frees most.

Where a run has a fixed cost, as a micro-batch has, running early may take more than it brings. So a
pipeline that is not due is held if its queue is less work than the fixed cost of a run, or if
another one becomes due before the run would be over: it cannot be stopped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.slack import slack_s
from headrace.scheduling.snapshot import Memory, PipelineView, Snapshot

_TIE = 1.1
"""Pipelines that free about the same (to a tenth) are ordered by slack."""
_FREES = "memory is short: whoever frees most goes first"


@dataclass(frozen=True)
class Klink:
    """Least expected slack first; b, and the ways out of memory mode, are those of section 3.4."""

    memory_mode: bool = True
    enter_at: float = 0.5
    """b: the share of the memory bound at which memory mode begins."""
    free_share: float = 0.5
    """It ends when this share of what was in use then is free …"""
    lasts_s: float = 3.0
    """… or after so long."""
    gated = True

    @property
    def name(self) -> str:
        """``klink``, or ``klink-without-memory``."""
        return "klink" if self.memory_mode else "klink-without-memory"

    def order(self, snapshot: Snapshot) -> Order:
        """Least slack first; in memory mode, most memory freed first."""
        memory = self._memory(snapshot)
        short = memory.entered_at_s is not None
        return Order(_freeing(snapshot) if short else _by_slack(snapshot), memory)

    def _memory(self, snapshot: Snapshot) -> Memory:
        memory = snapshot.memory
        if not self.memory_mode:
            return memory
        if memory.entered_at_s is not None:
            freed = memory.used <= (1.0 - self.free_share) * memory.used_at_entry
            if not freed and snapshot.now_s - memory.entered_at_s < self.lasts_s:
                return memory
            memory = replace(memory, entered_at_s=None, used_at_entry=0.0)
            if freed:
                return memory
        if memory.share >= self.enter_at:
            return replace(memory, entered_at_s=snapshot.now_s, used_at_entry=memory.used)
        return memory


def _by_slack(snapshot: Snapshot) -> tuple[Turn, ...]:
    """Pipelines of which no window is known yet go by how long they wait."""
    turns = []
    comes = [_comes_s(p) for p in snapshot.pipelines]
    first, second = _next_two([*comes, snapshot.asleep_until_s])
    for pipeline, come_s in zip(snapshot.pipelines, comes, strict=True):
        slack = slack_s(pipeline, snapshot.now_s, snapshot.cycle_s)
        urgency = pipeline.waits_since_s - snapshot.now_s if slack is None else slack
        others_s = second if come_s == first else first
        turn = _turn(pipeline, snapshot.now_s, slack, come_s, others_s)
        turns.append((urgency, pipeline.waits_since_s, turn))
    turns.sort(key=lambda item: item[:2])
    return tuple(turn for _, _, turn in turns)


def _freeing(snapshot: Snapshot) -> tuple[Turn, ...]:
    """Slack is looked at only among those that free about the same."""
    ranked: dict[float, list[tuple[PipelineView, int | None]]] = {}
    for pipeline in snapshot.pipelines:
        freed, stages = freed_by(pipeline, snapshot.cycle_s)
        rank = math.floor(math.log(freed, _TIE)) if freed > 0.0 else -math.inf
        ranked.setdefault(rank, []).append((pipeline, stages))

    def urgency(alike: tuple[PipelineView, int | None]) -> float:
        return slack_s(alike[0], snapshot.now_s, snapshot.cycle_s) or 0.0

    turns: list[Turn] = []
    for rank in sorted(ranked, reverse=True):
        alike = ranked[rank]
        if len(alike) > 1:
            alike.sort(key=urgency)
        turns.extend(Turn(p.name, _FREES, stages=stages) for p, stages in alike)
    return tuple(turns)


def freed_by(pipeline: PipelineView, cycle_s: float) -> tuple[float, int | None]:
    """The most events that a turn frees memory of, and how many stages to run (None: all).

    ``p_k = sz · (1 − Π S_i)`` for the stages up to k, as far as the cycle's time goes. Where a run
    has a fixed cost it is not stopped by the clock, but takes all that waits.
    """
    whole = pipeline.fixed_s > 0.0
    most, best = 0.0, None
    queued = per_event = 0.0
    share = 1.0
    for k, stage in enumerate(pipeline.stages, 1):
        queued += stage.queued
        per_event += share * stage.per_event_s
        share *= stage.selectivity
        passed = queued if whole or per_event <= 0.0 else min(queued, cycle_s / per_event)
        freed = passed * (1.0 - share)
        if freed > most * (1.0 + 1e-9):
            most, best = freed, k
    return most, None if best == len(pipeline.stages) else best


def _comes_s(pipeline: PipelineView) -> float:
    """When its sweep has come for certain, or had; infinite while no window is known."""
    first = math.inf
    for sweep in pipeline.sweeps:
        come_s = sweep.estimate.high_s if sweep.arrived_at_s is None else sweep.arrived_at_s
        first = min(first, come_s)
    return first


def _next_two(times_s: list[float]) -> tuple[float, float]:
    """The earliest, and the earliest of the others."""
    first, second, *_ = [*sorted(times_s), math.inf, math.inf]
    return first, second


def _turn(
    pipeline: PipelineView, now_s: float, slack: float | None, come_s: float, others_s: float
) -> Turn:
    """`come_s` is when its sweep has come, `others_s` when that of the first other one has."""
    if slack is None:
        return Turn(pipeline.name, "no window of it is known yet")
    if now_s >= come_s:
        until_s = come_s if _drags(pipeline, come_s, now_s) else None
        return Turn(pipeline.name, "its sweep has come", slack, until_s=until_s)
    reason = f"its sweep is due within {come_s - now_s:.2f} s"
    until_s = None
    if pipeline.fixed_s > 0.0 and not pipeline.hurried:
        events_s = pipeline.events_s
        if events_s < pipeline.fixed_s:
            reason += f"; {pipeline.queued:,.0f} events are not worth a run before"
            until_s = come_s
        elif others_s < now_s + pipeline.fixed_s + events_s:
            reason += "; a run before would be in the way of one that is due"
            until_s = come_s
    return Turn(pipeline.name, reason, slack, held=until_s is not None, held_until_s=until_s)


def _drags(pipeline: PipelineView, come_s: float, now_s: float) -> bool:
    """Whether what came after the sweep would hold its window up for longer than a run of its own.

    Events are taken to have come evenly. Where runs cost nothing by themselves there is nothing to
    weigh: such an engine stops by the clock.
    """
    if pipeline.fixed_s <= 0.0 or pipeline.oldest_s >= come_s:
        return False
    after = (now_s - come_s) / (now_s - pipeline.oldest_s)
    return after * pipeline.events_s > pipeline.fixed_s
