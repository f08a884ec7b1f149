"""Fire for session windows: replay the arrivals, close what the watermark has passed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.kernels.answers import Failure, Result, Setting, finish_answer
from headrace.kernels.blocks import Answer, Layout
from headrace.kernels.cells import Cells
from headrace.kernels.columns import Ints
from headrace.kernels.keys import VALUE, encode_keys, match_keys, unify_keys
from headrace.kernels.sessions import Sessions, advance
from headrace.kernels.shapes import Asked
from headrace.kernels.states import count_rows, merge
from headrace.query.plan import LAST_TIME, Partial
from headrace.query.window import SessionWindow


@dataclass(frozen=True, slots=True)
class Arrival:
    """Cells of one batch, with the watermark from before it."""

    order: int
    watermark_us: int
    cells: Cells
    layout: Layout


@dataclass(frozen=True, slots=True)
class SessionAsk:
    """A session query with its life."""

    asked: Asked
    since_us: int
    until_us: int

    @property
    def gap_us(self) -> int:
        window = self.asked.query.window
        assert isinstance(window, SessionWindow)
        return window.gap_us


@dataclass(frozen=True, slots=True)
class Held:
    """Sessions are still open; the oldest began at this event time."""

    first_us: int


SessionBlocks = Mapping[tuple[tuple[str, ...], str | None, int | None], Sequence[Arrival]]


def answer_sessions(
    blocks: SessionBlocks,
    asks: Sequence[SessionAsk],
    emitted_upto_us: int,
    watermark_us: int,
    setting: Setting,
) -> Iterator[Result | Failure | Held]:
    """Sessions with an end in (emitted_upto, watermark], for all session queries."""
    families: dict[tuple[str, ...], list[SessionAsk]] = {}
    for ask in asks:
        families.setdefault(ask.asked.shape.keys, []).append(ask)
    for keys, members in families.items():
        arrivals = blocks.get((keys, None, None), ())
        # Queries of one group have the same partials; different groups are replayed apart.
        for some in _by_partials(members, arrivals):
            yield from _answer_family(keys, some, blocks, emitted_upto_us, watermark_us, setting)


def _by_partials(
    members: Sequence[SessionAsk], arrivals: Sequence[Arrival]
) -> list[list[SessionAsk]]:
    groups: dict[tuple[object, ...], list[SessionAsk]] = {}
    for member in members:
        layouts = tuple(
            sorted({id(a.layout) for a in arrivals if member.asked.uid in a.layout.place})
        )
        groups.setdefault(layouts, []).append(member)
    return list(groups.values())


def _answer_family(
    keys: tuple[str, ...],
    members: Sequence[SessionAsk],
    blocks: SessionBlocks,
    emitted_upto_us: int,
    watermark_us: int,
    setting: Setting,
) -> Iterator[Result | Failure | Held]:
    gaps = np.array([m.gap_us for m in members], dtype=np.int64)
    until = np.array([m.until_us for m in members], dtype=np.int64)
    wanted = sorted(
        {n.partial for m in members for n in m.asked.shape.needs if n.partial is not None},
        key=repr,
    )
    pieces, table = expand(blocks.get((keys, None, None), ()), members, wanted)
    held = advance(pieces, gaps, emitted_upto_us)
    if held is None or held.query.size == 0:
        return
    ends = held.last + gaps[held.query]
    is_closed = ends <= watermark_us
    if not is_closed.all():
        yield Held(int(held.first[~is_closed].min()))
    closed = np.flatnonzero(is_closed & (ends <= until[held.query]))
    if not closed.size:
        return
    done = held.take(closed)
    uids = tuple(m.asked.uid for m in members)
    span = (emitted_upto_us, watermark_us)
    # A key may have several sessions, so the session's start is one more key from here on.
    numbers = np.arange(len(closed), dtype=np.int64)
    session_keys = table.take(pa.array(done.key)).append_column("session", pa.array(done.first))
    main = Answer(span, uids, done.query, numbers, session_keys, done.rows, done.states)
    values = {}
    for need in {n for m in members for n in m.asked.shape.needs if n.value is not None}:
        assert need.value is not None
        found = blocks.get((keys, need.value, need.sketch), ())
        answer = _values_in(found, members, done, table, main)
        if answer is not None:
            values[(need.value, need.sketch)] = answer
    asked = {m.asked.uid: m.asked for m in members}
    spans = (done.first, ends[closed])
    yield from finish_answer(main, asked, values, setting, spans)


def expand(
    arrivals: Sequence[Arrival], members: Sequence[SessionAsk], wanted: Sequence[Partial]
) -> tuple[list[tuple[int, Sessions]], pa.Table]:
    """Pieces of sessions per query, batch by batch, over one key table."""
    arrivals = sorted(arrivals, key=lambda a: a.order)
    codes, table = unify_keys([a.cells.keys for a in arrivals]) if arrivals else ([], pa.table({}))
    since = np.array([m.since_us for m in members], dtype=np.int64)
    batches: dict[int, tuple[int, list[Sessions]]] = {}
    for arrival, code in zip(arrivals, codes, strict=True):
        place = arrival.layout.place
        asked = [n for n, m in enumerate(members) if m.asked.uid in place]
        if not asked:
            continue
        cells = arrival.cells.sparse()
        slice_of, column, key = cells.coordinates
        sets = arrival.layout.query_sets[:, [place[members[n].asked.uid] for n in asked]]
        cell, query = np.nonzero(sets[column])
        query = np.array(asked, dtype=np.int64)[query]
        first = cells.slices[slice_of[cell]]
        alive = np.flatnonzero(first >= since[query])
        cell, query, first = cell[alive], query[alive], first[alive]
        states = {s.partial: s for s in cells.states}
        last = states[LAST_TIME].parts["v"][cell]
        pieces = Sessions(
            query,
            code[key[cell]],
            first,
            last,
            cells.rows[cell],
            tuple(states[p].take(cell) for p in wanted),
        )
        batches.setdefault(arrival.order, (arrival.watermark_us, []))[1].append(pieces)
    return [(w, Sessions.concat(p)) for _, (w, p) in sorted(batches.items())], table


def _values_in(
    arrivals: Sequence[Arrival],
    members: Sequence[SessionAsk],
    done: Sessions,
    table: pa.Table,
    main: Answer,
) -> Answer | None:
    """The distinct values inside each closed session, as an answer keyed by session and value."""
    partials = [s.partial for a in arrivals[:1] for s in a.cells.states if s.partial != LAST_TIME]
    batches, valued = expand(arrivals, members, partials)
    if not batches:
        return None
    gaps = np.array([m.gap_us for m in members], dtype=np.int64)
    # The same tuples that were too late for the session are too late for its values.
    rows = Sessions.concat([p.take(p.first + gaps[p.query] > w) for w, p in batches])
    value = valued.column(valued.num_columns - 1)
    bare = valued.select(valued.column_names[:-1])
    if bare.num_columns:
        bare = bare.rename_columns(table.column_names)
        (of_table, of_bare), both = match_keys([table, bare])
        n_keys = both.num_rows
    else:
        of_table = np.zeros(table.num_rows, dtype=np.int64)
        of_bare = np.zeros(valued.num_rows, dtype=np.int64)
        n_keys = 1
    session = _session_of(
        done.query * n_keys + of_table[done.key],
        done.first,
        done.last,
        rows.query * n_keys + of_bare[rows.key],
        rows.first,
    )
    inside = np.flatnonzero(session >= 0)
    rows, session = rows.take(inside), session[inside]
    code, distinct = encode_keys([pa.array(session), value.take(pa.array(rows.key))], len(session))
    size = distinct.num_rows
    of_session = distinct.column(0).to_numpy()
    keys = main.keys.take(pa.array(of_session)).append_column(VALUE, distinct.column(1))
    return Answer(
        main.window,
        main.uids,
        done.query[of_session],
        np.arange(size, dtype=np.int64),
        keys,
        count_rows(rows.rows, code, size),
        tuple(merge(s, code, size, rows.rows) for s in rows.states),
    )


def _session_of(code: Ints, first: Ints, last: Ints, row_code: Ints, row_time: Ints) -> Ints:
    """The session each row falls into, -1 for none: the last one of its code begun by then."""
    n = len(code)
    order = np.lexsort(
        (
            np.concatenate([np.zeros(n, np.int8), np.ones(len(row_code), np.int8)]),
            np.concatenate([first, row_time]),
            np.concatenate([code, row_code]),
        )
    )
    place = np.maximum.accumulate(np.where(order < n, np.arange(len(order)), -1))
    nearest = np.where(place >= 0, order[np.maximum(place, 0)], -1)
    out = np.full(len(row_code), -1, dtype=np.int64)
    is_row = order >= n
    rows, sessions = order[is_row] - n, nearest[is_row]
    fits = sessions >= 0
    rows, sessions = rows[fits], sessions[fits]
    fits = (code[sessions] == row_code[rows]) & (row_time[rows] <= last[sessions])
    out[rows[fits]] = sessions[fits]
    return out
