"""A stream far behind the clock: approximate queries cost it no job, and no window is lost."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.sinks import SinkFunction
from tests.spark.helpers import DAY
from tests.waiting import GUARD_S, until

pytestmark = pytest.mark.spark

RATE, WINDOWS, KEYS = 20_000, 24, 1_000
BY_WINDOW = "FROM s GROUP BY window(time, '1 second')"
QUESTIONS = {
    "exact": f"SELECT window.start AS start, COUNT(*) AS n, SUM(f0) AS total {BY_WINDOW}",
    "held": "SELECT /*+ APPROX(error => 0.05) */ window.start AS start, COUNT(*) AS n, "
    f"SUM(f0) AS total {BY_WINDOW}",
    "sampled": "SELECT /*+ APPROX(error => 0.05, fallback => 'best_effort', sample => true) */ "
    f"window.start AS start, COUNT(*) AS n, SUM(f0) AS total {BY_WINDOW}",
}


@pytest.fixture(scope="module")
def heard(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in QUESTIONS}
    done = threading.Event()

    def listen(name: str) -> SinkFunction:
        def deliver(table: pa.Table) -> None:
            rows[name] += table.to_pylist()
            if all(len(r) >= WINDOWS for r in rows.values()):
                done.set()

        return deliver

    source = hr.sources.RandomFields(
        rate=None,
        partitions=2,
        rows_per_batch=2 * RATE,
        event_rate=float(RATE),
        start_s=1_700_000_000.0,
    )
    with hr.Session(spark) as session:
        session.stream("s", source, event_time="time", lateness="1 second")
        for name, text in QUESTIONS.items():
            session.sql(text, name=name, sink=listen(name))
        session.start()
        assert done.wait(GUARD_S), {n: len(r) for n, r in rows.items()}
    return rows


@pytest.mark.parametrize("name", ["held", "sampled"])
def test_every_window_is_answered_once_and_in_order(
    heard: dict[str, list[dict[str, Any]]], name: str
) -> None:
    starts = [row["start"] for row in heard[name]]
    assert starts == sorted(set(starts))
    # The first of a query may be left to what was there before it.
    wanted = [row["start"] for row in heard["exact"] if starts[0] <= row["start"] <= starts[-1]]
    assert starts == wanted


def test_what_is_not_a_sample_is_exact(heard: dict[str, list[dict[str, Any]]]) -> None:
    exact = {row["start"]: (row["n"], row["total"]) for row in heard["exact"]}
    for row in heard["held"]:
        assert row["exact"]
        assert (row["n"], row["total"]) == exact[row["start"]]


def test_a_sample_is_as_good_as_it_says(heard: dict[str, list[dict[str, Any]]]) -> None:
    exact = {row["start"]: row for row in heard["exact"]}
    for row in heard["sampled"]:
        for column in ("n", "total"):
            if row[f"{column}_met"]:
                assert row[column] == pytest.approx(exact[row["start"]][column], rel=0.1)
    assert sum(row["total_met"] for row in heard["sampled"]) >= WINDOWS - 2


def test_what_was_left_for_a_batch_that_does_not_come_is_answered_too(spark: SparkSession) -> None:
    clock = hr.testing.ManualClock(DAY + dt.timedelta(hours=1))
    memory = hr.testing.MemoryStream(pa.schema([("time", pa.timestamp("us", "UTC"))]))
    rows: dict[str, list[dict[str, Any]]] = {"exact": [], "sampled": []}
    sample = "/*+ APPROX(error => 0.2, fallback => 'best_effort', sample => true) */"
    with hr.Session(spark, clock=clock) as session:
        session.stream("s", memory, event_time="time", lateness="1 second")
        for name, hint in (("exact", ""), ("sampled", sample)):
            session.sql(
                f"SELECT {hint} window.start AS start, COUNT(*) AS n {BY_WINDOW}",
                name=name,
                sink=lambda table, name=name: rows[name].extend(table.to_pylist()),
            )
        session.start()
        for second in range(12):
            begin = int(DAY.timestamp() + second) * 1_000_000
            stamps = pa.array(begin + np.arange(0, 1_000_000, 1_000))
            memory.push(pa.table({"time": stamps.view(pa.timestamp("us", "UTC"))}))
            # One batch after the other, each of which leaves its results for the next one.
            wanted = 1_000 * (second + 1)
            until(lambda wanted=wanted: session.metrics().tuples >= wanted, session.explain)
        session.process_all_available()
    assert [r["start"] for r in rows["exact"]] == [DAY + dt.timedelta(seconds=n) for n in range(10)]
    assert [r["start"] for r in rows["sampled"]] == [r["start"] for r in rows["exact"]]
