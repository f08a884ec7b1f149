"""Classes: the constants of all predicates cut each column; inside one cut all queries agree.

A group's class space is the grid of its axes' cuts. Grid points with the same query-set are one
class. Classifying a tuple is one binary search (or table look-up) per axis, whatever the number
of queries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.kernels.columns import Array, Bools, Ints, flat, values_of
from headrace.query.plan import Group, Member, axis_of
from headrace.query.predicate import (
    Always,
    And,
    Bound,
    IsNull,
    Not,
    Or,
    Predicate,
    Ranges,
    Truth,
    leaves,
)

NOBODY = -1
_TABLE = 1 << 16


@dataclass(frozen=True, slots=True)
class Axis:
    """A column and its sorted cuts. A code is the number of cuts at or below; null comes last."""

    column: str
    cuts: tuple[int | float | bytes, ...]

    @property
    def size(self) -> int:
        """Number of codes, with the one for null."""
        return len(self.cuts) + 2

    def codes(self, column: pa.Array | pa.ChunkedArray) -> Ints:
        """The code of each value."""
        array = flat(column)
        if self.cuts and isinstance(self.cuts[0], bytes):
            codes = _string_codes(array, [c for c in self.cuts if isinstance(c, bytes)])
            valid = None
        else:
            values = values_of(array)
            valid = values.valid
            codes = _number_codes(values.data, np.array(self.cuts, dtype=values.data.dtype))
        if valid is not None:
            codes = np.where(valid, codes, len(self.cuts) + 1)
        elif array.null_count:
            known = array.is_valid().to_numpy(zero_copy_only=False)
            codes = np.where(known, codes, len(self.cuts) + 1)
        return codes


def _number_codes(data: Array, cuts: Array) -> Ints:
    if cuts.size == 0 or data.size == 0:
        return np.zeros(len(data), dtype=np.int64)
    if data.dtype == np.int64:
        low, high = int(data.min()), int(data.max())
        if high - low < min(_TABLE, len(data)):
            table = np.searchsorted(cuts, np.arange(low, high + 1), side="right")
            return table[data - low] if low else table[data]
    return np.searchsorted(cuts, data, side="right")


def _string_codes(array: pa.Array, cuts: Sequence[bytes]) -> Ints:
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = [str(w).encode() for w in encoded.dictionary.to_pylist()]
    edges = np.array(cuts, dtype=object)
    table = np.array([int(np.searchsorted(edges, w, side="right")) for w in words] or [0])
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    found: Ints = table[codes].astype(np.int64)
    return found


@dataclass(frozen=True, slots=True)
class ClassSpace:
    """A compiled group: grid codes to classes, and each class's query-set.

    ``table`` maps a grid point (mixed radix over the axes) to a class, `NOBODY` where no query
    matches. ``query_sets`` is classes × members. On a single axis classes keep the column's order.
    """

    axes: tuple[Axis, ...]
    table: Ints
    query_sets: Bools
    ordered: bool

    @property
    def classes(self) -> int:
        """How many classes somebody wants."""
        return len(self.query_sets)

    def classify(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], rows: int) -> Ints:
        """The class of every tuple."""
        if not self.axes:
            return np.full(rows, self.table[0], dtype=np.int64)
        codes = self.axes[0].codes(columns[self.axes[0].column])
        for axis in self.axes[1:]:
            codes = codes * axis.size + axis.codes(columns[axis.column])
        return self.table[codes]


def class_space(group: Group) -> ClassSpace:
    """Compile a group's predicates."""
    axes = axes_of(group.members, group.axes)
    shape = [a.size for a in axes]
    columns = [_truth(m.where, axes, shape).reshape(-1) for m in group.members]
    grid = np.stack(columns, axis=1) if columns else np.zeros((int(np.prod(shape)), 0), bool)
    if len(axes) <= 1:
        return _ordered(axes, grid)
    packed = np.packbits(grid, axis=1)
    _, first, inverse = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    sets = grid[first]
    somebody = sets.any(axis=1)
    number = np.where(somebody, np.cumsum(somebody) - 1, NOBODY)
    return ClassSpace(axes, number[inverse.reshape(-1)], sets[somebody], ordered=False)


