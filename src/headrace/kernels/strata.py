"""Partial results of one window by strata: what estimates from a part of its tuples are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.kernels.answers import combined
from headrace.kernels.blocks import Answer, Block
from headrace.kernels.columns import Array, Ints, flat
from headrace.kernels.keys import match_keys, unify_keys
from headrace.kernels.states import about
from headrace.query.needs import sum_beside
from headrace.query.plan import Partial
from headrace.query.window import Span

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """How many tuples of each stratum (rows) and group (columns) count, their mean, and the sum of
    squared deviations from it."""

    n: Floats
    mean: Floats
    squares: Floats


@dataclass(frozen=True)
class Stratified:
    """One window by strata. Group i is of query ``uids[i]`` and has the key ``keys[key[i]]``."""

    uids: Ints
    key: Ints
    keys: pa.Table
    spreads: dict[Partial, Spread]


def stratified(
    blocks: Sequence[Block], strata: Sequence[Span], uids: Sequence[int], partials: set[Partial]
) -> Stratified | None:
    """Of some queries with the same keys; None where no tuple is there."""
    place = {span: number for number, span in enumerate(strata)}
    read = partials | {sum_beside(p) for p in partials if p.op == "squares"}
    answers = list(combined(blocks, [(span, tuple(uids)) for span in strata], read))
    if not answers:
        return None
    codes, keys = unify_keys([a.keys for a in answers])
    n_keys = max(keys.num_rows, 1)
    ids = [
        np.array(one.uids, dtype=np.int64)[one.query] * n_keys + code[one.key]
        for one, code in zip(answers, codes, strict=True)
    ]
    used, columns = np.unique(np.concatenate(ids), return_inverse=True)
    parts = np.split(columns, np.cumsum([len(i) for i in ids])[:-1])
    spreads = {
        partial: _spread(partial, answers, parts, place, (len(strata), len(used)))
        for partial in partials
    }
    return Stratified(used // n_keys, used % n_keys, keys, spreads)


def _spread(
    partial: Partial,
    answers: Sequence[Answer],
    parts: Sequence[Ints],
    place: dict[Span, int],
    shape: tuple[int, int],
) -> Spread:
    n, mean, squares = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for one, columns in zip(answers, parts, strict=True):
        row, rows = place[one.window], one.rows.astype(np.float64)
        state = next((s for s in one.states if s.partial == partial), None)
        here = rows if state is None else state.parts.get("n", rows).astype(np.float64)
        n[row, columns] = here
        if partial.op == "moments":
            assert state is not None
            known = here > 0.0
            mean[row, columns] = np.where(known, state.parts["mean"], 0.0)
            squares[row, columns] = np.where(known, state.parts["m2"], 0.0)
        elif partial.op == "squares":
            assert state is not None
            total = next(s for s in one.states if s.partial == sum_beside(partial))
            mean[row, columns] = about(total) / np.maximum(here, 1.0)
            squares[row, columns] = _deviations(state.parts["s"], about(total), here)
        else:
            mean[row, columns] = 1.0
    return Spread(n, mean, squares)


_ROUNDED = 4.0 * np.finfo(np.float64).eps


def _deviations(squares: Array, total: Floats, n: Floats) -> Floats:
    """The sum of squared deviations, from that of squares. Where the squares were rounded, what may
    have been lost is not taken for certainty."""
    exact = np.longdouble(1) * squares - np.longdouble(1) * total * total / np.maximum(n, 1.0)
    least = _ROUNDED * squares if squares.dtype == np.float64 else 0.0
    off: Floats = np.maximum(exact, least).astype(np.float64)
    return off


@dataclass(frozen=True, slots=True)
class Kept:
    """Tuples that were kept themselves: how often each value is there, of which group and
    stratum."""

    group: Ints
    stratum: Ints
    values: pa.Array
    counts: Floats


def kept_tuples(
    main: Stratified, blocks: Sequence[Block], strata: Sequence[Span], uids: Sequence[int]
) -> Kept | None:
    """The tuples behind the groups of a window; None where none is there."""
    place = {span: number for number, span in enumerate(strata)}
    answers = list(combined(blocks, [(span, tuple(uids)) for span in strata]))
    if not answers:
        return None
    n_keys = max(main.keys.num_rows, 1)
    ids = main.uids * n_keys + main.key
    groups, stratum, values, counts = [], [], [], []
    for one in answers:
        row = _rows_of(one.keys.select(one.keys.column_names[:-1]), main.keys)
        mine = np.array(one.uids, dtype=np.int64)[one.query] * n_keys + row[one.key]
        groups.append(np.searchsorted(ids, mine))
        stratum.append(np.full(len(one.key), place[one.window], dtype=np.int64))
        column = one.keys.column(one.keys.num_columns - 1)
        values.append(flat(column).take(pa.array(one.key)))
        counts.append(one.rows.astype(np.float64))
    return Kept(
        np.concatenate(groups),
        np.concatenate(stratum),
        pa.concat_arrays(values),
        np.concatenate(counts),
    )


def _rows_of(keys: pa.Table, known: pa.Table) -> Ints:
    """The row of every key in a table that has it."""
    if not keys.num_columns:
        return np.zeros(max(keys.num_rows, 1), dtype=np.int64)
    (ours, theirs), table = match_keys([known, keys.rename_columns(known.column_names)])
    row = np.empty(table.num_rows, dtype=np.int64)
    row[ours] = np.arange(known.num_rows)
    return row[theirs]
