"""A query's life: pending, active, stopped; where it starts and ends; what it may emit."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, pairs, rows
from tests.waiting import GUARD_S, until

COUNT = "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')"


@pytest.fixture
def stream() -> hr.testing.MemoryStream:
    return hr.testing.MemoryStream(SCHEMA)


def test_a_query_from_before_the_start_sees_the_stream_from_its_first_tuple(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(COUNT, name="counts")
        assert query.status == "pending"
        assert query.effective_start is None
        stream.push(rows([1, 2, 11, 21]))
        session.start()
        session.process_all_available()
        assert query.status == "active"
        assert query.effective_start == dt.datetime.min.replace(tzinfo=dt.UTC)
        assert pairs(query.collect(), "start", "n") == [(at(0), 2), (at(10), 1)]
        assert query.stop() == at(21)
        assert query.status == "stopped"


def test_a_later_query_emits_only_windows_wholly_inside_its_life(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    #   tuples     1 2     13 14 | 15 16     21    31      41
    #   windows  [0     )[10     |    )[20      )[30      )[40
    #   life                     [14.001 …
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        first = session.sql(COUNT, name="first")
        session.start()
        stream.push(rows([1, 2, 13, 14]))
        session.process_all_available()
        later = session.sql(COUNT, name="later")
        partial = session.sql(COUNT, name="partial", partial_first=True)
        assert later.await_active(GUARD_S) == at(14.001)
        stream.push(rows([15, 16, 21, 31, 41]))
        session.process_all_available()
        assert pairs(first.collect(), "start", "n") == [
            (at(0), 2), (at(10), 4), (at(20), 1), (at(30), 1),
        ]  # fmt: skip
        assert pairs(later.collect(), "start", "n") == [(at(20), 1), (at(30), 1)]
        assert pairs(partial.collect(), "start", "n", "partial") == [
            (at(10), 2, True), (at(20), 1, False), (at(30), 1, False),
        ]  # fmt: skip


def test_a_stopped_query_says_its_end_and_emits_nothing_after_it(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        one, two = session.sql(COUNT, name="one"), session.sql(COUNT, name="two")
        session.start()
        stream.push(rows([1, 11, 15]))
        session.process_all_available()
        assert one.stop() == at(15)
        stream.push(rows([22, 35]))
        session.process_all_available()
        assert pairs(one.collect(), "start", "n") == [(at(0), 1)]
        assert len(two.collect()) == 3
        assert [q.status for q in session.queries] == ["stopped", "active"]
        again = session.sql(COUNT, name="one")
        assert again.await_active(GUARD_S) > at(35)


def test_results_come_one_table_per_window_as_windows_close(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(COUNT)
        session.start()
        stream.push(rows([1, 11, 21]))
        session.process_all_available()
        results = query.results(timeout_s=0.1)
        assert [t.to_pylist() for t in results] == [
            [{"start": at(0), "n": 1}],
            [{"start": at(10), "n": 1}],
        ]
        query.stop()
        assert len(list(query.results())) == 2


def test_names_are_unique_among_running_queries(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        session.sql(COUNT, name="mine")
        with pytest.raises(hr.QueryError, match="active query named 'mine'"):
            session.sql(COUNT, name="mine")
        with pytest.raises(hr.QueryError, match=r"query .typo.*no stream .t.*known: s"):
            session.sql("SELECT * FROM t", name="typo")


def test_a_closed_session_says_so(spark: SparkSession, stream: hr.testing.MemoryStream) -> None:
    session = hr.Session(spark)
    session.stream("s", stream, event_time="time")
    query = session.sql(COUNT)
    session.start()
    session.close()
    session.close()
    with pytest.raises(hr.ExecutionError, match="closed"):
        session.sql(COUNT)
    assert list(query.results()) == []


def test_a_selection_delivers_tuples_as_they_come(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql("SELECT k, v * 2 AS twice FROM s WHERE v >= 1 AND k LIKE 'a%'")
        session.start()
        stream.push(rows([1, 2, 3]) + rows([1, 2], k="b"))
        session.process_all_available()
        later = session.sql("SELECT v FROM s")
        later.await_active(GUARD_S)
        stream.push(rows([2, 4]))
        session.process_all_available()
        assert pairs(query.collect(), "k", "twice") == [("a", 2), ("a", 2), ("a", 4)]
        # The tuple at second 2 lies before its effective start.
        assert pairs(later.collect(), "v") == [(1,)]


def test_without_sharing_a_query_that_has_ended_is_no_longer_read_for(
    spark: SparkSession, stream: hr.testing.MemoryStream
) -> None:
    def spark_queries() -> int:
        return len([q for q in spark.streams.active if (q.name or "").startswith("headrace")])

    with hr.Session(spark, sharing="off") as session:
        session.stream("s", stream, event_time="time")
        before = spark_queries()
        first, second = session.sql(COUNT, name="first"), session.sql(COUNT, name="second")
        session.start()
        stream.push(rows([1, 2, 11]))
        session.process_all_available()
        first.stop()
        until(lambda: spark_queries() == before + 1)
        third = session.sql(COUNT, name="third")
        assert third.await_active(GUARD_S) == at(11.001)
        stream.push(rows([21, 31, 41]))
        session.process_all_available()
        assert pairs(first.collect(), "start", "n") == [(at(0), 2)]
        assert pairs(second.collect(), "start", "n") == [
            (at(0), 2), (at(10), 1), (at(20), 1), (at(30), 1),
        ]  # fmt: skip
        assert pairs(third.collect(), "start", "n") == [(at(20), 1), (at(30), 1)]


def test_the_oldest_queries_that_have_ended_are_forgotten(
    spark: SparkSession, stream: hr.testing.MemoryStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.spark.roster._KEPT_ENDED", 2)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        queries = [session.sql(COUNT, name=f"q{n}") for n in range(5)]
        session.start()
        stream.push(rows([1, 2, 11]))
        session.process_all_available()
        for query in queries[:4]:
            query.stop()
        told = session.metrics().rows
        session.sql(COUNT, name="q3")
        assert [(q.name, q.status) for q in session.queries][:2] == [
            ("q2", "stopped"),
            ("q4", "active"),
        ]
        assert session.metrics().rows == told == 5
        assert queries[0].collect().num_rows == 1
