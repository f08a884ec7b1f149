"""Fire joins: due windows of many joins, from blocks of cells of their sides to result tables.

Joins that meet alike are answered together: each side is combined as if it were a query over its
stream, and what comes of it meets by key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from headrace.kernels.answers import Blocks, Failure, Result, Setting, combined, finish_answer
from headrace.kernels.blocks import Answer
from headrace.kernels.combine import merge_answers
from headrace.kernels.keys import ALL, VALUE
from headrace.kernels.meet import meet
from headrace.kernels.scaling import TooMany
from headrace.kernels.shapes import Asked
from headrace.kernels.states import State, lift
from headrace.query.arrow import arrow_type
from headrace.query.join import Meeting, Place
from headrace.query.logical import LogicalQuery
from headrace.query.needs import Need, column_name, needs_of
from headrace.query.plan import RANK, Partial, of_side
from headrace.query.sides import sides_of, uid_of_side
from headrace.query.window import Span

_CHUNK_ROWS = 1 << 18
"""Rows of a join are written so many at a time."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of joins that are alike."""

    number: int
    stream: str
    query: LogicalQuery
    keys: tuple[str, ...]
    needs: tuple[Need, ...]

    @property
    def values(self) -> set[tuple[str, int | None]]:
        """Columns whose distinct values are kept for it, with the precision of their sketch."""
        return {(n.value, n.sketch) for n in self.needs if n.value is not None}

    @property
    def partials(self) -> set[Partial]:
        """What is kept for it beside values."""
        return {n.partial for n in self.needs if n.partial is not None}


def answer_joins(
    blocks: Mapping[str, Blocks], due: Sequence[tuple[Span, Sequence[Asked]]], setting: Setting
) -> Iterator[Result | Failure]:
    """Results of every due window, from the blocks of each stream."""
    for windows in _alike(due):
        (_, (first, *_)), *_ = windows
        sides = [_side(n, q) for n, q in enumerate(sides_of(first.query))]
        answers = [_answers(s, blocks, windows, setting) for s in sides]
        for window, asked in windows:
            mine = [a[window] for a in answers]
            yield from _answered(blocks, window, asked, sides, mine, setting)


def _alike(
    due: Sequence[tuple[Span, Sequence[Asked]]],
) -> list[list[tuple[Span, list[Asked]]]]:
    """Windows of joins that meet alike, and whose answers have the same columns."""
    found: dict[object, list[tuple[Span, list[Asked]]]] = {}
    for window, asked in due:
        split: dict[object, list[Asked]] = {}
        for one in asked:
            join = one.query.join
            assert join is not None
            sides = tuple((s.stream, tuple(column_name(k) for k in s.keys)) for s in join.sides)
            split.setdefault((id(one.shape), join.meeting, sides), []).append(one)
        for alike, some in split.items():
            found.setdefault(alike, []).append((window, some))
    return list(found.values())


def _side(number: int, query: LogicalQuery) -> _Side:
    keys = tuple(column_name(k) for k in query.keys)
    return _Side(number, query.stream, query, keys, needs_of(query))


# -- sides --------------------------------------------------------------------------------------


def _answers(
    side: _Side,
    blocks: Mapping[str, Blocks],
    windows: Sequence[tuple[Span, Sequence[Asked]]],
    setting: Setting,
    value: tuple[str, int | None] | None = None,
) -> dict[Span, Answer]:
    """What a side has for each window, or the values that it keeps, by the uids of the joins."""
    family = (side.keys, *(value or (None, None)))
    due = [(w, tuple(uid_of_side(a.uid, side.number) for a in asked)) for w, asked in windows]
    partials = None if value is not None else side.partials
    found: dict[Span, list[Answer]] = {}
    for one in combined(blocks.get(side.stream, {}).get(family, ()), due, partials):
        found.setdefault(one.window, []).append(one)
    out = {}
    for window, asked in windows:
        parts = found.get(window)
        uids = tuple(a.uid for a in asked)
        if parts is None:
            out[window] = _nothing(side, window, uids, setting, value)
            continue
        whole = merge_answers(parts)
        place = {uid_of_side(uid, side.number): n for n, uid in enumerate(uids)}
        query = np.array([place[u] for u in whole.uids], dtype=np.int64)[whole.query]
        out[window] = replace(whole, uids=uids, query=query, keys=_typed(side, whole.keys, setting))
    return out


