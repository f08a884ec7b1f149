"""The virtual clock: what happens in which order, from the first event to the last cycle.

The same specification and seed give the same outcome, to the last digit.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from headrace.errors import QueryError
from headrace.lab.simulator.model import Conditions, QuerySpec
from headrace.lab.simulator.node import Node
from headrace.lab.simulator.outcome import Moment, Outcome, Output
from headrace.lab.simulator.part import Part
from headrace.lab.simulator.queues import Watermark
from headrace.lab.simulator.source import Drawn, Source
from headrace.progress.sweep import Sweeps
from headrace.scheduling.policies import Policy, policy_named
from headrace.scheduling.scheduler import Scheduler
from headrace.scheduling.snapshot import Memory, SweepView

_SAMPLE_S = 0.2
"""Memory and throughput are noted so often, as in the paper."""

Happening = Callable[[float], None]


def simulate(
    specs: Sequence[QuerySpec],
    conditions: Conditions,
    progress: Callable[[float], object] = lambda _: None,
    *,
    policy: Policy | None = None,
) -> Outcome:
    """Run these queries under these conditions; `progress` is told the share that is done.

    A `policy` that is given takes the place of the one that the conditions name.
    """
    return _Simulation(specs, conditions, policy).run(progress)


class _Simulation:
    def __init__(
        self, specs: Sequence[QuerySpec], conditions: Conditions, policy: Policy | None
    ) -> None:
        _check(specs, conditions)
        self._conditions = conditions
        self._specs = specs
        self._agenda: list[tuple[float, int, Happening]] = []
        self._count = itertools.count()
        self._swept: dict[tuple[int, float], float] = {}
        """By query and deadline: when it was swept, in the last of its streams, and is not out."""
        self._outputs: list[Output] = []
        self._moments: list[Moment] = []
        self._sources: list[list[Source]] = []
        self._path: list[list[tuple[Node, Part]]] = []
        chosen = policy or policy_named(conditions.policy)
        self._nodes = [
            Node(
                n,
                conditions,
                Scheduler(chosen, patience_s=conditions.patience_s, cycle_s=conditions.cycle_s),
                [],
                {},
                Memory(bound=conditions.memory_events),
            )
            for n in range(conditions.nodes)
        ]
        for query, spec in enumerate(specs):
            self._deploy(query, spec)

    def _deploy(self, query: int, spec: QuerySpec) -> None:
        conditions = self._conditions
        path = []
        for number in spec.nodes:
            part = Part.of(query, spec, number)
            self._nodes[number].parts.append(part)
            path.append((self._nodes[number], part))
        self._path.append(path)
        seeds = np.random.SeedSequence([conditions.seed, query]).spawn(spec.streams)
        sources = [
            Source(
                stream,
                spec,
                conditions.watermark_every_s,
                conditions.lateness_s,
                Drawn(conditions.delay, np.random.default_rng(seed)),
                Sweeps(history=conditions.history),
            )
            for stream, seed in enumerate(seeds)
        ]
        self._sources.append(sources)
        path[0][0].sources[query] = sources

    # -- the clock ----------------------------------------------------------------------------

    def run(self, progress: Callable[[float], object]) -> Outcome:
        cycle_s = self._conditions.cycle_s
        cycles = round(self._conditions.seconds / cycle_s)
        sample = max(round(_SAMPLE_S / cycle_s), 1)
        for number in range(1, cycles + 1):
            now_s = number * cycle_s
            self._happen(now_s)
            self._generate(now_s)
            self._happen(now_s)
            for node in self._nodes:
                node.cycle(now_s, self._passed, self._left)
            if self._conditions.forwarding and len(self._nodes) > 1:
                self._forward(now_s)
            if number % sample == 0:
                self._note(now_s)
                progress(number / cycles)
        return self._outcome()

    def _at(self, time_s: float, happening: Happening) -> None:
        heapq.heappush(self._agenda, (time_s, next(self._count), happening))

    def _happen(self, upto_s: float) -> None:
        while self._agenda and self._agenda[0][0] <= upto_s:
            time_s, _, happening = heapq.heappop(self._agenda)
            happening(time_s)

    def _generate(self, now_s: float) -> None:
        for query, sources in enumerate(self._sources):
            node, part = self._path[query][0]
            if node.held_back or part.queued >= self._conditions.buffer_events:
                for source in sources:
                    source.behind_s = now_s - source.clock_s
                continue
            since = self._specs[query].starts_s
            seconds = min(self._conditions.cycle_s, now_s - since)
            if seconds <= 0.0:
                continue
            for source in sources:
                amount, marks = source.generate(now_s, seconds)
                part.inputs[source.stream].push(amount, now_s)
                for ingested_s, mark in marks:
                    if mark.sweeps_s is not None:
                        self._swept[query, mark.sweeps_s] = mark.emitted_at_s
                    self._at(ingested_s, self._ingest(query, source, mark))

    def _ingest(self, query: int, source: Source, mark: Watermark) -> Happening:
        part = self._path[query][0][1]

        def ingest(at_s: float) -> None:
            if mark.sweeps_s is not None:
                source.ingested(mark, at_s, self._conditions.confidence)
                part.arrived_s[source.stream][mark.sweeps_s] = at_s
            part.inputs[source.stream].mark(mark)

        return ingest

    # -- between nodes, and out -----------------------------------------------------------------

    def _passed(self, part: Part, mark: Watermark, at_s: float) -> None:
        after = self._after(part)
        if after is None:
            if mark.sweeps_s is not None:
                self._out(part.query, mark.sweeps_s, at_s)
            return

        def arrive(time_s: float) -> None:
            if mark.sweeps_s is not None:
                after.arrived_s[0][mark.sweeps_s] = time_s
            after.inputs[0].mark(replace(mark, stream=0))

        self._at(at_s + self._conditions.hop_s, arrive)

    def _out(self, query: int, deadline_s: float, at_s: float) -> None:
        """A window is out, and with it those before it that were swept together."""
        slide = self._specs[query].slide_s
        while (query, deadline_s) in self._swept:
            self._outputs.append(Output(query, self._swept.pop((query, deadline_s)), at_s))
            deadline_s -= slide

    def _left(self, part: Part, amount: float, at_s: float) -> None:
        after = self._after(part)
        if after is not None:
            self._at(
                at_s + self._conditions.hop_s,
                lambda time_s: after.inputs[0].push(amount, time_s),
            )

    def _after(self, part: Part) -> Part | None:
        path = [p for _, p in self._path[part.query]]
        place = path.index(part) + 1
        return path[place] if place < len(path) else None

    def _forward(self, now_s: float) -> None:
        """Delays and watermarks go downstream, costs go upstream; they are known a hop later."""
        for query, path in enumerate(self._path):
            for (before, first), (after, second) in itertools.pairwise(path):
                view = before.view(first, now_s)
                rest = after.view(second, now_s).cost_s

                def tell(
                    _: float,
                    query: int = query,
                    after: Node = after,
                    before: Node = before,
                    news: tuple[tuple[SweepView, ...], float] = (view.sweeps, view.cost_s),
                    rest: float = rest,
                ) -> None:
                    after.told[query] = news
                    before.owed_s[query] = rest

                self._at(now_s + self._conditions.hop_s, tell)

    # -- noting -------------------------------------------------------------------------------

    def _note(self, now_s: float) -> None:
        self._moments.append(
            Moment(
                now_s,
                sum(n.queued for n in self._nodes),
                sum(p.processed for n in self._nodes for p in n.parts),
                sum(n.busy_s for n in self._nodes),
                sum(n.useful_s for n in self._nodes),
                any(n.scheduler.memory_mode for n in self._nodes),
                sum(n.memory.used >= n.memory.bound for n in self._nodes),
            )
        )

    def _outcome(self) -> Outcome:
        self._outputs += [Output(q, at_s, None) for (q, _), at_s in self._swept.items()]
        return Outcome(
            self._conditions,
            tuple(spec.event_s for spec in self._specs),
            tuple(self._outputs),
            tuple(self._moments),
            tuple(hit for sources in self._sources for s in sources for hit in s.hits),
        )


def _check(specs: Sequence[QuerySpec], conditions: Conditions) -> None:
    if not specs:
        raise QueryError("there is no query to simulate")
    if min(conditions.cores, conditions.nodes, conditions.seconds, conditions.cycle_s) <= 0:
        raise QueryError("cores, nodes, seconds and the cycle must be positive")
    last = max(op.node for spec in specs for op in spec.operators)
    if last >= conditions.nodes:
        raise QueryError(f"an operator is placed on node {last}, of {conditions.nodes}")
