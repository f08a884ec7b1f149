"""sql/predicates.py: WHERE to ranges that decide as Spark would, or to Spark itself."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from headrace.query.predicate import (
    Always,
    And,
    IsNull,
    Not,
    Or,
    Predicate,
    Ranges,
    Truth,
    columns_of,
    truths_of,
)
from tests.unit.naive import Tri, both, discrete, either, is_nan, opposite, truth

from .live import read

OPS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
FLIPPED = {"=": "=", "<>": "<>", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def where(text: str, *, ansi: bool = True) -> Predicate:
    return read(f"SELECT user_id FROM purchases p WHERE {text}", ansi=ansi).where


# -- how single comparisons are lowered -----------------------------------------------------------

DAY = (dt.date(2024, 2, 29) - dt.date(1970, 1, 1)).days
NOON = (DAY * 24 + 12) * 3_600_000_000
LOWERED: list[tuple[str, Predicate]] = [
    ("price < 5", Ranges("price", ((None, 5),))),
    ("price <= 5", Ranges("price", ((None, 6),))),
    ("price > 5", Ranges("price", ((6, None),))),
    ("price >= 5", Ranges("price", ((5, None),))),
    ("price = 5", Ranges("price", ((5, 6),))),
    ("PRICE = -5", Ranges("price", ((-5, -4),))),
    ("p.price = (5)", Ranges("price", ((5, 6),))),
    ("5 < price", Ranges("price", ((6, None),))),
    ("price <> 5", Not(Ranges("price", ((5, 6),)))),
    ("price <=> 5", And((Not(IsNull("price")), Ranges("price", ((5, 6),))))),
    ("price = 2.5", Ranges("price", ())),
    ("price > 2.5", Ranges("price", ((3, None),))),
    ("price = 5L", Ranges("price", ((5, 6),))),
    ("price = '5'", Ranges("price", ((5, 6),))),
    ("paid IS TRUE", And((Not(IsNull("paid")), Ranges("paid", ((1, 2),))))),
    ("price IS DISTINCT FROM 3", Not(And((Not(IsNull("price")), Ranges("price", ((3, 4),)))))),
    ("gem_pack = r'a'", Ranges("gem_pack", ((b"a", b"a\x00"),))),
    ("price <= 2.5e0", Ranges("price", ((None, 3),))),
    ("price IN (1, 2.5, 3)", Ranges("price", ((1, 2), (3, 4)))),
    ("price NOT IN (1, 3)", Not(Ranges("price", ((1, 2), (3, 4))))),
    ("price BETWEEN 1 AND 3", And((Ranges("price", ((1, None),)), Ranges("price", ((None, 4),))))),
    ("price == +5", Ranges("price", ((5, 6),))),
    ('gem_pack = "a"', Ranges("gem_pack", ((b"a", b"a\x00"),))),
    ("gem_pack = '\\u00e4'", Ranges("gem_pack", (("ä".encode(), "ä".encode() + b"\x00"),))),
    ("price IS NULL", IsNull("price")),
    ("price IS NOT NULL", Not(IsNull("price"))),
    ("amount >= 1.5", Ranges("amount", ((150, None),))),
    ("amount > 1.234", Ranges("amount", ((124, None),))),
    ("amount = 1.234", Ranges("amount", ())),
    ("weight < 0.5", Ranges("weight", ((None, 0.5),))),
    ("weight <= 1", Ranges("weight", ((None, math.nextafter(1.0, 2)),))),
    ("weight = 1e3", Ranges("weight", ((1000.0, math.nextafter(1000.0, math.inf)),))),
    ("gem_pack = 'a'", Ranges("gem_pack", ((b"a", b"a\x00"),))),
    ("gem_pack > 'ä'", Ranges("gem_pack", (("ä".encode() + b"\x00", None),))),
    ("gem_pack = 'it\\'s'", Ranges("gem_pack", ((b"it's", b"it's\x00"),))),
    ("paid", Ranges("paid", ((1, 2),))),
    ("NOT paid", Not(Ranges("paid", ((1, 2),)))),
    ("paid = false", Ranges("paid", ((0, 1),))),
    ("day = '2024-02-29'", Ranges("day", ((DAY, DAY + 1),))),
    ("day <= DATE '2024-02-29'", Ranges("day", ((None, DAY + 1),))),
    ("time >= '2024-02-29 12:00:00'", Ranges("time", ((NOON, None),))),
    ("time < TIMESTAMP '2024-02-29 12:00:00'", Ranges("time", ((None, NOON),))),
    ("true", Always()),
    ("false", Or(())),
    ("price > 1 AND paid", And((Ranges("price", ((2, None),)), Ranges("paid", ((1, 2),))))),
]


@pytest.mark.parametrize(("text", "predicate"), LOWERED, ids=[t for t, _ in LOWERED])
def test_a_column_against_a_constant_becomes_ranges(text: str, predicate: Predicate) -> None:
    assert where(text) == predicate


@pytest.mark.parametrize(
    "text",
    [
        "price = user_id",
        "price + 1 > 5",
        "gem_pack = 5",
        "price = NULL",
        "price IN (1, NULL)",
        "price <=> NULL",
        "user_id = 5e0",  # bigint against double: Spark compares as doubles
        "weight = double('NaN')",
        "weight < double('Infinity')",
        "day = TIMESTAMP '2024-02-29 12:00:00'",
        "upper(gem_pack) = 'A'",
        "gem_pack LIKE 'a%'",
        "gem_pack COLLATE UTF8_LCASE = 'a'",
        "tags IS NULL",
        "price IN (1) OR upper(gem_pack) = 'A'",
        "total > 3",  # too many digits for a whole number of eight bytes
    ],
)
def test_what_ranges_cannot_say_is_left_to_spark(text: str) -> None:
    assert isinstance(where(text), Truth)


def test_opaque_conjuncts_stand_beside_ranges_without_their_qualifiers() -> None:
    assert where("price > 3 AND p.gem_pack LIKE 'a%'") == And(
        (Ranges("price", ((4, None),)), Truth("gem_pack LIKE 'a%'"))
    )


def test_a_conjunct_after_a_case_with_between_is_still_classified() -> None:
    text = "CASE WHEN price BETWEEN 1 AND 2 THEN paid END AND weight > 3"
    assert columns_of(where(text, ansi=False)) == {"weight"}


@pytest.mark.parametrize(
    "text",
    [
        "price > 0 AND 10 / price > 2",
        "price > 0 AND CAST(gem_pack AS INT) = 1",
        "price > 0 AND tags[3] = 'x'",
        "price > 0 AND price + user_id > 2",
        "price > 0 AND gem_pack = 5",
    ],
)
def test_under_ansi_what_may_raise_stays_behind_the_conjuncts_before_it(text: str) -> None:
    whole = where(text)
    assert isinstance(whole, Truth)
    assert whole.sql.startswith("((price > 0) AND ")
    plain = where(text, ansi=False)
    assert isinstance(plain, And)
    assert plain.items[0] == Ranges("price", ((1, None),))
    assert len(truths_of(plain)) == 1


def test_raise_error_stays_guarded_even_without_ansi() -> None:
    assert isinstance(where("price > 0 AND raise_error('no')", ansi=False), Truth)


# -- random trees against a reading of the text, value by value -----------------------------------


def single(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


FLOATS = [None, -math.inf, -1.5, -0.0, 0.0, 5e-324, 0.1, 1.0, 2.5, 1e300, math.inf, math.nan]
VALUES: dict[str, list[Any]] = {
    "price": [None, *range(-3, 5)],
    "amount": [None, *(Decimal(n) / 4 for n in range(-6, 7))],
    "weight": FLOATS,
    "ratio": [v if v is None or not math.isfinite(v) else single(min(v, 9e30)) for v in FLOATS],
    "gem_pack": [None, "", "a", "a\x00", "aa", "b", "ä", "z"],
    "paid": [None, False, True],
    "day": [None, *(dt.date(2024, 1, d) for d in range(1, 6))],
}
NUMBERS = ["-1.5", "-1", "0", "0.1", "0.25", "1", "2.5", "1e0", "2.5e0", "3"]
LITERALS = {
    "price": NUMBERS,
    "amount": [n for n in NUMBERS if "e" not in n],
    "weight": NUMBERS,
    "ratio": NUMBERS,
    "gem_pack": ["''", "'a'", "'aa'", "'b'", "'ä'"],
    "paid": ["true", "false"],
    "day": ["'2024-01-02'", "DATE '2024-01-03'", "'2024-01-09'"],
}
Check = Callable[[dict[str, Any]], Tri]


def constant(column: str, literal: str) -> Any:
    """What a literal means beside a column: exact numbers, or floats beside floats."""
    if column in {"weight", "ratio"}:
        return float(literal)
    if column in {"price", "amount"}:
        return Fraction(literal) if "e" not in literal else Fraction(float(literal))
    if column == "gem_pack":
        return literal.strip("'").encode()
    if column == "paid":
        return literal == "true"
    return dt.date.fromisoformat(literal.split("'")[1])


def compare(op: str, value: Any, literal: Any) -> Tri:
    if value is None:
        return None
    if isinstance(value, str):
        value = value.encode()
    if is_nan(value):  # larger than everything and equal to no constant here
        return op in {">", ">=", "<>", "!="}
    return OPS[op](Fraction(value) if isinstance(literal, Fraction) else value, literal)


def atom(rng: random.Random) -> tuple[str, Check]:
    column = rng.choice(list(VALUES))
    one, other = (rng.choice(LITERALS[column]) for _ in range(2))
    a, b = constant(column, one), constant(column, other)
    op = rng.choice(list(OPS))
    match rng.randrange(7):
        case 0:
            return f"{column} IS NULL", lambda row: row[column] is None
        case 1:
            return f"{one} {FLIPPED[op]} {column}", lambda row: compare(op, row[column], a)
        case 2:
            return f"{column} BETWEEN {one} AND {other}", lambda row: both(
                compare(">=", row[column], a), compare("<=", row[column], b)
            )
        case 3:
            return f"{column} IN ({one}, {other})", lambda row: either(
                compare("=", row[column], a), compare("=", row[column], b)
            )
        case 4:
            return f"{column} <=> {one}", lambda row: compare("=", row[column], a) is True
        case 5:
            return f"{column} NOT IN ({one})", lambda row: compare("<>", row[column], a)
        case _:
            return f"{column} {op} {one}", lambda row: compare(op, row[column], a)


def tree(rng: random.Random, depth: int) -> tuple[str, Check]:
    if depth == 0 or rng.random() < 0.2:
        return atom(rng)
    (text, check), (more, other) = tree(rng, depth - 1), tree(rng, depth - 1)
    match rng.randrange(3):
        case 0:
            return f"NOT ({text})", lambda row: opposite(check(row))
        case 1:
            return f"({text}) AND ({more})", lambda row: both(check(row), other(row))
        case _:
            return f"({text}) OR ({more})", lambda row: either(check(row), other(row))


@pytest.mark.parametrize("seed", range(100))
def test_lowered_predicates_decide_every_row_as_the_text_reads(seed: int) -> None:
    rng = random.Random(seed)
    text, check = tree(rng, rng.randrange(4))
    predicate = where(text)
    assert not truths_of(predicate), text
    for _ in range(30):
        row = {column: rng.choice(values) for column, values in VALUES.items()}
        found = truth(predicate, {c: discrete(v) for c, v in row.items()})
        assert found is check(row), (text, row)
