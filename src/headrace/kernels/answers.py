"""Fire: due windows of many queries, from blocks of cells to result tables.

Queries with the same shape (keys, aggregates, outputs) are finished together, so the work per
query is a few rows of an array.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal, localcontext

import numpy as np
import pyarrow as pa

from headrace.kernels.blocks import Answer, Block, Due
from headrace.kernels.columns import Bools, Ints, Values, to_arrow, values_of
from headrace.kernels.combine import combine, merge_answers
from headrace.kernels.finish import Overflow, finish
from headrace.kernels.holistic import HllTables, count_distinct, hll_estimate, percentiles
from headrace.kernels.keys import match_keys
from headrace.kernels.kmeans import kmeans
from headrace.kernels.points import unpacked
from headrace.kernels.shapes import Asked, Shape
from headrace.kernels.states import State, concat
from headrace.query.arrow import arrow_type
from headrace.query.logical import AggregateCall, Function
from headrace.query.needs import Need, counted_by
from headrace.query.plan import Partial
from headrace.query.window import Span

_STACK_ROWS = 1 << 20
"""So many rows are finished at a time."""
_EXACT_DIGITS = 15
"""Decimals of so many digits survive a double."""

Blocks = Mapping[tuple[tuple[str, ...], str | None, int | None], Sequence[Block]]
"""Blocks by what they keep: keys, value column and sketch precision."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What finishing needs to know of the session."""

    time_zone: str
    ansi: bool
    hll: HllTables | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """Finished rows of one shape: `_q`, `_start`, `_end`, keys k0…, aggregates a0…

    Rows of one query and window are next to each other. Those of approximate queries also tell how
    many tuples each aggregate counts: a0_n, …
    """

    shape: Shape
    table: pa.Table


@dataclass(frozen=True, slots=True)
class Failure:
    """A query that could not be finished, and why."""

    uid: int
    reason: str


def answer(
    blocks: Blocks,
    due: Sequence[tuple[Span, Sequence[Asked]]],
    setting: Setting,
) -> Iterator[Result | Failure]:
    """Results of every due window that holds tuples.

    A query's first, partial window is read only from the query's beginning on.
    """
    whole: list[tuple[Span, list[Asked]]] = []
    for window, asked in due:
        early = {
            a.partial_before_us
            for a in asked
            if a.partial_before_us is not None and a.partial_before_us > window[0]
        }
        for since in sorted(early):
            some = [a for a in asked if a.partial_before_us == since]
            yield from _answer(blocks, [((since, window[1]), some)], setting, window)
        rest = [a for a in asked if a.partial_before_us not in early]
        if rest:
            whole.append((window, rest))
    yield from _answer(blocks, whole, setting, None)


def _answer(
    blocks: Blocks,
    due: Sequence[tuple[Span, Sequence[Asked]]],
    setting: Setting,
    window: Span | None,
) -> Iterator[Result | Failure]:
    """Answer due windows; with ``window``, under that name."""
    families: dict[tuple[str, ...], list[tuple[Span, list[Asked]]]] = {}
    for span, asked in due:
        split: dict[tuple[str, ...], list[Asked]] = {}
        for one in asked:
            split.setdefault(one.shape.keys, []).append(one)
        for keys, members in split.items():
            families.setdefault(keys, []).append((span, members))
    for keys, windows in families.items():
        mains = combined(
            blocks.get((keys, None, None), ()),
            [(w, tuple(a.uid for a in asked)) for w, asked in windows],
            {p for shape in {a.shape for _, asked in windows for a in asked} for p in shape.read},
        )
        values = _values(blocks, keys, windows)
        by_uid = {a.uid: a for _, asked in windows for a in asked}
        if window is None and not values:
            for stack, spans in _stacked(mains):
                yield from finish_answer(stack, by_uid, {}, setting, spans)
            continue
        for main in mains:
            extra = {k: v[main.window] for k, v in values.items() if main.window in v}
            whole = replace(main, window=window) if window is not None else main
            yield from finish_answer(whole, by_uid, extra, setting)


