"""State: freed with its queries, compacted with time, found again after a restart."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from pyspark.sql.functions import window
from pyspark.sql.pandas.types import from_arrow_schema

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
        kept = session.sql(sql, name="kept", sink="parquet", options=out)
        session.start()
        assert kept in session.queries
        assert (kept.status, kept.effective_start) == ("active", query.effective_start)
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


COLUMNS = [f"c{n}" for n in range(40)]
WIDE = pa.schema([*SCHEMA, *((c, pa.int64()) for c in COLUMNS)])


def _wide_rows(seed: int, seconds: Iterable[int]) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        r | {c: rng.choice([0, 1, 2, None]) for c in COLUMNS}
        for second in seconds
        for r in rows([second] * 5, k=rng.choice("ab"))
    ]


def test_a_query_of_forty_columns_is_answered_beside_others_and_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    wheres = [
        " OR ".join(
            f"({a} > 0 AND {b} = 1)" for a, b in zip(COLUMNS[::2], COLUMNS[1::2], strict=True)
        ),
        " AND ".join(f"({c} >= 0 OR {c} IS NULL)" for c in COLUMNS[:14]),
        *(f"c0 >= {n % 3} {op} c1 <= {n % 2}" for n in range(6) for op in ("AND", "OR")),
    ]
    sql = [
        f"SELECT window.start AS start, k, COUNT(*) AS n FROM s WHERE {where} "
        "GROUP BY window(time, '10 seconds'), k"
        for where in wheres
    ]
    stream = hr.testing.MemoryStream(WIDE, path=tmp_path / "stream")
    every: list[dict[str, Any]] = []

    def declare() -> hr.Session:
        session = hr.Session(spark, checkpoint=str(tmp_path / "checkpoint"))
        session.stream("s", stream, event_time="time")
        return session

    def push(seed: int, seconds: Iterable[int]) -> None:
        made = _wide_rows(seed, seconds)
        every.extend(made)
        stream.push(made)

    options = [{"path": str(tmp_path / f"out{n}")} for n in range(len(sql))]
    with declare() as session:
        for n, text in enumerate(sql):
            session.sql(text, name=f"q{n}", sink="parquet", options=options[n])
        session.start()
        push(1, range(12))
        session.process_all_available()
        explained = session.explain()
        assert "c38 (1 cuts), c39 (2 cuts)" in explained.replace("\n", " ")
        assert "found so far" in explained
        assert session.metrics().classes > 0
        push(2, range(12, 18))
        session.process_all_available()
    with declare() as session:
        session.start()
        push(3, range(15, 30))
        session.process_all_available()
        stream.push(_wide_rows(4, [100]))
        session.process_all_available()
    tuples = spark.createDataFrame(every, schema=from_arrow_schema(WIDE))
    for where, option in zip(wheres, options, strict=True):
        found = pairs(pq.read_table(option["path"]), "start", "k", "n")
        batch = tuples.where(where).groupBy(window("time", "10 seconds"), "k").count()
        wanted = [
            (r["window"]["start"].replace(tzinfo=dt.UTC), r["k"], r["count"])
            for r in batch.collect()
        ]
        assert found == sorted(wanted)
