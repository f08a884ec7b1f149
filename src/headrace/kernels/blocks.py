"""Blocks: cells with what their columns stand for; and answers, what becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from headrace.kernels.cells import Cells
from headrace.kernels.columns import Bools, Ints
from headrace.kernels.runs import Runs
from headrace.kernels.states import State
from headrace.query.window import Span


@dataclass(frozen=True)
class Layout:
    """What the columns of some cells stand for: which queries each of them belongs to."""

    uids: tuple[int, ...]
    query_sets: Bools
    ordered: bool = False
    place: dict[int, int] = field(default_factory=dict)

    @classmethod
    def of(cls, uids: Sequence[int], query_sets: Bools, *, ordered: bool) -> Layout:
        """With the place of every query worked out."""
        return cls(tuple(uids), query_sets, ordered, {u: n for n, u in enumerate(uids)})

    @classmethod
    def vectors(cls, uids: Sequence[int]) -> Layout:
        """One column per query."""
        return cls.of(uids, np.eye(len(uids), dtype=bool), ordered=False)

    @cached_property
    def runs(self) -> Runs:
        """Each query's columns as runs; a layout outlives many firings."""
        return Runs.of(self.query_sets)


@dataclass(frozen=True, slots=True)
class Answer:
    """Combined partial results of one window, for several queries.

    Row i belongs to query ``uids[query[i]]`` and key ``key[i]`` of ``keys``.
    """

    window: Span
    uids: tuple[int, ...]
    query: Ints
    key: Ints
    keys: pa.Table
    rows: Ints
    states: tuple[State, ...]

    def of_queries(self, uids: Sequence[int]) -> Answer:
        """Only the rows of some queries."""
        if len(uids) == len(self.uids):
            return self
        place = {u: n for n, u in enumerate(uids)}
        renumbered = np.array([place.get(u, -1) for u in self.uids], dtype=np.int64)[self.query]
        rows = np.flatnonzero(renumbered >= 0)
        states = tuple(s.take(rows) for s in self.states)
        return Answer(
            self.window,
            tuple(uids),
            renumbered[rows],
            self.key[rows],
            self.keys,
            self.rows[rows],
            states,
        )


Block = tuple[Cells, Layout]
Due = tuple[Span, tuple[int, ...]]
"""A window and the queries that are to be answered for it."""