def _stacked(answers: Iterable[Answer]) -> Iterator[tuple[Answer, tuple[Ints, Ints]]]:
    """Answers of several windows over the same keys and partials as one, finished at a time.

    A query then has a number for each of its windows; starts and ends are told row by row.
    """
    waiting: dict[object, list[Answer]] = {}
    rows: dict[object, int] = {}
    for one in answers:
        # Answers from one layout and answers merged from several may share their keys.
        place = (id(one.keys), *(s.partial for s in one.states))
        waiting.setdefault(place, []).append(one)
        rows[place] = rows.get(place, 0) + len(one.rows)
        if rows[place] > _STACK_ROWS:
            del rows[place]
            yield _one_stack(waiting.pop(place))
    for stack in waiting.values():
        yield _one_stack(stack)


def _one_stack(answers: Sequence[Answer]) -> tuple[Answer, tuple[Ints, Ints]]:
    sizes = [len(a.rows) for a in answers]
    starts, ends = (np.repeat([a.window[i] for a in answers], sizes) for i in (0, 1))
    if len(answers) == 1:
        return answers[0], (starts, ends)
    first = np.cumsum([0, *(len(a.uids) for a in answers)])
    rows = [a.rows for a in answers]
    whole = Answer(
        (answers[0].window[0], answers[-1].window[1]),
        tuple(u for a in answers for u in a.uids),
        np.concatenate([a.query + n for a, n in zip(answers, first, strict=False)]),
        np.concatenate([a.key for a in answers]),
        answers[0].keys,
        np.concatenate(rows),
        tuple(concat(list(s), rows) for s in zip(*(a.states for a in answers), strict=True)),
    )
    return whole, (starts, ends)


def combined(
    blocks: Sequence[Block], due: Sequence[Due], partials: Collection[Partial] | None = None
) -> Iterator[Answer]:
    """Answers over blocks of several layouts: each by its own best way, then merged."""
    by_layout: dict[int, list[Block]] = {}
    for block in blocks:
        by_layout.setdefault(id(block[1]), []).append(block)
    found: dict[Span, list[Answer]] = {}
    for group in by_layout.values():
        uids = set(group[0][1].place)
        mine = [(w, tuple(u for u in us if u in uids)) for w, us in due]
        for one in combine(group, [(w, us) for w, us in mine if us], partials):
            found.setdefault(one.window, []).append(one)
    for window in sorted(found):
        yield from _merged_by_origin(found[window])


def _merged_by_origin(answers: Sequence[Answer]) -> Iterator[Answer]:
    """Merge what belongs to the same queries; queries of different layouts stay apart."""
    if len(answers) == 1:
        yield answers[0]
        return
    origins: dict[int, list[int]] = {}
    for number, one in enumerate(answers):
        for uid in one.uids:
            origins.setdefault(uid, []).append(number)
    alike: dict[tuple[int, ...], list[int]] = {}
    for uid, numbers in origins.items():
        alike.setdefault(tuple(numbers), []).append(uid)
    for origin, uids in alike.items():
        yield merge_answers([answers[n].of_queries(uids) for n in origin])


def _values(
    blocks: Blocks,
    keys: tuple[str, ...],
    windows: Sequence[tuple[Span, list[Asked]]],
) -> dict[tuple[str, int | None], dict[Span, Answer]]:
    """Answers of the value groups that these queries need, by value column."""
    wanted: dict[tuple[str, int | None], list[Due]] = {}
    for window, asked in windows:
        by_value: dict[tuple[str, int | None], list[int]] = {}
        for one in asked:
            for need in set(one.shape.needs):
                if need.value is not None:
                    by_value.setdefault((need.value, need.sketch), []).append(one.uid)
        for value, uids in by_value.items():
            wanted.setdefault(value, []).append((window, tuple(uids)))
    out: dict[tuple[str, int | None], dict[Span, Answer]] = {}
    for value, due in wanted.items():
        found: dict[Span, list[Answer]] = {}
        for part in combined(blocks.get((keys, *value), ()), due):
            found.setdefault(part.window, []).append(part)
        # Queries of one window may keep the value in groups of their own.
        out[value] = {window: merge_answers(parts) for window, parts in found.items()}
    return out


