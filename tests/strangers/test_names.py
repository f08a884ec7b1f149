"""Columns may be called like anything, also like what Headrace calls things inside."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import at, pairs

pytestmark = [pytest.mark.spark]

NAMES = (
    "_t _p _slice _code _ahead _rows _highest _k0 _n0 _v0 _q _w _start _end _time _rank _x k0 a0"
)
LANES = ["arrow", "files", "rows", "catalyst"]


def table_of(names: list[str]) -> pa.Table:
    times = pa.array([at(1), at(2), at(12)], pa.timestamp("us", "UTC"))
    columns = {n: pa.array([10 * i + j for j in range(3)]) for i, n in enumerate(names)}
    return pa.table({**columns, "time": times})


@pytest.mark.parametrize("lane", ["arrow", "files", "rows"])
def test_columns_named_like_those_inside(spark: SparkSession, tmp_path: Path, lane: str) -> None:
    names = NAMES.split()
    table = table_of(names)
    with hr.Session(spark) as session:
        if lane == "arrow":
            source = hr.testing.MemoryStream(table.schema)
            source.push(table)
            session.stream("s", source, event_time="time")
        else:
            form = "parquet" if lane == "files" else "json"
            spark.createDataFrame(table).coalesce(1).write.mode("append").format(form).save(
                str(tmp_path)
            )
            columns = ", ".join([*(f"`{n}` bigint" for n in names), "time timestamp"])
            frame = spark.readStream.schema(columns).format(form).load(str(tmp_path))
            session.stream("s", frame, event_time="time")
        queries = {
            n: session.sql(
                f"SELECT `{n}` AS k, SUM(`{n}`) AS t, MAX(`{n}` + 1) AS m FROM s "
                f"WHERE `{n}` >= 0 GROUP BY window(time, '10 seconds'), `{n}`",
                name=f"of {n}",
            )
            for n in names
        }
        session.start()
        session.process_all_available()
        for place, (name, query) in enumerate(queries.items()):
            wanted = [(10 * place + j, 10 * place + j, 10 * place + j + 1) for j in range(2)]
            assert pairs(query.collect(), "k", "t", "m") == wanted, name


@pytest.mark.parametrize("name", NAMES.split())
def test_a_single_query_left_to_catalyst(spark: SparkSession, tmp_path: Path, name: str) -> None:
    pq.write_table(table_of([name]), tmp_path / "part.parquet")
    frame = spark.readStream.schema(f"`{name}` bigint, time timestamp").parquet(str(tmp_path))
    with hr.Session(spark) as session:
        session.stream("s", frame, event_time="time")
        query = session.sql(
            f"SELECT `{name}` % 2 AS k, SUM(`{name}`) AS t FROM s "
            f"GROUP BY window(time, '10 seconds'), `{name}` % 2"
        )
        session.start()
        session.process_all_available()
        assert pairs(query.collect(), "k", "t") == [(0, 0), (1, 1)]


def test_names_that_are_ours_are_refused(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(table_of(["__HR_T"]).schema)
    with (
        hr.Session(spark) as session,
        pytest.raises(hr.QueryError, match="'__HR_T', and __hr_… are names of Headrace"),
    ):
        session.stream("s", stream, event_time="time")
