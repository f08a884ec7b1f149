"""What is not run here is refused by what Spark says it is, however it is spelled."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError, UnsupportedQuery

from .live import WINDOW, read

REFUSED = [
    # (statement, what the reason names; the mark ^ stands where the error points, if anywhere)
    ("WITH x AS (SELECT 1) SELECT * FROM x", "common table expressions"),
    ("INSERT INTO x VALUES (1)", "is not a query over a stream"),
    ("DROP TABLE purchases", "DROP TABLE is not a query over a stream"),
    ("SET spark.sql.ansi.enabled = false", "is not a query over a stream"),
    ("ADD JAR '/tmp/x.jar'", "is not a query over a stream"),
    ("CREATE TEMPORARY FUNCTION f AS 'a.b.C'", "is not a query over a stream"),
    ("SELECT DISTINCT price FROM purchases", "SELECT DISTINCT"),
    ("SELECT price FROM purchases UNION SELECT price FROM purchases", "SELECT DISTINCT|set oper"),
    ("SELECT price FROM purchases INTERSECT SELECT price FROM purchases", "set operations"),
    ("SELECT price FROM purchases EXCEPT SELECT price FROM purchases", "set operations"),
    ("SELECT ^(SELECT 1) FROM purchases", "subqueries"),
    ("SELECT ^(TABLE text.`/etc/hosts`) AS x FROM purchases", "subqueries"),
    ("SELECT ^(FROM purchases SELECT price) AS x FROM purchases", "subqueries"),
    ("SELECT ^(VALUES (7)) AS x FROM purchases", "subqueries"),
    ("SELECT price FROM purchases WHERE price IN (SELECT 1)", "subqueries"),
    ("SELECT price FROM purchases WHERE price IN (TABLE global_temp.v)", "subqueries"),
    ("SELECT price FROM purchases WHERE EXISTS (TABLE global_temp.v)", "subqueries"),
    ("SELECT price FROM (SELECT * FROM purchases)", "subqueries"),
    ("SELECT price FROM ^text.`/etc/hosts`", "there is no stream 'text./etc/hosts'"),
    ("SELECT price FROM ^global_temp.purchases", "there is no stream 'global_temp.purchases'"),
    ("SELECT price FROM ^IDENTIFIER('text.x')", "there is no stream"),
    ("SELECT id FROM range(10)", "a function is not a stream"),
    ("VALUES (1, 2)", "VALUES is not a stream"),
    ("SELECT price FROM purchases JOIN ads ON true", "joins"),
    ("SELECT price FROM purchases p LEFT JOIN ads ON true", "joins"),
    ("SELECT price FROM purchases CROSS JOIN ads", "joins"),
    ("SELECT price FROM purchases, ads", "joins"),
    ("SELECT price FROM purchases LATERAL VIEW explode(tags) t AS tag", "several rows"),
    ("SELECT explode(tags) FROM purchases", "several rows"),
    ("SELECT price FROM purchases WHERE explode(tags) = 'a'", "outside the SELECT|GENERATOR"),
    ("SELECT ^rank() OVER (ORDER BY price) FROM purchases", "OVER"),
    ("SELECT SUM(price) OVER w FROM purchases WINDOW w AS (PARTITION BY price)", "OVER"),
    ("SELECT count(*) FROM purchases GROUP BY ROLLUP(price)", "ROLLUP"),
    ("SELECT count(*) FROM purchases GROUP BY CUBE(price)", "CUBE"),
    ("SELECT count(*) FROM purchases GROUP BY price GROUPING SETS ((price))", "GROUPING SETS"),
    ("SELECT price FROM purchases SORT BY price", "SORT BY"),
    ("SELECT price FROM purchases DISTRIBUTE BY price", "DISTRIBUTE BY"),
    ("SELECT price FROM purchases TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
    ("SELECT price FROM purchases LIMIT 1 OFFSET 2", "OFFSET"),
    ("SELECT /*+ BROADCAST(purchases) */ price FROM purchases", "the only hint is APPROX"),
    ("SELECT price FROM purchases WHERE weight < ^rand()", "not deterministic"),
    ("SELECT ^`rand`() FROM purchases", "not deterministic"),
    ("SELECT ^builtin.rand() FROM purchases", "not deterministic"),
    ("SELECT ^system.builtin.uuid() FROM purchases", "not deterministic"),
    ("SELECT IDENTIFIER('rand')() FROM purchases", "IDENTIFIER"),
    ("SELECT ^uuid() FROM purchases", "not deterministic"),
    ("SELECT ^now() FROM purchases", "not deterministic"),
    ("SELECT ^current_timestamp FROM purchases", "not deterministic"),
    ("SELECT ^current_date() FROM purchases", "not deterministic"),
    ("SELECT ^unix_timestamp() FROM purchases", "not deterministic"),
    ("SELECT time FROM purchases WHERE time > ^TIMESTAMP 'now'", "not deterministic"),
    ("SELECT day FROM purchases WHERE day = ^DATE 'today'", "not deterministic"),
    ("SELECT time FROM purchases WHERE ^time > 'now'", "not deterministic"),
    ("SELECT ^CAST('today' AS DATE) FROM purchases", "not deterministic"),
    ("SELECT ^to_timestamp('now') FROM purchases", "not deterministic"),
    ("SELECT ^CAST(concat('no', 'w') AS TIMESTAMP) FROM purchases", "not deterministic"),
    ("SELECT ^current_user() FROM purchases", "not deterministic"),
    ("SELECT ^current_timezone() FROM purchases", "not deterministic"),
    ("SELECT ^input_file_name() FROM purchases", "not deterministic"),
    ("SELECT ^spark_partition_id() FROM purchases", "not deterministic"),
    ("SELECT 1 FROM purchases WHERE ^reflect('java.lang.System','exit',7) IS NULL", "reflect"),
    ("SELECT ^java_method('java.lang.System','getenv','PATH') FROM purchases", "java_method"),
    ("SELECT ^try_reflect('java.lang.System','getenv','PATH') FROM purchases", "reflect"),
    ("SELECT ^my_udf(price) FROM purchases", "no function 'my_udf'"),
    ("SELECT ^spark_catalog.default.f(price) FROM purchases", "no function"),
    ("SELECT ^xpath_string(gem_pack, '/a') FROM purchases", "is not run"),
    ("SELECT price FROM purchases WHERE gem_pack RLIKE ^'(a+)+$'", "exponentially many ways"),
    ("SELECT price FROM purchases WHERE gem_pack LIKE ^'%a%a%a%a%b'", "the 5th power"),
    ("SELECT price FROM purchases WHERE gem_pack ILIKE ^'%a%a%a%a%b'", "the 5th power"),
    ("SELECT price FROM purchases WHERE gem_pack ^LIKE ANY ('a', '%a%a%a%a%b')", "5th power"),
    ("SELECT price FROM purchases WHERE gem_pack ^NOT LIKE ALL ('%a%a%a%a%b')", "5th power"),
    ("SELECT split(gem_pack, ^'(a|a)*,') FROM purchases", "exponentially many ways"),
    ("SELECT regexp_replace(gem_pack, ^'(a*)*b', '') FROM purchases", "exponentially many ways"),
    ("SELECT regexp_count(gem_pack, ^'.*.*.*x') FROM purchases", "the 4th power"),
    ("SELECT str_to_map(gem_pack, ',', ^'(=+)+:') FROM purchases", "exponentially many ways"),
    ("SELECT parse_url(gem_pack, 'QUERY', ^'(a+)+') FROM purchases", "exponentially many ways"),
    ("SELECT price FROM purchases WHERE gem_pack RLIKE ^concat('(a+)', '+$')", "exponentially"),
    ("SELECT price FROM purchases WHERE gem_pack ^RLIKE start", "depends on the tuple"),
    ("SELECT price FROM purchases WHERE gem_pack LIKE ^concat(start, '%')", "depends on the"),
    ("SELECT exists(tags, t -> gem_pack ^RLIKE t) FROM purchases", "depends on the tuple"),
    (r"SELECT price FROM purchases WHERE gem_pack RLIKE ^r'\X+'", "not understood at its char"),
    ("SELECT price FROM purchases WHERE price > ^?", "parameter"),
    ("SELECT price FROM purchases WHERE price > ^:low", "parameter"),
    ("FROM purchases |> WHERE price > 3 |> SELECT price", r"the operator \|> is not"),
    (f"SELECT COUNT(*) FROM purchases {WINDOW} LIMIT ^1 + 1", "LIMIT takes a whole number"),
    ("SELECT price FROM purchases ^VERSION AS OF 1", "a stream has no versions"),
]


@pytest.mark.parametrize(("marked", "reason"), REFUSED, ids=[s for s, _ in REFUSED])
def test_what_is_not_run_here_is_refused(marked: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        read(marked.replace("^", ""))
    if "^" in marked:
        assert (caught.value.line, caught.value.column) == (1, marked.index("^") + 1)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT FROM purchases",
        "SELECT price FROM",
        "SELECT price FROM purchases GROUP BY price WHERE price > 1",
        "SELECT price,, weight FROM purchases",
        "SELECT price FROM purchases a b",
        "SELECT 'never closed FROM purchases",
        "SELECT price FROM purchases; SELECT 1",
        "",
        "   ",
        ";",
        "-- only a comment",
        "SELECT 1",
        "(" * 5_000,
        "SELECT " + "-" * 3 + "",
    ],
)
def test_a_broken_statement_is_a_query_error(text: str) -> None:
    with pytest.raises(QueryError):
        read(text)


def test_a_text_may_not_be_longer_than_two_million_letters() -> None:
    with pytest.raises(QueryError, match="at most 2,097,152"):
        read("SELECT price FROM purchases WHERE gem_pack = '" + "x" * 2**21 + "'")


def test_places_count_lines_and_columns_from_one() -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        read("SELECT price\nFROM purchases\n  WHERE weight < rand()")
    assert (caught.value.line, caught.value.column) == (3, 18)


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(DISTINCT price) FROM purchases {WINDOW}",
        "SELECT 'union' FROM purchases",
        "SELECT price AS `distinct` FROM purchases",
        "SELECT price AS offset FROM purchases p",
        "SELECT price FROM purchases WHERE gem_pack = 'SELECT (SELECT 1)'",
        "SELECT EXTRACT(YEAR FROM time) FROM purchases",
        "SELECT unix_timestamp(time) FROM purchases",
        "SELECT time FROM purchases WHERE time > TIMESTAMP '2024-01-01 00:00:00'",
        "FROM purchases SELECT price",
        "TABLE purchases",
        "SELECT price FROM IDENTIFIER('purchases')",
        "SELECT builtin.upper(gem_pack), `lower`(gem_pack) FROM purchases",
        "SELECT * EXCEPT (tags) FROM purchases",
        "SELECT p.who FROM purchases AS p(who, b, c, d, e, f, g, h, i, j, k, l, m)",
        "SELECT price FROM purchases WHERE gem_pack LIKE ANY ('a%', 'b%')",
        "SELECT price FROM purchases WHERE gem_pack RLIKE '(?:a++b?)++$' OR gem_pack LIKE '%a%b%'",
        "SELECT price FROM purchases WHERE gem_pack RLIKE concat('a', '+$') OR start RLIKE NULL",
        "SELECT price FROM purchases WHERE gem_pack RLIKE '(a'",
        "SELECT split_part(gem_pack, '(a+)+$', 1), str_to_map(gem_pack, ',', ':') FROM purchases",
        "SELECT filter(tags, t -> t > 'a') FROM purchases",
        "SELECT `größe 😀` FROM (purchases) AS p(`größe 😀`, b, c, d, e, f, g, h, i, j, k, l, m)",
        "SELECT price AS `a``b` FROM purchases",
    ],
)
def test_what_only_looks_like_a_refused_construct_is_taken(sql: str) -> None:
    assert read(sql).outputs
