"""kernels/classify.py, combinations.py, truth.py: a class is a query-set, and is made when a tuple
has it; the slow twin evaluates every predicate for every tuple in plain Python."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels import combinations
from headrace.kernels.axes import Axis
from headrace.kernels.classes import NOBODY
from headrace.kernels.classify import Intervals, class_space
from headrace.kernels.combinations import Combinations
from headrace.kernels.truth import matching
from headrace.query.plan import Group, Member, axis_of, derived_name
from headrace.query.predicate import (
    Always,
    And,
    IsNull,
    Not,
    Or,
    Predicate,
    Ranges,
    Truth,
    leaves,
)
from tests.amounts import seeds

from .naive import discrete, truth

DAY0 = dt.date(1970, 1, 1)
LIKES = derived_name("word LIKE 'a%'")
# Arrow type, values in it, the same values in their discrete order, cuts to compare with.
COLUMNS: dict[str, tuple[pa.DataType, list[Any], list[Any]]] = {
    "number": (pa.int32(), list(range(-4, 5)), list(range(-3, 5))),
    "far": (pa.int64(), [-(2**62), -1, 0, 5, 2**40, 2**63 - 1], [-(2**40), 0, 6, 2**63 - 1]),
    "money": (
        pa.decimal128(10, 2),
        [Decimal(n) / 4 for n in range(-4, 5)],
        list(range(-90, 99, 25)),
    ),
    "ratio": (
        pa.float64(),
        [-math.inf, -1.5, -0.0, 0.0, 0.5, 2.0, math.inf, math.nan],
        [-1.5, 0.0, math.nextafter(0.0, 1), 0.5, math.inf],
    ),
    "word": (pa.string(), ["", "a", "aa", "b", "z", "é"], [b"a", b"a\x00", b"b", "é".encode()]),
    "flag": (pa.bool_(), [False, True], [0, 1]),
    "day": (pa.date32(), [DAY0 + dt.timedelta(n) for n in range(-3, 4)], [-2, 0, 3]),
    LIKES: (pa.bool_(), [False, True], []),
}


def described(name: str) -> tuple[pa.DataType, list[Any], list[Any]]:
    """A column; number_7 is like number."""
    return COLUMNS[name if name in COLUMNS else name.rpartition("_")[0]]


def atom(rng: random.Random, names: list[str]) -> Predicate:
    name = rng.choice(names)
    if name == LIKES:
        return Truth("word LIKE 'a%'")
    cuts = described(name)[2]
    if rng.random() < 0.2:
        return IsNull(name)
    bounds = [None, *cuts]
    some = [(rng.choice(bounds), rng.choice(bounds)) for _ in range(rng.randrange(3))]
    return Ranges(name, tuple(some))


def tree(rng: random.Random, names: list[str], depth: int) -> Predicate:
    if depth == 0:
        return Always() if rng.random() < 0.05 else atom(rng, names)
    match rng.randrange(4):
        case 0:
            return Not(tree(rng, names, depth - 1))
        case 1:
            return And(tuple(tree(rng, names, depth - 1) for _ in range(rng.randrange(4))))
        case 2:
            return Or(tuple(tree(rng, names, depth - 1) for _ in range(rng.randrange(4))))
        case _:
            return atom(rng, names)


def table(
    rng: random.Random, names: list[str], rows: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Columns in different guises (chunked, sliced, dictionary), and the same as plain rows."""
    columns: dict[str, Any] = {}
    plain: list[dict[str, Any]] = [{} for _ in range(rows)]
    for name in names:
        kind, values, _ = described(name)
        nulls = rng.random() < 0.7
        picked = [rng.choice([*values, None] if nulls else values) for _ in range(rows)]
        array = pa.array([values[0], *picked], kind).slice(1)
        if kind == pa.string() and rng.random() < 0.5:
            array = array.dictionary_encode()
        if rng.random() < 0.3:
            array = pa.chunked_array([array.slice(0, rows // 2), array.slice(rows // 2)])
        columns[name] = array
        for row, value in zip(plain, picked, strict=True):
            row[name] = None if value is None else discrete(value)
    return columns, plain


def compiled(predicates: list[Predicate]) -> Any:
    members = tuple(Member(n, n, p) for n, p in enumerate(predicates))  # type: ignore[arg-type]
    axes = sorted({axis_of(leaf) for p in predicates for leaf in leaves(p)})
    return class_space(Group(0, (), None, (), members, tuple(axes), ()))


def assert_classified(
    space: Intervals | Combinations,
    predicates: list[Predicate],
    columns: dict[str, Any],
    rows: list[dict[str, Any]],
) -> None:
    """Every tuple is in the class of exactly the queries that keep it."""
    classes = space.classify(columns, len(rows))
    assert classes is not None
    for row, number in zip(rows, classes.tolist(), strict=True):
        expected = [truth(p, row) is True for p in predicates]
        found = [False] * len(predicates) if number == NOBODY else list(space.query_sets[number])
        assert found == expected, (row, predicates)


@pytest.mark.parametrize("seed", seeds(30, 70))
def test_a_class_is_the_set_of_queries_that_keep_the_tuple(seed: int) -> None:
    rng = random.Random(seed)
    names = rng.sample(list(COLUMNS), rng.randint(1, 4))
    predicates = [tree(rng, names, rng.randrange(4)) for _ in range(rng.randint(1, 6))]
    columns, rows = table(rng, names, rng.choice([1, 10, 60]))
    assert_classified(compiled(predicates), predicates, columns, rows)


# -- many columns ---------------------------------------------------------------------------------


def many_columns(count: int) -> list[str]:
    """Names of more columns, of all kinds in turn: number_0, far_1, …"""
    kinds = [n for n in COLUMNS if n != LIKES]
    names = []
    for n in range(count):
        kind = kinds[n % len(kinds)]
        names.append(f"{kind}_{n}")
    return names


def wide(rng: random.Random, names: list[str]) -> Predicate:
    """One predicate over all of these columns, with AND, OR and NOT between them."""
    found = atom(rng, names[:1])
    for name in names[1:]:
        part: Predicate = atom(rng, [name])
        part = Not(part) if rng.random() < 0.2 else part
        found = rng.choice([And, Or])((found, part))
    return found


WAYS = [
    # Members, columns, and how their combinations are found.
    (6, 6, "_ByGrid"),
    (3, 14, "_ByTruth"),
    (2, 40, "_ByTruth"),
    (1, 40, "_ByTruth"),
    (17, 14, "_ByMeeting"),
    (8, 40, "_ByMeeting"),
    (70, 13, "_ByMeeting"),
]


@pytest.mark.parametrize(("members", "count", "way"), WAYS)
@pytest.mark.parametrize("seed", seeds(2, 4))
def test_any_number_of_columns_is_classified(members: int, count: int, way: str, seed: int) -> None:
    rng = random.Random(f"{members} {count} {seed}")
    names = many_columns(count)
    predicates = [wide(rng, rng.sample(names, count)) for _ in range(members)]
    if way == "_ByGrid":
        predicates = [wide(rng, rng.sample(names, 3)) for _ in range(members)]
    space = compiled(predicates)
    assert isinstance(space, Combinations)
    assert type(space._way).__name__ == way
    for rows in (1, 80, 40):
        assert_classified(space, predicates, *table(rng, names, rows))


@pytest.mark.parametrize("way", ["_ByGrid", "_ByTruth", "_ByMeeting"])
def test_what_has_occurred_before_is_not_evaluated_again(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    members, count = {"_ByGrid": (4, 3), "_ByTruth": (3, 14), "_ByMeeting": (17, 14)}[way]
    rng = random.Random(4)
    names = many_columns(count)
    predicates = [wide(rng, names) for _ in range(members)]
    space = compiled(predicates)
    assert isinstance(space, Combinations)
    assert type(space._way).__name__ == way
    columns, _ = table(rng, names, 60)
    first = space.classify(columns, 60)
    monkeypatch.setattr(type(space._way), "query_sets", None)
    assert first is not None
    assert space.classify(columns, 60).tolist() == first.tolist()


def test_numbers_of_classes_stay_while_new_ones_come() -> None:
    space = compiled([Ranges("number", ((0, None),)), Ranges("flag", ((1, None),))])
    one, other = (
        {"number": pa.array([n]), "flag": pa.array([f])} for n, f in ((1, False), (1, True))
    )
    assert space.classify(one, 1).tolist() == [0]
    assert space.query_sets.tolist() == [[True, False]]
    assert space.classify(other, 1).tolist() == [1]
    assert space.classify(one, 1).tolist() == [0]
    assert space.query_sets.tolist() == [[True, False], [True, True]]


@pytest.mark.parametrize("way", ["_ByGrid", "_ByMeeting"])
def test_what_is_remembered_is_bounded_and_forgotten_when_it_is_full(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(combinations, "MOST_COMBINATIONS", 50)
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 20 * 28)
    members, count = {"_ByGrid": (20, 4), "_ByMeeting": (20, 14)}[way]
    rng = random.Random(9)
    names = many_columns(count)
    predicates = [wide(rng, rng.sample(names, 2)) for _ in range(members - 1)]
    predicates.append(wide(rng, names))
    space = compiled(predicates)
    assert isinstance(space, Combinations)
    assert type(space._way).__name__ == way
    seen = set()
    for _ in range(30):
        assert_classified(space, predicates, *table(rng, names, 25))
        assert len(space.query_sets) <= 28
        seen |= {tuple(s) for s in space.query_sets.tolist()}
    assert len(seen) > 28


def test_tuples_of_too_many_classes_are_left_to_each_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 6 * 5)
    rng = random.Random(2)
    names = ["number", "far", "ratio", "word"]
    predicates: list[Predicate] = [
        Ranges("number", ((0, None),)),
        Ranges("far", ((None, 6),)),
        Or((Ranges("ratio", ((0.5, None),)), IsNull("number"))),
        Not(Ranges("word", ((b"b", None),))),
        IsNull("far"),
        Ranges("number", ((-3, 2),)),
    ]
    space = compiled(predicates)
    assert isinstance(space, Combinations)
    columns, rows = table(rng, names, 200)
    assert space.classify(columns, 200) is None
    for predicate, kept in zip(predicates, space.each(columns, 200), strict=True):
        assert kept.tolist() == [truth(predicate, row) is True for row in rows]


def test_a_selection_over_forty_columns_looks_none_of_them_up_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(6)
    names = many_columns(40)
    predicate = wide(rng, names)
    columns, rows = table(rng, names, 90)
    asked: list[str] = []
    look_up = Axis.look_up
    monkeypatch.setattr(Axis, "look_up", lambda a, c, m: asked.append(a.column) or look_up(a, c, m))
    codes = Axis.codes
    monkeypatch.setattr(Axis, "codes", lambda a, c: asked.append(a.column) or codes(a, c))
    kept = matching(predicate, columns, 90)
    assert sorted(asked) == sorted(set(asked))
    assert kept.tolist() == [truth(predicate, row) is True for row in rows]


@pytest.mark.parametrize("kind", [And, Or])
@pytest.mark.parametrize("negated", [False, True])
def test_only_tuples_that_are_undecided_are_looked_at_further(
    kind: type[And] | type[Or], negated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = list("abcdef")
    rare, usual = (0, 4), (4, None)
    inside = Ranges(names[0], (rare if kind is And else usual,))
    others = tuple(Ranges(n, ((50, None),)) for n in names[1:])
    predicate: Predicate = kind((inside, *others))
    predicate = Not(predicate) if negated else predicate
    rng = random.Random(8)
    values = [{n: rng.choice([None, *range(100)]) for n in names} for _ in range(1_000)]
    columns = {n: pa.array([row[n] for row in values], pa.int32()) for n in names}
    looked_at: list[int] = []
    real = Axis.look_up
    monkeypatch.setattr(Axis, "look_up", lambda a, c, m: looked_at.append(len(c)) or real(a, c, m))
    kept = matching(predicate, columns, 1_000)
    assert kept.tolist() == [truth(predicate, row) is True for row in values]
    assert looked_at[0] == 1_000
    assert max(looked_at[1:]) < 1_000 / 16


# -- selections, one column, and none -------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_matching_keeps_the_rows_where_a_predicate_is_true(seed: int) -> None:
    rng = random.Random(1000 + seed)
    names = rng.sample(list(COLUMNS), rng.randint(1, 3))
    predicate = tree(rng, names, 3)
    columns, rows = table(rng, names, 50)
    expected = [truth(predicate, row) is True for row in rows]
    assert matching(predicate, columns, len(rows)).tolist() == expected


@pytest.mark.parametrize("seed", range(40))
def test_on_one_axis_classes_keep_the_order_of_the_column_with_null_last(seed: int) -> None:
    rng = random.Random(2000 + seed)
    name = rng.choice([n for n in COLUMNS if n != LIKES])
    space = compiled([tree(rng, [name], 2) for _ in range(5)])
    kind, values, _ = COLUMNS[name]
    ordered = pa.array([*values, None], kind)
    assert isinstance(space, Intervals)
    classes = [c for c in space.classify({name: ordered}, len(ordered)).tolist() if c != NOBODY]
    assert space.ordered
    assert classes == sorted(classes)


@pytest.mark.parametrize("seed", range(30))
def test_there_is_no_class_that_nobody_wants_and_none_twice(seed: int) -> None:
    rng = random.Random(3000 + seed)
    names = ["number", "ratio", "flag"]
    space = compiled([tree(rng, names, 2) for _ in range(4)])
    space.classify(table(rng, names, 60)[0], 60)
    assert space.query_sets.any(axis=1).all()
    if not isinstance(space, Intervals):
        assert len({tuple(s) for s in space.query_sets.tolist()}) == len(space.query_sets)
    else:
        neighbours = zip(space.query_sets[:-1], space.query_sets[1:], strict=True)
        assert all((a != b).any() or NOBODY in space.table for a, b in neighbours)


def test_k_constants_on_one_column_make_at_most_two_k_and_one_classes() -> None:
    #          3     5 6         9
    #  --------|-----|-|---------|-------
    #     0      1    2     3       4        x > 3, x = 5, x >= 9 …
    predicates: list[Predicate] = [
        Ranges("number", ((4, None),)),
        Ranges("number", ((5, 6),)),
        Ranges("number", ((9, None),)),
        Always(),
    ]
    space = compiled(predicates)
    values = pa.array([3, 4, 5, 6, 8, 9, None])
    assert space.classify({"number": values}, 7).tolist() == [0, 1, 2, 3, 3, 4, 5]
    assert space.query_sets.tolist() == [
        [False, False, False, True],
        [True, False, False, True],
        [True, True, False, True],
        [True, False, False, True],
        [True, False, True, True],
        [False, False, False, True],
    ]


def test_queries_without_a_predicate_share_one_class_and_read_no_column() -> None:
    space = compiled([Always(), Always()])
    assert isinstance(space, Intervals)
    assert space.axis is None
    assert space.classify({}, 3).tolist() == [0, 0, 0]
    assert space.query_sets.tolist() == [[True, True]]


def test_a_predicate_that_is_never_true_leaves_every_tuple_to_nobody() -> None:
    space = compiled([Or(()), Ranges("number", ())])
    assert len(space.query_sets) == 0
    assert space.classify({"number": pa.array([1, None])}, 2).tolist() == [NOBODY, NOBODY]


@pytest.mark.parametrize("rows", [1, 5, 70_000])
def test_the_look_up_table_and_the_binary_search_agree(rows: int) -> None:
    space = compiled([Ranges("number", ((n, n + 2),)) for n in range(-50, 50, 7)])
    data = np.random.default_rng(rows).integers(-60, 60, rows)
    near = space.classify({"number": pa.array(data)}, rows)
    # One far value forces the binary search.
    far = space.classify({"number": pa.array(np.append(data, 2**40))}, rows + 1)
    assert near.tolist() == far[:-1].tolist()


@pytest.mark.parametrize("name", ["number", "far", "money", "ratio", "word", "flag", "day"])
@pytest.mark.parametrize("seed", range(5))
def test_a_tuple_is_told_what_its_code_means(name: str, seed: int) -> None:
    rng = random.Random(seed)
    kind, values, cuts = described(name)
    axis = Axis(name, tuple(sorted(rng.sample(cuts, rng.randint(1, len(cuts))))))
    column = pa.array([*values, None], kind)
    # With few changes along the axis values are compared, with many looked up.
    for share in (0.1, 0.5):
        meaning = np.array([rng.random() < share for _ in range(axis.size)])
        expected = meaning[axis.codes(column)]
        assert axis.look_up(column, meaning).tolist() == expected.tolist()


def test_strings_are_compared_as_bytes_to_the_last_one() -> None:
    equal = Ranges("word", ((b"a", b"a\x00"),))
    words = pa.array(["a", "a\x00", "", "\x00", "b"])
    assert matching(equal, {"word": words}, 5).tolist() == [True, False, False, False, False]


def test_an_empty_table_has_no_classes() -> None:
    space = compiled([Ranges("word", ((b"a", None),)), IsNull("number")])
    empty = {"word": pa.array([], pa.string()), "number": pa.array([], pa.int64())}
    assert space.classify(empty, 0).tolist() == []
