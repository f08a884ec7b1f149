"""sql/parse.py: one statement to a typed query, or an error that names the place."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.logical import Function, LogicalQuery
from headrace.query.predicate import Always, Ranges

from .live import PURCHASES, WINDOW, read


def kinds(query: LogicalQuery) -> list[tuple[str, str, int]]:
    return [(o.name, o.kind, o.index) for o in query.outputs]


def test_the_query_of_the_readme() -> None:
    query = read(
        """
        SELECT window.start, gem_pack, SUM(price) AS revenue
        FROM purchases WHERE price > 3
        GROUP BY window(time, '8 seconds', '4 seconds'), gem_pack
        """
    )
    assert query.stream == "purchases"
    assert query.where == Ranges("price", ((4, None),))
    assert query.where_sql == "(price > 3)"
    assert (query.time_window.size_us, query.time_window.slide_us) == (8_000_000, 4_000_000)
    assert [k.column for k in query.keys] == ["gem_pack"]
    assert [(a.function, a.argument and a.argument.column) for a in query.aggregates] == [
        (Function.SUM, "price")
    ]
    assert kinds(query) == [
        ("start", "window_start", 0),
        ("gem_pack", "key", 0),
        ("revenue", "aggregate", 0),
    ]
    assert [o.type for o in query.outputs] == ["timestamp", "string", "bigint"]
    assert not query.needs_spark_to_finish


def test_a_selection_shows_columns_and_expressions_as_spark_types_them() -> None:
    query = read("SELECT p.user_id AS who, upper(gem_pack), * FROM purchases p")
    assert query.is_selection
    assert query.where == Always()
    assert [e.column for e in query.selected[:2]] == ["user_id", None]
    assert query.selected[1].sql == "upper(gem_pack)"
    assert query.outputs[0].name == "who"
    assert [e.column for e in query.selected[2:]] == [c.name for c in PURCHASES.columns]


# -- aliases --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "item",
    [
        "SUM(price) AS total",
        "SUM(price) total",
        "SUM(price) AS `total`",
        "SUM(price)   as   total",
    ],
)
def test_an_alias_comes_with_or_without_as(item: str) -> None:
    query = read(f"SELECT {item} FROM purchases {WINDOW}")
    assert kinds(query) == [("total", "aggregate", 0)]


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ("COUNT(*) rows", "aggregate"),
        ("COUNT(*) first", "aggregate"),
        ("window w", "window"),
        ("window.end finish", "window_end"),
        ("day d", "key"),
        ("gem_pack pack", "key"),
    ],
)
def test_an_alias_without_as_may_follow_or_be_a_word_that_is_also_a_keyword(
    item: str, kind: str
) -> None:
    query = read(f"SELECT {item} FROM purchases {WINDOW}, day, gem_pack")
    assert (query.outputs[0].name, query.outputs[0].kind) == (item.split()[-1], kind)


@pytest.mark.parametrize(
    ("body", "sql"),
    [
        ("time", "time"),
        ("price * 2L", "(CAST(price AS BIGINT) * 2L)"),
        ("price IS NULL", "(price IS NULL)"),
        ("price = 1", "(price = 1)"),
        ("CASE WHEN paid THEN 1 END", "CASE WHEN paid THEN 1 END"),
    ],
)
def test_a_selected_expression_never_carries_its_alias(body: str, sql: str) -> None:
    query = read(f"SELECT {body} shown FROM purchases")
    assert query.outputs[0].name == "shown"
    assert query.selected[0].sql.replace("`", "") == sql


def test_as_takes_one_name() -> None:
    with pytest.raises(QueryError, match="Syntax error at or near 'b'") as caught:
        read("SELECT price AS a b FROM purchases")
    assert caught.value.column == 19


# -- GROUP BY -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "group",
    [
        "window(time, '10 seconds'), upper(gem_pack)",
        "upper(gem_pack), window(time, '10 seconds')",
        "window(time, '10 seconds'), 1",
        "window(time, '10 seconds'), pack",
        "window(time, '10 seconds'), UPPER( gem_pack )",
        "window(time, '10 seconds'), upper(gem_pack), 1",
        "window(time, '10 seconds'), upper(p.gem_pack)",
        "window(time, '10 seconds'), (upper(gem_pack))",
    ],
)
def test_a_key_is_named_by_its_expression_its_number_or_its_alias(group: str) -> None:
    query = read(f"SELECT upper(gem_pack) AS pack, COUNT(*) FROM purchases p GROUP BY {group}")
    (key,) = query.keys
    assert key.sql == "upper(gem_pack)"
    assert kinds(query)[0] == ("pack", "key", 0)


def test_a_key_grouped_twice_is_one_key() -> None:
    query = read(f"SELECT gem_pack, COUNT(*) FROM purchases p {WINDOW}, gem_pack, p.gem_pack")
    assert [k.column for k in query.keys] == ["gem_pack"]


def test_a_column_wins_over_an_alias_of_the_same_name_in_group_by() -> None:
    query = read(f"SELECT upper(gem_pack) AS start, COUNT(*) FROM purchases {WINDOW}, start, 1")
    assert [k.column for k in query.keys] == ["start", None]
    assert kinds(query)[0] == ("start", "key", 1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT window.start, COUNT(*) FROM purchases GROUP BY window(time, '10 seconds')",
        "SELECT `window`.`start`, COUNT(*) FROM purchases GROUP BY window(time, '10 seconds')",
        "SELECT window(time, '10 seconds').start, COUNT(*) FROM purchases "
        "GROUP BY window(time, '10 seconds')",
    ],
)
def test_the_window_is_named_by_its_call_or_sparks_word(sql: str) -> None:
    assert read(sql).outputs[0].kind == "window_start"


@pytest.mark.parametrize("group", ["1", "w"])
def test_the_window_itself_may_be_selected_and_grouped_by_number_or_alias(group: str) -> None:
    query = read(
        f"SELECT window(time, '10 seconds') AS w, COUNT(*) FROM purchases GROUP BY {group}"
    )
    assert query.window is not None
    assert kinds(query)[0] == ("w", "window", 0)


def test_a_column_named_as_a_part_of_the_window_is_not_that_part() -> None:
    query = read(f"SELECT window.start, start, COUNT(*) FROM purchases {WINDOW}, start")
    assert [o.kind for o in query.outputs] == ["window_start", "key", "aggregate"]


def test_a_session_is_named_session_window() -> None:
    query = read(
        "SELECT session_window.start, session_window.end, session_window, COUNT(*) "
        "FROM purchases GROUP BY session_window(time, '5 seconds')"
    )
    assert [o.kind for o in query.outputs[:3]] == ["window_start", "window_end", "window"]
    assert query.is_session


# -- what is computed over the combined results ---------------------------------------------------


def test_having_order_by_and_computed_items_speak_of_result_columns() -> None:
    query = read(
        "SELECT p.gem_pack, SUM(price) / COUNT(*) AS mean, upper(gem_pack) || 'x' AS loud "
        f"FROM purchases p {WINDOW}, gem_pack HAVING mean > 1 AND MAX(weight) > 2 "
        "ORDER BY 2 DESC, loud, gem_pack LIMIT 7"
    )
    assert [a.function for a in query.aggregates] == [Function.SUM, Function.COUNT, Function.MAX]
    mean = "(CAST(_a0 AS DOUBLE) / CAST(_a1 AS DOUBLE))"
    loud = "concat(upper(_k0), 'x')"
    assert [o.sql for o in query.outputs] == ["", mean, loud]
    assert query.having is not None
    assert mean in query.having
    assert [p.value for p in query.parameters] == [1, 2]
    assert [o.sql for o in query.order_by] == [
        f"{mean} DESC NULLS LAST",
        f"{loud} ASC NULLS FIRST",
        "_k0 ASC NULLS FIRST",
    ]
    assert query.limit == 7
    assert query.needs_spark_to_finish


def test_a_string_that_spells_a_name_is_left_alone() -> None:
    query = read(f"SELECT gem_pack || 'gem_pack' FROM purchases {WINDOW}, gem_pack")
    assert query.outputs[0].sql == "concat(_k0, 'gem_pack')"


def test_the_window_may_be_computed_with() -> None:
    query = read(f"SELECT window.end - window.start AS length FROM purchases {WINDOW}")
    assert (query.outputs[0].kind, query.outputs[0].type) == ("computed", "interval day to second")
    assert "_w" in query.outputs[0].sql


# -- guards ---------------------------------------------------------------------------------------


def test_under_ansi_an_expression_that_may_raise_is_computed_only_for_kept_tuples() -> None:
    sql = f"SELECT SUM(10 / price) FROM purchases p WHERE p.price > 0 {WINDOW}, 100 / user_id"
    query = read(sql)
    assert query.aggregates[0].argument is not None
    assert query.aggregates[0].argument.computed_sql.startswith("CASE WHEN (price > 0) THEN (")
    assert query.keys[0].guard == "(price > 0)"


@pytest.mark.parametrize("sql", ["upper(gem_pack)", "concat(gem_pack, start)", "length(gem_pack)"])
def test_an_expression_that_cannot_raise_is_shared_without_a_guard(sql: str) -> None:
    assert read(f"SELECT {sql} FROM purchases WHERE price > 0").selected[0].guard is None


@pytest.mark.parametrize(
    "sql",
    [
        "coalesce(gem_pack, 0)",  # ANSI casts the string to a number
        "nullif(gem_pack, 0)",
        "CASE WHEN paid THEN gem_pack ELSE 0 END",
        "substring(gem_pack, start)",
    ],
)
def test_under_ansi_a_hidden_cast_is_guarded_too(sql: str) -> None:
    assert read(f"SELECT {sql} FROM purchases WHERE price > 0").selected[0].guard == "(price > 0)"


def test_without_a_where_there_is_nothing_to_guard_with() -> None:
    assert read("SELECT 10 / price FROM purchases").selected[0].guard is None


# -- refusals -------------------------------------------------------------------------------------

REFUSED: list[tuple[str, type[QueryError], str]] = [
    ("SELECT price FROM ^purchase", QueryError, "did you mean 'purchases'"),
    ("SELECT ^prise FROM purchases", QueryError, "did you mean 'price'"),
    ("SELECT ^p.prise FROM purchases p", QueryError, "no column 'p.prise'"),
    ("SELECT price FROM purchases WHERE paid AND ^prise > 3", QueryError, "did you mean 'price'"),
    (f"SELECT SUM(^prise) FROM purchases {WINDOW}", QueryError, "did you mean 'price'"),
    (f"SELECT COUNT(*) FROM purchases {WINDOW}, ^gempack", QueryError, "'gem_pack'"),
    (f"SELECT COUNT(*) FROM purchases {WINDOW} HAVING ^totl > 1", QueryError, "no column 'totl'"),
    (f"SELECT COUNT(*) FROM purchases {WINDOW} ORDER BY ^totl", QueryError, "no column 'totl'"),
    ("SELECT ^SUM(price) FROM purchases", UnsupportedQuery, "no event-time window"),
    ("SELECT price FROM purchases ORDER BY ^price", UnsupportedQuery, "a selection has none"),
    ("SELECT price FROM purchases LIMIT ^3", UnsupportedQuery, "a selection has none"),
    (f"SELECT COUNT(*) FROM purchases {WINDOW}, ^9", QueryError, "GROUP_BY_POS_OUT_OF_RANGE"),
    (f"SELECT COUNT(*) FROM purchases {WINDOW} ORDER BY ^9", QueryError, "ORDER_BY_POS_OUT"),
    (f"SELECT ^SUM(day) FROM purchases {WINDOW}", QueryError, "DATATYPE_MISMATCH"),
    (f"SELECT ^MIN(tags) FROM purchases {WINDOW}", UnsupportedQuery, "min over the type array"),
]


@pytest.mark.parametrize(("marked", "kind", "reason"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_refusal_names_the_place_and_the_choices(
    marked: str, kind: type[QueryError], reason: str
) -> None:
    with pytest.raises(kind, match=reason) as caught:
        read(marked.replace("^", ""))
    assert (caught.value.line, caught.value.column) == (1, marked.index("^") + 1)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT gem_pack FROM purchases GROUP BY gem_pack", "no event-time window"),
        ("SELECT window(time, '1 second') FROM purchases", "not grouped by it"),
        (f"SELECT COUNT(*) FROM purchases {WINDOW}, tags", r"array<string>"),
        (f"SELECT COUNT(*) FROM purchases WHERE SUM(price) > 1 {WINDOW}", "aggregate"),
        ("SELECT make_ym_interval(1, 2) FROM purchases", "interval year to month"),
    ],
)
def test_other_refusals(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        read(text)
