"""What is simulated: queries as chains of operators, the nodes they run on, and the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from headrace.errors import QueryError, near
from headrace.lab.delays import Delay, Uniform


@dataclass(frozen=True, slots=True)
class Operator:
    """One step of a query.

    A window operator keeps what it is given and emits `rows` when its window is swept.
    """

    name: str
    per_event_s: float
    selectivity: float = 1.0
    rows: float = 0.0
    node: int = 0

    @property
    def is_window(self) -> bool:
        """Whether it waits for sweeping watermarks."""
        return self.rows > 0.0


@dataclass(frozen=True, slots=True)
class QuerySpec:
    """A windowed query over `streams` inputs that arrive at `rate_per_s` each."""

    name: str
    operators: tuple[Operator, ...]
    rate_per_s: float
    window_s: float
    slide_s: float
    starts_s: float = 0.0
    streams: int = 1

    def __post_init__(self) -> None:
        if not any(op.is_window for op in self.operators):
            raise QueryError(f"query {self.name!r} has no window", query=self.name)
        if min(self.window_s, self.slide_s, self.rate_per_s) <= 0 or self.streams < 1:
            raise QueryError("window, slide, rate and streams must be positive", query=self.name)
        if len(self.nodes) != len(set(self.nodes)):
            raise QueryError("its operators come back to a node they left", query=self.name)

    @property
    def nodes(self) -> tuple[int, ...]:
        """The nodes that it runs on, in the order of its operators."""
        return tuple(node for node, _ in groupby(op.node for op in self.operators))

    @property
    def event_s(self) -> float:
        """What one event takes at all operators together: the denominator of the slowdown."""
        return sum(op.per_event_s for op in self.operators)


@dataclass(frozen=True, slots=True)
class Conditions:
    """Everything else. Units are in the names; memory is counted in events that wait."""

    policy: str = "klink"
    cores: int = 24
    nodes: int = 1
    seconds: float = 300.0
    cycle_s: float = 0.12
    delay: Delay = field(default_factory=lambda: Uniform(0.05, 0.25))
    watermark_every_s: float = 0.2
    lateness_s: float = 0.0
    buffer_events: float = 150e3
    """A query with so many events on the way holds its sources back (backpressure)."""
    memory_events: float = 6e6
    """Events that a node has memory for; when it is full, all sources are held back."""
    heap_over_bound: float = 1.1
    """The heap is so many times that bound …"""
    collecting: float = 0.045
    """… and garbage collection takes `collecting · live / (heap − live)` seconds per second."""
    history: int = 400
    confidence: float = 0.95
    forwarding: bool = True
    """Whether instances on different nodes tell each other delays and costs."""
    hop_s: float = 0.002
    patience_s: float = 30.0
    seed: int = 7


def ysb(count: int, seed: int, *, rate_per_s: float = 10_000.0) -> list[QuerySpec]:
    """Yahoo! Streaming Benchmark: parse, keep a third, look up the campaign, count per campaign.

    Parsing JSON is most of the work, as everybody found who measured it.
    """
    operators = (
        Operator("parse", 30e-6),
        Operator("filter", 2e-6, 1 / 3),
        Operator("campaign", 24e-6),
        Operator("count", 24e-6, rows=100.0),
        Operator("sink", 10e-6),
    )
    return _spread(count, seed, "ysb", operators, rate_per_s, 3.0, 3.0)


def nyt(count: int, seed: int, *, rate_per_s: float = 7_000.0) -> list[QuerySpec]:
    """New York taxis: many stateless steps, then an average distance over a sliding window."""
    operators = (
        Operator("parse", 15e-6),
        Operator("clean", 5e-6, 0.9),
        Operator("zone", 21e-6),
        Operator("distance", 11e-6),
        Operator("average", 21e-6, rows=260.0),
        Operator("sink", 10e-6),
    )
    return _spread(count, seed, "nyt", operators, rate_per_s, 2.0, 1.0)


def lrb(count: int, seed: int, *, rate_per_s: float = 3_250.0) -> list[QuerySpec]:
    """Linear Road: three sub-streams joined over a sliding window, then tolls."""
    operators = (
        Operator("join", 20e-6),
        Operator("accidents", 15e-6, 0.5),
        Operator("tolls", 29e-6, rows=200.0),
        Operator("sink", 10e-6),
    )
    return _spread(count, seed, "lrb", operators, rate_per_s, 5.0, 3.0, streams=3)


# Costs are such that 24 cores serve about 50 queries of each, as the paper's machine served 40.
WORKLOADS = {"ysb": ysb, "nyt": nyt, "lrb": lrb}


def queries(workload: str, count: int, seed: int, nodes: int = 1) -> list[QuerySpec]:
    """So many queries of a workload; on several nodes, each is cut in two parts."""
    if workload not in WORKLOADS:
        raise QueryError(f"there is no workload {workload!r}", choices=near(workload, WORKLOADS))
    made = WORKLOADS[workload](count, seed)
    return made if nodes == 1 else _placed(made, nodes, seed)


def _spread(
    count: int,
    seed: int,
    name: str,
    operators: tuple[Operator, ...],
    rate_per_s: float,
    window_s: float,
    slide_s: float,
    streams: int = 1,
) -> list[QuerySpec]:
    """Deployed at random in the first 20 s, which spreads their deadlines."""
    starts = np.random.default_rng([seed, 1]).uniform(0.0, 20.0, count)
    return [
        QuerySpec(f"{name}{n}", operators, rate_per_s, window_s, slide_s, float(at), streams)
        for n, at in enumerate(starts)
    ]


def _placed(specs: Sequence[QuerySpec], nodes: int, seed: int) -> list[QuerySpec]:
    """The first half of a query's operators on one node, the second on another one.

    First halves are dealt out in turn, so that the load is even.
    """
    rng = np.random.default_rng([seed, 2])
    placed = []
    for number, spec in enumerate(specs):
        first = number % nodes
        second = (first + int(rng.integers(1, nodes))) % nodes
        cut = len(spec.operators) // 2
        operators = tuple(
            replace(op, node=first if i < cut else second) for i, op in enumerate(spec.operators)
        )
        placed.append(replace(spec, operators=operators))
    return placed
