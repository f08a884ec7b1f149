"""sql/clauses.py: a statement cut into its clauses; what is not run is refused with its place."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError, UnsupportedQuery
from headrace.sql.clauses import split_clauses

WHOLE = """
SELECT window.start, upper(gem_pack) AS pack, SUM(price)
FROM purchases AS p
WHERE price > 3 AND (paid OR gem_pack IN ('a', 'b'))
GROUP BY window(time, '8 seconds', '4 seconds'), upper(gem_pack)
HAVING SUM(price) > 10
ORDER BY 3 DESC, pack
LIMIT 5;
"""


def test_a_statement_is_cut_at_its_outermost_clauses_and_commas() -> None:
    clauses = split_clauses(WHOLE)
    assert [p.text for p in clauses.select] == [
        "window.start",
        "upper(gem_pack) AS pack",
        "SUM(price)",
    ]
    assert clauses.stream.text == "purchases"
    assert clauses.alias == "p"
    assert clauses.where is not None
    assert clauses.where.text == "price > 3 AND (paid OR gem_pack IN ('a', 'b'))"
    assert [p.text for p in clauses.group] == [
        "window(time, '8 seconds', '4 seconds')",
        "upper(gem_pack)",
    ]
    assert clauses.having is not None
    assert clauses.having.text == "SUM(price) > 10"
    assert [p.text for p in clauses.order] == ["3 DESC", "pack"]
    assert clauses.limit == 5


def test_absent_clauses_are_absent() -> None:
    clauses = split_clauses("select * from purchases")
    assert clauses.alias is None
    assert clauses.where is None
    assert clauses.group == ()
    assert clauses.having is None
    assert clauses.order == ()
    assert clauses.limit is None


@pytest.mark.parametrize("alias", ["p", "AS p", "as `p`"])
def test_a_stream_may_have_an_alias(alias: str) -> None:
    assert split_clauses(f"SELECT price FROM purchases {alias}").alias == "p"


UNSUPPORTED = [
    # (statement, what the reason names, the place of the mark ^)
    ("^WITH x AS (SELECT 1) SELECT * FROM x", "common table expressions"),
    ("^INSERT INTO x VALUES (1)", "INSERT"),
    ("SELECT ^DISTINCT price FROM purchases", "SELECT DISTINCT"),
    ("SELECT price FROM purchases ^UNION SELECT price FROM purchases", "set operations"),
    ("SELECT price FROM purchases ^INTERSECT SELECT price FROM purchases", "set operations"),
    ("SELECT price FROM purchases ^EXCEPT SELECT price FROM purchases", "set operations"),
    ("SELECT (^SELECT 1) FROM purchases", "subqueries"),
    ("SELECT price FROM (^SELECT * FROM purchases)", "subqueries"),
    ("SELECT price FROM purchases WHERE price IN (^SELECT 1)", "subqueries"),
    ("SELECT price FROM purchases ^JOIN ads ON true", "joins"),
    ("SELECT price FROM purchases p ^LEFT JOIN ads ON true", "joins"),
    ("SELECT price FROM purchases ^CROSS JOIN ads", "joins"),
    ("SELECT price FROM purchases^, ads", "joins"),
    ("SELECT price FROM purchases ^LATERAL VIEW explode(tags) t AS tag", "joins"),
    ("SELECT rank() ^OVER (ORDER BY price) FROM purchases", "OVER"),
    ("SELECT SUM(price) ^OVER w FROM purchases", "OVER"),
    ("SELECT price FROM purchases WHERE weight < ^rand()", "rand is not deterministic"),
    ("SELECT ^uuid() FROM purchases", "uuid is not deterministic"),
    ("SELECT ^now() FROM purchases", "now is not deterministic"),
    ("SELECT ^current_timestamp FROM purchases", "current_timestamp is not deterministic"),
    ("SELECT ^current_date() FROM purchases", "current_date is not deterministic"),
    ("SELECT count(*) FROM purchases GROUP BY ^ROLLUP(price)", "ROLLUP"),
    ("SELECT count(*) FROM purchases GROUP BY ^CUBE(price)", "CUBE"),
    ("SELECT count(*) FROM purchases GROUP BY price ^GROUPING SETS ((price))", "GROUPING SETS"),
    ("SELECT price FROM purchases ORDER BY price LIMIT ^ALL", "LIMIT takes a whole number"),
    ("SELECT price FROM purchases LIMIT ^1 + 1", "LIMIT takes a whole number"),
]


@pytest.mark.parametrize(("marked", "reason"), UNSUPPORTED, ids=[s for s, _ in UNSUPPORTED])
def test_what_is_not_run_here_is_refused_with_its_place(marked: str, reason: str) -> None:
    with pytest.raises(UnsupportedQuery, match=reason) as caught:
        split_clauses(marked.replace("^", ""))
    assert (caught.value.line, caught.value.column) == (1, marked.index("^") + 1)


WRONG = [
    ("^SELECT 1", "no FROM"),
    ("^SELECT FROM purchases", "SELECT is empty"),
    ("SELECT price ^FROM", "FROM is empty"),
    ("SELECT price FROM purchases ^WHERE", "WHERE is empty"),
    ("SELECT price FROM purchases GROUP BY price ^WHERE price > 1", "WHERE is out of place"),
    ("SELECT ^price,, weight FROM purchases", "an item of SELECT is empty"),
    ("SELECT price FROM purchases ^a b", "at most an alias"),
]


@pytest.mark.parametrize(("marked", "reason"), WRONG, ids=[s for s, _ in WRONG])
def test_a_broken_statement_is_refused_with_its_place(marked: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        split_clauses(marked.replace("^", ""))
    assert (caught.value.line, caught.value.column) == (1, marked.index("^") + 1)


@pytest.mark.parametrize("text", ["", "   ", ";", "-- only a comment"])
def test_an_empty_query_is_answered_with_the_shape_of_one(text: str) -> None:
    with pytest.raises(QueryError, match="the query is empty") as caught:
        split_clauses(text)
    assert "SELECT … FROM stream" in caught.value.choices[0]


def test_text_that_is_not_sql_is_a_query_error() -> None:
    with pytest.raises(QueryError, match="cannot be read"):
        split_clauses("SELECT 'never closed FROM purchases")


def test_places_count_lines_and_columns_from_one() -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        split_clauses("SELECT price\nFROM purchases\n  WHERE weight < rand()")
    assert (caught.value.line, caught.value.column) == (3, 18)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT price) FROM purchases",
        "SELECT 'union' FROM purchases",
        "SELECT `distinct` FROM purchases",
        "SELECT p.offset FROM purchases p",
        "SELECT rand FROM purchases",
        "SELECT price FROM purchases WHERE gem_pack = 'SELECT (SELECT 1)'",
        "SELECT EXTRACT(YEAR FROM time) FROM purchases",
    ],
)
def test_words_that_only_look_like_a_refused_construct_are_allowed(sql: str) -> None:
    assert split_clauses(sql).select


def test_a_column_named_as_kafka_names_its_offset_is_not_an_offset_clause() -> None:
    assert split_clauses("SELECT offset, price FROM purchases").select[0].text == "offset"
