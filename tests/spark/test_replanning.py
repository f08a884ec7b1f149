"""A plan is made anew when the stream turns out to be far larger than it was made for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import DAY

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.int64()), ("time", pa.timestamp("us", "UTC"))])
KEYS, BATCH, BATCHES = 500, 1_500_000, 5
LONG, SHORT = "'20 seconds'", "'1 second'"
TOTALS = (
    "window.start AS start, k, SUM(v) AS total FROM s WHERE v < 90 GROUP BY window(time, {}), k"
)


def batch(number: int, count: int = BATCH) -> pa.Table:
    """One second of the stream."""
    rng = np.random.default_rng(number)
    micros = int(DAY.timestamp() + number) * 1_000_000 + np.arange(count) * 1_000_000 // count
    stamps = pa.array(micros).view(pa.timestamp("us", "UTC"))
    values = [rng.integers(0, high, count) for high in (KEYS, 100)]
    return pa.table([*values, stamps], schema=SCHEMA)


def totals(table: pa.Table) -> np.ndarray:
    """What the queries sum up, by key."""
    keys, values = (table.column(n).to_numpy() for n in ("k", "v"))
    return np.bincount(keys, np.where(values < 90, values, 0), KEYS)


def test_approximate_queries_join_exact_ones_once_the_stream_is_known(spark: SparkSession) -> None:
    clock, stream = hr.testing.ManualClock(DAY), hr.testing.MemoryStream(SCHEMA)
    groups, truth = [], []
    with hr.Session(spark, clock=clock) as session:
        session.stream("s", stream, event_time="time", lateness="100 milliseconds")
        exact = session.sql(f"SELECT {TOTALS.format(LONG)}")
        approximate = session.sql(f"SELECT /*+ APPROX(error => 0.05) */ {TOTALS.format(SHORT)}")
        session.start()
        for number in range(BATCHES):
            made = batch(number)
            truth.append(totals(made))
            stream.push(made)
            clock.advance(1.0)
            session.process_all_available()
            groups.append(session.explain().count("  group "))
        # Of 100,000 tuples a slice, finer slices of a long window would cost more than they save.
        assert groups == [2, 2, 1, 1, 1]
        assert "plan version 2, 2 queries" in session.explain()
        stream.push(batch(21, 100))
        clock.advance(20.0)
        session.process_all_available()
        long, short = (q.collect().to_pylist() for q in (exact, approximate))
    assert {r["k"]: r["total"] for r in long} == dict(enumerate(sum(truth).tolist()))
    found = {((r["start"] - DAY).seconds, r["k"]): r for r in short}
    assert len(found) == len(short) == BATCHES * KEYS, "none twice, none missing"
    for (second, key), row in found.items():
        assert row["total"] == pytest.approx(truth[second][key], rel=0.0 if row["exact"] else 0.1)
