"""State: freed with its queries, compacted with time, found again after a restart."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, pairs, rows


def _query(number: int) -> str:
    rng = random.Random(number)
    size = rng.randint(5, 60)
    return (
        f"SELECT window.start AS start, k, SUM(v) AS total FROM s "
        f"WHERE v {rng.choice('<>')} {rng.randint(0, 50)} "
        f"GROUP BY window(time, '{size} seconds', '{rng.randint(1, size)} seconds'), k"
    )


def test_deleting_a_thousand_queries_gives_back_all_they_took(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        keeper = session.sql(
            "SELECT window.start AS start, COUNT(*) AS n FROM s "
            "GROUP BY window(time, '600 seconds')"
        )
        session.start()
        stream.push(rows(range(10)))
        session.process_all_available()
        before = session.metrics()
        many = [session.sql(_query(n), sink="digest") for n in range(1000)]
        for query in many:
            query.await_active(30)
        stream.push([r for k in "abcde" for r in rows(range(10, 60), k=k)])
        session.process_all_available()
        during = session.metrics()
        assert during.queries == 1001
        assert during.pipelines[0].query_set_bits == 1001
        assert during.classes > before.classes
        assert during.slices > before.slices
        assert during.state_bytes > 5 * before.state_bytes
        for query in many:
            query.stop(wait=False)
        for query in many:
            query.stop()
        session.process_all_available()
        after = session.metrics()
        assert after.queries == before.queries
        assert after.pipelines[0].query_set_bits == before.pipelines[0].query_set_bits
        assert (after.groups, after.classes) == (before.groups, before.classes)
        assert after.slices <= before.slices
        assert after.state_bytes <= 2 * before.state_bytes
        stream.push(rows([1300]))
        session.process_all_available()
        assert pairs(keeper.collect(), "start", "n") == [(at(0), 260)]


def test_long_windows_over_many_batches_stay_few_sections(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA, tables_per_batch=1)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        long = session.sql(
            "SELECT window.start AS start, COUNT(*) AS n FROM s "
            "GROUP BY window(time, '120 seconds', '60 seconds')"
        )
        calls = session.sql(
            "SELECT session_window.start AS start, COUNT(*) AS n, COUNT(DISTINCT v) AS d FROM s "
            "GROUP BY session_window(time, '3 seconds')"
        )
        short = session.sql(
            "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '1 second')"
        )
        session.start()
        for second in range(0, 100, 2):
            stream.push(rows([second, second + 1]))
        stream.push(rows([200]))
        session.process_all_available()
        assert session.metrics().batches == 51
        assert session.metrics().sections < 40
        assert pairs(long.collect(), "start", "n") == [(at(-60), 60), (at(0), 100), (at(60), 40)]
        assert pairs(calls.collect(), "start", "n", "d") == [(at(0), 100, 2)]
        assert len(short.collect()) == 100


def test_a_restarted_session_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    stream = hr.testing.MemoryStream(SCHEMA, path=tmp_path / "stream")
    out = {"path": str(tmp_path / "out")}
    sql = "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')"

    def declare() -> hr.Session:
        session = hr.Session(spark, checkpoint=str(tmp_path / "checkpoint"))
        session.stream("s", stream, event_time="time")
        return session

    with declare() as session:
        query = session.sql(sql, name="kept", sink="parquet", options=out)
        session.sql(sql, name="ended").stop(wait=False)
        caller = session.sql(sql, name="caller", sink=print)
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        assert caller.status == "active"
    with declare() as session:
        kept = next(q for q in session.queries if q.name == "kept")
        assert (kept.status, kept.effective_start) == ("active", query.effective_start)
        assert session.sql(sql, name="kept", sink="parquet", options=out) is kept
        session.start()
        lost = next(q for q in session.queries if q.name == "caller")
        assert lost.status == "failed"
        assert "callable" in str(lost.error)
        stream.push(rows([13, 25, 31]))
        session.process_all_available()
        later = session.sql(sql, name="later")
        assert later.await_active(10) > at(31)
    table = pq.read_table(tmp_path / "out")
    assert pairs(table, "start", "n") == [(at(0), 1), (at(10), 2), (at(20), 1)]


def test_off_runs_each_query_as_a_pipeline_of_its_own(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    sql = "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')"
    with hr.Session(spark, sharing="off") as session:
        session.stream("s", stream, event_time="time")
        first = session.sql(sql)
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        second = session.sql(sql)
        assert second.await_active(10) == at(12.001)
        stream.push(rows([13, 25, 31]))
        session.process_all_available()
        assert session.metrics().scans == 2
        assert pairs(first.collect(), "start", "n") == [(at(0), 1), (at(10), 2), (at(20), 1)]
        assert pairs(second.collect(), "start", "n") == [(at(20), 1)]
        assert second.stop() == at(31)
