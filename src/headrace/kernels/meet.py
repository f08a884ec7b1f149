"""Meet: the answers of the sides of a join become the answer of the join, and no pair is built.

A side's answer has partial results by query and key. Where two sides meet by the keys they share,
counts multiply and sums are scaled by the other side's count. What nobody asks for any more is then
added up, so that the work grows with the sides and not with the pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from headrace.kernels.blocks import Answer
from headrace.kernels.columns import Bools, Ints, flat
from headrace.kernels.keys import ALL, compress, match_keys
from headrace.kernels.scaling import absent, counted, multiplied, scaled
from headrace.kernels.states import State, concat, count_rows, merge
from headrace.query.join import Meeting, Place
from headrace.query.plan import ROWS, sided

Attribute = int | Place
"""A variable by its number, or a key that is not equal to any."""
MEETS = Place(-1, -1)
"""Whether a row may meet others, beside the attributes of a side that keeps those that may not."""
NONE = -1
"""In the place of a value: the side is filled with NULLs."""


def meet(meeting: Meeting, answers: Sequence[Answer]) -> Answer:
    """The answer of a join from those of its sides, which are for the same window and queries.

    Its partial results are called by their sides (`sided`). Keys of a side are those of the
    meeting, in their order.
    """
    spaces = _Spaces.of(meeting, answers)
    first, *others = meeting.order
    rows = _side(meeting, first, answers[first], spaces)
    seen = {first}
    for number in others:
        seen.add(number)
        side = _side(meeting, number, answers[number], spaces)
        rows = _met(meeting, rows, side, spaces)
        rows = _reduced(rows, spaces, _live(meeting, seen))
    return _answer(meeting, rows, spaces, answers[0])


# -- values -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spaces:
    """The values of every attribute, and which of them each key of each side is."""

    values: Mapping[Attribute, pa.Array]
    codes: Mapping[tuple[Attribute, Place], Ints]

    @classmethod
    def of(cls, meeting: Meeting, answers: Sequence[Answer]) -> _Spaces:
        values: dict[Attribute, pa.Array] = {}
        codes: dict[tuple[Attribute, Place], Ints] = {}
        attributes: dict[Attribute, tuple[Place, ...]] = {
            number: v.places for number, v in enumerate(meeting.variables)
        }
        asked = {a for places in meeting.keys for a in _asked(meeting, places)}
        for place in (*asked, *meeting.gates, *meeting.after):
            if isinstance(place, Place):
                attributes[place] = (place,)
        for attribute, places in attributes.items():
            tables = [pa.table({"v": answers[p.side].keys.column(p.key)}) for p in places]
            found, distinct = match_keys(tables)
            values[attribute] = flat(distinct.column(0))
            codes |= {(attribute, p): code for p, code in zip(places, found, strict=True)}
        return cls(values, codes)

    def size(self, attribute: Attribute) -> int:
        """How many values it has; one more stands for none."""
        return 1 + (2 if attribute == MEETS else len(self.values[attribute]))

    def is_true(self, place: Place, codes: Ints) -> Bools:
        """Where a boolean key is TRUE."""
        return _known(codes, self.values[place].fill_null(False).to_numpy(zero_copy_only=False))

    def is_null(self, attribute: Attribute, codes: Ints) -> Bools:
        """Where an attribute is NULL."""
        return ~_known(codes, self.values[attribute].is_valid().to_numpy(zero_copy_only=False))


def _known(codes: Ints, of_value: Bools) -> Bools:
    """What is told of the values, row by row; False where there is none."""
    return np.append(of_value, False)[codes]


# -- rows ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rows:
    """Partial results by query and attributes, of the sides that have met."""

    sides: frozenset[int]
    query: Ints
    codes: Mapping[Attribute, Ints]
    count: Ints
    """How many tuples, or rows of the join, each of them stands for."""
    states: tuple[State, ...]

    def take(self, rows: Ints) -> _Rows:
        """Some of them."""
        return _Rows(
            self.sides,
            self.query[rows],
            {a: c[rows] for a, c in self.codes.items()},
            self.count[rows],
            tuple(s.take(rows) for s in self.states),
        )


def _side(meeting: Meeting, number: int, answer: Answer, spaces: _Spaces) -> _Rows:
    """The rows of one side, reduced to what the join asks of it."""
    codes: dict[Attribute, Ints] = {}
    meets = np.ones(len(answer.rows), dtype=bool)
    for place_of, variable in enumerate(meeting.variables):
        mine = [spaces.codes[place_of, p][answer.key] for p in variable.places if p.side == number]
        if not mine:
            continue
        codes[place_of] = mine[0]
        for other in mine[1:]:
            meets &= mine[0] == other
        if not variable.null_safe:
            meets &= ~spaces.is_null(place_of, mine[0])
    for attribute, place in spaces.codes:
        if place.side == number and isinstance(attribute, Place):
            codes[attribute] = spaces.codes[attribute, place][answer.key]
    for gate in meeting.gates:
        if gate.side == number:
            meets &= spaces.is_true(gate, codes[gate])
    states = tuple(_called(number, s) for s in answer.states if s.partial != ROWS)
    rows = _Rows(frozenset({number}), answer.query, codes, answer.rows, states)
    keeps_all = number in meeting.kept or (meeting.kind == "anti" and number == 0)
    if keeps_all:
        rows = replace(rows, codes={**codes, MEETS: meets.astype(np.int64)})
    elif not meets.all():
        rows = rows.take(np.flatnonzero(meets))
    return _reduced(rows, spaces, {*_live(meeting, {number}), MEETS})


def _called(side: int, state: State) -> State:
    """A state by the name that the join has for it."""
    return replace(state, partial=sided(side, state.partial))


def _live(meeting: Meeting, seen: set[int]) -> set[Attribute]:
    """What is still asked for once these sides have met."""
    to_come = set(range(meeting.sides)) - seen
    live: set[Attribute] = {n for n, v in enumerate(meeting.variables) if v.sides & to_come}
    for places in meeting.keys:
        live |= _asked(meeting, places)
    if to_come:
        live |= set(meeting.after)
    return live


def _asked(meeting: Meeting, places: tuple[Place, ...]) -> set[Attribute]:
    """The attributes that a key of the answer is read from."""
    number = _variable_of(meeting, places)
    return {number} if number is not None else set(places)


def _variable_of(meeting: Meeting, places: tuple[Place, ...]) -> int | None:
    """The variable whose value a key of the answer is in every row: where an outer join fills its
    side with NULLs, the key is NULL and the variable is not."""
    if len(places) == 1 and places[0].side in meeting.filled:
        return None
    for number, variable in enumerate(meeting.variables):
        if set(places) <= set(variable.places):
            return number
    return None


def _reduced(rows: _Rows, spaces: _Spaces, live: Iterable[Attribute]) -> _Rows:
    """With these attributes only, and what is alike in them added up."""
    kept = {a: c for a, c in rows.codes.items() if a in set(live)}
    group, used = _numbered(spaces, [rows.query], [kept])
    if len(used) == len(rows.query):
        return replace(rows, codes=kept)
    first = np.empty(len(used), dtype=np.int64)
    first[group[0][::-1]] = np.arange(len(rows.query))[::-1]
    return _Rows(
        rows.sides,
        rows.query[first],
        {a: c[first] for a, c in kept.items()},
        count_rows(rows.count, group[0], len(used)),
        tuple(merge(s, group[0], len(used), rows.count) for s in rows.states),
    )


def _numbered(
    spaces: _Spaces, queries: Sequence[Ints], codes: Sequence[Mapping[Attribute, Ints]]
) -> tuple[list[Ints], Ints]:
    """One number for rows, of one or several sides, that are alike in query and attributes."""
    ends = np.cumsum([len(q) for q in queries])[:-1]
    number = np.concatenate(queries) if len(queries) > 1 else queries[0]
    width = int(number.max(initial=-1)) + 1
    used = np.arange(width)
    for attribute in codes[0]:
        more = np.concatenate([c[attribute] for c in codes]) - NONE
        size = spaces.size(attribute)
        number, used = compress(number * size + more, width * size)
        width = len(used)
    if not codes[0]:
        number, used = compress(number, width)
    return list(np.split(number, ends)), used


# -- meeting ------------------------------------------------------------------------------------


def _met(meeting: Meeting, left: _Rows, right: _Rows, spaces: _Spaces) -> _Rows:
    """Both sides, where they share the values of all variables that both have."""
    shared = [a for a in left.codes if isinstance(a, int) and a in right.codes]
    (mine, theirs), used = _numbered(
        spaces,
        [left.query, right.query],
        [{a: left.codes[a] for a in shared}, {a: right.codes[a] for a in shared}],
    )
    able, able_there = _able(left), _able(right)
    partners = np.bincount(theirs[able_there], minlength=len(used))
    found = np.where(able, partners[mine], 0)
    if meeting.kind in ("semi", "anti"):
        return left.take(np.flatnonzero((found > 0) == (meeting.kind == "semi")))
    order = np.flatnonzero(able_there)[np.argsort(theirs[able_there], kind="stable")]
    begins = np.cumsum(partners) - partners
    at_left = np.repeat(np.arange(len(mine)), found)
    within = np.arange(len(at_left)) - np.repeat(np.cumsum(found) - found, found)
    at_right = order[begins[mine[at_left]] + within]
    if meeting.kind == "inner":
        return _paired(left.take(at_left), right.take(at_right))
    left, right = _told(left, meeting), _told(right, meeting)
    pieces = [_paired(left.take(at_left), right.take(at_right))]
    if left.sides <= meeting.kept:
        pieces.append(_filled(left.take(np.flatnonzero(found == 0)), right))
    if right.sides <= meeting.kept:
        met = np.zeros(len(used), dtype=bool)
        met[mine[able]] = True
        alone = np.flatnonzero(~(able_there & met[theirs]))
        pieces.append(_filled(right.take(alone), left))
    rows = _together(pieces, pieces[0])
    for place in meeting.after:
        codes = rows.codes[place]
        rows = rows.take(np.flatnonzero((codes == NONE) | spaces.is_true(place, codes)))
    # A NULL is one, whether it was read or stands for a tuple that is not there.
    alike = {a: np.where(spaces.is_null(a, c), NONE, c) for a, c in rows.codes.items()}
    return replace(rows, codes=alike)


def _able(rows: _Rows) -> Bools:
    """Which rows may meet others."""
    if MEETS in rows.codes:
        return rows.codes[MEETS].astype(bool)
    return np.ones(len(rows.query), dtype=bool)


def _paired(left: _Rows, right: _Rows) -> _Rows:
    """Row by row, every tuple of the one with every tuple of the other."""
    return _Rows(
        left.sides | right.sides,
        left.query,
        _attributes(right.codes, left.codes),
        multiplied(left.count, right.count),
        (
            *(scaled(s, right.count) for s in left.states),
            *(scaled(s, left.count) for s in right.states),
        ),
    )


def _filled(rows: _Rows, other: _Rows) -> _Rows:
    """Rows without a partner: NULLs stand for the other side."""
    size = len(rows.query)
    nothing = {a: np.full(size, NONE) for a in other.codes}
    return _Rows(
        rows.sides | other.sides,
        rows.query,
        _attributes(nothing, rows.codes),
        rows.count,
        (*rows.states, *(absent(s, size) for s in other.states)),
    )


def _attributes(
    codes: Mapping[Attribute, Ints], first: Mapping[Attribute, Ints]
) -> dict[Attribute, Ints]:
    return {a: c for a, c in {**codes, **first}.items() if a != MEETS}


def _told(rows: _Rows, meeting: Meeting) -> _Rows:
    """A side that NULLs may stand for tells how many values each state has."""
    if not rows.sides <= meeting.filled:
        return rows
    return replace(rows, states=tuple(counted(s, rows.count) for s in rows.states))


def _together(pieces: Sequence[_Rows], like: _Rows) -> _Rows:
    """Rows of some kinds, one after the other."""
    counts = [p.count for p in pieces]
    states = []
    for state in like.states:
        alike = [next(s for s in p.states if s.partial == state.partial) for p in pieces]
        states.append(concat(alike, counts))
    return _Rows(
        like.sides,
        np.concatenate([p.query for p in pieces]),
        {a: np.concatenate([p.codes[a] for p in pieces]) for a in like.codes},
        np.concatenate(counts),
        tuple(states),
    )


def _answer(meeting: Meeting, rows: _Rows, spaces: _Spaces, like: Answer) -> Answer:
    """Rows as an answer whose keys are the meeting's."""
    columns = []
    for places in meeting.keys:
        (attribute,) = _asked(meeting, places)
        columns.append((spaces.values[attribute], rows.codes[attribute]))
    numbers = {a: rows.codes[a] for k in meeting.keys for a in _asked(meeting, k)}
    (key,), used = _numbered(spaces, [np.zeros_like(rows.query)], [numbers])
    first = np.empty(len(used), dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]
    taken = {
        f"k{n}": values.take(pa.array(codes[first], mask=codes[first] == NONE))
        for n, (values, codes) in enumerate(columns)
    }
    keys = pa.table(taken) if taken else pa.table({ALL: pa.array([True])})
    states = (State(ROWS, {}), *rows.states)
    return Answer(like.window, like.uids, rows.query, key, keys, rows.count, states)
