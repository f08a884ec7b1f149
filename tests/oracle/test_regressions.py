"""Small cases of what the random scenarios have found, drawn out so that one can read them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import ManualClock, MemoryStream
from tests.waiting import GUARD_S

pytestmark = [pytest.mark.spark]

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema([("v", pa.int64()), ("f", pa.bool_()), ("time", pa.timestamp("us", "UTC"))])


class Story:
    """A session over one partition without lateness; every `arrive` is one micro-batch."""

    def __init__(self, spark: SparkSession) -> None:
        self.stream = MemoryStream(SCHEMA)
        self.session = hr.Session(spark, clock=ManualClock())
        self.session.stream("s", self.stream, event_time="time", max_ahead=None)

    def arrive(self, *tuples: tuple[float, int | None, bool]) -> None:
        """Tuples of (seconds, v, f)."""
        rows = [{"time": START + dt.timedelta(seconds=t), "v": v, "f": f} for t, v, f in tuples]
        self.stream.push(rows)
        self.session.process_all_available()


@pytest.fixture
def story(spark: SparkSession) -> Iterator[Story]:
    made = Story(spark)
    with made.session:
        yield made


def _values(query: hr.Query) -> list[tuple[Any, ...]]:
    return [tuple(r.values()) for r in query.collect().to_pylist()]


def test_open_sessions_survive_transactions_that_close_nothing(story: Story) -> None:
    #   batch 1        batch 2      batch 3: nothing     batch 4
    #   0 1 2 3 4 5    6 7 8 9                           60
    sql = "SELECT COUNT(*), SUM(v) FROM s GROUP BY session_window(time, '2 seconds')"
    query, other = (
        story.session.sql(sql),
        story.session.sql(sql.replace("s GROUP", "s WHERE f GROUP")),
    )
    story.session.start()
    story.arrive(*[(t, 1, True) for t in range(6)])
    story.arrive(*[(t, 1, True) for t in range(6, 10)])
    story.arrive()
    other.stop()
    story.session.process_all_available()
    story.arrive((60, 1, True))
    assert _values(query) == [(10, 10)]


def test_a_tuple_that_is_late_for_a_session_counts_in_none_of_its_aggregates(story: Story) -> None:
    # Watermark 10 after the first batch; the session 0 … 10 is open, but 3 + 6 lies before it.
    query = story.session.sql(
        "SELECT COUNT(*), COUNT(DISTINCT v), PERCENTILE_APPROX(v, 1.0), MAX(v) FROM s "
        "GROUP BY session_window(time, '6 seconds')"
    )
    story.session.start()
    story.arrive((0, 1, True), (5, 2, True), (10, 3, True))
    story.arrive((3, 99, True), (11, 4, True))
    story.arrive((60, 1, True))
    assert _values(query) == [(4, 4, 4, 4)]


def test_a_filter_takes_tuples_away_before_first_and_last_look(story: Story) -> None:
    first = story.session.sql(
        "SELECT FIRST(v) FILTER (WHERE f), LAST(v) FILTER (WHERE f) FROM s "
        "GROUP BY window(time, '10 seconds')"
    )
    known = story.session.sql(
        "SELECT FIRST(v) FILTER (WHERE f) IGNORE NULLS, LAST(v, true) FILTER (WHERE f) FROM s "
        "GROUP BY window(time, '10 seconds')"
    )
    story.session.start()
    story.arrive((1, 1, False), (2, 2, True), (3, None, True), (4, 4, False))
    story.arrive((60, 1, True))
    assert _values(first) == [(2, None)]
    assert known.error is None
    assert _values(known) == [(2, 2)]


def test_a_partial_window_holds_nothing_from_before_its_query(story: Story) -> None:
    # Created after 6; the late 2 comes while it is active, but lies before its start.
    story.session.sql("SELECT COUNT(*) FROM s GROUP BY window(time, '10 seconds')")
    story.session.start()
    story.arrive((1, 1, True), (6, 1, True))
    query = story.session.sql(
        "SELECT COUNT(*), SUM(v) FROM s GROUP BY window(time, '10 seconds')", partial_first=True
    )
    query.await_active(timeout_s=GUARD_S)
    story.arrive((2, 100, True), (8, 1, True))
    story.arrive((60, 1, True))
    assert _values(query) == [(1, 1, True)]


def test_state_that_is_left_by_different_neighbours_stays_apart(story: Story) -> None:
    # One window; the query shares its cells with one neighbour after the other, and each goes.
    group = "FROM s GROUP BY window(time, '100 seconds')"
    query = story.session.sql(f"SELECT MIN(v), MAX(CAST(v AS STRING)), COUNT(DISTINCT v) {group}")
    neighbour = story.session.sql(f"SELECT SUM(v), BOOL_AND(f), COUNT(DISTINCT v) {group}")
    story.session.start()
    story.arrive((1, 5, True), (2, 7, True))
    neighbour.stop()
    for number, item in enumerate(("COUNT(f)", "AVG(v)", "LAST(f)"), 3):
        neighbour = story.session.sql(f"SELECT {item}, COUNT(DISTINCT f) {group}")
        neighbour.await_active(timeout_s=GUARD_S)
        story.arrive((number, number, True))
        neighbour.stop()
        story.session.process_all_available()
    story.arrive((600, 1, True))
    assert _values(query) == [(3, "7", 4)]


def test_cells_and_distinct_values_are_compacted_apart(story: Story) -> None:
    # Three neighbours leave one after the other while the window is open.
    sql = "SELECT SUM(v), COUNT(DISTINCT v), MAX(v) FROM s WHERE v > {} {}"
    group = "GROUP BY window(time, '100 seconds'), f"
    queries = [story.session.sql(sql.format(low, group)) for low in (0, 1, 2, 3)]
    story.session.start()
    story.arrive((1, 5, True), (2, 7, True), (3, 5, True), (4, 1, False))
    for number, neighbour in enumerate(queries[:0:-1], 5):
        neighbour.stop()
        story.session.process_all_available()
        story.arrive((number, 9, True))
    story.arrive((600, 1, True))
    assert sorted(_values(queries[0])) == [(1, 1, 1), (44, 3, 9)]


def test_min_and_max_of_strings_that_are_all_null_in_some_cells(spark: SparkSession) -> None:
    schema = pa.schema([("k", pa.int64()), ("s", pa.string()), ("time", SCHEMA.field("time").type)])
    stream = MemoryStream(schema)
    with hr.Session(spark, clock=ManualClock()) as session:
        session.stream("s", stream, event_time="time", max_ahead=None)
        query = session.sql(
            "SELECT k, MIN(s), MAX(s) FROM s GROUP BY window(time, '10 seconds'), k"
        )
        session.start()
        for values in ((None, "b"), ("a", None), (None, None)):
            stream.push({"k": [1, 2], "s": list(values), "time": [START, START]})
            session.process_all_available()
        stream.push({"k": [1], "s": [None], "time": [START + dt.timedelta(minutes=1)]})
        session.process_all_available()
    assert sorted(_values(query)) == [(1, "a", "a"), (2, "b", "b")]


def test_a_query_alone_on_a_dataframe_whose_condition_is_never_true(
    spark: SparkSession, tmp_path: Path
) -> None:
    times = [START, START + dt.timedelta(minutes=1)]
    rows = pa.table({"v": [1, 2], "f": [True, False], "time": times}, schema=SCHEMA)
    pq.write_table(rows, tmp_path / "a.parquet")
    frame = spark.readStream.schema("v bigint, f boolean, time timestamp").parquet(str(tmp_path))
    with hr.Session(spark, clock=ManualClock()) as session:
        session.stream("s", frame.select("*"), event_time="time", max_ahead=None)
        query = session.sql(
            "SELECT COUNT(*) FROM s WHERE v > 1 AND NOT (v > 1) GROUP BY window(time, '10 seconds')"
        )
        session.start()
        session.process_all_available()
        assert query.error is None
        assert query.status == "active"
        assert query.collect().num_rows == 0
