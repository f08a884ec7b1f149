"""Cells: partial results per (slice, column, key), where a column is a class or a query.

Sparse cells carry their index; a dense block has one cell for every combination. Which one is
used is decided by how full the block would be.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.columns import Array, Bools, Ints
from headrace.kernels.keys import compress, in_key_order, unify_keys
from headrace.kernels.states import Mergeable, Partials, State, concat, identity

DENSE_FILL = 0.3
"""A block is kept dense when at least this share of its cells holds tuples."""


Component = tuple[int, str]
"""The number of a state and the name of its part; -1 for the tuples themselves."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Partial results of one group.

    ``index`` is ``(slice * columns + column) * keys + key``, ascending; None for a dense block.
    Keys are in `key_order`, so a range of key groups is a range of keys.
    """

    slices: Ints
    columns: int
    keys: pa.Table
    key_groups: Ints
    index: Ints | None
    rows: Ints
    states: tuple[State, ...]
    query_sets: Bools | None = None
    """Columns × queries of the group, where classes were made as they occurred."""
    _running: dict[Component, Array] = field(default_factory=dict, init=False, compare=False)

    @property
    def nbytes(self) -> int:
        """How much memory the numbers take."""
        parts = [self.rows, *(p for s in self.states for p in s.parts.values())]
        return sum(p.nbytes for p in (*parts, *self._running.values()))

    @property
    def is_dense(self) -> bool:
        """Whether every combination has a cell."""
        return self.index is None

    @property
    def classes(self) -> int | None:
        """How many classes it has columns for, where they were made as they occurred."""
        return None if self.query_sets is None else len(self.query_sets)

    @property
    def coordinates(self) -> tuple[Ints, Ints, Ints]:
        """Slice, column and key number of every cell."""
        index = self.index
        if index is None:
            index = np.arange(len(self.rows), dtype=np.int64)
        above, key = np.divmod(index, max(self.keys.num_rows, 1))
        slice_, column = np.divmod(above, max(self.columns, 1))
        return slice_, column, key

    def component(self, name: Component) -> Array:
        """One number per cell."""
        return self.rows if name[0] < 0 else self.states[name[0]].parts[name[1]]

    def running(self, name: Component) -> Array:
        """A component of a dense block as sums over all columns before each one; made once.

        Column by column over all keys, because numpy's own running sum goes key by key.
        """
        if name not in self._running:
            block = self.component(name).reshape(len(self.slices), self.columns, -1)
            largest = max(int(block.max(initial=0)), -int(block.min(initial=0)))
            bound = min(largest * self.columns, np.iinfo(np.int64).max)
            shape = block.shape[0], self.columns + 1, block.shape[2]
            sums = np.zeros(shape, np.min_scalar_type(-bound - 1))
            for column in range(self.columns):
                np.add(sums[:, column], block[:, column], out=sums[:, column + 1])
            self._running[name] = sums
        return self._running[name]

    def sparse(self) -> Cells:
        """The same cells with an index, empty ones left out."""
        if self.index is not None:
            return self
        used = np.flatnonzero(self.rows)
        states = tuple(s.take(used) for s in self.states)
        return replace(self, index=used, rows=self.rows[used], states=states)

    def of_key_groups(self, low: int, high: int) -> Cells:
        """Only the keys of the key groups [low, high)."""
        first = int(np.searchsorted(self.key_groups, low))
        last = int(np.searchsorted(self.key_groups, high))
        count = self.keys.num_rows
        if first == 0 and last == count:
            return self
        keys, groups = self.keys.slice(first, last - first), self.key_groups[first:last]
        if self.index is None:
            picked = (
                np.arange(len(self.rows), dtype=np.int64)
                .reshape(-1, count)[:, first:last]
                .reshape(-1)
            )
            index = None
        else:
            above, key = np.divmod(self.index, count)
            picked = np.flatnonzero((key >= first) & (key < last))
            index = above[picked] * (last - first) + key[picked] - first
        states = tuple(s.take(picked) for s in self.states)
        rows = self.rows[picked]
        return Cells(self.slices, self.columns, keys, groups, index, rows, states, self.query_sets)

    def with_columns(self, numbers: Ints, query_sets: Bools) -> Cells:
        """The same cells among other columns: the one that was n is now ``numbers[n]``."""
        columns = len(query_sets)
        if self.index is not None:
            slice_of, column, key = self.coordinates
            index = (slice_of * columns + numbers[column]) * self.keys.num_rows + key
            order = np.argsort(index)
            return replace(
                self,
                columns=columns,
                index=index[order],
                rows=self.rows[order],
                states=tuple(s.take(order) for s in self.states),
                query_sets=query_sets,
            )

        def moved(part: Array, empty: Any) -> Array:
            block = part.reshape(len(self.slices), self.columns, -1)
            out = np.full((len(self.slices), columns, block.shape[2]), empty, part.dtype)
            out[:, numbers] = block
            return out.reshape(-1)

        states = [
            replace(
                s,
                parts={n: moved(p, identity(s.partial, n, p.dtype)) for n, p in s.parts.items()},
            )
            for s in self.states
        ]
        rows = moved(self.rows, 0)
        return replace(
            self, columns=columns, rows=rows, states=tuple(states), query_sets=query_sets
        )

    def narrowed(self) -> Cells:
        """Without the columns that no cell is in, where there are more columns than cells."""
        if self.index is None or self.query_sets is None or len(self.index) >= self.columns:
            return self
        slice_of, column, key = self.coordinates
        used, column = np.unique(column, return_inverse=True)
        index = (slice_of * len(used) + column) * self.keys.num_rows + key
        sets = self.query_sets[used]
        return replace(self, columns=len(used), index=index, query_sets=sets)


def reduce_cells(
    slices: tuple[Ints, Ints],
    column: tuple[Ints, int],
    keys: tuple[Ints, pa.Table],
    partials: Mergeable,
) -> Cells:
    """Merge partial results (tuples or other cells) into cells.

    Each of the first three is the number of every one and the space it counts in.
    """
    slice_of, starts = slices
    column_of, columns = column
    key_of, table, key_groups = in_key_order(*keys)
    n_keys = table.num_rows
    size = len(starts) * columns * n_keys
    # In place: fresh memory for every step costs more than the arithmetic.
    flat = column_of * n_keys
    flat += key_of
    if len(starts) > 1:
        flat += slice_of * (columns * n_keys)
    dense = size <= max(len(flat) / DENSE_FILL, 1)
    index: Ints | None = None
    if not dense:
        flat, index = compress(flat, size)
        size = len(index)
    counted, merged = partials.merge(flat, size)
    if dense and np.count_nonzero(counted) < DENSE_FILL * size:
        index = np.flatnonzero(counted)
        counted = counted[index]
        merged = tuple(s.take(index) for s in merged)
    return Cells(starts, columns, table, key_groups, index, counted, merged)


def merge_cells(blocks: list[Cells], starts: Ints | None = None) -> Cells:
    """Merge blocks over the same columns; slices are coalesced to ``starts`` when given.

    Of columns that are made as they occur, a block may have the first ones only.
    """
    blocks = [b.sparse() for b in blocks]
    if len(blocks) == 1 and starts is None:
        return blocks[0]
    codes, table = unify_keys([b.keys for b in blocks])
    if starts is None:
        starts = np.unique(np.concatenate([b.slices for b in blocks]))
    slice_of, column_of, key_of = [], [], []
    for block, code in zip(blocks, codes, strict=True):
        slice_, column, key = block.coordinates
        place = np.searchsorted(starts, block.slices, side="right") - 1
        slice_of.append(place[slice_])
        column_of.append(column)
        key_of.append(code[key])
    rows = [b.rows for b in blocks]
    # Queries that met in different groups may have left different partials beside the ones all
    # of them need; only what every block has can be asked for.
    held = [{s.partial: s for s in b.states} for b in blocks]
    common = [s.partial for s in blocks[0].states if all(s.partial in h for h in held)]
    states = [concat([h[partial] for h in held], rows) for partial in common]
    widest = max(blocks, key=lambda b: b.columns)
    merged = reduce_cells(
        (np.concatenate(slice_of), starts),
        (np.concatenate(column_of), widest.columns),
        (np.concatenate(key_of), table),
        Partials(states, np.concatenate(rows)),
    )
    return replace(merged, query_sets=widest.query_sets)
