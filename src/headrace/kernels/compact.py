"""Compaction: fewer, smaller cells that give the same answers to every window still to come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.kernels.blocks import Layout
from headrace.kernels.cells import Cells, merge_cells, reduce_cells
from headrace.kernels.columns import Ints
from headrace.kernels.session_answers import Arrival, SessionAsk, expand
from headrace.kernels.sessions import advance
from headrace.kernels.states import Partials, State
from headrace.query.plan import LAST_TIME, Partial
from headrace.query.window import TimeWindow


def needed_starts(
    slices: Ints, windows: Sequence[TimeWindow], cuts: Sequence[int], watermark_us: int
) -> Ints:
    """Slice starts that must stay: beginnings of windows that are still open, cuts, the future.

    A slice that lies before the watermark is complete, and two neighbours may become one when no
    open window begins between them.
    """
    if not len(slices):
        return slices
    before, after = slices[:-1], slices[1:]
    keep = after > watermark_us
    for window in windows:
        begin = after - (after - window.offset_us) % window.slide_us
        keep |= (begin > before) & (begin + window.size_us > watermark_us)
    for cut in cuts:
        keep |= (before < cut) & (cut <= after)
    kept: Ints = slices[np.concatenate([[True], keep])]
    return kept


def merge_same(
    blocks: Sequence[Cells], windows: Sequence[TimeWindow], cuts: Sequence[int], watermark_us: int
) -> Cells:
    """Blocks over the same columns as one, with neighbouring slices joined where possible."""
    slices = np.unique(np.concatenate([b.slices for b in blocks]))
    return merge_cells(list(blocks), needed_starts(slices, windows, cuts, watermark_us))


def to_queries(cells: Cells, layout: Layout, uids: Sequence[int]) -> Cells | None:
    """The same cells with one column per query: classes of queries that are gone disappear."""
    cells = cells.sparse()
    slice_of, column, key = cells.coordinates
    sets = layout.query_sets[:, [layout.place[u] for u in uids]]
    cell, query = np.nonzero(sets[column])
    if not len(cell):
        return None
    return reduce_cells(
        (slice_of[cell], cells.slices),
        (query, len(uids)),
        (key[cell], cells.keys),
        Partials([s.take(cell) for s in cells.states], cells.rows[cell]),
    )


def open_sessions(
    arrivals: Sequence[Arrival], members: Sequence[SessionAsk], emitted_upto_us: int
) -> Cells | None:
    """The sessions still open, one cell per query, key and session."""
    wanted = [
        s.partial
        for s in arrivals[0].cells.states
        if s.partial != LAST_TIME and all(s.partial in _partials(a.cells) for a in arrivals)
    ]
    pieces, table = expand(arrivals, members, wanted)
    gaps = np.array([m.gap_us for m in members], dtype=np.int64)
    held = advance(pieces, gaps, emitted_upto_us)
    if held is None or not held.query.size:
        return None
    starts, slice_of = np.unique(held.first, return_inverse=True)
    return reduce_cells(
        (slice_of.astype(np.int64), starts),
        (held.query, len(members)),
        (held.key, table),
        Partials([*held.states, State(LAST_TIME, {"v": held.last})], held.rows),
    )


def _partials(cells: Cells) -> set[Partial]:
    return {s.partial for s in cells.states}
