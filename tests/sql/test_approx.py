"""sql/approx.py: the hint that makes a query approximate."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.accuracy import Accuracy

from .live import WINDOW, read


def asked(hint: str, items: str = "COUNT(*) AS n", rest: str = WINDOW) -> Accuracy | None:
    return read(f"SELECT /*+ {hint} */ {items} FROM purchases {rest}").accuracy


def test_a_query_without_the_hint_stays_exact() -> None:
    query = read(f"SELECT COUNT(*) AS n FROM purchases {WINDOW}")
    assert query.accuracy is None
    assert [o.name for o in query.outputs] == ["n"]


def test_the_contract_is_read() -> None:
    assert asked("APPROX(error => 0.05)") == Accuracy(0.05, 0.95, "exact")
    assert asked(
        "approx(confidence=>0.9, error => .1, fallback => 'best_effort', sample => TRUE)"
    ) == Accuracy(0.1, 0.9, "best_effort", sample=True)
    assert asked("APPROX(error => 0.02, refine => true, progress => 'k-slack')") == Accuracy(
        0.02, refine=True, closing="k-slack"
    )


def test_every_aggregate_tells_its_bounds_and_every_row_whether_it_is_exact() -> None:
    query = read(
        "SELECT /*+ APPROX(error => 0.05) */ window.end, gem_pack, SUM(price) AS revenue, "
        "AVG(price) FROM purchases GROUP BY window(time, '10 seconds'), gem_pack"
    )
    names = [o.name for o in query.outputs]
    assert names[:3] == ["end", "gem_pack", "revenue"]
    told = ["revenue_lower", "revenue_upper", "revenue_sample", "revenue_input", "revenue_met"]
    assert names[4:9] == told
    assert names[-1] == "exact"
    assert {o.name: o.type for o in query.outputs}["revenue_met"] == "boolean"
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("hint", "says"),
    [
        ("APPROX", "followed by its options in brackets"),
        ("APPROX()", "needs the error"),
        ("APPROX(confidence => 0.9)", "needs the error"),
        ("APPROX(0.05)", "name => value"),
        ("APPROX(error => 0.05,)", "name => value"),
        ("APPROX(error => 5)", "error lies between 0 and 1, not at 5"),
        ("APPROX(error => small)", "error is small at line 1, column 28"),
        ("APPROX(error => 0.05, confidence => 0.2)", "confidence lies between 0.5 and 1"),
        ("APPROX(error => 0.05, error => 0.1)", "error is given twice"),
        ("APPROX(error => 0.05, fallback => 'maybe')", "'exact' or 'best_effort' or 'error'"),
        ("APPROX(error => 0.05, fallbak => 'exact')", "did you mean 'fallback'?"),
        ("APPROX(error => 0.05, refine => 1)", "true or false"),
        ("APPROX(error => 0.05, progress => 'guess')", "'k-slack'"),
        ("APPROX(error => 0.05, sample => true)", "of a sample there is nothing exact to come"),
        ("APPROX(error => 0.05) BROADCAST(a)", "followed by its options in brackets"),
        ("BROADCAST(a)", "the only hint is APPROX"),
    ],
)
def test_what_is_wrong_with_a_hint_is_told_with_its_place(hint: str, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        asked(hint)
    assert says in str(caught.value)
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("items", "rest", "says"),
    [
        ("user_id", "", "a selection has no window"),
        ("COUNT(*)", "GROUP BY session_window(time, '5 seconds')", "a session has no deadline"),
        ("MAX(price)", WINDOW, "max has no bounds before all tuples have come"),
        ("COUNT(DISTINCT user_id)", WINDOW, "count_distinct has no bounds"),
        ("SUM(price) / 2 AS half", WINDOW, "half is computed from results"),
        ("COUNT(*) AS n", f"{WINDOW} HAVING COUNT(*) > 3", "HAVING, ORDER BY and LIMIT"),
        ("COUNT(*) AS n", f"{WINDOW} ORDER BY n LIMIT 3", "HAVING, ORDER BY and LIMIT"),
        ("COUNT(*) AS n", f"{WINDOW} LIMIT 3", "HAVING, ORDER BY and LIMIT"),
    ],
)
def test_what_has_no_bounds_is_refused(items: str, rest: str, says: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        asked("APPROX(error => 0.05)", items, rest)
    assert says in str(caught.value)
    assert caught.value.line is not None
