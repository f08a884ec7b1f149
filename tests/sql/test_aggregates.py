"""sql/aggregates.py: which aggregates a query asks for, and of what."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.logical import AggregateCall, Function
from headrace.sql.combinations import combination_sql

from .live import WINDOW, read


def call(text: str) -> AggregateCall:
    (found,) = read(f"SELECT {text} FROM purchases p {WINDOW}").aggregates
    return found


def argument(text: str) -> str | None:
    found = call(text).argument
    return found.sql.replace("`", "") if found is not None else None


@pytest.mark.parametrize(
    ("text", "function", "result"),
    [
        ("COUNT(*)", Function.COUNT, "bigint"),
        ("count(price)", Function.COUNT, "bigint"),
        ("SUM(price)", Function.SUM, "bigint"),
        ("SUM(weight)", Function.SUM, "double"),
        ("SUM(amount)", Function.SUM, "decimal(20,2)"),
        ("avg(amount)", Function.AVG, "decimal(14,6)"),
        ("MEAN(price)", Function.AVG, "double"),
        ("MIN(gem_pack)", Function.MIN, "string"),
        ("max(time)", Function.MAX, "timestamp"),
        ("stddev(price)", Function.STDDEV_SAMP, "double"),
        ("std(price)", Function.STDDEV_SAMP, "double"),
        ("stddev_pop(price)", Function.STDDEV_POP, "double"),
        ("variance(price)", Function.VAR_SAMP, "double"),
        ("var_pop(price)", Function.VAR_POP, "double"),
        ("FIRST(price)", Function.FIRST, "int"),
        ("last_value(price)", Function.LAST, "int"),
        ("COUNT(DISTINCT gem_pack)", Function.COUNT_DISTINCT, "bigint"),
        ("approx_count_distinct(user_id)", Function.APPROX_COUNT_DISTINCT, "bigint"),
        ("percentile_approx(price, 0.5)", Function.PERCENTILE_APPROX, "int"),
        ("approx_percentile(price, 0.5, 100)", Function.PERCENTILE_APPROX, "int"),
        ("percentile_approx(price, array(0.5, 0.9))", Function.PERCENTILE_APPROX, "array<int>"),
        ("bool_and(paid)", Function.MIN, "boolean"),
        ("bool_or(paid)", Function.MAX, "boolean"),
    ],
)
def test_aggregates_keep_sparks_names_and_types(text: str, function: Function, result: str) -> None:
    found = call(text)
    assert found.function is function
    assert found.result_type == result


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COUNT(*)", None),
        ("COUNT(1)", None),
        ("COUNT(NULL)", "CASE WHEN (NULL) IS NOT NULL THEN 1 END"),
        (
            "COUNT(price, weight)",
            "CASE WHEN (price) IS NOT NULL AND (weight) IS NOT NULL THEN 1 END",
        ),
        ("COUNT(p.price)", "price"),
        ("count_if(price > 3)", "CASE WHEN (price > 3) THEN 1 END"),
        ("SUM(price * 2)", "(price * 2)"),
        ("COUNT(*) FILTER (WHERE p.paid)", "CASE WHEN paid THEN 1 END"),
        ("SUM(price) FILTER (WHERE paid)", "CASE WHEN paid THEN price END"),
        (
            "COUNT(DISTINCT gem_pack, price)",
            combination_sql(["gem_pack", "price"], ["string", "int"]),
        ),
        ("stddev(price)", "CAST(price AS DOUBLE)"),
        ("SUM(gem_pack)", "CAST(gem_pack AS DOUBLE)"),
    ],
)
def test_the_argument_is_what_is_aggregated_without_filter_or_qualifier(
    text: str, expected: str | None
) -> None:
    assert argument(text) == expected


@pytest.mark.parametrize(
    ("text", "ignores"),
    [
        ("FIRST(price)", False),
        ("FIRST(price) IGNORE NULLS", True),
        ("FIRST(price) RESPECT NULLS", False),
        ("LAST(price, true)", True),
        ("LAST(price, false)", False),
        ("last_value(price) ignore nulls", True),
    ],
)
def test_first_and_last_may_ignore_nulls(text: str, ignores: bool) -> None:
    assert call(text).ignore_nulls is ignores
    named = read(f"SELECT {text} AS edge, {text} bare FROM purchases {WINDOW}")
    assert [(o.name, o.kind) for o in named.outputs] == [
        ("edge", "aggregate"),
        ("bare", "aggregate"),
    ]


@pytest.mark.parametrize("text", ["FIRST(price)", "LAST(price)"])
def test_a_tuple_outside_the_filter_is_no_null_in_first_and_last(text: str) -> None:
    """FILTER takes tuples away: a tuple outside of it must not become a null that comes first."""
    try:
        found = call(f"{text} FILTER (WHERE paid)")
    except UnsupportedQuery:
        return
    assert found.argument is not None
    assert found.ignore_nulls or not found.argument.sql.startswith("CASE WHEN paid")


def test_percentages_are_one_number_or_an_array() -> None:
    single = call("percentile_approx(price, 0.25)")
    assert (single.percentages, single.single_percentage) == ((0.25,), True)
    several = call("percentile_approx(price, array(0.5, 1, 0.0))")
    assert (several.percentages, several.single_percentage) == ((0.5, 1.0, 0.0), False)


def test_the_error_of_an_approximate_count_is_sparks_default_or_given() -> None:
    assert call("approx_count_distinct(price)").relative_sd == 0.05
    assert call("approx_count_distinct(price, 0.01)").relative_sd == 0.01


def test_the_same_call_is_computed_once_however_it_is_written() -> None:
    query = read(
        f"SELECT SUM(price), sum( PRICE ) + COUNT(*), MAX(gem_pack) FROM purchases {WINDOW} "
        "HAVING count(*) > 1 AND SUM(Price) > 2"
    )
    assert [a.function for a in query.aggregates] == [Function.SUM, Function.COUNT, Function.MAX]


def test_calls_that_differ_in_a_string_or_a_filter_are_computed_apart() -> None:
    query = read(
        "SELECT MAX(weight) FILTER (WHERE gem_pack = 'A'), MAX(weight) FILTER (WHERE gem_pack = "
        "'a'), COUNT(*) FILTER (WHERE gem_pack = r'A'), COUNT(*) FILTER (WHERE gem_pack = r'a'), "
        f"MAX(weight) FROM purchases {WINDOW}"
    )
    assert len(query.aggregates) == 5


REFUSED = [
    ("^collect_list(price)", UnsupportedQuery, "collect_list is not supported"),
    ("1 + ^median(price)", UnsupportedQuery, "supported: COUNT"),
    ("^corr(price, weight)", UnsupportedQuery, "corr"),
    ("^try_sum(price)", UnsupportedQuery, "try_sum"),
    ("^SUM(DISTINCT price)", UnsupportedQuery, r"COUNT\(DISTINCT x\)"),
    ("^SUM()", QueryError, "requires 1 parameters"),
    ("^percentile_approx(price)", QueryError, "parameters"),
    ("^percentile_approx(price, 1.5)", QueryError, "between"),
    ("^percentile_approx(price, weight)", QueryError, "foldable"),
    ("^approx_count_distinct(price, weight)", QueryError, "double literal"),
    ("SUM(price) FILTER ^(paid)", QueryError, "Syntax error"),
    ("SUM(^SUM(price))", QueryError, "NESTED_AGGREGATE"),
    ("^any_value(price)", UnsupportedQuery, "any_value is not supported"),
]


@pytest.mark.parametrize(("marked", "kind", "reason"), REFUSED, ids=[r[0] for r in REFUSED])
def test_an_aggregate_that_is_not_run_is_refused_with_its_place(
    marked: str, kind: type[QueryError], reason: str
) -> None:
    before = "SELECT "
    with pytest.raises(kind, match=reason) as caught:
        read(f"{before}{marked.replace('^', '')} FROM purchases {WINDOW}")
    assert (caught.value.line, caught.value.column) == (1, len(before) + marked.index("^") + 1)
