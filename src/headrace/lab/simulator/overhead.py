"""What a decision takes, on this machine's clock: the paper's figure 9d.

A decision of Klink is taken with memory under pressure, so that slack and memory freed are both in
it, and with the estimates of all sweeps, which no other policy needs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from headrace.lab.simulator.model import Conditions, QuerySpec, queries
from headrace.lab.simulator.part import Part
from headrace.progress.sweep import Sweeps
from headrace.scheduling.policies import Policy, policy_named
from headrace.scheduling.policies.klink import Klink
from headrace.scheduling.scheduler import Scheduler
from headrace.scheduling.snapshot import Memory, PipelineView, SweepView

PIPELINES = (10, 100, 1_000)
_AT_LEAST_S = 0.1
_AT_LEAST = 3
_NOW_S = 100.0


@dataclass(frozen=True, slots=True)
class Overhead:
    """Of one policy."""

    policy: str
    pipelines: int
    decision_s: float
    """The median of many."""
    decisions_per_s: float
    cycle_share: float
    """Of a cycle of one core."""


def overheads(
    workload: str,
    policies: Sequence[str],
    conditions: Conditions,
    told: Callable[[int, int], object],
) -> list[Overhead]:
    """Of all gated policies, for growing numbers of pipelines; `told` as for `Workers`."""
    gated = [p for p in map(policy_named, policies) if p.gated]
    found: list[Overhead] = []
    for pipelines in PIPELINES:
        specs = queries(workload, pipelines, conditions.seed)
        for policy in gated:
            told(len(found), len(PIPELINES) * len(gated))
            took = _median_s(_decision(policy, specs, conditions))
            found.append(
                Overhead(policy.name, pipelines, took, 1.0 / took, took / conditions.cycle_s)
            )
    return found


def _decision(
    policy: Policy, specs: Sequence[QuerySpec], conditions: Conditions
) -> Callable[[], object]:
    """What a policy does each cycle."""
    rng = np.random.default_rng([conditions.seed, 4])
    drawn_s = conditions.delay.draw(rng, conditions.history).tolist()
    sweeps = Sweeps.of(drawn_s, conditions.history)
    views = tuple(_view(number, spec, rng) for number, spec in enumerate(specs))
    scheduler = Scheduler(policy, patience_s=conditions.patience_s, cycle_s=conditions.cycle_s)
    looks_ahead = isinstance(policy, Klink)

    def decide() -> object:
        seen = tuple(expecting(view) for view in views) if looks_ahead else views
        return scheduler.decide(_NOW_S, seen, Memory(0.8, 1.0), conditions.cores)

    def expecting(view: PipelineView) -> PipelineView:
        estimate = sweeps.estimate(view.deadline_s, confidence=conditions.confidence)
        return replace(view, sweeps=(SweepView(estimate),))

    return decide


def _view(number: int, spec: QuerySpec, rng: np.random.Generator) -> PipelineView:
    """A pipeline with up to a window's events waiting."""
    part = Part.of(number, spec, 0)
    part.inputs[0].push(float(rng.uniform(0.0, spec.rate_per_s * spec.window_s)), 0.0)
    waits, oldest, deadline = rng.uniform(0.0, spec.slide_s, 3).tolist()
    return PipelineView(
        name=str(number),
        stages=part.stages(),
        sweeps=(),
        waits_since_s=_NOW_S - waits,
        last_turn_s=_NOW_S - waits,
        oldest_s=_NOW_S - oldest,
        deadline_s=_NOW_S + deadline,
        sweep_s=part.sweep_cost_s,
    )


def _median_s(decide: Callable[[], object]) -> float:
    took: list[float] = []
    end = time.perf_counter() + _AT_LEAST_S
    while len(took) < _AT_LEAST or time.perf_counter() < end:
        begun = time.perf_counter()
        decide()
        took.append(time.perf_counter() - begun)
    return statistics.median(took)
