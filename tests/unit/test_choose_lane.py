"""optimizer/choose_lane.py: Catalyst for a query that is alone, the kernels for everything else."""

from __future__ import annotations

import pytest

from headrace.optimizer.choose_lane import choose_lane

from .analyzer import WINDOW, read


def windowed(aggregates: str) -> str:
    return f"SELECT {aggregates} FROM purchases {WINDOW}, gem_pack"


@pytest.mark.parametrize(
    "aggregates",
    [
        "COUNT(*)",
        "COUNT(price), SUM(amount), AVG(weight)",
        "MIN(gem_pack), MAX(day), stddev(price)",
    ],
)
def test_one_query_alone_is_left_to_catalyst(aggregates: str) -> None:
    lane, why = choose_lane([read(windowed(aggregates))], rows_in_jvm=True)
    assert lane == "catalyst"
    assert "alone" in why


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT price FROM purchases", "selections"),
        ("SELECT COUNT(*) FROM purchases GROUP BY session_window(time, '5 seconds')", "sessions"),
        (windowed("FIRST(price)"), "first"),
        (windowed("LAST(price) IGNORE NULLS"), "last_known"),
        (windowed("COUNT(*), COUNT(DISTINCT user_id)"), "values"),
        (windowed("percentile_approx(price, 0.5)"), "values"),
        (windowed("approx_count_distinct(user_id)"), "values"),
    ],
)
def test_what_catalyst_has_no_partial_result_for_goes_to_the_kernels(sql: str, why: str) -> None:
    lane, reason = choose_lane([read(sql)], rows_in_jvm=True)
    assert lane == "kernel"
    assert why in reason


def test_many_queries_share_one_scan_in_the_kernels() -> None:
    lane, why = choose_lane([read(windowed("COUNT(*)"))] * 2, rows_in_jvm=True)
    assert (lane, why) == ("kernel", "2 queries share one scan")
    assert choose_lane([], rows_in_jvm=True)[0] == "kernel"


def test_tuples_that_are_not_in_the_jvm_are_reduced_where_they_are() -> None:
    lane, why = choose_lane([read(windowed("COUNT(*)"))], rows_in_jvm=False)
    assert lane == "kernel"
    assert "Python stage" in why
