"""kernels/meet.py: partial results that meet by key are those of all pairs."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.blocks import Answer
from headrace.kernels.finish import finish
from headrace.kernels.keys import compress, encode_keys
from headrace.kernels.meet import meet
from headrace.kernels.scaling import TooMany, multiplied, scaled
from headrace.kernels.states import count_rows, lift, merge
from headrace.query.join import JoinKind, Meeting, Place, Variable
from headrace.query.logical import Function
from headrace.query.needs import need_of
from headrace.query.plan import Partial, sided
from tests.amounts import seeds

from .aggregation import TYPES, call_of, expected, random_values, same

FUNCTIONS = [
    Function.COUNT,
    Function.SUM,
    Function.AVG,
    Function.MIN,
    Function.MAX,
    Function.VAR_POP,
    Function.STDDEV_SAMP,
]
QUERIES = (11, 5, 8)
WINDOW = (0, 10)


@dataclass
class Side:
    """Tuples of one stream: the query that keeps it, keys, and a value to aggregate."""

    query: list[int]
    keys: list[tuple[Any, ...]]
    values: list[Any]
    type: str
    key_types: list[pa.DataType] = field(default_factory=list)

    def answer(self) -> Answer:
        """As it comes from the slices."""
        columns = [
            pa.array([k[n] for k in self.keys], type=kind) for n, kind in enumerate(self.key_types)
        ]
        key, table = encode_keys(columns, len(self.keys))
        n = max(table.num_rows, 1)
        place = np.array(self.query, dtype=np.int64) * n + key
        group, used = compress(place, len(QUERIES) * n)
        column = pa.array(self.values, type=TYPES[self.type][0])
        states = [
            merge(lift(p, column, np.zeros(len(column), np.int64)), group, len(used))
            for p in self.partials
        ]
        return Answer(
            WINDOW,
            QUERIES,
            used // n,
            used % n,
            table,
            count_rows(None, group, len(used)),
            tuple(states),
        )

    @property
    def partials(self) -> list[Partial]:
        """What the functions need of its value."""
        found = {need_of(call_of(f, self.type)).partial for f in FUNCTIONS if fits(f, self.type)}
        return sorted((p for p in found if p is not None), key=repr)


def fits(function: Function, type_: str) -> bool:
    """Whether Spark has it; spreads of long numbers are told from 0 by nobody."""
    if function in (Function.COUNT, Function.MIN, Function.MAX):
        return True
    if function in (Function.SUM, Function.AVG):
        return type_ != "string"
    return type_ in ("int", "double")


def random_side(rng: random.Random, key_types: Sequence[str], rows: int) -> Side:
    type_ = rng.choice(["int", "bigint", "double", "decimal(10,2)", "decimal(30,2)", "string"])
    return Side(
        [rng.randrange(len(QUERIES)) for _ in range(rows)],
        [tuple(random_key(rng, t) for t in key_types) for _ in range(rows)],
        random_values(rng, type_, rows, 0.2),
        type_,
        [KEYS[t] for t in key_types],
    )


KEYS = {"int": pa.int32(), "string": pa.string(), "double": pa.float64(), "boolean": pa.bool_()}


def random_key(rng: random.Random, type_: str) -> Any:
    if rng.random() < 0.15:
        return None
    made = {"int": [1, 2, 3], "string": ["a", "b", ""], "double": [0.0, -0.0, math.nan, 1.5]}
    return rng.choice(made.get(type_, [True, False]))


# -- the obvious way ----------------------------------------------------------------------------


def equal(one: Any, other: Any, null_safe: bool) -> bool:
    if one is None or other is None:
        return null_safe and one is other
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return bool(one == other)


def joined(meeting: Meeting, sides: Sequence[Side]) -> list[tuple[int, tuple[int | None, ...]]]:
    """All rows: the query, and which tuple of each side, or none."""

    def meets(some: Sequence[int]) -> bool:
        keys = [s.keys[n] for s, n in zip(sides, some, strict=True)]
        return all(
            equal(keys[a.side][a.key], keys[b.side][b.key], v.null_safe)
            for v in meeting.variables
            for a, b in itertools.combinations(v.places, 2)
        ) and all(keys[g.side][g.key] is True for g in meeting.gates)

    every = [
        some
        for some in itertools.product(*(range(len(s.keys)) for s in sides))
        if len({s.query[n] for s, n in zip(sides, some, strict=True)}) == 1 and meets(some)
    ]
    if meeting.kind in ("semi", "anti"):
        met = {a for a, _ in every}
        kept = [n for n in range(len(sides[0].keys)) if (n in met) == (meeting.kind == "semi")]
        return [(sides[0].query[n], (n, None)) for n in kept]
    rows: list[tuple[int, tuple[int | None, ...]]] = [
        (sides[0].query[some[0]], tuple(some)) for some in every
    ]
    for side in meeting.kept:
        met = {some[side] for some in every}
        for n in range(len(sides[side].keys)):
            if n not in met:
                alone: list[int | None] = [None, None]
                alone[side] = n
                rows.append((sides[side].query[n], tuple(alone)))
    return [
        (q, some)
        for q, some in rows
        if all(
            some[p.side] is None or sides[p.side].keys[some[p.side]][p.key] is True
            for p in meeting.after
        )
    ]


def wrapped(value: Any) -> Any:
    """A sum of whole numbers, as it wraps around."""
    return (value + 2**63) % 2**64 - 2**63 if type(value) is int else value


def plain(value: Any) -> Any:
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def key_of(meeting: Meeting, sides: Sequence[Side], some: Sequence[int | None]) -> tuple[Any, ...]:
    out = []
    for places in meeting.keys:
        value = None
        for p in places:
            n = some[p.side]
            value = sides[p.side].keys[n][p.key] if value is None and n is not None else value
        out.append(plain(value))
    return tuple(out)


# -- both ---------------------------------------------------------------------------------------


def check(meeting: Meeting, sides: Sequence[Side]) -> int:
    found = meet(meeting, [s.answer() for s in sides])
    groups: dict[tuple[int, tuple[Any, ...]], list[tuple[int | None, ...]]] = {}
    for query, some in joined(meeting, sides):
        groups.setdefault((query, key_of(meeting, sides, some)), []).append(some)
    keys = [tuple(plain(v) for v in row.values()) for row in found.keys.to_pylist()]
    if not meeting.keys:
        keys = [()]
    places = [(int(q), keys[k]) for q, k in zip(found.query, found.key, strict=True)]
    assert len(set(places)) == len(places)
    assert set(places) == set(groups)
    assert found.rows.tolist() == [len(groups[p]) for p in places]
    states = {s.partial: s for s in found.states}
    shown = [0] if meeting.kind in ("semi", "anti") else range(len(sides))
    for number in shown:
        side = sides[number]
        for function in FUNCTIONS:
            if not fits(function, side.type):
                continue
            call = call_of(function, side.type)
            partial = need_of(call).partial
            assert partial is not None
            got = finish(
                call, states[sided(number, partial)], found.rows, time_zone="UTC", ansi=False
            )
            for place, value in zip(places, got.to_pylist(), strict=True):
                chosen = [some[number] for some in groups[place]]
                values = [None if n is None else side.values[n] for n in chosen]
                with localcontext() as context:
                    context.prec = 80
                    wanted = wrapped(expected(call, [(0, v) for v in values]))
                assert same(value, wanted, close=True), (function, side.type, place, value, wanted)
    return len(places)


def var(*places: tuple[int, int], null_safe: bool = False) -> Variable:
    return Variable(tuple(Place(*p) for p in places), null_safe)


def meeting_of(
    kind: JoinKind,
    sides: int,
    variables: Sequence[Variable],
    *keys: Sequence[tuple[int, int]],
    gates: Sequence[tuple[int, int]] = (),
    after: Sequence[tuple[int, int]] = (),
) -> Meeting:
    return Meeting(
        kind,
        sides,
        tuple(variables),
        tuple(tuple(Place(*p) for p in some) for some in keys),
        tuple(Place(*p) for p in gates),
        tuple(Place(*p) for p in after),
    )


ONE = [var((0, 0), (1, 0))]
TWO = [var((0, 0), (1, 0)), var((0, 1), (1, 1))]
INNER: dict[str, tuple[list[list[str]], Meeting]] = {
    "one key": ([["int"], ["int"]], meeting_of("inner", 2, ONE, [(0, 0)])),
    "in all": ([["double"], ["double"]], meeting_of("inner", 2, ONE)),
    "two keys": (
        [["int", "string"], ["int", "string"]],
        meeting_of("inner", 2, TWO, [(1, 1)]),
    ),
    "grouped by both": (
        [["int", "string"], ["int", "boolean"]],
        meeting_of("inner", 2, ONE, [(0, 1)], [(1, 1)]),
    ),
    "NULL meets NULL": (
        [["string"], ["string"]],
        meeting_of("inner", 2, [var((0, 0), (1, 0), null_safe=True)], [(1, 0)]),
    ),
    "equal to each other": (
        [["int", "int"], ["int"]],
        meeting_of("inner", 2, [var((0, 0), (0, 1), (1, 0))], [(0, 0)]),
    ),
    "a star": (
        [["int"], ["int", "string"], ["int"]],
        meeting_of("inner", 3, [var((0, 0), (1, 0), (2, 0))], [(1, 1)]),
    ),
    "a chain": (
        [["int"], ["int", "string"], ["string", "boolean"], ["boolean"]],
        meeting_of(
            "inner",
            4,
            [var((0, 0), (1, 0)), var((1, 1), (2, 0)), var((2, 1), (3, 0))],
            [(3, 0)],
        ),
    ),
    "a chain, from within": (
        [["int"], ["string"], ["int", "string"]],
        meeting_of("inner", 3, [var((0, 0), (2, 0)), var((1, 0), (2, 1))], [(2, 1)], [(0, 0)]),
    ),
    "a triangle": (
        [["int", "int"], ["int", "int"], ["int", "int"]],
        meeting_of(
            "inner", 3, [var((0, 0), (1, 0)), var((1, 1), (2, 0)), var((2, 1), (0, 1))], [(2, 0)]
        ),
    ),
}
OUTER: dict[str, tuple[list[list[str]], Meeting]] = {
    f"{kind}, {name}": (types, meeting_of(kind, 2, ONE, *keys, gates=gates, after=after))
    for kind in ("left", "right", "full", "semi", "anti")
    for name, types, keys, gates, after in [
        ("by the first", [["int"], ["int"]], [[(0, 0)]], [], []),
        ("in all", [["int", "boolean"], ["int"]], [], [(0, 1)], []),
        *(
            [
                ("by the second", [["int"], ["int", "string"]], [[(1, 0)], [(1, 1)]], [], []),
                ("by either", [["string"], ["string"]], [[(0, 0), (1, 0)]], [], []),
                ("gated", [["int", "boolean"], ["int"]], [[(0, 0)]], [(0, 1)], []),
                ("filtered", [["int"], ["int", "boolean"]], [[(0, 0)]], [], [(1, 1)]),
                (
                    "gated and filtered",
                    [["int", "boolean"], ["int", "boolean"]],
                    [[(0, 0), (1, 0)]],
                    [(0, 1), (1, 1)],
                    [(0, 1)],
                ),
            ]
            if kind in ("left", "right", "full")
            else []
        ),
    ]
}


@pytest.mark.parametrize("shape", [*INNER, *OUTER])
@pytest.mark.parametrize("seed", seeds(3, 40))
def test_what_meets_by_key_is_what_all_pairs_give(shape: str, seed: int) -> None:
    types, meeting = {**INNER, **OUTER}[shape]
    rng = random.Random(f"{shape} {seed}")
    rows = 9 if len(types) > 3 else 25
    for _ in range(3):
        check(meeting, [random_side(rng, t, rng.choice([0, 3, rows])) for t in types])


def test_sums_stay_exact_however_often_their_tuples_count() -> None:
    many = 2**31 + 12345
    for type_, values in (
        ("bigint", [2**62 + 7, -5]),
        ("decimal(30,2)", [Decimal(10) ** 25, -Decimal("987654321.01")]),
    ):
        for value in values:
            column = pa.array([value], type=TYPES[type_][0])
            call = call_of(Function.SUM, type_)
            partial = need_of(call).partial
            assert partial is not None
            state = lift(partial, column, np.zeros(1, np.int64))
            times = np.array([many], dtype=np.int64)
            found = finish(call, scaled(state, times), times, time_zone="UTC", ansi=False)
            with localcontext() as context:
                context.prec = 80
                assert found.to_pylist() == [wrapped(value * many)]


def test_more_rows_than_can_be_counted_are_told() -> None:
    count = np.array([2**40], dtype=np.int64)
    with pytest.raises(TooMany, match="more rows than a bigint counts"):
        multiplied(count, count)
