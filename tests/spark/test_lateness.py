"""Late, idle and impossible tuples: counted, routed, and never in the way of the others."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import DAY, SCHEMA, at, pairs, rows

COUNT = "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')"


def test_late_tuples_are_counted_per_query_and_go_to_the_late_sink(spark: SparkSession) -> None:
    late: list[pa.Table] = []
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time", lateness="5 seconds", late_sink=late.append)
        short = session.sql(COUNT, name="short")
        some = session.sql(COUNT.replace("GROUP", "WHERE v >= 1 GROUP"), name="some")
        hourly = session.sql(COUNT.replace("10 seconds", "1 hour"), name="hourly")
        session.start()
        stream.push(rows([1, 12, 26]))  # watermark 21: [0, 10) and [10, 20) are out
        session.process_all_available()
        stream.push(rows([3, 19.5, 22, 40]))  # 3 and 19.5 are late for ten-second windows
        session.process_all_available()
        assert short.metrics().late_tuples == 2
        assert some.metrics()["late_tuples"] == 1
        assert hourly.metrics().late_tuples == 0
        assert pairs(short.collect(), "start", "n") == [(at(0), 1), (at(10), 1), (at(20), 2)]
        assert pairs(pa.concat_tables(late), "time") == [(at(3),), (at(19.5),)]
        assert set(late[0].column_names) == set(SCHEMA.names)
        stream.push(rows([7300]))
        session.process_all_available()
        # What was late for the short windows was on time for the hour.
        assert pairs(hourly.collect(), "start", "n") == [(DAY, 7)]


def test_an_idle_partition_does_not_hold_the_watermark_for_ever(spark: SparkSession) -> None:
    clock = hr.testing.ManualClock(DAY)
    stream = hr.testing.MemoryStream(SCHEMA, partitions=2)
    with hr.Session(spark, clock=clock) as session:
        session.stream("s", stream, event_time="time", idle_after="60 seconds")
        query = session.sql(COUNT)
        session.start()
        stream.push(rows([1, 25]), partition=0)
        stream.push(rows([2, 4]), partition=1)
        session.process_all_available()
        assert len(query.collect()) == 0, "partition 1 stands at second 4"
        clock.advance(30)
        stream.push(rows([26]), partition=0)
        session.process_all_available()
        assert len(query.collect()) == 0
        clock.advance(31)
        session.process_all_available()
        # Partition 1 has been silent for 61 seconds: only partition 0 counts, without a new tuple.
        assert pairs(query.collect(), "start", "n") == [(at(0), 3)]
        stream.push(rows([27, 41]), partition=1)
        session.process_all_available()
        assert len(query.collect()) == 1, "both partitions count again: the lowest is at 26"


def test_a_tuple_from_the_far_future_is_set_aside(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(COUNT)
        session.start()
        stream.push(rows([1, 2]))
        session.process_all_available()
        far = dt.datetime(2190, 1, 1, tzinfo=dt.UTC)
        stream.push([{"k": "a", "v": 1, "s": "1", "time": far}])
        session.process_all_available()
        assert len(query.collect()) == 0, "nobody's window was closed"
        stream.push([*rows([3, 11]), {"k": "a", "v": 1, "s": "1", "time": far}])
        session.process_all_available()
        assert pairs(query.collect(), "start", "n") == [(at(0), 3)]
        assert session.metrics().from_future == 2
        stream.push([{"k": "a", "v": 1, "s": "1", "time": None}])
        session.process_all_available()
        assert session.metrics().without_time == 1


def test_a_stream_may_live_in_any_year(spark: SparkSession) -> None:
    start = dt.datetime(2300, 1, 1, tzinfo=dt.UTC)
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(COUNT)
        session.start()
        for second in (1, 2, 12):
            moment = start + dt.timedelta(seconds=second)
            stream.push([{"k": "a", "v": 1, "s": "1", "time": moment}])
            session.process_all_available()
        assert query.collect().column("n").to_pylist() == [2]
        assert session.metrics().from_future == 0
