"""Windows so large that several tasks fire them: each answers for its keys, from all they have."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.fire.job import _SMALL_CELLS
from tests.spark.helpers import SCHEMA, at

pytestmark = pytest.mark.spark

TUPLES = 2 * _SMALL_CELLS
VALUES = (
    "COUNT(*) AS n, COUNT(DISTINCT v) AS different, percentile_approx(v, 0.5) AS middle, "
    "approx_count_distinct(v) AS about"
)
CLUSTER = "KMEANS_COST(1, v) AS off"
WINDOW = "FROM s GROUP BY window(time, '60 seconds')"


def _tuples() -> list[dict[str, Any]]:
    """Values that hardly repeat, of four keys."""
    rng = np.random.default_rng(11)
    values = rng.integers(0, 10 * TUPLES, TUPLES).tolist()
    keys = rng.choice(["a", "b", "c", "d"], TUPLES).tolist()
    return [
        {"k": key, "v": value, "s": "", "time": at(30.0 * n / TUPLES)}
        for n, (key, value) in enumerate(zip(keys, values, strict=True))
    ]


def _check(row: dict[str, Any], values: list[int]) -> None:
    assert row["n"] == len(values)
    assert row["different"] == len(set(values))
    assert row["middle"] == statistics.median_low(values)
    assert row["about"] == pytest.approx(len(set(values)), rel=0.2)
    if "off" in row:
        assert row["off"] == pytest.approx(np.var(values))


def test_values_are_all_with_the_task_that_answers_for_their_key(spark: SparkSession) -> None:
    tuples = _tuples()
    stream = hr.testing.MemoryStream(SCHEMA, partitions=2)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        whole = session.sql(f"SELECT {VALUES}, {CLUSTER} {WINDOW}", name="whole")
        by_key = session.sql(f"SELECT k, {VALUES}, {CLUSTER} {WINDOW}, k", name="by_key")
        sessions = session.sql(
            f"SELECT k, {VALUES} FROM s GROUP BY session_window(time, '9 seconds'), k",
            name="sessions",
        )
        session.start()
        for partition in range(2):
            stream.push(tuples[partition::2], partition=partition)
            stream.push([tuples[0] | {"time": at(1_000.0)}], partition=partition)
        session.process_all_available()
        (row,) = whole.collect().to_pylist()
        _check(row, [t["v"] for t in tuples])
        for query in (by_key, sessions):
            rows = {r["k"]: r for r in query.collect().to_pylist()}
            assert rows.keys() == {"a", "b", "c", "d"}
            for key, row in rows.items():
                _check(row, [t["v"] for t in tuples if t["k"] == key])
