"""The queries of a pipeline: requests to come and go, the changelogs they become, and the plans."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from headrace.optimizer import Statistics
from headrace.registry.changelog import ActiveQuery, Registry
from headrace.runtime.explain import explain_plan, explain_query
from headrace.runtime.journal import Journal
from headrace.runtime.state import PipelineState
from headrace.spark.pipeline.plans import PlanBook
from headrace.spark.pipeline.restore import (
    MakeQuery,
    change_record,
    restore_registry,
    snapshot_record,
)
from headrace.spark.query import Query
from headrace.types import BEGINNING, Version

_MANY_CHANGES = 64
"""So many changelogs are replaced by a snapshot of what they led to."""
_FAR, _BATCHES = 4.0, 3
"""A plan that was made for so many times fewer tuples or keys is made anew after so many batches.
Where there are fewer than it was made for, any plan is quick."""


@dataclass(frozen=True, slots=True)
class Change:
    """What a changelog brought."""

    created: tuple[Query, ...]
    since_us: int
    deleted: Mapping[Query, str | None]
    """With the reason they failed, if any."""
    ends_us: Mapping[Query, int]

    def tell(self) -> None:
        """Let whoever holds the queries know."""
        for query, error in self.deleted.items():
            query.ended(self.ends_us[query], error)
        for query in self.created:
            query.activated(self.since_us)


class Members:
    """Changed under the pipeline's lock; requests come from any thread."""

    def __init__(
        self, journal: Journal, plans: PlanBook, changed: Callable[[Change], object]
    ) -> None:
        self.plans = plans
        self.registry = Registry()
        self.queries: dict[int, Query] = {}
        self._forgotten: set[int] = set()
        """Ended and no longer listed; they stay while a plan that is needed has served them."""
        self.statistics = Statistics()
        self.start_after_us = BEGINNING
        """Queries created here begin after this event time, whatever the pipeline has seen."""
        self._journal = journal
        self._changed = changed
        self._requests: deque[tuple[Literal["create", "stop"], Query]] = deque()
        self._oldest_change = 0
        self._far = 0
        """Batches in a row that had far more than the plan was made for."""

    @property
    def active(self) -> list[ActiveQuery]:
        """Those that take part."""
        return list(self.registry.active.values())

    @property
    def version(self) -> int:
        """Of the plan to run next."""
        return int(self.registry.version)

    @property
    def has_requests(self) -> bool:
        """Whether anybody wants to come or go."""
        return bool(self._requests)

    def restore(self, make_query: MakeQuery, needed: set[int]) -> None:
        """Apply the changelogs of an earlier run again; some plan versions are needed."""
        restored = restore_registry(self._journal.changes(), make_query)
        self.registry, self.statistics = restored.registry, restored.statistics
        self.queries = restored.queries
        for version, (active, statistics) in restored.at.items():
            if version in needed or version == self.version:
                self.plans.build(Version(version), active, statistics)
        if self.version not in self.plans.plans:
            self.plans.build(self.registry.version, [], self.statistics)

    def ask(self, kind: Literal["create", "stop"], query: Query) -> None:
        """Ask for a query to take part, or to end, from the next changelog on."""
        if kind == "create":
            self.queries[int(query.uid)] = query
        self._requests.append((kind, query))

    def forget(self, query: Query) -> None:
        """Let go of a query that has ended, once no plan needs it; from any thread."""
        self._forgotten.add(int(query.uid))

    def apply(self, state: PipelineState) -> None:
        """One changelog for everything asked so far."""
        created: list[Query] = []
        deleted: list[Query] = []
        while self._requests:
            kind, query = self._requests.popleft()
            if kind == "create":
                created.append(query)
            elif query in created:
                created.remove(query)
                query.ended(_boundary(query, state))
            elif query.uid in self.registry.active:
                deleted.append(query)
        if created or deleted:
            self.change(created, dict.fromkeys(deleted), state)

    def learned(self, statistics: Statistics | None, state: PipelineState) -> None:
        """After a batch that told what the stream is like, if it did."""
        if statistics is None:
            return
        self.statistics = statistics
        planned = self.plans.newest.statistics
        far = len(self.registry.active) > 1 and (
            statistics.tuples_per_slice > _FAR * planned.tuples_per_slice
            or statistics.keys > _FAR * planned.keys
        )
        self._far = self._far + 1 if far else 0
        if self._far >= _BATCHES:
            self._far = 0
            self.change([], {}, state)

    def exclude(self, reasons: Mapping[int, str], state: PipelineState) -> int:
        """Take failed queries out of the plan; returns its version."""
        failed = {self.queries[u]: r for u, r in reasons.items() if u in self.registry.active}
        if failed:
            self.change([], failed, state)
        return self.version

    def refuse_lost_sinks(self, state: PipelineState) -> None:
        """A callable cannot be stored: a restored query needs it again, or it ends here."""
        lost = [int(u) for u in self.registry.active if self.queries[int(u)].sink.is_lost]
        reason = "its callable sink was not given again after the restart"
        self.exclude(dict.fromkeys(lost, reason), state)

    def change(
        self, created: list[Query], deleted: Mapping[Query, str | None], state: PipelineState
    ) -> None:
        """Write and apply a changelog; deleted queries come with the reason they failed, if any."""
        highest = max(state.progress.highest_us, self.start_after_us)
        since = BEGINNING if highest <= BEGINNING else (highest // 1000 + 1) * 1000
        version = Version(self.registry.version + 1)
        ends = {q: max(_boundary(q, state), self.registry.active[q.uid].since_us) for q in deleted}
        self._journal.change(
            int(version),
            change_record(version, self.statistics, created, since, deleted, ends),
        )
        self.registry.apply(
            [(q.uid, q.name, q.logical, since, q.partial_first) for q in created],
            [q.uid for q in deleted],
            version,
        )
        self.registry.compact()
        self.plans.propose(version, self.active, self.statistics)
        change = Change(tuple(created), since, deleted, ends)
        self._changed(change)
        change.tell()

    def forget_plans(self, state: PipelineState) -> None:
        """Let go of plan versions that no section needs, and of the changelogs before them."""
        live = {s.version for s in state.sections if s.uids is None} | {self.version}
        self.plans.keep(live)
        oldest = min(live)
        if oldest - self._oldest_change >= _MANY_CHANGES:
            self._journal.forget_changes(oldest, snapshot_record(self.plans[oldest], self.queries))
            self._oldest_change = oldest
        for uid in self._forgotten - self.plans.served:
            self._forgotten.discard(uid)
            self.queries.pop(uid, None)

    def explain(self, name: str, state: PipelineState) -> str:
        """The current plan in words."""
        entry = self.plans[self.version]
        width = self.registry.width
        reader = self.plans.read_by(entry.plan)
        return explain_plan(name, entry.plan, entry.queries, state.sections, width, reader)

    def explain_query(self, query: Query) -> str:
        """Where one query runs, and why."""
        active = self.registry.active.get(query.uid)
        if active is None:
            return f"query {query.name!r}: {query.status}"
        plan = self.plans[self.version].plan
        return explain_query(active, plan, self.plans.read_by(plan))


def _boundary(query: Query, state: PipelineState) -> int:
    """Where a query ends that is stopped now: nothing after it was emitted, nothing is owed."""
    if query.logical.is_selection:
        highest = state.progress.highest_us
        return BEGINNING if highest <= BEGINNING else highest + 1
    return max(state.emitted_upto_us, state.closed_upto_us.get(int(query.uid), BEGINNING))
