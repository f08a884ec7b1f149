"""Every window is written once, at whatever pace the stream comes."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.pipeline.runner import Pipeline
from tests.spark.helpers import SCHEMA, rows

pytestmark = [pytest.mark.spark]

BATCHES = 24
GROUP = "FROM s GROUP BY window(time, '10 seconds'), k"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT window.start AS start, k, COUNT(*) AS n {GROUP} HAVING COUNT(*) > 0",
        f"SELECT window.start AS start, k, COUNT(*) AS n {GROUP} ORDER BY n LIMIT 5",
        f"SELECT window.start AS start, k, COUNT(*) + 0 AS n {GROUP}",
        f"SELECT window.start AS start, k, COUNT(*) AS n {GROUP}",
    ],
)
def test_a_stream_that_catches_up_at_an_uneven_pace_loses_no_window(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    # Results are left for the next batch or not, as chance has it: so a transaction delivers what
    # the batch before it left, and then what its own batch made due.
    chance = random.Random(7)
    monkeypatch.setattr(Pipeline, "_catches_up", lambda *_: chance.random() < 0.5)
    stream = hr.testing.MemoryStream(SCHEMA, tables_per_batch=1)
    for number in range(BATCHES):
        stream.push(rows([number * 10 + n for n in range(0, 10, 2)]))
    stream.push(rows([10_000]))
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(text, sink="parquet", options={"path": str(tmp_path / "out")})
        session.start()
        session.process_all_available()
        session.process_all_available()
        assert query.error is None
        counted = query.metrics().rows
    found = pq.read_table(tmp_path / "out").to_pylist()
    assert sorted(r["n"] for r in found) == [5] * BATCHES
    assert len({r["start"] for r in found}) == BATCHES
    assert counted == BATCHES
