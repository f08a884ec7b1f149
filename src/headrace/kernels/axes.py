"""Axes: the constants of all predicates on a column cut it; a code says between which cuts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.kernels.columns import Array, Bools, Ints, comparable, flat, values_of
from headrace.query.plan import Member, axis_of
from headrace.query.predicate import Bound, Ranges, Truth, leaves

Columns = Mapping[str, pa.Array | pa.ChunkedArray]
"""Columns of some tuples by name."""

_TABLE = 1 << 16
_FEW_CHANGES = 3
"""So many comparisons are cheaper than to look a code up."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A column and its sorted cuts. A code is the number of cuts at or below; null comes last."""

    column: str
    cuts: tuple[int | float | bytes, ...]

    @property
    def size(self) -> int:
        """Number of codes, with the one for null."""
        return len(self.cuts) + 2

    @property
    def is_text(self) -> bool:
        """Whether its values are compared byte by byte."""
        return bool(self.cuts) and isinstance(self.cuts[0], bytes)

    def code_of(self, bound: Bound, default: int) -> int:
        """The first code at or above a bound."""
        return default if bound is None else bisect_left(self.cuts, bound) + 1

    def codes(self, column: pa.Array | pa.ChunkedArray) -> Ints:
        """The code of each value."""
        return self._found(column, None)

    def look_up(self, column: pa.Array | pa.ChunkedArray, meaning: Array) -> Array:
        """What the code of each value means."""
        if meaning.dtype == np.bool_ and self.cuts and not self.is_text:
            changes = np.flatnonzero(meaning[1:-1] != meaning[:-2])
            if len(changes) <= _FEW_CHANGES:
                return self._compared(flat(column), changes, meaning)
        return self._found(column, meaning)

    def _compared(self, array: pa.Array, changes: Ints, meaning: Bools) -> Bools:
        """Backwards from the last code, which is that of NaN, too: it is below no cut."""
        data = comparable(array)
        found = np.zeros(len(data), dtype=bool)
        for number, change in enumerate(changes.tolist()):
            below = data < self.cuts[change]
            found = below if not number else np.not_equal(found, below, out=found)
        if meaning[-2]:
            np.logical_not(found, out=found)
        if array.null_count:
            found[array.is_null().to_numpy(zero_copy_only=False)] = meaning[-1]
        return found

    def _found(self, column: pa.Array | pa.ChunkedArray, meaning: Array | None) -> Array:
        array = flat(column)
        if self.is_text:
            found = _of_strings(array, [c for c in self.cuts if isinstance(c, bytes)], meaning)
            valid = None
        else:
            values = values_of(array)
            valid = values.valid
            cuts = np.array(self.cuts, dtype=values.data.dtype)
            found = _of_numbers(values.data, cuts, meaning)
        if valid is None and array.null_count:
            valid = array.is_valid().to_numpy(zero_copy_only=False)
        if valid is None:
            return found
        return np.where(valid, found, len(self.cuts) + 1 if meaning is None else meaning[-1])


def _of_numbers(data: Array, cuts: Array, meaning: Array | None) -> Array:
    if cuts.size == 0 or data.size == 0:
        return _meant(np.zeros(len(data), dtype=np.int64), meaning)
    if data.dtype == np.int64:
        low, high = int(data.min()), int(data.max())
        if high - low < min(_TABLE, len(data)):
            codes = np.searchsorted(cuts, np.arange(low, high + 1), side="right")
            table = _meant(codes, meaning)
            return table[data - low] if low else table[data]
    return _meant(np.searchsorted(cuts, data, side="right"), meaning)


def _of_strings(array: pa.Array, cuts: Sequence[bytes], meaning: Array | None) -> Array:
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    words = [str(w).encode() for w in encoded.dictionary.to_pylist()]
    edges = np.array(cuts, dtype=object)
    table = np.array([int(np.searchsorted(edges, w, side="right")) for w in words] or [0])
    codes = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    found: Array = _meant(table, meaning)[codes]
    return found


def _meant(codes: Ints, meaning: Array | None) -> Array:
    return codes if meaning is None else meaning[codes]


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
