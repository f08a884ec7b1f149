"""HAVING, ORDER BY and LIMIT: finished by Spark SQL, for many queries together."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, rows

ALERT = (
    "SELECT window.start AS start, k, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds'), k "
    "HAVING n {} ORDER BY n DESC, k LIMIT {}"
)
COUNTS = {f"k{n}": n for n in range(1, 12)}
"""How many tuples of each key there are in every window."""


def _pushed(stream: hr.testing.MemoryStream) -> None:
    for first in (0, 10):
        stream.push([r for k, n in COUNTS.items() for r in rows([first + 1] * n, k=k)])
    stream.push(rows([30]))


def _wanted(least: float, limit: int) -> list[tuple[Any, ...]]:
    top = sorted(((-n, k) for k, n in COUNTS.items() if n > least))[:limit]
    return [(at(start), k, -n) for start in (0, 10) for n, k in top]


def test_alerts_with_a_threshold_each_are_all_told_what_they_asked(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    asked = [(least, limit) for least in range(12) for limit in (1, 3, 20, 2_000_000_000)]
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        alerts = [session.sql(ALERT.format(f"> {a}", b), name=f"q{a}-{b}") for a, b in asked]
        exact = session.sql(ALERT.format("> 9.5", 20), name="exact")
        session.start()
        _pushed(stream)
        session.process_all_available()
        for (least, limit), alert in zip(asked, alerts, strict=True):
            found = alert.collect()
            assert list(zip(*found.to_pydict().values(), strict=True)) == _wanted(least, limit)
        assert exact.collect().column("n").to_pylist() == [11, 10, 11, 10]


@pytest.mark.parametrize("sharing", ["auto", "off"])
def test_a_threshold_is_compared_as_spark_compares_it(
    spark: SparkSession, sharing: Literal["auto", "off"]
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark, sharing=sharing) as session:
        session.stream("s", stream, event_time="time")
        told = {
            condition: session.sql(ALERT.format(condition, 20), name=f"c{n}")
            for n, condition in enumerate(["= 3", "<> -1 AND n < 2.50", "<=> 4", "> 2147483648"])
        }
        session.start()
        _pushed(stream)
        session.process_all_available()
        found = {c: q.collect().column("n").to_pylist() for c, q in told.items()}
        assert found == {
            "= 3": [3, 3],
            "<> -1 AND n < 2.50": [2, 1, 2, 1],
            "<=> 4": [4, 4],
            "> 2147483648": [],
        }
