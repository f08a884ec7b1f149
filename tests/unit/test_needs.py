"""query/needs.py: what each aggregate keeps per slice."""

from __future__ import annotations

import pytest

from headrace.kernels.holistic import hll_precision
from headrace.query.needs import Need, column_name, expressions_of, needs_of
from headrace.query.plan import ROWS, Partial, derived_name

from .analyzer import WINDOW, read


@pytest.mark.parametrize(
    ("aggregate", "need"),
    [
        ("COUNT(*)", Need(ROWS)),
        ("COUNT(price)", Need(Partial("count", "price", "int"))),
        ("SUM(price)", Need(Partial("sum", "price", "int"))),
        ("AVG(price)", Need(Partial("sum", "price", "int"))),
        ("MIN(day)", Need(Partial("min", "day", "date"))),
        ("MAX(gem_pack)", Need(Partial("max", "gem_pack", "string"))),
        ("stddev(weight)", Need(Partial("moments", "weight", "double"))),
        ("var_pop(weight)", Need(Partial("moments", "weight", "double"))),
        ("FIRST(price)", Need(Partial("first", "price", "int"))),
        ("LAST(price) IGNORE NULLS", Need(Partial("last_known", "price", "int"))),
        ("COUNT(DISTINCT price)", Need(value="price")),
        ("percentile_approx(price, 0.5)", Need(value="price")),
        ("SUM(price + 1)", Need(Partial("sum", derived_name("(price + 1)"), "int"))),
    ],
)
def test_an_aggregate_needs_a_partial_result_or_its_distinct_values(
    aggregate: str, need: Need
) -> None:
    assert needs_of(read(f"SELECT {aggregate} FROM purchases {WINDOW}")) == (need,)


@pytest.mark.parametrize("relative_sd", [0.05, 0.01, 0.3])
def test_an_approximate_count_needs_registers_of_sparks_own_hash(relative_sd: float) -> None:
    sql = f"SELECT approx_count_distinct(user_id, {relative_sd}) FROM purchases {WINDOW}"
    query = read(sql)
    (need,) = needs_of(query)
    assert need.sketch == hll_precision(relative_sd)
    (expression,) = expressions_of(query)
    assert expression.sql == "CASE WHEN (`user_id`) IS NOT NULL THEN xxhash64(`user_id`) END"
    assert need.value == column_name(expression)


def test_the_same_sql_is_the_same_column_in_every_query_and_version() -> None:
    assert derived_name("price + 1") == "_x4932d886e06b"
    one = read(f"SELECT SUM(price + 1) FROM purchases {WINDOW}")
    other = read(f"SELECT MAX(price + 1) FROM purchases WHERE paid {WINDOW}", ansi=False)
    assert column_name(expressions_of(one)[0]) == column_name(expressions_of(other)[0])


def test_an_expression_behind_another_guard_is_another_column() -> None:
    names = {
        column_name(expressions_of(read(f"SELECT SUM(1 / price) FROM purchases {w} {WINDOW}"))[0])
        for w in ("", "WHERE price > 0", "WHERE price < 0")
    }
    assert len(names) == 3
