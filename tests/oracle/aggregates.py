"""Random aggregate calls and expressions over them, for Spark and for DuckDB."""

from __future__ import annotations

import random
from dataclasses import dataclass

from tests.oracle.expressions import NUMBERS, TYPES, Sql, column, expression, predicate

MACROS = (
    # FIRST and LAST go by event time; among equal times by value, with null as the smallest.
    "CREATE MACRO first_by(v, t) AS (min({'t': t, 'n': v IS NOT NULL, 'v': v}).v)",
    "CREATE MACRO last_by(v, t) AS (max({'t': t, 'n': v IS NOT NULL, 'v': v}).v)",
    "CREATE MACRO first_known(v, t) AS (min(CASE WHEN v IS NOT NULL THEN {'t': t, 'v': v} END).v)",
    "CREATE MACRO last_known(v, t) AS (max(CASE WHEN v IS NOT NULL THEN {'t': t, 'v': v} END).v)",
    # Spark's average of decimal(10,2): six places, half up.
    "CREATE MACRO avg_decimal(v) AS (CAST(sign(sum(v)) * ((2 * CAST(abs(sum(v)) * 100 AS HUGEINT) "
    "* 10000 + count(v)) // (2 * nullif(count(v), 0))) AS DECIMAL(30, 0)) "
    "* CAST(0.000001 AS DECIMAL(6, 6)))",
    "CREATE MACRO at_rank(v, p) AS (list_sort(list(v) FILTER (WHERE v IS NOT NULL))"
    "[greatest(1, CAST(ceil(p * count(v)) AS INT))])",
)
"""What DuckDB lacks, as plainly as it can be said."""


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate in both dialects; `exact` is False for estimates."""

    sql: Sql
    exact: bool = True
    kind: str = "other"


def computed(rng: random.Random) -> Aggregate:
    """An expression over aggregates."""
    number = _call(rng, "sum", None, kinds=("int", "bigint"))
    other = _call(rng, "extreme", None, kinds=("int",))
    text = _call(rng, "extreme", None, kinds=("string",))
    forms = (
        ("{0} / COUNT(*)", (number,)),
        ("{0} + {1}", (number, other)),
        ("coalesce({0}, 0) % 10", (number,)),
        ("CASE WHEN COUNT(*) > 3 THEN {0} ELSE -1 END", (number,)),
        ("MAX(i) - MIN(i)", ()),
        ("upper({0})", (text,)),
        ("COUNT(*) > 2 AND {0} IS NOT NULL", (other,)),
        ("COUNT(i) * 2 + COUNT(*)", ()),
        ("CAST({0} AS DOUBLE) / 2", (other,)),
    )
    form, parts = rng.choice(forms)
    return Aggregate(Sql.of(form, *(p.sql for p in parts)))


_WEIGHTS = {
    "count": 2, "sum": 3, "avg": 2, "extreme": 3, "spread": 2, "distinct": 2, "approx": 1,
    "percentile": 2, "percentiles": 1, "timed": 3, "booleans": 1,
}  # fmt: skip


def any_call(rng: random.Random) -> Aggregate:
    """A call drawn by weight, so that cheap and common ones come more often."""
    if rng.random() < 0.2:
        return computed(rng)
    condition = predicate(rng, 1) if rng.random() < 0.25 else None
    if rng.random() < 0.15:
        return _counted(condition)
    return _call(rng, rng.choices(list(_WEIGHTS), list(_WEIGHTS.values()))[0], condition)


def _counted(condition: Sql | None) -> Aggregate:
    if condition is None:
        return Aggregate(Sql.same("COUNT(*)"), kind="count")
    return Aggregate(Sql.of("COUNT(*) FILTER (WHERE {0})", condition), kind="count")


def _argument(rng: random.Random, kinds: tuple[str, ...]) -> tuple[str, Sql]:
    kind = rng.choice(kinds)
    if rng.random() < 0.65:
        return kind, column(rng, kind)
    return kind, expression(rng, kind, 2)


def _call(
    rng: random.Random, family: str, condition: Sql | None, kinds: tuple[str, ...] | None = None
) -> Aggregate:
    match family:
        case "count":
            return _plain("COUNT", _argument(rng, kinds or TYPES)[1], condition, kind="count")
        case "sum":
            return _plain("SUM", _argument(rng, kinds or NUMBERS)[1], condition)
        case "avg":
            if kinds is None and rng.random() < 0.3:
                return _written("AVG({0})", "avg_decimal({0})", Sql.same("d"), condition)
            name = rng.choice(("AVG", "MEAN"))
            return _plain(name, _argument(rng, ("int", "bigint", "double"))[1], condition)
        case "extreme":
            name = rng.choice(("MIN", "MAX"))
            return _plain(name, _argument(rng, kinds or TYPES)[1], condition)
        case "spread":
            name = rng.choice(
                ("STDDEV", "STDDEV_SAMP", "STDDEV_POP", "VARIANCE", "VAR_SAMP", "VAR_POP")
            )
            return _plain(name, _argument(rng, ("int", "double", "decimal"))[1], condition)
        case "distinct":
            return _distinct(rng, condition)
        case "approx":
            argument = _argument(rng, TYPES)[1]
            call = _written(
                "APPROX_COUNT_DISTINCT({0})", "COUNT(DISTINCT {0})", argument, condition
            )
            return Aggregate(call.sql, exact=False)
        case "percentile" | "percentiles":
            return _percentile(rng, condition, several=family == "percentiles")
        case "timed":
            return _timed(rng, condition)
        case _:
            return _booleans(rng, condition)


def _plain(name: str, argument: Sql, condition: Sql | None, kind: str = "other") -> Aggregate:
    call = Sql.of(f"{name}({{0}})", argument)
    if condition is not None:
        call = Sql.of("{0} FILTER (WHERE {1})", call, condition)
    return Aggregate(call, kind=kind)


def _written(spark: str, duck: str, argument: Sql, condition: Sql | None) -> Aggregate:
    """A call that DuckDB writes otherwise: its FILTER becomes a CASE around the argument."""
    if condition is None:
        return Aggregate(Sql.of(spark, argument, duck=duck))
    guarded = Sql.of("CASE WHEN {1} THEN {0} END", argument, condition)
    return Aggregate(
        Sql(
            spark.format(argument.spark) + f" FILTER (WHERE {condition.spark})",
            duck.format(guarded.duck),
        )
    )


def _distinct(rng: random.Random, condition: Sql | None) -> Aggregate:
    if rng.random() < 0.2:
        two = rng.sample(("i", "k", "f", "day", "d"), 2)
        pair = f"{{'a': {two[0]}, 'b': {two[1]}}}"
        known = f"{two[0]} IS NOT NULL AND {two[1]} IS NOT NULL"
        return Aggregate(
            Sql(
                f"COUNT(DISTINCT {two[0]}, {two[1]})",
                f"COUNT(DISTINCT CASE WHEN {known} THEN {pair} END)",
            )
        )
    return _plain("COUNT", Sql.of("DISTINCT {0}", _argument(rng, TYPES)[1]), condition)


def _percentile(rng: random.Random, condition: Sql | None, *, several: bool) -> Aggregate:
    argument = _argument(rng, ("int", "double", "decimal", "date", "timestamp"))[1]
    chosen = [rng.choice((0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)) for _ in range(3 if several else 1)]
    name = rng.choice(("PERCENTILE_APPROX", "APPROX_PERCENTILE"))
    if not several:
        rank = f"at_rank({{0}}, CAST({chosen[0]} AS DOUBLE))"
        return _written(f"{name}({{0}}, {chosen[0]})", rank, argument, condition)
    listed = ", ".join(str(p) for p in chosen)
    ranks = ", ".join(f"at_rank({{0}}, CAST({p} AS DOUBLE))" for p in chosen)
    duck = f"CASE WHEN COUNT({{0}}) > 0 THEN [{ranks}] END"
    return _written(f"{name}({{0}}, array({listed}))", duck, argument, condition)


def _timed(rng: random.Random, condition: Sql | None) -> Aggregate:
    first = rng.random() < 0.5
    word, short = ("FIRST", "first") if first else ("LAST", "last")
    argument = _argument(rng, TYPES)[1]
    if rng.random() < 0.4:
        duck = f"{short}_known({{0}}, time)"
        if rng.random() < 0.5:
            return _written(f"{word}({{0}}, true)", duck, argument, condition)
        call = _written(f"{word}({{0}})", duck, argument, condition).sql
        return Aggregate(Sql(f"{call.spark} IGNORE NULLS", call.duck))
    if condition is not None:
        # A FILTER takes tuples away; only then does the earliest of the rest count.
        return Aggregate(
            Sql(
                f"{word}({argument.spark}) FILTER (WHERE {condition.spark})",
                f"({'min' if first else 'max'}({{'t': time, 'n': ({argument.duck}) IS NOT NULL, "
                f"'v': {argument.duck}}}) FILTER (WHERE {condition.duck})).v",
            )
        )
    return _written(f"{word}({{0}})", f"{short}_by({{0}}, time)", argument, None)


def _booleans(rng: random.Random, condition: Sql | None) -> Aggregate:
    argument = predicate(rng, 1)
    if rng.random() < 0.4:
        return _written("COUNT_IF({0})", "COUNT(CASE WHEN {0} THEN 1 END)", argument, condition)
    name = rng.choice(("BOOL_AND", "BOOL_OR"))
    return _plain(name, argument, condition)
