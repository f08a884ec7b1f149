"""What a group costs per slice, in nanoseconds: the scale on which sharing is decided.

The constants were measured on the kernels (docs/decisions/0003); only their ratios matter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from headrace.query.plan import (
    LARGEST_GRID,
    LARGEST_LAYOUT,
    Member,
    Representation,
    axis_of,
)
from headrace.query.predicate import Ranges, leaves

CODE_NS = 6.0
"""Per tuple and group: key code, slice and cell index."""
AXIS_NS = 6.0
"""Per tuple and axis: one table look-up or binary search."""
SCATTER_NS = 8.0
"""Per tuple (or tuple and matching query) and partial."""
CELL_NS = 2.0
"""Per cell and partial, when slices are written and read back."""
POINT_NS = 2.0
"""Per point of the grid of columns and keys, each time slices are combined on it."""
PAIR_NS = 50.0
"""Per cell and query it belongs to, where cells are too few for a grid."""
SELECTIVITY = 0.5
"""Share of tuples a predicate keeps, while nothing better is known."""
OVERLAP = 3.0
"""How often a slice is read by overlapping windows."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of a stream; the defaults stand until the first batches are measured."""

    tuples_per_slice: float = 100_000.0
    keys: float = 1_000.0


@dataclass(frozen=True)
class Candidate:
    """A group under consideration."""

    axes: frozenset[str]
    members: tuple[Member, ...]
    partials: int
    statistics: Statistics

    @cached_property
    def grid(self) -> float:
        """Points of the grid that the axes span; with many axes more than any stream has tuples."""
        cuts: dict[str, set[object]] = {axis: set() for axis in self.axes}
        for member in self.members:
            for leaf in leaves(member.where):
                if isinstance(leaf, Ranges):
                    found = {b for r in leaf.ranges for b in r if b is not None}
                    cuts[axis_of(leaf)].update(found)
                else:
                    cuts[axis_of(leaf)].add(1)
        return math.prod(float(len(c) + 2) for c in cuts.values())

    @property
    def fits(self) -> bool:
        """Whether its classes are so few that keeping one result for each can pay."""
        return self.classes * len(self.members) <= LARGEST_LAYOUT

    @property
    def is_shareable(self) -> bool:
        """Whether others may share its classes. Not where a query has so many columns that codes
        cannot be looked up in a table: all others would pay for that, too."""
        return self.fits and self.grid <= LARGEST_GRID

    @cached_property
    def classes(self) -> float:
        """Classes at most: points of the grid, as many query-sets as the queries can form, or
        tuples, since only what occurs is a class."""
        sets = 2.0 ** min(len(self.members), 40)
        seen = max(self.statistics.tuples_per_slice, 1.0) if len(self.axes) > 1 else math.inf
        return min(self.grid, sets, seen)

    def cost_of(self, representation: Representation) -> float:
        """Nanoseconds per slice."""
        return sum(self._parts_of(representation))

    def _parts_of(self, representation: Representation) -> tuple[float, float]:
        """Of them, what its tuples take, and what the slice itself does."""
        stats = self.statistics
        queries = float(len(self.members))
        read = CODE_NS + AXIS_NS * len(self.axes)
        if representation == "cells":
            columns, updates, members = self.classes, 1.0, queries * self.classes * SELECTIVITY
        else:
            columns, updates, members = queries, max(queries * SELECTIVITY, 1.0), queries
        tuples = stats.tuples_per_slice
        grid = columns * stats.keys
        cells = min(grid, tuples * updates)
        ingest = tuples * (read + SCATTER_NS * self.partials * updates)
        # On one ordered axis a query is a difference of look-ups, otherwise its columns are added.
        ordered = representation == "cells" and len(self.axes) <= 1
        dense = POINT_NS * (grid + (0.0 if ordered else members * stats.keys))
        sparse = PAIR_NS * cells * members / max(columns, 1.0)
        fire = min(dense, sparse) + CELL_NS * (cells + queries * stats.keys)
        return ingest, OVERLAP * self.partials * fire

    @property
    def representation(self) -> Representation:
        """The cheaper one."""
        return "cells" if self.cost_of("cells") <= self.cost_of("vectors") else "vectors"

    @property
    def cost(self) -> float:
        """Nanoseconds per slice in its best representation."""
        return min(self.cost_of("cells"), self.cost_of("vectors"))

    def cut_finer(self, slices: float) -> float:
        """Nanoseconds of what was one slice, cut into so many: each is written and read back."""
        tuples, one_slice = self._parts_of(self.representation)
        return tuples + slices * one_slice

    def with_(self, other: Candidate) -> Candidate:
        """Both as one group."""
        members = (*self.members, *other.members)
        partials = max(self.partials, other.partials)
        return Candidate(self.axes | other.axes, members, partials, self.statistics)
