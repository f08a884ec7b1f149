"""Texts that join streams: who meets whom, and what is asked of each."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.join import Place
from headrace.query.logical import LogicalQuery
from headrace.query.predicate import Always, Ranges
from headrace.query.schema import Column, StreamSchema
from headrace.query.window import TimeWindow
from headrace.spark.analysis import SparkAnalyzer
from headrace.sql import parse

COLUMNS = {
    "purchases": "user_id bigint, gem_pack string, price int, tags array<string>, time timestamp",
    "ads": "user_id int, gem_pack string, cost int, time timestamp",
    "clicks": "ad bigint, n int, at timestamp",
}
LONG = "(SELECT *, window(time, '8 seconds', '4 seconds') AS w FROM {0}s) {0}"
P, A = LONG.format("purchase"), LONG.format("ad")
SAME = (
    "window(purchases.time, '8 seconds', '4 seconds') = window(ads.time, '8 seconds', '4 seconds')"
)
KEY = "purchase.user_id = ad.user_id"
"""In the long form: purchases and ads by a user, who is a bigint there and an int here."""


@pytest.fixture(autouse=True)
def _joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.sql.judge.JOINS", True)


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> SparkAnalyzer:
    made = SparkAnalyzer(spark)
    for name, columns in COLUMNS.items():
        made.declare(name, StructType.fromDDL(columns))
    return made


def _stream(name: str, columns: str) -> StreamSchema:
    found = [Column(*column.split(" ")) for column in columns.split(", ")]
    return StreamSchema(name, tuple(found), "at" if name == "clicks" else "time")


STREAMS = {name: _stream(name, columns) for name, columns in COLUMNS.items()}


def read(analyzer: SparkAnalyzer, text: str) -> LogicalQuery:
    return parse(text, STREAMS, analyzer)


def keys_of(query: LogicalQuery, places: tuple[Place, ...]) -> list[str]:
    """The keys at some places, as SQL with the name of the side."""
    assert query.join is not None
    sides = query.join.sides
    return [f"{sides[p.side].name}: {sides[p.side].keys[p.key].sql}" for p in places]


def equalities(query: LogicalQuery) -> list[list[str]]:
    assert query.join is not None
    return [keys_of(query, v.places) for v in query.join.meeting.variables]


def test_a_join_is_read_side_by_side(analyzer: SparkAnalyzer) -> None:
    query = read(
        analyzer,
        f"SELECT purchase.w.start, purchase.gem_pack, COUNT(*) AS n, SUM(purchase.price) AS s "
        f"FROM {P} JOIN {A} ON purchase.w = ad.w AND {KEY} AND purchase.gem_pack = ad.gem_pack "
        "WHERE purchase.price > 3 AND ad.cost < 2 GROUP BY purchase.w, purchase.gem_pack",
    )
    join = query.join
    assert join is not None
    assert (join.meeting.kind, join.shows_rows) == ("inner", False)
    assert query.window == TimeWindow(8_000_000, 4_000_000)
    assert query.streams == ("purchases", "ads")
    assert [s.where for s in join.sides] == [
        Ranges("price", ((4, None),)),
        Ranges("cost", ((None, 2),)),
    ]
    assert equalities(query) == [
        ["purchase: `user_id`", "ad: CAST(user_id AS BIGINT)"],
        ["purchase: `gem_pack`", "ad: `gem_pack`"],
    ]
    assert [keys_of(query, k) for k in join.meeting.keys] == [["purchase: `gem_pack`"]]
    assert [(a.function, a.side) for a in query.aggregates] == [("count", None), ("sum", 0)]
    assert [(o.name, o.kind) for o in query.outputs] == [
        ("start", "window_start"), ("gem_pack", "key"), ("n", "aggregate"), ("s", "aggregate"),
    ]  # fmt: skip


SHORT_AND_LONG = [
    (
        f"SELECT window.start, gem, COUNT(*) FROM (SELECT *, gem_pack AS gem FROM purchases) "
        f"purchases JOIN ads ON {SAME} AND purchases.user_id = ads.user_id GROUP BY window, gem",
        "SELECT w.start, gem, COUNT(*) FROM (SELECT *, gem_pack AS gem, window(time, '8 seconds', "
        "'4 seconds') AS w FROM purchases) purchases JOIN (SELECT *, window(time, '8 seconds', "
        "'4 seconds') AS v FROM ads) ads ON w = v AND purchases.user_id = ads.user_id "
        "GROUP BY w, gem",
    ),
    (
        f"SELECT window(ads.time, '8 seconds', '4 seconds').end, cost FROM purchases, ads "
        f"WHERE {SAME} AND purchases.user_id = ads.user_id AND cost > 3",
        f"SELECT ad.w.end, cost FROM {P} JOIN {A} ON purchase.w = ad.w AND {KEY} AND cost > 3",
    ),
]


@pytest.mark.parametrize("pair", SHORT_AND_LONG, ids=["grouped", "comma"])
def test_the_short_form_means_the_long_one(analyzer: SparkAnalyzer, pair: tuple[str, str]) -> None:
    short, long = (unnamed(read(analyzer, text)) for text in pair)
    assert short == long


def unnamed(query: LogicalQuery) -> LogicalQuery:
    """Without its text and what that calls its streams."""
    assert query.join is not None
    sides = tuple(replace(s, name="") for s in query.join.sides)
    return replace(query, text="", join=replace(query.join, sides=sides))


def test_stars_show_no_windows_that_nobody_wrote(analyzer: SparkAnalyzer) -> None:
    query = read(
        analyzer,
        f"SELECT * FROM (SELECT price, user_id, time FROM purchases) purchases JOIN ads ON {SAME} "
        "AND purchases.user_id = ads.user_id",
    )
    assert [o.name for o in query.outputs] == [
        "price", "user_id", "time", "user_id", "gem_pack", "cost", "time",
    ]  # fmt: skip
    assert query.join is not None
    assert query.join.shows_rows


def test_what_is_asked_across_streams_is_asked_of_rows(analyzer: SparkAnalyzer) -> None:
    query = read(
        analyzer,
        f"SELECT price * cost AS x FROM purchases JOIN ads ON {SAME} "
        "AND purchases.user_id = ads.user_id AND price > cost",
    )
    assert query.having == "((_k0 > _k1))"
    assert [(o.kind, o.sql) for o in query.outputs] == [("computed", "(_k0 * _k1)")]


def test_three_streams_by_different_columns(analyzer: SparkAnalyzer) -> None:
    query = read(
        analyzer,
        f"SELECT COUNT(*) FROM purchases JOIN ads ON {SAME} AND purchases.gem_pack = ads.gem_pack "
        "JOIN clicks ON window(clicks.at, '8 seconds', '4 seconds') = "
        "window(ads.time, '8 seconds', '4 seconds') AND clicks.ad = ads.user_id AND clicks.n > 0 "
        "GROUP BY window",
    )
    assert query.streams == ("purchases", "ads", "clicks")
    assert sorted(equalities(query)) == [
        ["ads: CAST(user_id AS BIGINT)", "clicks: `ad`"],
        ["purchases: `gem_pack`", "ads: `gem_pack`"],
    ]


def test_keys_that_are_equal_to_the_same_are_one(analyzer: SparkAnalyzer) -> None:
    query = read(
        analyzer,
        f"SELECT COUNT(*) FROM {P} JOIN {P.replace(') purchase', ') q')} ON purchase.w = q.w "
        "AND purchase.user_id <=> q.user_id AND purchase.user_id = q.price GROUP BY purchase.w",
    )
    assert query.join is not None
    (variable,) = query.join.meeting.variables
    assert not variable.null_safe
    assert equalities(query) == [
        ["purchase: `user_id`", "q: `user_id`", "q: CAST(price AS BIGINT)"]
    ]


OUTER = [
    ("LEFT", "TRUE", "left", [], []),
    ("LEFT", "purchase.price > 3", "left", ["purchase: ((price > 3))"], []),
    ("LEFT", "ad.cost > 3", "left", [], []),
    ("RIGHT", "ad.cost > 3", "right", ["ad: ((cost > 3))"], []),
    ("FULL", "ad.cost > 3 AND purchase.price = 1", "full",
     ["purchase: ((price = 1))", "ad: ((cost > 3))"], []),
    ("LEFT", "TRUE WHERE ad.cost IS NULL", "left", [], ["ad: ((cost IS NULL))"]),
    ("LEFT", "TRUE WHERE ad.cost > 3", "inner", [], []),
    ("LEFT", "TRUE WHERE purchase.price > 3", "left", [], []),
    ("FULL", "TRUE WHERE purchase.price > 3", "left", [], []),
    ("FULL", "TRUE WHERE ad.cost > 3", "right", [], []),
    ("FULL", "TRUE WHERE ad.cost > 3 AND purchase.price > 3", "inner", [], []),
    ("FULL", "TRUE WHERE coalesce(ad.cost, 9) > 3", "full", [],
     ["ad: ((coalesce(cost, 9) > 3))"]),
    ("LEFT SEMI", "purchase.price > 3", "semi", [], []),
    ("LEFT ANTI", "purchase.price > 3 AND ad.cost > 3", "anti", ["purchase: ((price > 3))"], []),
]  # fmt: skip


@pytest.mark.parametrize(("how", "on", "kind", "gates", "after"), OUTER)
def test_conditions_of_outer_joins_stand_where_they_belong(
    analyzer: SparkAnalyzer, how: str, on: str, kind: str, gates: list[str], after: list[str]
) -> None:
    window = {"FULL": "coalesce(purchase.w, ad.w)", "RIGHT": "ad.w"}.get(how, "purchase.w")
    text = f"SELECT 1 FROM {P} {how} JOIN {A} ON purchase.w = ad.w AND {KEY} AND {on}"
    if how not in ("LEFT SEMI", "LEFT ANTI"):
        text = text.replace("SELECT 1", f"SELECT COUNT(*), {window}") + f" GROUP BY {window}"
    join = read(analyzer, text).join
    assert join is not None
    meeting = join.meeting
    query = read(analyzer, text)
    assert meeting.kind == kind
    assert keys_of(query, meeting.gates) == gates
    assert keys_of(query, meeting.after) == after
    filtered = [n for n, s in enumerate(join.sides) if s.where != Always()]
    asked = [n for n, name in enumerate(("price", "cost")) if name in on]
    flagged = {p.side for p in (*meeting.gates, *meeting.after)}
    assert filtered == [n for n in asked if n not in flagged]


def test_using_shows_whichever_is_there(analyzer: SparkAnalyzer) -> None:
    query = read(
        analyzer,
        f"SELECT w.start, user_id, COUNT(*) FROM {P} FULL JOIN {A} USING (w, user_id) "
        "GROUP BY w, user_id",
    )
    assert query.join is not None
    (places,) = query.join.meeting.keys
    assert keys_of(query, places) == ["purchase: `user_id`", "ad: CAST(user_id AS BIGINT)"]


REFUSED = [
    ("SELECT price FROM purchases p JOIN ads a ON p.user_id = a.user_id",
     "nothing says that tuples of p and a that are joined are in the same window"),
    (f"SELECT price FROM purchases JOIN ads ON {SAME}", "nothing but the window joins"),
    (f"SELECT price FROM purchases JOIN ads ON {SAME} OR purchases.user_id = ads.user_id",
     "are in the same window"),
    ("SELECT price FROM purchases p JOIN ads a ON window(p.time, '8 seconds') = "
     "window(a.time, '4 seconds') AND p.user_id = a.user_id", "a query has one window"),
    ("SELECT price FROM purchases p JOIN ads a ON window(p.time, '8 seconds') = "
     "window(a.nothing, '8 seconds') AND p.user_id = a.user_id", "no stream's event time"),
    (f"SELECT user_id FROM purchases JOIN ads ON {SAME} AND purchases.user_id = ads.user_id",
     "AMBIGUOUS_REFERENCE"),
    (f"SELECT prise FROM purchases JOIN ads ON {SAME} AND purchases.user_id = ads.user_id",
     "streams 'purchases' and 'ads' have no column 'prise'"),
    (f"SELECT COUNT(*) FROM purchases JOIN ads ON {SAME} AND purchases.user_id = ads.user_id "
     "GROUP BY price", "not grouped by its window"),
    (f"SELECT SUM(price * cost) FROM purchases JOIN ads ON {SAME} AND "
     "purchases.user_id = ads.user_id GROUP BY window", "an aggregate over columns of several"),
    (f"SELECT COUNT(*) FROM {P} LEFT JOIN {A} ON purchase.w = ad.w AND {KEY} GROUP BY ad.w",
     "NULL where a tuple has no partner"),
    (f"SELECT COUNT(*) FROM {P} FULL JOIN {A} ON purchase.w = ad.w AND {KEY} "
     "GROUP BY purchase.w", "NULL where a tuple has no partner"),
    (f"SELECT 1 FROM {P} LEFT JOIN {A} ON purchase.w = ad.w AND {KEY} AND price > cost",
     "a condition of an outer join over columns of several"),
    (f"SELECT 1 FROM {P} LEFT JOIN {A} USING (w, user_id) LEFT JOIN {A.replace(') ad', ') b')} "
     "USING (w, user_id)", "a join of 3 streams that is not an INNER one"),
    ("SELECT 1 FROM purchases p JOIN (SELECT user_id, COUNT(*) AS n FROM ads GROUP BY user_id) a "
     "ON p.user_id = a.user_id", "subqueries are not supported"),
    (f"SELECT tags FROM purchases JOIN ads ON {SAME} AND purchases.user_id = ads.user_id",
     "array<string> is not supported"),
    ("SELECT 1 FROM purchases p ASOF JOIN ads a ON p.user_id = a.user_id", ""),
    ("SELECT 1 FROM purchases p, LATERAL (SELECT 1) l", "LATERAL"),
    ("SELECT 1 FROM purchases p JOIN text.`/etc/passwd` f ON p.gem_pack = f.value",
     "there is no stream 'text./etc/passwd'"),
    ("SELECT 1 FROM purchases p JOIN ads a ON p.user_id = a.user_id AND rand() > 0.5",
     "deterministic"),
    (f"SELECT 1 FROM purchases JOIN ads ON {SAME} AND purchases.user_id = ads.user_id AND "
     "reflect('java.util.UUID', 'randomUUID') IS NULL", "deterministic"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "reason"), REFUSED)
def test_what_is_no_join_in_a_window_is_refused(
    analyzer: SparkAnalyzer, text: str, reason: str
) -> None:
    with pytest.raises(QueryError) as found:
        read(analyzer, text)
    assert reason in str(found.value)


def test_joins_are_never_approximate(analyzer: SparkAnalyzer) -> None:
    text = f"SELECT /*+ APPROX(error => 0.1) */ COUNT(*) FROM purchases JOIN ads ON {SAME} AND "
    with pytest.raises(UnsupportedQuery, match="joins cannot be approximate"):
        read(analyzer, text + "purchases.user_id = ads.user_id GROUP BY window")
