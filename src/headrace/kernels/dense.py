"""Combine on a grid of classes and keys, for partial results that add up point by point.

Slices are laid over each other once per window end, backwards from it; a query is then the total
over its classes. Where whole numbers are summed along an ordered axis, slices come as running sums
over the classes, which are made once per block and kept with it: any query is then the difference
of two look-ups.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.blocks import Answer, Block, Due, Layout
from headrace.kernels.cells import Cells, Component
from headrace.kernels.columns import Array, Ints, narrow
from headrace.kernels.keys import unify_keys
from headrace.kernels.states import State, alike, identity
from headrace.query.plan import Partial

_PAIR_NS = 50.0
"""A cell and a query it belongs to, in the sparse way (docs/decisions/0003)."""
_POINT_NS = 2.0
"""A point of the grid, each time it is touched, in the dense way."""
_LARGEST_GRID = 1 << 24
_LARGEST_SUMS = 1 << 25
_ADDED = {"n", "s", "l0", "l1", "l2", "l3"}


def can_be_dense(blocks: Sequence[Block], partials: Collection[Partial] | None = None) -> bool:
    """Blocks of one layout whose partial results can be added up point by point."""
    if not blocks:
        return False
    held = [[s.partial for s in c.states] for c, _ in blocks]
    return (
        all(layout is blocks[0][1] for _, layout in blocks)
        and all(h == held[0] for h in held)
        and all(
            _adds_up(s)
            for c, _ in blocks
            for s in c.states
            if partials is None or s.partial in partials
        )
    )


def _adds_up(state: State) -> bool:
    return (
        state.dictionary is None
        and set(state.parts) <= _ADDED | {"v"}
        and state.partial.op in {"rows", "count", "sum", "squares", "min", "max"}
    )


def _ufunc(partial: Partial | None, name: str) -> np.ufunc:
    """How two values of a component become one."""
    if name != "v" or partial is None:
        return np.add
    return np.fmin if partial.op == "min" else np.maximum


def dense_pays(blocks: Sequence[Block], due: Sequence[Due], keys: int) -> bool:
    """Whether the grid is cheaper than the pairs of cells and queries, with so many keys."""
    layout = blocks[0][1]
    columns = len(layout.query_sets)
    grid = columns * keys
    if grid > _LARGEST_GRID:
        return False
    members = float(np.count_nonzero(layout.query_sets))
    touched = 4.0 * grid * len({w[1] for w, _ in due})
    if not layout.ordered:
        touched += members * keys
    pairs = sum(len(c.rows) for c, _ in blocks) * members / max(columns, 1)
    return bool(touched * _POINT_NS <= pairs * _PAIR_NS)


def laid_together(blocks: Sequence[Cells]) -> list[Cells]:
    """Blocks of one layout with those as one that are dense over the same slices and keys."""
    out: list[Cells] = []
    for block in blocks:
        if out and _same_shape(out[-1], block):
            out[-1] = _added(out[-1], block)
        else:
            out.append(block)
    return out


def _same_shape(one: Cells, other: Cells) -> bool:
    return (
        one.is_dense
        and other.is_dense
        and _same_columns(one, other)
        and np.array_equal(one.slices, other.slices)
        and [(s.partial, *s.parts) for s in one.states]
        == [(s.partial, *s.parts) for s in other.states]
        and all(_adds_up(s) for s in (*one.states, *other.states))
        and one.keys.equals(other.keys)
    )


def _same_columns(one: Cells, other: Cells) -> bool:
    """Classes that are made as they occur may be more in one block, but not many more."""
    if one.query_sets is None or other.query_sets is None:
        return one.columns == other.columns and one.query_sets is other.query_sets
    few, many = sorted([one.columns, other.columns])
    return 2 * few >= many


def _added(one: Cells, other: Cells) -> Cells:
    if one.columns != other.columns:
        few, many = sorted([one, other], key=lambda c: c.columns)
        assert many.query_sets is not None
        one, other = few.with_columns(np.arange(few.columns), many.query_sets), many

    def both(partial: Partial | None, name: str, a: Array, b: Array) -> Array:
        if name == "v" or a.dtype.kind == "f":
            return np.asarray(_ufunc(partial, name)(a, b))
        return narrow(np.add(a, b, dtype=np.int64))

    states = [
        State(a.partial, {n: both(a.partial, n, a.parts[n], b.parts[n]) for n in a.parts})
        for a, b in zip(one.states, other.states, strict=True)
    ]
    return replace(one, rows=both(None, "rows", one.rows, other.rows), states=tuple(states))


Unified = tuple[Sequence[Ints], pa.Table]
"""The keys of several blocks as one table, and for each block where in it its keys are."""


def combine_dense(
    blocks: Sequence[Block],
    due: Sequence[Due],
    partials: Collection[Partial] | None = None,
    keys: Unified | None = None,
) -> Iterator[Answer]:
    """Lay the slices of each window over each other, then total every query's part of the grid."""
    layout = blocks[0][1]
    codes, table = unify_keys([c.keys for c, _ in blocks]) if keys is None else keys
    grid = _Grid.of(blocks, codes, table.num_rows, partials)
    sums = grid.sums() if grid.sums_pay(due) else {}
    rest = [k for k in range(len(grid.names)) if k not in sums]
    by_end: dict[int, list[Due]] = {}
    for one in due:
        by_end.setdefault(one[0][1], []).append(one)
    for end, ending in sorted(by_end.items()):
        wanted = sorted(ending, key=lambda d: -d[0][0])
        totals = _Totals(grid)
        last = at = int(np.searchsorted(grid.starts, end))
        for window, uids in wanted:
            first = int(np.searchsorted(grid.starts, window[0]))
            for number in range(at - 1, first - 1, -1):
                for k in rest:
                    totals.lay(k, number)
            at = min(at, first)
            asked = [n for n, u in enumerate(uids) if u in layout.place]
            if first == last or not asked:
                continue
            members = [layout.place[uids[n]] for n in asked]
            found = [
                grid.gather(sums[k][last] - sums[k][first] if k in sums else totals[k], k, members)
                for k in range(len(grid.names))
            ]
            query, key = np.nonzero(found[0])
            states = [
                State(
                    p,
                    {n: found[k][query, key] for k, (j, n) in enumerate(grid.names) if j == i},
                )
                for i, p in enumerate(grid.partials)
                if partials is None or p in partials
            ]
            yield Answer(
                window,
                uids,
                np.array(asked)[query],
                key,
                table,
                found[0][query, key],
                tuple(states),
            )


