"""Classes over several axes, made as they occur.

The codes of a tuple on all axes are one combination of the grid that the axes span. The grid may be
larger than any stream is long, and is never enumerated: queries are evaluated once for every
combination that occurs, and combinations with the same query-set are one class.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import pyarrow as pa

from headrace.kernels.axes import Axis, Columns, axes_of
from headrace.kernels.classes import Classes
from headrace.kernels.columns import Array, Bools, Ints, flat
from headrace.kernels.truth import Points, points_of, tuples_of
from headrace.query.plan import LARGEST_GRID, LARGEST_LAYOUT, Group, Member
from headrace.query.predicate import leaves

MOST_COMBINATIONS = 1 << 16
"""Remembered of a grid that is too large for a table. Where a chunk of a million tuples has more,
each stands for a handful of tuples: finding them costs more than it saves."""
_FEW_QUERIES = 16
_FEW_LOOK_UPS = 128
"""To find combinations on a large grid takes about as long as so many comparisons of a column."""
_UNKNOWN = -2
_WIDEST = 1 << 62


class Combinations:
    """What one process knows of a group's combinations and classes.

    Steady streams teach nothing new: then a tuple costs a look-up for each axis and one for all.
    """

    ordered = False

    def __init__(self, group: Group) -> None:
        self.axes = axes_of(group.members, group.axes)
        self._members = group.members
        self._way = _way(self.axes, group.members)
        self._varied = False
        self._forget()

    def _forget(self) -> None:
        self._way.forget()
        self._classes = Classes([int(m.uid) for m in self._members])
        self._class_of = np.full(self._way.size, _UNKNOWN)

    @property
    def query_sets(self) -> Bools:
        """Classes × queries, by the numbers that `classify` has told last."""
        return self._classes.layout.query_sets

    def classify(self, columns: Columns, rows: int) -> Ints | None:
        """The class of every tuple; None if the tuples are of so many classes that keeping one
        result for each class would share nothing. Then no later ones are classified either."""
        if not rows:
            return np.empty(0, np.int64)
        for _ in range(2):
            if self._varied:
                break
            codes = self._way.codes(columns, rows)
            if codes is not None:
                numbers = self._class_of[codes]
                if numbers.min() != _UNKNOWN:
                    return numbers
                if self._learn(codes[numbers == _UNKNOWN]):
                    return self._class_of[codes]
            # Full of what occurred once: what occurs now may well find room.
            self._forget()
        self._varied = True
        return None

    def _learn(self, codes: Ints) -> bool:
        """Evaluate the queries for codes that are not known yet; False if there is no room."""
        seen = np.zeros(self._way.size, dtype=bool)
        seen[codes] = True
        met = np.flatnonzero(seen)
        step = max(LARGEST_LAYOUT // len(self._members), 1)
        for first in range(0, len(met), step):
            some = met[first : first + step]
            numbers = self._classes.numbers_of(self._way.query_sets(some))
            if numbers is None:
                return False
            self._class_of[some] = numbers
        return True

    def each(self, columns: Columns, rows: int) -> Iterator[Bools]:
        """Query by query, the tuples it keeps: for tuples of too many classes."""
        points = tuples_of(self.axes, columns, rows)
        return (points.where(m.where) for m in self._members)


class _Way(Protocol):
    """How tuples become codes below ``size``, each of which has one query-set."""

    size: int

    def codes(self, columns: Columns, rows: int) -> Ints | None:
        """The code of every tuple; None if there are not enough codes."""

    def query_sets(self, codes: Ints) -> Bools:
        """Codes × queries."""

    def forget(self) -> None:
        """Begin anew: codes may mean something else from now on."""


def _way(axes: tuple[Axis, ...], members: Sequence[Member]) -> _Way:
    if math.prod(float(a.size) for a in axes) <= LARGEST_GRID:
        return _ByGrid(axes, members)
    atoms = sum(1 for m in members for _ in leaves(m.where))
    if len(members) <= _FEW_QUERIES and atoms <= len(axes) + _FEW_LOOK_UPS:
        return _ByTruth(axes, members)
    return _ByMeeting(axes, members)


class _ByGrid:
    """A code is a point of the grid: the grid is small enough for a table."""

    def __init__(self, axes: tuple[Axis, ...], members: Sequence[Member]) -> None:
        self._axes, self._members = axes, members
        self.size = math.prod(a.size for a in axes)

    def codes(self, columns: Columns, rows: int) -> Ints:
        first, *others = self._axes
        codes = first.codes(columns[first.column])
        for axis in others:
            codes = codes * axis.size + axis.codes(columns[axis.column])
        return codes

    def query_sets(self, codes: Ints) -> Bools:
        by_axis: dict[str, Array] = {}
        for axis in reversed(self._axes):
            codes, by_axis[axis.column] = np.divmod(codes, axis.size)
        return _query_sets(points_of(self._axes, by_axis, len(codes)), self._members)

    def forget(self) -> None:
        """A point is a point."""


class _ByTruth:
    """A code is the query-set itself: few queries are evaluated on the tuples at once."""

    def __init__(self, axes: tuple[Axis, ...], members: Sequence[Member]) -> None:
        self._axes, self._members = axes, members
        self.size = 1 << len(members)

    def codes(self, columns: Columns, rows: int) -> Ints:
        points = tuples_of(self._axes, columns, rows)
        codes = np.zeros(rows, dtype=np.int64)
        for bit, member in enumerate(self._members):
            codes |= np.left_shift(points.where(member.where), bit, dtype=np.int64)
        return codes

    def query_sets(self, codes: Ints) -> Bools:
        return (codes[:, None] >> np.arange(len(self._members)) & 1).astype(bool)

    def forget(self) -> None:
        """A query-set is a query-set."""


class _ByMeeting:
    """A code is the number of a combination in the order in which they were met."""

    def __init__(self, axes: tuple[Axis, ...], members: Sequence[Member]) -> None:
        self._axes, self._members = axes, members
        self.size = MOST_COMBINATIONS
        self._kind = np.dtype(np.uint16 if max(a.size for a in axes) < 1 << 16 else np.uint32)
        self.forget()

    def forget(self) -> None:
        self._met: dict[bytes, int] = {}
        self._names: list[bytes] = []

    def codes(self, columns: Columns, rows: int) -> Ints | None:
        number, parts = self._distinct(columns, rows)
        if parts is None:
            return None
        names = parts.view(f"V{parts.shape[1] * self._kind.itemsize}").reshape(-1).tolist()
        new = [name for name in names if name not in self._met]
        if len(self._met) + len(new) > self.size:
            return None
        for name in new:
            self._met[name] = len(self._met)
        self._names += new
        return np.array([self._met[name] for name in names], dtype=np.int64)[number]

    def _distinct(self, columns: Columns, rows: int) -> tuple[Ints, Array | None]:
        """Each tuple's combination, and the combinations' codes on the axes, if they are few.

        Renumbered on the way, so that the product of all axes is never needed.
        """
        number, size = np.zeros(rows, dtype=np.int64), 1
        parts = np.empty((1, 0), self._kind)
        waiting: list[Axis] = []
        for axis in (*self._axes, None):
            if axis is None or size * axis.size > _WIDEST:
                number, used = _renumbered(number)
                if len(used) > self.size:
                    return number, None
                columns_: list[Array] = []
                for one in reversed(waiting):
                    used, code = np.divmod(used, one.size)
                    columns_.append(code.astype(self._kind)[:, None])
                parts, size = np.hstack([parts[used], *reversed(columns_)]), len(used)
                waiting = []
            if axis is not None:
                number = number * axis.size + axis.codes(columns[axis.column])
                size *= axis.size
                waiting.append(axis)
        return number, np.ascontiguousarray(parts)

    def query_sets(self, codes: Ints) -> Bools:
        names = b"".join([self._names[n] for n in codes.tolist()])
        parts = np.frombuffer(names, self._kind).reshape(len(codes), -1)
        by_axis = {a.column: parts[:, n].astype(np.int64) for n, a in enumerate(self._axes)}
        return _query_sets(points_of(self._axes, by_axis, len(codes)), self._members)


def _renumbered(numbers: Ints) -> tuple[Ints, Ints]:
    """Numbers below their count, and what each of them stands for."""
    encoded = flat(pa.array(numbers)).dictionary_encode()
    found = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return found, encoded.dictionary.to_numpy(zero_copy_only=False)


def _query_sets(points: Points, members: Sequence[Member]) -> Bools:
    return np.stack([points.where(m.where) for m in members], axis=1)