def _typed(side: _Side, keys: pa.Table, setting: Setting) -> pa.Table:
    """Keys as Spark types them, whatever their source has: those of several sides are compared."""
    for number, key in enumerate(side.query.keys):
        kind = arrow_type(key.type, setting.time_zone)
        if keys.column(number).type != kind:
            name, column = keys.column_names[number], keys.column(number)
            keys = keys.set_column(number, name, column.cast(kind))
    return keys


def _nothing(
    side: _Side,
    window: Span,
    uids: tuple[int, ...],
    setting: Setting,
    value: tuple[str, int | None] | None,
) -> Answer:
    """The answer of a side without a tuple."""
    none = np.empty(0, dtype=np.int64)
    columns = {
        f"k{n}": pa.array([], arrow_type(k.type, setting.time_zone))
        for n, k in enumerate(side.query.keys)
    }
    states: list[State] = []
    if value is None:
        for partial in sorted(side.partials, key=repr):
            empty = None
            if partial.column is not None:
                empty = pa.array([], arrow_type(partial.type, setting.time_zone))
            states.append(lift(partial, empty, none))
    else:
        columns[VALUE] = pa.array([], _value_type(side, value, setting))
        states += [State(RANK, {"v": none})] if value[1] is not None else []
    keys = pa.table(columns) if columns else pa.table({ALL: pa.array([True])})
    return Answer(window, uids, none, none, keys, none, tuple(states))


def _value_type(side: _Side, value: tuple[str, int | None], setting: Setting) -> pa.DataType:
    if value[1] is not None:
        return pa.int64()
    calls = zip(side.query.aggregates, side.needs, strict=True)
    call = next(c for c, n in calls if (n.value, n.sketch) == value)
    assert call.argument is not None
    return arrow_type(call.argument.type, setting.time_zone)


# -- joins --------------------------------------------------------------------------------------


def _answered(
    blocks: Mapping[str, Blocks],
    window: Span,
    asked: Sequence[Asked],
    sides: Sequence[_Side],
    answers: Sequence[Answer],
    setting: Setting,
) -> Iterator[Result | Failure]:
    """One window of joins that are alike; one whose rows cannot be counted fails alone."""
    join = asked[0].query.join
    assert join is not None
    try:
        main = meet(join.meeting, answers)
        values = {
            (of_side(side.number, value), sketch): _valued(
                join.meeting, side, (value, sketch), answers, blocks, window, asked, setting
            )
            for side in sides
            for value, sketch in sorted(side.values, key=repr)
        }
    except TooMany as error:
        if len(asked) == 1:
            yield Failure(asked[0].uid, str(error))
            return
        for one in asked:
            mine = [a.of_queries([one.uid]) for a in answers]
            yield from _answered(blocks, window, [one], sides, mine, setting)
        return
    by_uid = {a.uid: a for a in asked}
    for part in _rows(main) if join.shows_rows else [main]:
        yield from finish_answer(part, by_uid, values, setting)


def _valued(
    meeting: Meeting,
    side: _Side,
    value: tuple[str, int | None],
    answers: Sequence[Answer],
    blocks: Mapping[str, Blocks],
    window: Span,
    asked: Sequence[Asked],
    setting: Setting,
) -> Answer:
    """The values that a side keeps, by the keys of the join, and how many of its rows have each."""
    own = _answers(side, blocks, [(window, list(asked))], setting, value)[window]
    bare = [replace(a, states=()) for a in answers]
    bare[side.number] = own
    place = Place(side.number, len(side.keys))
    found = meet(replace(meeting, keys=(*meeting.keys, (place,))), bare)
    names = [*found.keys.column_names[:-1], VALUE]
    keys = found.keys.rename_columns(names)
    known = keys.column(VALUE).is_valid().to_numpy()[found.key]
    rows = np.flatnonzero(known)
    return replace(
        found,
        query=found.query[rows],
        key=found.key[rows],
        keys=keys,
        rows=found.rows[rows],
        states=tuple(s.take(rows) for s in found.states if s.parts),
    )


def _rows(answer: Answer) -> Iterator[Answer]:
    """As many rows as each stands for, some at a time."""
    order = np.argsort(answer.query, kind="stable")
    upto = np.cumsum(answer.rows[order])
    total = int(upto[-1]) if len(upto) else 0
    for begin in range(0, total, _CHUNK_ROWS):
        numbers = np.arange(begin, min(begin + _CHUNK_ROWS, total))
        at = order[np.searchsorted(upto, numbers, side="right")]
        ones = np.ones(len(at), dtype=np.int64)
        yield replace(answer, query=answer.query[at], key=answer.key[at], rows=ones, states=())
