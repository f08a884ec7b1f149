"""Random scalar expressions over the workload's columns, each written for Spark and for DuckDB.

Nothing here can raise under ANSI: the values are small and divisors are never zero.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Sql(NamedTuple):
    """The same expression in both dialects."""

    spark: str
    duck: str

    @classmethod
    def same(cls, text: str) -> Sql:
        """Text that both read alike."""
        return cls(text, text)

    @classmethod
    def of(cls, form: str, *parts: Sql, duck: str | None = None) -> Sql:
        """A form with places {0}, {1}, … filled by parts."""
        return cls(
            form.format(*(p.spark for p in parts)),
            (form if duck is None else duck).format(*(p.duck for p in parts)),
        )


COLUMNS = {
    "int": "i",
    "bigint": "b",
    "double": "x",
    "decimal": "d",
    "string": "s",
    "boolean": "f",
    "date": "day",
    "timestamp": "ts",
}
TYPES = tuple(COLUMNS)
NUMBERS = ("int", "bigint", "double", "decimal")

# Forms by result type: (types of the parts, Spark's text, DuckDB's text where it differs).
_FORMS: dict[str, tuple[tuple[tuple[str, ...], str, str | None], ...]] = {
    "int": (
        (("int",), "{0} + 1", None),
        (("int",), "{0} * 3 - 2", None),
        (("int",), "-{0}", None),
        (("int",), "{0} % 7", None),
        (("int",), "abs({0})", None),
        (("int",), "pmod({0}, 5)", "((({0}) % 5) + 5) % 5"),
        (("string",), "length({0})", None),
        (("string",), "instr({0}, 'a')", None),
        (("date",), "year({0})", None),
        (("date",), "month({0})", None),
        (("date",), "dayofmonth({0})", None),
        (("date",), "dayofweek({0})", "dayofweek({0}) + 1"),
        (("date",), "quarter({0})", None),
        (("date",), "datediff({0}, DATE '2020-02-01')", "({0}) - DATE '2020-02-01'"),
        (("timestamp",), "hour({0})", None),
        (("timestamp",), "minute({0})", None),
        (("int", "int"), "greatest({0}, {1})", None),
        (("int", "int"), "least({0}, {1}, 4)", None),
        (("boolean", "int"), "CASE WHEN {0} THEN {1} ELSE 0 END", None),
        (("int",), "coalesce({0}, -1)", None),
        (("int",), "nullif({0}, 3)", None),
    ),
    "bigint": (
        (("bigint", "int"), "{0} + {1}", None),
        (("bigint",), "{0} * 2", None),
        (("bigint",), "{0} % 1000", None),
        (("int",), "{0} div 4", "({0}) // 4"),
        (("int",), "CAST({0} AS BIGINT)", None),
        (("boolean", "bigint"), "if({0}, {1}, NULL)", None),
    ),
    "double": (
        (("double",), "{0} * 2", None),
        (("double", "int"), "{0} + {1}", None),
        (("int",), "{0} / 4", None),
        (("double",), "abs({0})", None),
        (("decimal",), "CAST({0} AS DOUBLE)", None),
        (("boolean", "double"), "CASE WHEN {0} THEN {1} END", None),
    ),
    "decimal": (
        (("decimal",), "{0} + 1.25", None),
        (("decimal", "int"), "{0} - {1}", None),
        (("decimal",), "abs({0})", None),
        (("decimal",), "coalesce({0}, 0)", None),
    ),
    "string": (
        (("string",), "upper({0})", None),
        (("string",), "lower({0})", None),
        (("string",), "trim({0})", None),
        (("string",), "substring({0}, 2, 3)", None),
        (("string",), "left({0}, 2)", None),
        (("string",), "concat({0}, '-')", "({0}) || '-'"),
        (("string", "string"), "{0} || {1}", None),
        (("string",), "replace({0}, 'a', 'o')", None),
        (("string",), "reverse({0})", None),
        (("string",), "lpad({0}, 4, '*')", None),
        (("string",), "coalesce({0}, 'none')", None),
        (("int",), "CAST({0} AS STRING)", None),
        (("date",), "CAST({0} AS STRING)", None),
        (("decimal",), "CAST({0} AS STRING)", None),
        (("boolean",), "CASE WHEN {0} THEN 'yes' WHEN NOT {0} THEN 'no' END", None),
    ),
    "date": (
        (("date",), "date_add({0}, 3)", "({0}) + 3"),
        (("date",), "last_day({0})", None),
        (("date",), "trunc({0}, 'MM')", "CAST(date_trunc('month', {0}) AS DATE)"),
        (("timestamp",), "CAST({0} AS DATE)", None),
    ),
    "timestamp": (
        (("timestamp",), "date_trunc('HOUR', {0})", None),
        (("timestamp",), "{0} + INTERVAL 90 MINUTES", None),
        (("date",), "CAST({0} AS TIMESTAMP)", None),
    ),
    "boolean": (),
}  # fmt: skip


def column(rng: random.Random, kind: str) -> Sql:
    """A bare column of a type."""
    name = rng.choice(("k", "s")) if kind == "string" else COLUMNS[kind]
    return Sql.same(name)


def expression(rng: random.Random, kind: str, depth: int = 2) -> Sql:
    """An expression of a type; at depth 0 a column."""
    if kind == "boolean":
        return column(rng, kind) if depth <= 0 else Sql.of("({0})", predicate(rng, depth - 1))
    if depth <= 0 or rng.random() < 0.35:
        return column(rng, kind)
    parts, form, duck = rng.choice(_FORMS[kind])
    return Sql.of(
        f"({form})",
        *(expression(rng, p, depth - 1) for p in parts),
        duck=f"({duck})" if duck is not None else None,
    )


def constant(rng: random.Random, kind: str) -> Sql:
    """A literal that Spark may compare with a column of the type."""
    match kind:
        case "int" | "bigint":
            return Sql.same(rng.choice((str(rng.randint(-10, 30)), "2.5", "0", "-3")))
        case "double":
            return Sql.same(rng.choice((str(rng.randint(-50, 100)), "12.5", "1e1", "-0.25")))
        case "decimal":
            return Sql.same(rng.choice((str(rng.randint(-500, 500)), "12.34", "-7.5", "0.001")))
        case "string":
            return Sql.same(rng.choice(("'b'", "'a'", "'Bee'", "''", "'m'")))
        case "boolean":
            return Sql.same(rng.choice(("true", "false")))
        case "date":
            return Sql.same(rng.choice(("DATE '2020-01-15'", "'2019-06-30'", "DATE '2020-12-31'")))
        case _:
            return Sql.same(
                rng.choice(("TIMESTAMP '2024-03-09 12:00:00'", "'2024-03-10 00:00:00'"))
            )


def predicate(rng: random.Random, depth: int = 2) -> Sql:
    """A condition: AND, OR and NOT over comparisons, with nulls about."""
    if depth <= 0 or rng.random() < 0.3:
        return rng.choice(_ATOMS)(rng)
    join = rng.choice(("AND", "AND", "OR", "NOT"))
    if join == "NOT":
        return Sql.of("NOT ({0})", predicate(rng, depth - 1))
    return Sql.of(f"({{0}} {join} {{1}})", predicate(rng, depth - 1), predicate(rng, depth - 1))


def wide_predicate(rng: random.Random, names: Sequence[str]) -> Sql:
    """A comparison of each of these columns, in ANDs and ORs of any shape."""
    if len(names) == 1:
        operator = rng.choice(("<", "<=", ">", ">=", "=", "<>"))
        return Sql.same(f"{names[0]} {operator} {rng.randint(0, 9)}")
    place = rng.randint(1, len(names) - 1)
    sides = wide_predicate(rng, names[:place]), wide_predicate(rng, names[place:])
    return Sql.of(f"({{0}} {rng.choice(('AND', 'OR'))} {{1}})", *sides)


def _comparison(rng: random.Random) -> Sql:
    kind = rng.choice(TYPES)
    operator = rng.choice(("<", "<=", ">", ">=", "=", "<>", "!="))
    sides = [column(rng, kind), constant(rng, kind)]
    if rng.random() < 0.2:
        sides.reverse()
    return Sql.of(f"{{0}} {operator} {{1}}", *sides)


def _computed(rng: random.Random) -> Sql:
    kind = rng.choice((*NUMBERS, "string", "date"))
    operator = rng.choice(("<", ">=", "=", "<>"))
    other = expression(rng, kind, 1) if rng.random() < 0.4 else constant(rng, kind)
    return Sql.of(f"{{0}} {operator} {{1}}", expression(rng, kind, 2), other)


def _between(rng: random.Random) -> Sql:
    kind = rng.choice(("int", "bigint", "double", "decimal", "string", "date", "timestamp"))
    word = rng.choice(("BETWEEN", "NOT BETWEEN"))
    return Sql.of(
        f"{{0}} {word} {{1}} AND {{2}}",
        column(rng, kind),
        constant(rng, kind),
        constant(rng, kind),
    )


def _among(rng: random.Random) -> Sql:
    kind = rng.choice(("int", "string", "decimal", "date"))
    options = [constant(rng, kind).spark for _ in range(rng.randint(1, 4))]
    if rng.random() < 0.2:
        options.append("NULL")
    word = rng.choice(("IN", "IN", "NOT IN"))
    return Sql.of(f"{{0}} {word} ({', '.join(options)})", column(rng, kind))


def _like(rng: random.Random) -> Sql:
    pattern = rng.choice(("a%", "%e", "_b%", "%n_n%", "Zoe", "%", "% %"))
    word = rng.choice(("LIKE", "NOT LIKE"))
    return Sql.of(f"{{0}} {word} '{pattern}'", column(rng, "string"))


def _null_test(rng: random.Random) -> Sql:
    word = rng.choice(("IS NULL", "IS NOT NULL"))
    depth = rng.choice((0, 0, 1))
    return Sql.of(f"{{0}} {word}", expression(rng, rng.choice(TYPES), depth))


def _null_safe(rng: random.Random) -> Sql:
    kind = rng.choice(("int", "string", "decimal"))
    return Sql.of(
        "{0} <=> {1}",
        column(rng, kind),
        constant(rng, kind),
        duck="({0} IS NOT DISTINCT FROM {1})",
    )


def _bare_boolean(rng: random.Random) -> Sql:
    return Sql.same(rng.choice(("f", "NOT f", "f = true", "f <> false", "f IS NULL")))


def _string_test(rng: random.Random) -> Sql:
    return Sql.of(
        "startswith({0}, 'a')", expression(rng, "string", 1), duck="starts_with({0}, 'a')"
    )


def _two_columns(rng: random.Random) -> Sql:
    return Sql.same(rng.choice(("i > b", "x > i", "k = s", "x >= d", "b < i * 1000")))


_ATOMS: tuple[Callable[[random.Random], Sql], ...] = (
    _comparison,
    _comparison,
    _comparison,
    _computed,
    _between,
    _among,
    _like,
    _null_test,
    _null_safe,
    _bare_boolean,
    _string_test,
    _two_columns,
)
