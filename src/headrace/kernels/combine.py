"""Combine slices into windows, and turn classes into queries.

`combine_sparse` is the obvious way and handles everything: it touches every pair of a cell and a
query it belongs to. `combine_dense` gives the same answers for partial results that add up: slices
are laid on a grid of classes and keys, once per window end; a query is then the total over its
classes, and where these are one side of an ordered axis, one look-up in a running total.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.cells import Cells, merge_cells
from headrace.kernels.columns import Array, Bools, Ints
from headrace.kernels.keys import compress, unify_keys
from headrace.kernels.states import State, alike, concat, count_rows, merge
from headrace.query.plan import Partial
from headrace.query.window import Span

_PAIRS = 1 << 24
_PAIR_NS = 50.0
"""A cell and a query it belongs to, in the sparse way (docs/decisions/0003)."""
_POINT_NS = 2.0
"""A point of the grid, each time it is touched, in the dense way."""
_LARGEST_GRID = 1 << 24
_ADDED = {"n", "s", "l0", "l1", "l2", "l3"}


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
    def runs(self) -> _Runs:
        """Each query's columns as runs; a layout outlives many firings."""
        return _Runs.of(self.query_sets)


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


def combine(blocks: Sequence[Block], due: Sequence[Due]) -> Iterator[Answer]:
    """Answers for every due window, by the cheaper way; all blocks have the same layout."""
    if can_be_dense(blocks) and dense_pays(blocks, due):
        yield from combine_dense(blocks, due)
    else:
        yield from combine_sparse(blocks, due)


# -- the obvious way ------------------------------------------------------------------------------


def combine_sparse(blocks: Sequence[Block], due: Sequence[Due]) -> Iterator[Answer]:
    """Select the slices of each window, merge them, repeat each cell for its queries, merge."""
    by_layout: dict[int, tuple[Layout, list[Cells]]] = {}
    for cells, layout in blocks:
        by_layout.setdefault(id(layout), (layout, []))[1].append(cells)
    merged = [(merge_cells(cells).sparse(), layout) for layout, cells in by_layout.values()]
    codes, table = unify_keys([c.keys for c, _ in merged]) if merged else ([], pa.table({}))
    coordinates = [c.coordinates for c, _ in merged]
    for window, uids in due:
        pieces = []
        for (cells, layout), code, (slice_of, column, key) in zip(
            merged, codes, coordinates, strict=True
        ):
            asked = [n for n, u in enumerate(uids) if u in layout.place]
            if not asked:
                continue
            first, last = np.searchsorted(cells.slices, window)
            inside = np.flatnonzero((slice_of >= first) & (slice_of < last))
            members = [layout.place[uids[n]] for n in asked]
            rows, states = cells.rows[inside], [s.take(inside) for s in cells.states]
            piece = _expanded(
                column[inside], code[key[inside]], rows, states, layout.query_sets[:, members]
            )
            pieces.append((np.array(asked)[piece[0]], *piece[1:]))
        if pieces:
            yield _answer(window, uids, table, pieces)


Piece = tuple[Ints, Ints, Ints, list[State]]