def _ordered(axes: tuple[Axis, ...], grid: Bools) -> ClassSpace:
    """Merge neighbouring codes with equal query-sets, keeping the column's order."""
    changes = np.ones(len(grid), dtype=bool)
    changes[1:] = (grid[1:] != grid[:-1]).any(axis=1)
    somebody = grid.any(axis=1)
    begins = changes & somebody
    number = np.where(somebody, np.cumsum(begins) - 1, NOBODY)
    return ClassSpace(axes, number, grid[begins], ordered=True)


def axes_of(members: Sequence[Member], names: Sequence[str]) -> tuple[Axis, ...]:
    """The axes of some queries, with the cuts of all their constants."""
    cuts: dict[str, set[int | float | bytes]] = {name: set() for name in names}
    for member in members:
        for leaf in leaves(member.where):
            found = cuts[axis_of(leaf)]
            if isinstance(leaf, Truth):
                found.add(1)
            elif isinstance(leaf, Ranges):
                found.update(b for r in leaf.ranges for b in r if b is not None)
    return tuple(Axis(name, tuple(sorted(cuts[name]))) for name in names)


def _truth(predicate: Predicate, axes: Sequence[Axis], shape: Sequence[int]) -> Bools:
    """Where on the grid the predicate is TRUE."""
    return np.broadcast_to(_kleene(predicate, axes)[0], shape)


def _kleene(predicate: Predicate, axes: Sequence[Axis]) -> tuple[Bools, Bools]:
    """Where the predicate is TRUE and where it is FALSE; elsewhere it is NULL."""
    match predicate:
        case Always():
            return np.bool_(True) & np.ones([1] * len(axes), bool), np.zeros([1] * len(axes), bool)
        case And(items):
            true, false = np.ones([1] * len(axes), bool), np.zeros([1] * len(axes), bool)
            for item in items:
                t, f = _kleene(item, axes)
                true, false = true & t, false | f
            return true, false
        case Or(items):
            true, false = np.zeros([1] * len(axes), bool), np.ones([1] * len(axes), bool)
            for item in items:
                t, f = _kleene(item, axes)
                true, false = true | t, false & f
            return true, false
        case Not(item):
            t, f = _kleene(item, axes)
            return f, t
        case _:
            return _atom(predicate, axes)


def _atom(leaf: Ranges | IsNull | Truth, axes: Sequence[Axis]) -> tuple[Bools, Bools]:
    name = axis_of(leaf)
    at = next(i for i, a in enumerate(axes) if a.column == name)
    axis = axes[at]
    true = np.zeros(axis.size, dtype=bool)
    null = np.zeros(axis.size, dtype=bool)
    null[-1] = True
    match leaf:
        case IsNull():
            true, false = null, ~null
        case Truth():
            true[axis.cuts.index(1) + 1 : -1] = True
            false = ~true & ~null
        case Ranges(_, ranges):
            for low, high in ranges:
                true[_code(axis, low, 0) : _code(axis, high, len(axis.cuts) + 1)] = True
            false = ~true & ~null
    shape = [1] * len(axes)
    shape[at] = axis.size
    return true.reshape(shape), false.reshape(shape)


def _code(axis: Axis, bound: Bound, default: int) -> int:
    """The first code at or above a bound."""
    return default if bound is None else axis.cuts.index(bound) + 1


def matching(
    predicate: Predicate, columns: Mapping[str, pa.Array | pa.ChunkedArray], rows: int
) -> npt.NDArray[np.bool_]:
    """The tuples one predicate keeps, by the same classes: for selections and late tuples."""
    names = sorted({axis_of(leaf) for leaf in leaves(predicate)})
    member = Member(uid=0, position=0, where=predicate)  # type: ignore[arg-type]
    group = Group(0, (), None, (), (member,), tuple(names), ())
    kept: npt.NDArray[np.bool_] = class_space(group).classify(columns, rows) != NOBODY
    return kept
