"""The paper's experiments as sets of trials: figures 6 to 9, and where the gain comes from.

Every function is given something that runs trials, and leaves out what was not run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headrace.lab.repeats import Spread
from headrace.lab.simulator.model import Conditions
from headrace.lab.simulator.outcome import Numbers
from headrace.lab.simulator.trials import Seen, Trial, averaged
from headrace.scheduling.policies import POLICIES, Policy, policy_named
from headrace.scheduling.policies.klink import Klink

Run = Callable[[Sequence[Trial]], list[Seen | None]]

CLOSELY = 60
"""The number of queries of which the paper shows distributions and the course of memory."""
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
OVER_TIME = ("default", "klink")
ON_NODES = ("default", "fcfs", "round-robin", "klink")
"""Highest Rate and StreamBox need to see whole queries; the paper runs them on one node only."""
OURS = ("klink", "klink-without-memory")
"""All others are rivals."""
_MORE = 1.1
"""Memory use that is so many times klink's is worth cutting."""
_TRIES = 2
"""So often a memory bound is corrected until memory is used as much as it should be."""


@dataclass(frozen=True)
class Plan:
    """What is to be found out."""

    workload: str = "ysb"
    queries: tuple[int, ...] = (1, 20, 40, 60, 80)
    nodes: tuple[int, ...] = (1, 2, 4, 8)
    policies: tuple[str, ...] = tuple(POLICIES)
    repeats: int = 1
    conditions: Conditions = field(default_factory=Conditions)

    @property
    def closely(self) -> int:
        """The number of queries to look at closely: the largest up to 60, or the nearest."""
        return max((q for q in self.queries if q <= CLOSELY), default=min(self.queries))


@dataclass(frozen=True, slots=True)
class Case:
    """A policy under some conditions, whatever the seed."""

    policy: Policy
    queries: int
    conditions: Conditions
    variant: str = ""
    """How it differs from the policy as it is."""

    def repeated(self, plan: Plan) -> list[Trial]:
        """With as many seeds as are asked for."""
        named = replace(self.conditions, policy=self.policy.name)
        return [
            Trial(plan.workload, self.queries, replace(named, seed=named.seed + n), self.policy)
            for n in range(plan.repeats)
        ]


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of a case over its repeats."""

    policy: str
    variant: str
    queries: int
    nodes: int
    enter_at: float | None
    """b, where the policy has a memory mode."""
    memory_events: float
    repeats: int
    figures: dict[str, Spread]

    @property
    def label(self) -> str:
        """Its name in tables and pictures."""
        return f"{self.policy}, {self.variant}" if self.variant else self.policy

    def mean(self, figure: str) -> float:
        """Of a figure over the repeats."""
        return self.figures[figure].mean


@dataclass(frozen=True, slots=True)
class Course:
    """Memory and cores of one simulation over time."""

    policy: str
    queries: int
    at_s: Numbers
    queued: Numbers
    useful_cores: Numbers


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure of klink over that of another policy."""

    queries: int
    figure: str
    rival: str
    over_rival: float
    """The best rival's."""
    over_default: float | None


def by_queries(run: Run, plan: Plan) -> list[Row]:
    """All policies against growing numbers of queries (figures 6, 7 and 9a, b)."""
    return _rows(
        run,
        plan,
        [
            Case(policy_named(name), count, plan.conditions)
            for count in plan.queries
            for name in plan.policies
        ],
    )


def distributions(run: Run, plan: Plan) -> dict[str, Numbers]:
    """By policy: all latencies in ascending order, over all repeats (figure 6b)."""
    found = {}
    for name in plan.policies:
        case = Case(policy_named(name), plan.closely, plan.conditions)
        seen = [s for s in run(case.repeated(plan)) if s is not None]
        if seen:
            found[name] = np.sort(np.concatenate([s.latencies_s for s in seen]))
    return found


def over_time(run: Run, plan: Plan) -> list[Course]:
    """Memory and cores in the first of the repeats (figure 8)."""
    cases = [Case(policy_named(name), plan.closely, plan.conditions) for name in OVER_TIME]
    seen = run([case.repeated(plan)[0] for case in cases])
    return [
        Course(case.policy.name, case.queries, s.at_s, s.queued, s.useful_cores)
        for case, s in zip(cases, seen, strict=True)
        if s is not None
    ]