def finish_answer(
    main: Answer,
    asked: Mapping[int, Asked],
    values: Mapping[tuple[str, int | None], Answer],
    setting: Setting,
    spans: tuple[Ints, Ints] | None = None,
) -> Iterator[Result | Failure]:
    """Finish an answer shape by shape; a query that overflows, or cannot be finished for any other
    reason, fails alone.

    ``spans`` are starts and ends per row where windows differ by row (sessions).
    """
    shapes: dict[Shape, list[int]] = {}
    for number, uid in enumerate(main.uids):
        if uid in asked:
            shapes.setdefault(asked[uid].shape, []).append(number)
    for shape, numbers in shapes.items():
        try:
            table = _finish_shape(main, numbers, shape, values, setting, spans)
            if table.num_rows:
                yield Result(shape, table)
        except Exception as error:
            uids = sorted({main.uids[n] for n in numbers})
            if len(uids) == 1:
                yield Failure(uids[0], _told(error))
                continue
            for uid in uids:
                yield from finish_answer(main, {uid: asked[uid]}, values, setting, spans)


def _told(error: Exception) -> str:
    """Why a query cannot go on."""
    if isinstance(error, Overflow):
        return str(error)
    return f"its rows cannot be finished: {type(error).__name__}: {error}"


def _finish_shape(
    main: Answer,
    numbers: Sequence[int],
    shape: Shape,
    values: Mapping[tuple[str, int | None], Answer],
    setting: Setting,
    spans: tuple[Ints, Ints] | None,
) -> pa.Table:
    chosen = np.zeros(len(main.uids), dtype=bool)
    chosen[list(numbers)] = True
    rows = None if chosen.all() else np.flatnonzero(chosen[main.query])
    pick = slice(None) if rows is None else rows
    number, key, counted = main.query[pick], main.key[pick], main.rows[pick]
    size = len(number)
    uids = np.array(main.uids, dtype=np.int64)[number]
    starts = np.full(size, main.window[0]) if spans is None else spans[0][pick]
    ends = np.full(size, main.window[1]) if spans is None else spans[1][pick]
    columns: dict[str, pa.Array] = {
        "_q": pa.array(uids),
        "_start": pa.array(starts),
        "_end": pa.array(ends),
    }
    taken = main.keys.take(pa.array(key))
    for place, expression in enumerate(shape.query.keys):
        kind = arrow_type(expression.type, setting.time_zone)
        columns[f"k{place}"] = taken.column(place).combine_chunks().cast(kind)
    states = {s.partial: s for s in main.states}
    for place, (call, need) in enumerate(zip(shape.query.aggregates, shape.needs, strict=True)):
        if need.value is None:
            assert need.partial is not None
            state = states[need.partial]
            if rows is not None:
                state = state.take(rows)
            columns[f"a{place}"] = finish(
                call, state, counted, time_zone=setting.time_zone, ansi=setting.ansi
            )
        else:
            other = values.get((need.value, need.sketch))
            columns[f"a{place}"] = _finish_value(call, need, main, number, key, other, setting)
        if shape.query.accuracy is not None:
            state = states[counted_by(call)]
            n = (state if rows is None else state.take(rows)).parts.get("n", counted)
            columns[f"a{place}_n"] = pa.array(n.astype(np.float64))
    return pa.table(columns)