def _expanded(column: Ints, key: Ints, rows: Ints, states: list[State], query_sets: Bools) -> Piece:
    """Repeat every cell once for each query of its column."""
    width = max(query_sets.shape[1], 1)
    step = max(_PAIRS // width, 1)
    cells, queries = [], []
    for begin in range(0, len(column), step):
        cell, query = np.nonzero(query_sets[column[begin : begin + step]])
        cells.append(cell + begin)
        queries.append(query)
    cell = np.concatenate(cells) if cells else np.empty(0, np.int64)
    query = np.concatenate(queries) if queries else np.empty(0, np.int64)
    return query, key[cell], rows[cell], [s.take(cell) for s in states]


def _answer(window: Span, uids: tuple[int, ...], keys: pa.Table, pieces: list[Piece]) -> Answer:
    query = np.concatenate([p[0] for p in pieces])
    key = np.concatenate([p[1] for p in pieces])
    all_rows = [p[2] for p in pieces]
    states = [concat([p[3][i] for p in pieces], all_rows) for i in range(len(pieces[0][3]))]
    n_keys = max(keys.num_rows, 1)
    group, used = compress(query * n_keys + key, len(uids) * n_keys)
    rows = np.concatenate(all_rows)
    return Answer(
        window,
        uids,
        used // n_keys,
        used % n_keys,
        keys,
        count_rows(rows, group, len(used)),
        tuple(merge(s, group, len(used), rows) for s in states),
    )


def merge_answers(answers: Sequence[Answer]) -> Answer:
    """Answers of one window from different layouts as one; queries may be in several of them."""
    if len(answers) == 1:
        return answers[0]
    uids = tuple(sorted({u for a in answers for u in a.uids}))
    place = {u: n for n, u in enumerate(uids)}
    codes, table = unify_keys([a.keys for a in answers])
    pieces = []
    for one, code in zip(answers, codes, strict=True):
        query = np.array([place[u] for u in one.uids], dtype=np.int64)[one.query]
        pieces.append((query, code[one.key], one.rows, list(one.states)))
    return _answer(answers[0].window, uids, table, _same_states(pieces))


def _same_states(pieces: list[Piece]) -> list[Piece]:
    """Keep the partials that all pieces have, in one order: plans may carry more than is asked."""
    common = [s.partial for s in pieces[0][3]]
    for piece in pieces[1:]:
        have = {s.partial for s in piece[3]}
        common = [p for p in common if p in have]
    out = []
    for query, key, rows, states in pieces:
        by_partial = {s.partial: s for s in states}
        out.append((query, key, rows, [by_partial[p] for p in common]))
    return out


# -- the fast way ---------------------------------------------------------------------------------


def can_be_dense(blocks: Sequence[Block]) -> bool:
    """Blocks of one layout whose partial results can be added up point by point."""
    if not blocks:
        return False
    partials = [[s.partial for s in c.states] for c, _ in blocks]
    return (
        all(layout is blocks[0][1] for _, layout in blocks)
        and all(p == partials[0] for p in partials)
        and all(
            s.dictionary is None
            and set(s.parts) <= _ADDED | {"v"}
            and s.partial.op in {"rows", "count", "sum", "min", "max"}
            for c, _ in blocks
            for s in c.states
        )
    )


def dense_pays(blocks: Sequence[Block], due: Sequence[Due]) -> bool:
    """Whether the grid is cheaper than the pairs of cells and queries."""
    layout, columns = blocks[0][1], blocks[0][0].columns
    keys = max(c.keys.num_rows for c, _ in blocks)
    grid = columns * keys
    if grid > _LARGEST_GRID:
        return False
    members = float(np.count_nonzero(layout.query_sets))
    touched = 4.0 * grid * len({w[1] for w, _ in due})
    if not layout.ordered:
        touched += members * keys
    pairs = sum(len(c.rows) for c, _ in blocks) * members / max(columns, 1)
    return bool(touched * _POINT_NS <= pairs * _PAIR_NS)


def combine_dense(blocks: Sequence[Block], due: Sequence[Due]) -> Iterator[Answer]:
    """Lay the slices on a grid of classes and keys, then total every query's part of it.

    Whole numbers are summed along slices and classes once, so that any window and range is a
    difference of few look-ups. Fractions and extremes do not subtract: their slices are added
    backwards from each window end.
    """
    layout = blocks[0][1]
    codes, table = unify_keys([c.keys for c, _ in blocks])
    grid = _Grid.of(blocks, codes, table.num_rows)
    runs = layout.runs
    sums = grid.sums(ordered=layout.ordered)
    rest = [k for k in range(len(grid.names)) if k not in sums]
    for end in sorted({w[1] for w, _ in due}):
        wanted = sorted(((w, u) for w, u in due if w[1] == end), key=lambda d: -d[0][0])
        totals: dict[int, Array] = {}
        last = at = int(np.searchsorted(grid.starts, end))
        for window, uids in wanted:
            first = int(np.searchsorted(grid.starts, window[0]))
            for number in range(at - 1, first - 1, -1):
                grid.add(totals, rest, number)
            at = min(at, first)
            asked = [n for n, u in enumerate(uids) if u in layout.place]
            if first == last or not asked:
                continue
            members = [layout.place[uids[n]] for n in asked]
            found = []
            for k in range(len(grid.names)):
                if k in sums:
                    found.append(sums[k].gather(first, last, runs, members))
                else:
                    identity = grid.identity(k, totals[k].dtype)
                    found.append(runs.gather(totals[k], members, grid.ufunc(k), identity))
            query, key = np.nonzero(found[0])
            states = [
                State(
                    p,
                    {n: found[k][query, key] for k, (j, n) in enumerate(grid.names) if j == i},
                )
                for i, p in enumerate(grid.partials)
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


Component = tuple[int, str]
"""The number of a partial and the name of its part; -1 for the tuples themselves."""

_LARGEST_SUMS = 1 << 25


@dataclass(frozen=True, slots=True)
class _Grid:
    """Blocks of one layout by the start of their slices, over one table of keys."""

    names: tuple[Component, ...]
    partials: tuple[Partial, ...]
    shape: tuple[int, int]
    starts: Ints
    where: dict[int, list[tuple[Cells, int, Ints]]]

    @classmethod
    def of(cls, blocks: Sequence[Block], codes: Sequence[Ints], keys: int) -> _Grid:
        partials = tuple(s.partial for s in blocks[0][0].states)
        rows = [c.rows for c, _ in blocks]
        brought = [alike([c.states[i] for c, _ in blocks], rows) for i in range(len(partials))]
        names: list[Component] = [(-1, "rows")]
        names += [(i, n) for i, states in enumerate(brought) for n in states[0].parts]
        where: dict[int, list[tuple[Cells, int, Ints]]] = {}
        for number, code in enumerate(codes):
            cells = replace(blocks[number][0], states=tuple(states[number] for states in brought))
            for at, start in enumerate(cells.slices):
                where.setdefault(int(start), []).append((cells, at, code))
        starts = np.array(sorted(where), dtype=np.int64)
        return cls(tuple(names), partials, (blocks[0][0].columns, keys), starts, where)

    def ufunc(self, k: int) -> np.ufunc:
        """How two values of a component become one."""
        number, name = self.names[k]
        if name != "v":
            return np.add
        return np.fmin if self.partials[number].op == "min" else np.maximum

    def identity(self, k: int, dtype: np.dtype[Any]) -> Any:
        """The value of a component where there is no tuple."""
        number, name = self.names[k]
        if name != "v":
            return 0
        low = self.partials[number].op == "min"
        if dtype == np.float64:
            return np.nan if low else -np.inf
        return np.iinfo(np.int64).max if low else np.iinfo(np.int64).min

    def add(self, totals: dict[int, Array], components: Sequence[int], number: int) -> None:
        """Add all blocks of one slice to the running totals."""
        for cells, at, code in self.where[int(self.starts[number])]:
            for k in components:
                part = _component(cells, self.names[k])
                if k not in totals:
                    kind = part.dtype if part.dtype.kind == "f" else np.dtype(np.int64)
                    totals[k] = np.full(self.shape, self.identity(k, kind), kind)
                _lay(totals[k], cells, at, code, part, self.ufunc(k))

    def sums(self, *, ordered: bool) -> dict[int, _Sums]:
        """Running sums of the components that are whole numbers, if they are not too large."""
        size = (len(self.starts) + 1) * (self.shape[0] + 1) * self.shape[1]
        if size > _LARGEST_SUMS:
            return {}
        out = {}
        first = self.where[int(self.starts[0])][0][0]
        for k, name in enumerate(self.names):
            kind = _component(first, name).dtype.kind
            if name[1] == "v" or kind not in "iub":
                continue
            before = np.zeros((len(self.starts) + 1, self.shape[0] + ordered, self.shape[1]), int)
            for number, start in enumerate(self.starts):
                for cells, at, code in self.where[int(start)]:
                    slice_ = before[number + 1, int(ordered) :]
                    _lay(slice_, cells, at, code, _component(cells, name), np.add)
            out[k] = _Sums.of(before, ordered=ordered)
        return out


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums of whole numbers over all slices before one and, if ordered, all classes before one."""

    before: Ints
    ordered: bool

    @classmethod
    def of(cls, grids: Ints, *, ordered: bool) -> _Sums:
        """Sum grids in place; the first slice and, if ordered, the first class are zeros.

        Row by row, because numpy's own running sum goes column by column: five times slower here.
        """
        for number in range(1, grids.shape[0]):
            grids[number] += grids[number - 1]
        if ordered:
            for number in range(1, grids.shape[1]):
                grids[:, number] += grids[:, number - 1]
        return cls(grids, ordered)

    def gather(self, first: int, last: int, runs: _Runs, members: Sequence[int]) -> Array:
        """members × keys: the sum over the slices [first, last) and each member's classes."""
        high, low = self.before[last], self.before[first]
        if not self.ordered:
            return runs.gather(high - low, members, np.add, 0)
        edges = [(row, a, b) for row, m in enumerate(members) for a, b in runs.runs[m]]
        out = np.zeros((len(members), high.shape[1]), dtype=np.int64)
        if not edges:
            return out
        row, begin, end = (np.array(e) for e in zip(*edges, strict=True))
        found: Ints = high[end]
        found -= high[begin]
        found -= low[end]
        found += low[begin]
        if np.array_equal(row, np.arange(len(members))):
            return found
        np.add.at(out, row, found)
        return out


def _component(cells: Cells, name: Component) -> Array:
    return cells.rows if name[0] < 0 else cells.states[name[0]].parts[name[1]]


def _lay(total: Array, cells: Cells, number: int, code: Ints, part: Array, ufunc: np.ufunc) -> None:
    """Lay one slice of some cells over a grid whose keys are numbered by `code`."""
    if cells.index is not None:
        inside, column, key = _points(cells, number)
        at = column, code[key]
        total[at] = ufunc(total[at], part[inside])
        return
    block = part.reshape(len(cells.slices), total.shape[0], -1)[number]
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


_FEW_RUNS = 4


@dataclass(frozen=True, slots=True)
class _Runs:
    """Each query's classes as runs along the class axis."""

    classes: int
    runs: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def of(cls, sets: Bools) -> _Runs:
        padded = np.zeros((sets.shape[0] + 2, sets.shape[1]), dtype=np.int8)
        padded[1:-1] = sets
        edges = np.diff(padded, axis=0)
        runs = []
        for member in range(sets.shape[1]):
            begins = np.flatnonzero(edges[:, member] == 1)
            ends = np.flatnonzero(edges[:, member] == -1)
            runs.append(tuple((int(a), int(b)) for a, b in zip(begins, ends, strict=True)))
        return cls(sets.shape[0], tuple(runs))

    def gather(self, total: Array, members: Sequence[int], ufunc: np.ufunc, identity: Any) -> Array:
        """members × keys: the total over each member's classes."""
        out = np.empty((len(members), total.shape[1]), dtype=total.dtype)
        prefix, suffix = [], []
        for row, member in enumerate(members):
            runs = self.runs[member]
            if len(runs) == 1 and runs[0][1] - runs[0][0] == 1:
                out[row] = total[runs[0][0]]
            elif len(runs) == 1 and runs[0][0] == 0:
                prefix.append((row, runs[0][1] - 1))
            elif len(runs) == 1 and runs[0][1] == self.classes:
                suffix.append((row, runs[0][0]))
            elif len(runs) > _FEW_RUNS:
                classes = np.concatenate([np.arange(a, b) for a, b in runs])
                out[row] = ufunc.reduce(total[classes], axis=0)
            else:
                value = identity
                for a, b in runs:
                    value = ufunc(value, ufunc.reduce(total[a:b], axis=0))
                out[row] = value
        if prefix:
            rows, ends = zip(*prefix, strict=True)
            out[list(rows)] = ufunc.accumulate(total, axis=0)[list(ends)]
        if suffix:
            rows, begins = zip(*suffix, strict=True)
            backwards = ufunc.accumulate(total[::-1], axis=0)
            out[list(rows)] = backwards[self.classes - 1 - np.array(begins)]
        return out
