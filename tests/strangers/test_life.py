"""Queries that come, go and fail in any order leave the stream and all others as they were."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import DAY, SCHEMA, at, pairs, rows
from tests.waiting import until

pytestmark = [pytest.mark.spark]

COUNT = "SELECT window.start AS start, COUNT(*) AS n FROM s WHERE v >= {} {}"
GROUP = "GROUP BY window(time, '10 seconds')"


def test_names_may_be_used_again_and_again_while_windows_are_open(spark: SparkSession) -> None:
    # The first window keeps an old plan alive. When it closes, the oldest plan is one that served a
    # query of the second window whose name was taken since.
    stream = hr.testing.MemoryStream(SCHEMA)
    minute = "GROUP BY window(time, '1 minute')"
    arrivals = {5: 1, 45: 61, 85: 62, 125: 121}
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time", lateness="50 seconds")
        stays = [session.sql(COUNT.format(0, minute), name=f"stays {n}") for n in range(4)]
        session.start()
        for number in range(130):
            query = session.sql(COUNT.format(number, minute), name=f"q{number % 3}")
            query.await_active(timeout_s=60)
            if number in arrivals:
                stream.push(rows([arrivals[number]]))
                session.process_all_available()
            query.stop()
        stream.push(rows([1_000]))
        session.process_all_available()
        for query in stays:
            assert query.error is None
            assert pairs(query.collect(), "start", "n") == [(at(0), 1), (at(60), 2), (at(120), 1)]


def test_a_query_with_state_that_fails_beside_a_mere_selection(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        chosen = session.sql("SELECT v FROM s WHERE v >= 0", name="chosen")
        cast = session.sql(
            "SELECT SUM(CAST(s AS INT)) FROM s GROUP BY window(time, '1 minute')", name="cast"
        )
        session.start()
        stream.push(rows([1, 2], s="7"))
        session.process_all_available()
        stream.push(rows([3, 4], s="seven"))
        session.process_all_available()
        stream.push(rows([5], s="8"))
        session.process_all_available()
        assert cast.status == "failed"
        assert "CAST_INVALID_INPUT" in str(cast.error)
        assert chosen.status == "active"
        assert chosen.collect().column("v").to_pylist() == [0, 1, 0, 1, 0]
        later = session.sql(COUNT.format(0, GROUP), name="later")
        assert later.await_active(timeout_s=60) > at(5)


def test_a_stream_that_fails_between_two_batches_calls_for_no_more(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        session.sql(COUNT.format(0, GROUP), name="counted")
        session.start()
        stream.push(rows([1]))
        session.process_all_available()
        (pipeline,) = session._pipelines.values()
        pipeline.fail(hr.ExecutionError("a firing found state that is damaged"))
        stream.push(rows([2]))
        until(lambda: not pipeline.is_running)
        with pytest.raises(hr.ExecutionError, match="state that is damaged"):
            session.process_all_available()


def test_a_stream_that_fails_between_its_batches_fails_alone(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = hr.testing.ManualClock(DAY)
    streams = {n: hr.testing.MemoryStream(SCHEMA, partitions=2) for n in ("broken", "whole")}
    with hr.Session(spark, clock=clock) as session:
        queries = {}
        for name, stream in streams.items():
            session.stream(name, stream, event_time="time", idle_after="60 seconds")
            queries[name] = session.sql(COUNT.format(0, GROUP).replace("FROM s", f"FROM {name}"))
        session.start()
        for stream in streams.values():
            stream.push(rows([1, 25]), partition=0)
            stream.push(rows([2, 4]), partition=1)
        session.process_all_available()
        broken = session._pipelines["broken"]

        def fail(*_: object, **__: object) -> None:
            raise OSError("state cannot be read")

        monkeypatch.setattr(broken, "_transact", fail)
        clock.advance(61)  # both have a window that is due, and no batch that would fire it
        until(lambda: queries["broken"].status == "failed")
        until(lambda: len(queries["whole"].collect()) == 1)
        assert "state cannot be read" in str(queries["broken"].error)
        assert queries["whole"].status == "active"


def test_queries_of_a_spark_that_has_died_say_so(tmp_path: Path) -> None:
    program = f"""
        import os, signal
        import headrace as hr
        from tests.spark.helpers import SCHEMA, rows
        from tests.waiting import until

        spark = hr.local_spark(1)
        stream = hr.testing.MemoryStream(SCHEMA)
        session = hr.Session(spark, checkpoint={str(tmp_path / "checkpoint")!r})
        session.stream("s", stream, event_time="time")
        query = session.sql({COUNT.format(0, GROUP)!r}, name="q")
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        os.kill(spark.sparkContext._gateway.proc.pid, signal.SIGKILL)
        until(lambda: query.status == "failed")
        print(query.error)
        session.close()
        print(query.collect().num_rows)
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        check=True,
    )
    reason, count = run.stdout.splitlines()
    assert reason == "stream 's' stopped: the JVM of Spark has ended, or no longer answers"
    assert count == "1"
