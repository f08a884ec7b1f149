"""The streams and queries of the storm, and what Spark in batch makes of them."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64()), ("time", pa.timestamp("us", "UTC"))])
DDL = "k string, v bigint, time timestamp"
STAYS, NAMES = 7, 5
"""So many queries stay from the beginning to the end; others share so many names."""
SINKS = ("parquet", "called", "parquet", "json")
ASKED = "asked"
"""In the place of a status: nobody knows whether the query has come to life."""

_ENDS = "window.start AS start, window.end AS end"
SHAPES = (
    f"SELECT {_ENDS}, k, SUM(v) AS a, COUNT(*) AS b FROM {{stream}} WHERE v >= 20 "
    "GROUP BY window(time, '4 seconds', '2 seconds'), k",
    f"SELECT {_ENDS}, k, AVG(v) AS a, MAX(v) AS b FROM {{stream}} "
    "GROUP BY window(time, '5 seconds'), k HAVING COUNT(*) > 3",
    "SELECT session_window.start AS start, session_window.end AS end, k, COUNT(*) AS a, "
    "MIN(v) AS b FROM {stream} GROUP BY session_window(time, '1 second'), k",
    f"SELECT {_ENDS}, k, COUNT(DISTINCT v) AS a, SUM(v) + 1 AS b FROM {{stream}} "
    "GROUP BY window(time, '3 seconds'), k",
    "SELECT time AS start, time AS end, k, v AS a, v % 7 AS b FROM {stream} WHERE v % 5 = 0",
    f"SELECT {_ENDS}, k, SUM(v) AS a, COUNT(v) AS b FROM {{stream}} WHERE k <> 'c' "
    "GROUP BY window(time, '6 seconds', '3 seconds'), k ORDER BY a DESC, k LIMIT 2",
)
LIMITED, SESSIONS, SELECTION = 5, 2, 4


def tables(seed: int, steps: int) -> list[tuple[pa.Table, pa.Table, pa.Table]]:
    """By step: two partitions of one stream and a file of the other, two seconds each, up to a
    second and a half out of order; none is late."""
    rng = random.Random(seed)

    def some(step: int) -> pa.Table:
        rows = []
        for _ in range(40):
            second = step * 2.0 + rng.uniform(0.0, 2.0)
            second = max(second - (rng.uniform(0.0, 1.5) if rng.random() < 0.3 else 0.0), 0.0)
            stamp = START + dt.timedelta(microseconds=int(second * 1e6))
            rows.append({"k": rng.choice("abcd"), "v": rng.randint(0, 99), "time": stamp})
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    return [(some(step), some(step), some(step)) for step in range(steps)]


def expected(
    spark: SparkSession, generation: int, tuples: pa.Table, since: Any, until: Any
) -> list[list[str]]:
    """What a query that lives from `since` to `until` is given, by Spark in batch."""
    shape = generation % len(SHAPES)
    frame = spark.createDataFrame(tuples)
    if since.year > 1:
        frame = frame.where(frame.time >= since)
    if shape == SELECTION:
        frame = frame.where(frame.time < until)
    frame.createOrReplaceTempView("storm")
    text = SHAPES[shape].format(stream="storm")
    limit = " ORDER BY a DESC, k LIMIT 2"
    if shape == LIMITED:
        text = (
            "SELECT start, end, k, a, b FROM (SELECT *, row_number() OVER (PARTITION BY start "
            f"ORDER BY a DESC, k) AS n FROM ({text.removesuffix(limit)})) WHERE n <= 2"
        )
    rows = spark.sql(text).toArrow().to_pylist()
    if shape != SELECTION:
        rows = [r for r in rows if r["end"] <= until]
    if since.year > 1 and shape not in (SELECTION, SESSIONS):
        rows = [r for r in rows if r["start"] >= since]
    return sorted([str(v) for v in row.values()] for row in rows)