def by_nodes(run: Run, plan: Plan) -> list[Row]:
    """As many queries for every node as are looked at closely, on growing numbers of nodes.

    The paper has the same queries on ever more nodes (figure 6e); here two nodes would have cores
    to spare, and then nobody's order matters.
    """
    cases = []
    for nodes in plan.nodes:
        count = plan.closely * nodes
        conditions = replace(plan.conditions, nodes=nodes)
        cases += [
            Case(policy_named(name), count, conditions)
            for name in ON_NODES
            if name in plan.policies
        ]
        if "klink" in plan.policies:
            # On one node nothing is told to anybody, with or without.
            deaf = replace(conditions, forwarding=nodes == 1)
            cases.append(Case(Klink(), count, deaf, "not forwarding"))
    return _rows(run, plan, cases)


def by_threshold(run: Run, plan: Plan) -> list[Row]:
    """Klink whose memory mode begins at other shares of the memory."""
    return _rows(
        run, plan, [Case(Klink(enter_at=b), plan.closely, plan.conditions) for b in THRESHOLDS]
    )


def ablation(run: Run, plan: Plan) -> list[Row]:
    """Where the gain comes from: the order, less in memory, or less garbage collection.

    FCFS is also given a memory bound under which it uses as much as klink does, if it uses more.
    Its heap shrinks with the bound, so it collects as much as before; then the heap is left whole.
    """
    as_it_is, closely = plan.conditions, plan.closely
    cases = [
        Case(policy_named(name), closely, as_it_is)
        for name in ("default", "fcfs", "klink-without-memory", "klink")
    ]
    rows = _rows(run, plan, cases)
    memory = {row.policy: row.mean("memory_mean") for row in rows}
    if memory.get("fcfs", 0.0) > _MORE * memory.get("klink", math.inf):
        for whole_heap in (False, True):
            rows += _with_memory(run, plan, memory["klink"], whole_heap)
    no_collecting = replace(as_it_is, collecting=0.0)
    return rows + _rows(
        run,
        plan,
        [
            Case(policy_named(name), closely, no_collecting, "no collecting")
            for name in ("default", "fcfs", "klink")
        ],
    )


def _with_memory(run: Run, plan: Plan, wanted: float, whole_heap: bool) -> list[Row]:
    """FCFS with the bound at which it has about as many events in memory as wanted."""
    as_it_is, bound = plan.conditions, wanted
    rows: list[Row] = []
    for _ in range(_TRIES):
        over = as_it_is.heap_over_bound
        if whole_heap:
            over *= as_it_is.memory_events / bound
        cut = replace(as_it_is, memory_events=bound, heap_over_bound=over)
        variant = "klink's memory" + (", whole heap" if whole_heap else "")
        tried = _rows(run, plan, [Case(policy_named("fcfs"), plan.closely, cut, variant)])
        rows = tried or rows
        if tried:
            bound *= wanted / max(tried[0].mean("memory_mean"), 1.0)
    return rows


def ratios(rows: Sequence[Row]) -> list[Ratio]:
    """Klink's mean and 99th percentile over the best rival's and over default's."""
    found = []
    for count in sorted({row.queries for row in rows}):
        here = {row.policy: row for row in rows if row.queries == count}
        rivals = [row for name, row in here.items() if name not in OURS]
        if "klink" not in here or not rivals:
            continue
        for figure in ("mean_s", "p99_s"):
            ours = here["klink"].mean(figure)
            best = min(rivals, key=lambda row: row.mean(figure))
            if not math.isfinite(ours + best.mean(figure)):
                continue  # too short a run: no window counts
            default = here.get("default")
            over_default = None if default is None else ours / default.mean(figure)
            found.append(Ratio(count, figure, best.policy, ours / best.mean(figure), over_default))
    return found


def _rows(run: Run, plan: Plan, cases: Sequence[Case]) -> list[Row]:
    """All cases at once, so that they can be run side by side."""
    trials = [trial for case in cases for trial in case.repeated(plan)]
    seen = run(trials)
    rows = []
    for number, case in enumerate(cases):
        mine = seen[number * plan.repeats : (number + 1) * plan.repeats]
        there = [s for s in mine if s is not None]
        if there:
            rows.append(_row(case, there))
    return rows


def _row(case: Case, seen: Sequence[Seen]) -> Row:
    policy = case.policy
    return Row(
        policy.name,
        case.variant,
        case.queries,
        case.conditions.nodes,
        policy.enter_at if isinstance(policy, Klink) and policy.memory_mode else None,
        case.conditions.memory_events,
        len(seen),
        averaged(seen),
    )