@dataclass(frozen=True, slots=True)
class _Grid:
    """Blocks of one layout by the start of their slices, over one table of keys."""

    names: tuple[Component, ...]
    whole: tuple[bool, ...]
    """Which components are whole numbers that are summed: these can also be subtracted."""
    partials: tuple[Partial, ...]
    layout: Layout
    columns: int
    keys: int
    starts: Ints
    where: dict[int, list[tuple[Cells, int, Ints]]]

    @classmethod
    def of(
        cls,
        blocks: Sequence[Block],
        codes: Sequence[Ints],
        keys: int,
        wanted: Collection[Partial] | None,
    ) -> _Grid:
        partials = tuple(s.partial for s in blocks[0][0].states)
        cells = _same_components([c for c, _ in blocks])
        names: list[Component] = [(-1, "rows")]
        for i, state in enumerate(cells[0].states):
            if wanted is None or state.partial in wanted:
                names += [(i, n) for n in state.parts]
        whole = [
            n[1] != "v" and all(c.component(n).dtype.kind in "iub" for c in cells) for n in names
        ]
        where: dict[int, list[tuple[Cells, int, Ints]]] = {}
        for block, code in zip(cells, codes, strict=True):
            for at, start in enumerate(block.slices.tolist()):
                where.setdefault(start, []).append((block, at, code))
        starts = np.array(sorted(where), dtype=np.int64)
        return cls(
            tuple(names),
            tuple(whole),
            partials,
            blocks[0][1],
            len(blocks[0][1].query_sets),
            keys,
            starts,
            where,
        )

    def runs_on(self, k: int) -> bool:
        """Whether a component is kept as sums over all classes before each one."""
        return self.layout.ordered and self.whole[k]

    def ufunc(self, k: int) -> np.ufunc:
        """How two values of a component become one."""
        number, name = self.names[k]
        return _ufunc(None if number < 0 else self.partials[number], name)

    def identity(self, k: int, dtype: np.dtype[Any]) -> Any:
        """The value of a component where there is no tuple."""
        number, name = self.names[k]
        return identity(None if number < 0 else self.partials[number], name, dtype)

    def gather(self, total: Array, k: int, members: Sequence[int]) -> Array:
        """members × keys: each member's part of a total."""
        runs = self.layout.runs
        if self.runs_on(k):
            return runs.between(total, members)
        return runs.gather(total, members, self.ufunc(k), self.identity(k, total.dtype))

    def sums_pay(self, due: Sequence[Due]) -> bool:
        """Whether windows share so many slices that sums over all slices before each one pay."""
        size = (len(self.starts) + 1) * (self.columns + 1) * self.keys
        first: dict[int, int] = {}
        for (begin, end), _ in due:
            first[end] = min(begin, first.get(end, begin))
        edges = np.searchsorted(self.starts, list(first.items()))
        laid = int((edges[:, 0] - edges[:, 1]).sum())
        return size <= _LARGEST_SUMS and laid > 3 * len(self.starts)

    def sums(self) -> dict[int, Array]:
        """Sums over all slices before each one, for the components that can be subtracted."""
        out = {}
        for k in range(len(self.names)):
            if not self.whole[k]:
                continue
            shape = len(self.starts) + 1, self.columns + self.runs_on(k), self.keys
            before = np.zeros(shape, np.int64)
            for number in range(len(self.starts)):
                totals = _Totals(self)
                totals.lay(k, number)
                np.add(before[number], totals[k], out=before[number + 1])
            out[k] = before
        return out


