"""Plans in worker processes: sent once per version by broadcast, compiled once per process."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.kernels.compiled import CompiledGroup, CompiledPlan, PerQuery
from headrace.kernels.shapes import Asked, asked_of
from headrace.query.logical import LogicalQuery
from headrace.query.plan import SharedPlan
from headrace.runtime.messages import SectionRef
from headrace.spark.worker.memory import keep_memory

_KEPT = 24
_compiled: OrderedDict[tuple[str, int], TaskPlan] = OrderedDict()


@dataclass(frozen=True)
class TaskPlan:
    """A compiled plan with the queries it serves."""

    compiled: CompiledPlan
    queries: dict[int, LogicalQuery]

    @cached_property
    def asked(self) -> dict[int, Asked]:
        """The queries as they are answered."""
        return asked_of(self.queries)


@dataclass(frozen=True)
class PlanHandle:
    """A plan version as tasks get it: its name and the broadcast that carries it."""

    pipeline: str
    version: int
    broadcast: Any

    def get(self) -> TaskPlan:
        """The compiled plan, from this process's cache if it has it."""
        name = (self.pipeline, self.version)
        if name not in _compiled:
            plan, queries = pickle.loads(self.broadcast.value)
            _compiled[name] = TaskPlan(CompiledPlan(plan), queries)
            while len(_compiled) > _KEPT:
                _compiled.popitem(last=False)
            keep_memory()
        _compiled.move_to_end(name)
        return _compiled[name]


def packed(plan: SharedPlan, queries: dict[int, LogicalQuery]) -> bytes:
    """A plan for broadcasting."""
    return pickle.dumps((plan, queries), protocol=pickle.HIGHEST_PROTOCOL)


_per_query: dict[tuple[int, ...], PerQuery] = {}


def reader_of(plans: dict[int, PlanHandle], ref: SectionRef) -> CompiledGroup | PerQuery:
    """Who knows what the columns of a section stand for."""
    if ref.uids is None:
        return plans[ref.version].get().compiled.groups[ref.group]
    if ref.uids not in _per_query:
        if len(_per_query) > _KEPT:
            _per_query.clear()
        _per_query[ref.uids] = PerQuery(ref.uids)
    return _per_query[ref.uids]
