"""Plan versions on the driver: built when the query set changes, kept while sections need them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark import SparkContext

from headrace.optimizer import Statistics, read_by_spark, share
from headrace.query.plan import SharedPlan
from headrace.query.schema import StreamSchema
from headrace.registry.changelog import ActiveQuery
from headrace.spark.worker.plans import PlanHandle, packed
from headrace.types import Version


@dataclass(frozen=True)
class PlanEntry:
    """One version: the plan, the queries it serves, and how tasks get it."""

    plan: SharedPlan
    queries: tuple[ActiveQuery, ...]
    statistics: Statistics
    handle: PlanHandle


@dataclass(frozen=True)
class _Proposal:
    """The newest version, not planned yet: a burst of requests is planned once."""

    version: Version
    queries: tuple[ActiveQuery, ...]
    statistics: Statistics


class PlanBook:
    """Plans by version."""

    def __init__(
        self,
        context: SparkContext,
        pipeline: str,
        stream: StreamSchema,
        *,
        rows_in_jvm: bool,
        reads_files: bool,
        keeps_late: bool,
    ) -> None:
        self._context = context
        self._pipeline = pipeline
        self._stream = stream
        self._rows_in_jvm = rows_in_jvm
        self._reads_files = reads_files
        self._keeps_late = keeps_late
        self._given_up = ""
        self._entries: dict[int, PlanEntry] = {}
        self._proposal: _Proposal | None = None
        self._lock = threading.RLock()

    def propose(
        self, version: Version, queries: Sequence[ActiveQuery], statistics: Statistics
    ) -> None:
        """The version to run next; it is planned when it is first used."""
        self._proposal = _Proposal(version, tuple(queries), statistics)

    def build(
        self, version: Version, queries: Sequence[ActiveQuery], statistics: Statistics
    ) -> PlanEntry:
        """The plan of a version; the same queries and statistics always give the same plan."""
        plan = share(
            version,
            self._stream,
            queries,
            rows_in_jvm=self._rows_in_jvm,
            reads_files=self._reads_files,
            statistics=statistics,
        )
        logical = {int(q.uid): q.logical for q in queries}
        handle = PlanHandle(
            self._pipeline, int(version), self._context.broadcast(packed(plan, logical))
        )
        self._entries[int(version)] = PlanEntry(plan, tuple(queries), statistics, handle)
        return self._entries[int(version)]

    def give_up_files(self, reason: str) -> None:
        """Spark reads the files after all. Versions stay: who reduces the tuples is no part of
        what their sections mean, so a replay may find out for itself, and choose otherwise."""
        with self._lock:
            self._reads_files, self._given_up = False, reason
            for version, entry in self._entries.items():
                plan = read_by_spark(entry.plan, entry.queries)
                self._entries[version] = replace(entry, plan=plan)

    def read_by(self, plan: SharedPlan) -> str:
        """Who reads the tuples under a plan, in words."""
        if not self._rows_in_jvm:
            return "tasks, from the source"
        if not self._reads_files:
            return f"Spark ({self._given_up})" if self._given_up else "Spark"
        if plan.lane == "catalyst" or (plan.derived and self._keeps_late):
            return "Spark"
        return "tasks, from parquet files" + ("; Spark where it computes" if plan.derived else "")

    def __getitem__(self, version: int) -> PlanEntry:
        with self._lock:
            proposal = self._proposal
            if proposal is not None and int(proposal.version) == version:
                self._proposal = None
                return self.build(proposal.version, proposal.queries, proposal.statistics)
            return self._entries[version]

    @property
    def newest(self) -> PlanEntry:
        """The version to run next, planned."""
        with self._lock:
            proposal = self._proposal
            return self[max(self._entries) if proposal is None else int(proposal.version)]

    @property
    def plans(self) -> dict[int, SharedPlan]:
        """Plans by version."""
        with self._lock:
            return {v: e.plan for v, e in self._entries.items()}

    @property
    def served(self) -> set[int]:
        """Queries that some plan serves."""
        with self._lock:
            proposed = [] if self._proposal is None else [self._proposal.queries]
            every = [*(e.queries for e in self._entries.values()), *proposed]
            return {int(q.uid) for queries in every for q in queries}

    def keep(self, versions: set[int]) -> None:
        """Forget every version that is not among these."""
        with self._lock:
            for version in [v for v in self._entries if v not in versions]:
                self._entries.pop(version).handle.broadcast.destroy()
