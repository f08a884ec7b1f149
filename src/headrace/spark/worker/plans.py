"""Plans in worker processes: sent once per version by broadcast, compiled once per process."""

from __future__ import annotations

import pickle
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark import SparkContext

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

    run: str
    """Of the pipeline that made it, and of no other: a folder may be used for a second life."""
    version: int
    broadcast: Any

    def get(self) -> TaskPlan:
        """The compiled plan, from this process's cache if it has it."""
        name = (self.run, self.version)
        if name not in _compiled:
            plan, queries = pickle.loads(self.broadcast.value)
            _compiled[name] = TaskPlan(CompiledPlan(plan), queries)
            while len(_compiled) > _KEPT:
                _compiled.popitem(last=False)
            keep_memory()
        _compiled.move_to_end(name)
        return _compiled[name]


class Broadcasts:
    """Brings the plans of one pipeline to tasks, each once to every process that needs it."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._run = uuid.uuid4().hex

    def send(self, plan: SharedPlan, queries: Mapping[int, LogicalQuery]) -> PlanHandle:
        """A plan with its queries."""
        data = pickle.dumps((plan, dict(queries)), protocol=pickle.HIGHEST_PROTOCOL)
        return PlanHandle(self._run, int(plan.version), self._context.broadcast(data))

    def withdraw(self, handle: PlanHandle) -> None:
        """No task will ask for it again."""
        handle.broadcast.destroy()


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