@dataclass(slots=True)
class _Totals:
    """Slices laid over each other, component by component.

    Cells of sparse blocks are laid as they are, whatever becomes of them later: sums over classes
    are made once of all of them.
    """

    grid: _Grid
    _laid: dict[int, Array] = field(default_factory=dict)
    _points: dict[int, Array] = field(default_factory=dict)
    """Of components that are sums over classes: what is not yet in these."""

    def lay(self, k: int, number: int) -> None:
        """One more slice of all blocks."""
        grid, name = self.grid, self.grid.names[k]
        runs_on = grid.runs_on(k)
        for cells, at, code in grid.where[int(grid.starts[number])]:
            part = cells.component(name)
            into = self._points if runs_on and not cells.is_dense else self._laid
            if k not in into:
                kind = part.dtype if part.dtype.kind == "f" else np.dtype(np.int64)
                shape = grid.columns + runs_on, grid.keys
                into[k] = np.full(shape, grid.identity(k, kind), kind)
            if into is self._points:
                _lay(into[k][1:], cells, at, code, part, np.add)
            elif runs_on:
                _lay_block(into[k], cells.running(name)[at], code, np.add)
            else:
                _lay(into[k], cells, at, code, part, grid.ufunc(k))

    def __getitem__(self, k: int) -> Array:
        points = self._points.pop(k, None)
        if points is not None:
            # Column by column over all keys, because numpy's own running sum goes key by key.
            for column in range(1, len(points)):
                np.add(points[column - 1], points[column], out=points[column])
            self._laid[k] = self._laid[k] + points if k in self._laid else points
        return self._laid[k]


def _same_components(cells: Sequence[Cells]) -> Sequence[Cells]:
    """Blocks whose states have the same components; as they are, if they have."""
    names = {tuple(tuple(sorted(s.parts)) for s in c.states) for c in cells}
    if len(names) == 1:
        return cells
    rows = [c.rows for c in cells]
    states = [alike(list(column), rows) for column in zip(*(c.states for c in cells), strict=True)]
    return [replace(c, states=tuple(s[n] for s in states)) for n, c in enumerate(cells)]


def _lay(total: Array, cells: Cells, number: int, code: Ints, part: Array, ufunc: np.ufunc) -> None:
    """Lay one slice of some cells over a grid whose keys are numbered by `code`."""
    if cells.index is not None:
        inside, column, key = _points(cells, number)
        at = column, code[key]
        total[at] = ufunc(total[at], part[inside])
        return
    _lay_block(total, part.reshape(len(cells.slices), cells.columns, -1)[number], code, ufunc)


def _lay_block(total: Array, block: Array, code: Ints, ufunc: np.ufunc) -> None:
    # Classes that were met later are not in it.
    total = total[: len(block)]
    if len(code) == total.shape[1] and bool((code == np.arange(len(code))).all()):
        ufunc(total, block, out=total, casting="unsafe")
    else:
        total[:, code] = ufunc(total[:, code], block)


def _points(cells: Cells, number: int) -> tuple[slice, Ints, Ints]:
    """Where the cells of one slice are, and their columns and keys."""
    assert cells.index is not None
    keys = max(cells.keys.num_rows, 1)
    first = number * cells.columns * keys
    low, high = np.searchsorted(cells.index, [first, first + cells.columns * keys])
    column, key = np.divmod(cells.index[low:high] - first, keys)
    return slice(int(low), int(high)), column, key
