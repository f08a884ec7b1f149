"""Plans on the driver: made when they are first used, kept while sections need them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from headrace.optimizer import read_by_spark, share
from headrace.query.logical import LogicalQuery
from headrace.query.plan import SharedPlan
from headrace.query.schema import StreamSchema
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.life import Edition
from headrace.types import Version

H = TypeVar("H")


class Carrier(Protocol[H]):
    """Brings plans to tasks."""

    def send(self, plan: SharedPlan, queries: Mapping[int, LogicalQuery]) -> H:
        """A plan with its queries, as tasks get it."""
        ...

    def withdraw(self, handle: H) -> None:
        """No task will ask for it again."""
        ...


@dataclass(frozen=True)
class PlanEntry(Generic[H]):
    """One version: the plan, the queries it serves, and how tasks get it."""

    plan: SharedPlan
    queries: tuple[ActiveQuery, ...]
    handle: H

    @property
    def logical(self) -> dict[int, LogicalQuery]:
        """Its queries by uid."""
        return {int(q.uid): q.logical for q in self.queries}


class PlanBook(ABC, Generic[H]):
    """Plans by version: an edition always gives the same plan. Safe to use from any thread."""

    def __init__(self, carrier: Carrier[H]) -> None:
        self._carrier = carrier
        self._entries: dict[int, PlanEntry[H]] = {}
        self._lock = threading.Lock()

    @abstractmethod
    def _plan(self, version: int, edition: Edition) -> SharedPlan:
        """What the queries of an edition run under."""

    def entry(self, version: int, edition: Edition) -> PlanEntry[H]:
        """The plan of a version; a burst of changes is planned once, when the last one is used."""
        with self._lock:
            if version not in self._entries:
                plan = self._plan(version, edition)
                handle = self._carrier.send(plan, {int(q.uid): q.logical for q in edition.queries})
                self._entries[version] = PlanEntry(plan, edition.queries, handle)
            return self._entries[version]

    @property
    def plans(self) -> dict[int, SharedPlan]:
        """Plans that were made, by version."""
        with self._lock:
            return {v: e.plan for v, e in self._entries.items()}

    @property
    def handles(self) -> dict[int, H]:
        """How tasks get them, by version."""
        with self._lock:
            return {v: e.handle for v, e in self._entries.items()}

    def keep(self, versions: Set[int]) -> None:
        """Forget every version that is not among these."""
        with self._lock:
            for version in [v for v in self._entries if v not in versions]:
                self._carrier.withdraw(self._entries.pop(version).handle)


class StreamBook(PlanBook[H]):
    """Plans of the queries of one stream."""

    def __init__(
        self,
        carrier: Carrier[H],
        stream: StreamSchema,
        *,
        rows_in_jvm: bool,
        reads_files: bool,
        keeps_late: bool,
    ) -> None:
        super().__init__(carrier)
        self._stream = stream
        self._rows_in_jvm = rows_in_jvm
        self._reads_files = reads_files
        self._keeps_late = keeps_late
        self._given_up = ""

    def _plan(self, version: int, edition: Edition) -> SharedPlan:
        return share(
            Version(version),
            self._stream,
            edition.queries,
            rows_in_jvm=self._rows_in_jvm,
            reads_files=self._reads_files,
            statistics=edition.statistics,
        )

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


class JoinBook(PlanBook[H]):
    """Joins read what was kept for them: there is nothing to share but the queries themselves."""

    def __init__(self, carrier: Carrier[H], name: str) -> None:
        super().__init__(carrier)
        self._name = name

    def _plan(self, version: int, edition: Edition) -> SharedPlan:
        return SharedPlan(Version(version), "kernel", stream=self._name)
