"""Combine slices into windows, and turn classes into queries.

`combine_sparse` is the obvious way and handles everything: it touches every pair of a cell and a
query it belongs to. `dense.py` gives the same answers for partial results that add up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa

from headrace.kernels.blocks import Answer, Block, Due, Layout
from headrace.kernels.cells import Cells, merge_cells
from headrace.kernels.columns import Bools, Ints
from headrace.kernels.dense import can_be_dense, combine_dense, dense_pays
from headrace.kernels.keys import compress, unify_keys
from headrace.kernels.states import State, concat, count_rows, merge
from headrace.query.plan import Partial
from headrace.query.window import Span

_PAIRS = 1 << 24


def combine(
    blocks: Sequence[Block], due: Sequence[Due], partials: Collection[Partial] | None = None
) -> Iterator[Answer]:
    """Answers for every due window, by the cheaper way; all blocks have the same layout.

    Cells may keep more than these queries need: with ``partials``, only those are combined.
    """
    if not due:
        return
    fewest = max((c.keys.num_rows for c, _ in blocks), default=0)
    if can_be_dense(blocks, partials) and dense_pays(blocks, due, fewest):
        # Blocks may have few keys in common, or none: that is known only now.
        keys = unify_keys([c.keys for c, _ in blocks])
        if dense_pays(blocks, due, keys[1].num_rows):
            yield from combine_dense(blocks, due, partials, keys)
            return
    yield from combine_sparse(blocks, due, partials)


def combine_sparse(
    blocks: Sequence[Block], due: Sequence[Due], partials: Collection[Partial] | None = None
) -> Iterator[Answer]:
    """Select the slices of each window, merge them, repeat each cell for its queries, merge."""
    by_layout: dict[int, tuple[Layout, list[Cells]]] = {}
    for cells, layout in blocks:
        by_layout.setdefault(id(layout), (layout, []))[1].append(cells)
    merged = [(merge_cells(cells).sparse(), layout) for layout, cells in by_layout.values()]
    codes, table = unify_keys([c.keys for c, _ in merged]) if merged else ([], pa.table({}))
    coordinates = [_by_slice(c) for c, _ in merged]
    for window, uids in due:
        pieces = []
        for (cells, layout), code, (at, begins, column, key) in zip(
            merged, codes, coordinates, strict=True
        ):
            asked = [n for n, u in enumerate(uids) if u in layout.place]
            if not asked:
                continue
            first, last = np.searchsorted(cells.slices, window)
            inside = at[begins[first] : begins[last]]
            members = [layout.place[uids[n]] for n in asked]
            wanted = [s for s in cells.states if partials is None or s.partial in partials]
            rows, states = cells.rows[inside], [s.take(inside) for s in wanted]
            piece = _expanded(
                column[inside], code[key[inside]], rows, states, layout.query_sets[:, members]
            )
            pieces.append((np.array(asked)[piece[0]], *piece[1:]))
        if pieces:
            yield _answer(window, uids, table, pieces)


def _by_slice(cells: Cells) -> tuple[Ints, Ints, Ints, Ints]:
    """The cells by their slices, where each slice begins in that order, their columns and keys."""
    slice_of, column, key = cells.coordinates
    at = np.argsort(slice_of, kind="stable")
    begins = np.searchsorted(slice_of[at], np.arange(len(cells.slices) + 1))
    return at, begins, column, key


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