def _finish_value(
    call: AggregateCall,
    need: Need,
    main: Answer,
    number: Ints,
    key: Ints,
    other: Answer | None,
    setting: Setting,
) -> pa.Array:
    """One holistic aggregate for the chosen rows of the main answer."""
    size = len(number)
    group, rows = np.empty(0, np.int64), np.empty(0, np.int64)
    value_column: pa.Array | None = None
    states: tuple[State, ...] = ()
    if other is not None:
        group, rows = _aligned(main, number, key, other)
        picked = other.keys.column(other.keys.num_columns - 1)
        value_column = picked.take(pa.array(other.key[rows]))
        states = other.states
    if call.function is Function.COUNT_DISTINCT:
        return pa.array(count_distinct(group, size))
    if call.function is Function.APPROX_COUNT_DISTINCT:
        assert need.sketch is not None
        assert setting.hll is not None
        ranks = states[0].parts["v"][rows] if states else np.empty(0, np.int64)
        return pa.array(hll_estimate(group, ranks, size, need.sketch, setting.hll))
    kind = arrow_type(call.result_type, setting.time_zone)
    if other is None:
        return pa.nulls(size, kind)
    if call.function in (Function.KMEANS, Function.KMEANS_COST):
        assert value_column is not None
        return _clustered(call, group, value_column, other.rows[rows], size, kind)
    item = kind if call.single_percentage else kind.value_type
    assert value_column is not None
    values = values_of(value_column)
    found, total = percentiles(group, values.data, other.rows[rows], size, call.percentages)
    known = total > 0
    if call.single_percentage:
        return _through_double(to_arrow(Values(found[:, 0], known, values.dictionary), item))
    each = _through_double(to_arrow(Values(found.reshape(-1), None, values.dictionary), item))
    width = len(call.percentages)
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * width)
    lists = pa.ListArray.from_arrays(offsets, each)
    return lists if known.all() else _masked(lists, known)


def _clustered(
    call: AggregateCall, group: Ints, points: pa.Array, counts: Ints, size: int, kind: pa.DataType
) -> pa.Array:
    """Centres, or the mean squared distance to the nearest one, group by group."""
    where = unpacked(points, 1 + len(call.coordinates))
    out: list[object] = [None] * size
    for one in np.unique(group).tolist():
        mine = group == one
        weights = counts[mine].astype(np.float64)
        centres, off = kmeans(where[mine], weights, call.clusters)
        cost = float(off @ weights / weights.sum())
        out[one] = centres.tolist() if call.function is Function.KMEANS else cost
    return pa.array(out, type=kind)


def _through_double(values: pa.Array) -> pa.Array:
    """Spark's percentile summary holds doubles: long decimals and integers are rounded by it."""
    kind = values.type
    if pa.types.is_decimal(kind) and kind.precision > _EXACT_DIGITS:
        # Spark turns a double into a decimal by its shortest text.
        with localcontext() as context:
            context.prec = 60
            scale = Decimal(1).scaleb(-kind.scale)
            rounded = [
                None if v is None else Decimal(repr(float(v))).quantize(scale, ROUND_HALF_UP)
                for v in values.to_pylist()
            ]
        return pa.array(rounded, type=kind)
    if pa.types.is_int64(kind):
        return values.cast(pa.float64(), safe=False).cast(pa.int64(), safe=False)
    return values


def _masked(lists: pa.Array, known: Bools) -> pa.Array:
    return pa.array(
        [v if k else None for v, k in zip(lists.to_pylist(), known, strict=True)], type=lists.type
    )


def _aligned(main: Answer, number: Ints, key: Ints, other: Answer) -> tuple[Ints, Ints]:
    """For each usable row of a value answer: the row of the main answer it belongs to."""
    bare = other.keys.select(other.keys.column_names[:-1])
    if bare.num_columns == 0:
        main_codes = np.zeros(main.keys.num_rows, dtype=np.int64)
        other_codes = np.zeros(other.keys.num_rows, dtype=np.int64)
        n_keys = 1
    else:
        bare = bare.rename_columns(main.keys.column_names)
        (main_codes, other_codes), table = match_keys([main.keys, bare])
        n_keys = table.num_rows
    place_of_uid = {u: n for n, u in enumerate(main.uids)}
    to_main = np.array([place_of_uid.get(u, -1) for u in other.uids], dtype=np.int64)
    row_of = np.full(len(main.uids) * n_keys, -1, dtype=np.int64)
    row_of[number * n_keys + main_codes[key]] = np.arange(len(number))
    query = to_main[other.query]
    target = np.where(query >= 0, row_of[query * n_keys + other_codes[other.key]], -1)
    rows = np.flatnonzero(target >= 0)
    return target[rows], rows
