"""A plan ready to run: what is derived from it once and used for every batch.

Where classes are made as they occur, every section tells what its columns stand for; here the
columns of many sections are brought into one layout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from headrace.kernels.blocks import Block, Layout
from headrace.kernels.cells import DENSE_FILL, Cells
from headrace.kernels.classes import Classes
from headrace.kernels.classify import Intervals, class_space
from headrace.kernels.combinations import Combinations
from headrace.kernels.compact import to_queries
from headrace.query.plan import Group, SharedPlan


class Reader(Protocol):
    """Brings the columns of cells that were written apart into one layout."""

    @property
    def numbering(self) -> object:
        """Aligned cells are good for as long as this is the same object."""

    def aligned(self, cells: Sequence[Cells]) -> list[Cells]:
        """The same cells, with columns that mean the same."""

    def alike(self, cells: Sequence[Cells]) -> list[Cells]:
        """The same cells over the same columns."""

    def layout_of(self, cells: Cells) -> Layout:
        """What the columns of aligned cells stand for."""


@dataclass(frozen=True)
class PerQuery:
    """Reads cells with one column for each of some queries."""

    uids: tuple[int, ...]
    numbering: None = None

    @cached_property
    def _layout(self) -> Layout:
        return Layout.vectors(self.uids)

    def aligned(self, cells: Sequence[Cells]) -> list[Cells]:
        """They are."""
        return list(cells)

    def alike(self, cells: Sequence[Cells]) -> list[Cells]:
        """They are."""
        return list(cells)

    def layout_of(self, _: Cells) -> Layout:
        """One column per query."""
        return self._layout


@dataclass(frozen=True)
class CompiledGroup:
    """A group, and what a process has learned of its classes; cached by the plan's version."""

    group: Group

    @cached_property
    def uids(self) -> tuple[int, ...]:
        """Its queries."""
        return tuple(int(m.uid) for m in self.group.members)

    @cached_property
    def space(self) -> Intervals | Combinations:
        """Tells the classes of tuples."""
        return class_space(self.group)

    @cached_property
    def per_query(self) -> bool:
        """Whether its cells have one column for each query."""
        alone = len(self.group.members) == 1 and len(self.group.axes) > 1
        return self.group.representation == "vectors" or alone

    @property
    def columns(self) -> int:
        """How many columns its cells have now."""
        return len(self.uids) if self.per_query else len(self.space.query_sets)

    # -- what columns stand for ---------------------------------------------------------------

    @cached_property
    def _vectors(self) -> Layout:
        return Layout.vectors(self.uids)

    @cached_property
    def _intervals(self) -> Layout:
        return Layout.of(self.uids, self.space.query_sets, ordered=True)

    @cached_property
    def _told(self) -> Classes:
        """Classes that sections have told of. They are numbered apart from those of tuples, which
        may be forgotten at any time."""
        return Classes(self.uids)

    @property
    def numbering(self) -> Classes | None:
        """Aligned cells are good for as long as this is the same object: None where columns mean
        the same in every process."""
        return None if self._by_plan or self.per_query else self._told

    def layout_of(self, cells: Cells) -> Layout:
        """What the columns of aligned cells stand for."""
        if cells.query_sets is not None:
            return self._told.layout
        return self._intervals if self._by_plan else self._vectors

    @property
    def _by_plan(self) -> bool:
        """Whether the plan alone says which classes there are."""
        return not self.per_query and len(self.group.axes) <= 1

    def aligned(self, cells: Sequence[Cells]) -> list[Cells]:
        """The same cells with one number for every class, whoever has written them. Those for
        whose classes there is no room get one column per query."""
        out = []
        for one in cells:
            if one.query_sets is None:
                out.append(one)
                continue
            numbers = self._told.numbers_of(one.query_sets)
            if numbers is None:
                own = Layout.of(self.uids, one.query_sets, ordered=False)
                turned = to_queries(one, own, self.uids)
                out += [] if turned is None else [turned]
                continue
            known = self._told.layout.query_sets
            if np.array_equal(numbers, np.arange(one.columns)):
                out.append(replace(one, query_sets=known[: one.columns]))
                continue
            columns = 1 + int(numbers.max(initial=-1))
            if one.columns < DENSE_FILL * columns:
                one = one.sparse()
            out.append(one.with_columns(numbers, known[:columns]))
        return out

    def blocks(self, cells: Sequence[Cells]) -> list[Block]:
        """Cells with what their columns stand for."""
        aligned = self.aligned(cells)
        return [(one, self.layout_of(one)) for one in aligned]

    def alike(self, cells: Sequence[Cells]) -> list[Cells]:
        """The same cells over the same columns: per query, if some are."""
        aligned = self.aligned(cells)
        if self._by_plan or len({one.query_sets is None for one in aligned}) <= 1:
            return aligned
        turned = [
            one if one.query_sets is None else to_queries(one, self.layout_of(one), self.uids)
            for one in aligned
        ]
        return [one for one in turned if one is not None]


class CompiledPlan:
    """The groups of a plan by their numbers."""

    def __init__(self, plan: SharedPlan, known: Mapping[int, CompiledGroup] | None = None) -> None:
        self.plan = plan
        self.groups = {g.number: (known or {}).get(g.number, CompiledGroup(g)) for g in plan.groups}

    def part(self, plan: SharedPlan | None) -> CompiledPlan:
        """Some groups of this plan; with what is known of them. None stands for all of it."""
        return self if plan is None else CompiledPlan(plan, self.groups)
