"""Texts that strangers wrote: answered as Spark answers them, and nobody beside them is hurt."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import headrace as hr
from headrace.testing import ManualClock, MemoryStream

pytestmark = [pytest.mark.spark]

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("d", pa.float64()),
        ("b", pa.bool_()),
        ("ts", pa.timestamp("us", "UTC")),
        ("time", pa.timestamp("us", "UTC")),
    ]
)
WINDOW = "GROUP BY window(time, '10 seconds')"


def _tuples(count: int) -> list[dict[str, Any]]:
    """Times a microsecond apart; zeros of both signs and NaN among the doubles."""
    doubles = [0.0, -0.0, float("nan"), 1.5, -1.5]
    return [
        {
            "k": n % 4,
            "d": doubles[n % 5],
            "b": n % 2 == 0,
            "ts": START + dt.timedelta(microseconds=n),
            "time": START + dt.timedelta(milliseconds=n),
        }
        for n in range(count)
    ]


def _answers(spark: SparkSession, *texts: str) -> list[list[tuple[Any, ...]]]:
    """What each text gives over one closed window of 40 tuples, all of them run together."""
    stream = MemoryStream(SCHEMA)
    with hr.Session(spark, clock=ManualClock()) as session:
        session.stream("t", stream, event_time="time", max_ahead=None)
        queries = [session.sql(text) for text in texts]
        session.start()
        stream.push(_tuples(40))
        session.process_all_available()
        stream.push([{**_tuples(1)[0], "time": START + dt.timedelta(minutes=1)}])
        session.process_all_available()
        for query in queries:
            assert query.error is None
        return [[tuple(r.values()) for r in q.collect().to_pylist()] for q in queries]


def _in_batch(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    """The same text over the same tuples, by Spark."""
    frame = spark.createDataFrame(pa.Table.from_pylist(_tuples(40), schema=SCHEMA))
    frame.createOrReplaceTempView("t")
    return [tuple(r) for r in spark.sql(text).collect()]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, explode(array(1, 2, 3)) FROM t",
        "SELECT k, posexplode(array(1, 2, 3)) FROM t",
        "SELECT inline(array(struct(1, 2))) FROM t",
        "SELECT stack(2, k, k) FROM t",
    ],
)
def test_a_generator_is_refused_before_it_multiplies_the_tuples_of_others(
    spark: SparkSession, text: str
) -> None:
    stream = MemoryStream(SCHEMA)
    with hr.Session(spark, clock=ManualClock()) as session:
        session.stream("t", stream, event_time="time", max_ahead=None)
        total = session.sql(f"SELECT COUNT(*), SUM(k) FROM t {WINDOW}")
        with pytest.raises(hr.UnsupportedQuery, match="several rows"):
            session.sql(text)
        session.start()
        stream.push(_tuples(40))
        session.process_all_available()
        stream.push([{**_tuples(1)[0], "time": START + dt.timedelta(minutes=1)}])
        session.process_all_available()
        assert [tuple(r.values()) for r in total.collect().to_pylist()] == [(40, 60)]


@pytest.mark.parametrize(
    "columns",
    ["ts, k", "d, b", "k, b", "CAST(ts AS TIMESTAMP_NTZ), d", "CAST(k AS STRING), b", "d + 1, ts"],
)
def test_distinct_combinations_are_counted_as_spark_tells_them_apart(
    spark: SparkSession, columns: str
) -> None:
    text = f"SELECT COUNT(DISTINCT {columns}) FROM t {WINDOW}"
    assert _answers(spark, text) == [_in_batch(spark, text)]


def test_distinct_combinations_of_texts_that_share_a_separator(spark: SparkSession) -> None:
    # ("1:", "2") and ("1", ":2") written one after the other are the same letters.
    text = (
        "SELECT COUNT(DISTINCT IF(b, '1:', '1'), IF(b, '2', ':2')), COUNT(DISTINCT IF(b, 'a', ''),"
        f" IF(b, '', 'a'), CAST(IF(b, 'x', '') AS BINARY)) FROM t {WINDOW}"
    )
    assert _answers(spark, text) == [[(2, 2)]]


@pytest.mark.parametrize(
    ("order", "keys"),
    [
        ("2 - k", [3, 2]),
        ("1 - n, k", [0, 1]),
        ("2 * COUNT(*), k", [0, 1]),
        ("100 * n / 7, k DESC", [3, 2]),
        ("2 DESC, 1 ASC NULLS LAST", [0, 1]),
        ("1 DESC NULLS FIRST", [3, 2]),
        ("1", [0, 1]),
    ],
)
def test_only_a_number_alone_is_the_place_of_a_column(
    spark: SparkSession, order: str, keys: list[int]
) -> None:
    text = f"SELECT k, COUNT(*) AS n FROM t {WINDOW}, k ORDER BY {order} LIMIT 2"
    (found,) = _answers(spark, text)
    assert [k for k, _ in found] == keys


@pytest.mark.parametrize("sharing", ["auto", "off"])
@pytest.mark.parametrize("lane", ["arrow", "frame"])
def test_times_without_a_zone_are_told_apart_in_the_hour_that_a_zone_leaves_out(
    spark: SparkSession, tmp_path: Path, lane: str, sharing: Literal["auto", "off"]
) -> None:
    own = spark.newSession()
    own.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    schema = pa.schema([("k", pa.int64()), ("time", pa.timestamp("us"))])
    night = dt.datetime(2024, 3, 31, 0, 30, 0, 1)
    times = [night + dt.timedelta(minutes=20 * n) for n in range(18)]
    times += [dt.datetime(1583, 1, 1, 2, 3, 4, 999_999), dt.datetime(1969, 12, 31, 23, 59, 59, 1)]
    tuples = pa.table({"k": list(range(20)), "time": sorted(times)}, schema)
    # Nothing is later: this one closes the windows of the others.
    last = pa.table({"k": [None], "time": [dt.datetime(9000, 1, 1)]}, schema)
    texts = [
        f"SELECT window.start, {made} AS n, MAX(time) AS latest FROM t {where} "
        "GROUP BY window(time, '1 hour')"
        for made, where in (("COUNT(*)", ""), ("SUM(k + 1)", ""), ("COUNT(k)", "WHERE k % 7 < 6"))
    ]
    own.createDataFrame(
        tuples, from_arrow_schema(schema, prefer_timestamp_ntz=True)
    ).createOrReplaceTempView("t")
    expected = [sorted(map(tuple, own.sql(text).collect())) for text in texts]
    source: MemoryStream | DataFrame = MemoryStream(schema)
    if lane == "frame":
        for number, table in enumerate((tuples, last)):
            pq.write_table(table, tmp_path / f"{number}.parquet")
            os.utime(tmp_path / f"{number}.parquet", (number, number))  # read in this order
        read = own.readStream.schema("k BIGINT, time TIMESTAMP_NTZ")
        source = read.option("maxFilesPerTrigger", 1).parquet(str(tmp_path)).select("*")
    with hr.Session(own, clock=ManualClock(), sharing=sharing) as session:
        session.stream("t", source, event_time="time", max_ahead=None)
        queries = [session.sql(text) for text in texts]
        session.start()
        if isinstance(source, MemoryStream):
            source.push(tuples)
            session.process_all_available()
            source.push(last)
        session.process_all_available()
        found = [[tuple(r.values()) for r in q.collect().to_pylist()] for q in queries]
    assert [sorted(f) for f in found] == expected
