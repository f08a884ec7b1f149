"""Classes: sets of tuples that all queries of a group treat alike; a class *is* a query-set.

The constants of all predicates cut each column. On one column the intervals between the cuts are as
few as the constants, so their classes are made when the plan is compiled, in the column's order. On
several columns they are made as they occur (combinations.py).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.kernels.axes import Axis, Columns, axes_of
from headrace.kernels.classes import NOBODY
from headrace.kernels.columns import Bools, Ints
from headrace.kernels.combinations import Combinations
from headrace.kernels.truth import points_of
from headrace.query.plan import Group


@dataclass(frozen=True, slots=True)
class Intervals:
    """The classes of a group with one axis or none, in the column's order.

    ``table`` maps a code to a class, `NOBODY` where no query matches. ``query_sets`` is classes ×
    members.
    """

    axis: Axis | None
    table: Ints
    query_sets: Bools

    ordered = True

    def classify(self, columns: Columns, rows: int) -> Ints:
        """The class of every tuple."""
        if self.axis is None:
            return np.full(rows, self.table[0], dtype=np.int64)
        return self.axis.look_up(columns[self.axis.column], self.table)


def class_space(group: Group) -> Intervals | Combinations:
    """A group's predicates, ready to classify tuples."""
    return intervals(group) if len(group.axes) <= 1 else Combinations(group)


def intervals(group: Group) -> Intervals:
    """Merge neighbouring codes with equal query-sets, keeping the column's order."""
    axes = axes_of(group.members, group.axes)
    size = axes[0].size if axes else 1
    points = points_of(axes, {a.column: np.arange(size) for a in axes}, size)
    columns = [points.where(m.where) for m in group.members]
    grid = np.stack(columns, axis=1) if columns else np.zeros((size, 0), bool)
    changes = np.ones(size, dtype=bool)
    changes[1:] = (grid[1:] != grid[:-1]).any(axis=1)
    somebody = grid.any(axis=1)
    begins = changes & somebody
    number = np.where(somebody, np.cumsum(begins) - 1, NOBODY)
    return Intervals(axes[0] if axes else None, number, grid[begins])
