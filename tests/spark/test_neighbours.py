"""Two sessions, the second reading the first one's results: each decides alone, both are told."""

from __future__ import annotations

import secrets
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.waiting import until

PARTS = pa.schema([("time", pa.timestamp("us", "UTC")), ("n", pa.int64())])
FIRST = "SELECT window.end AS time, COUNT(*) AS n FROM s GROUP BY window(time, '2 seconds')"
SECOND = "SELECT window.end AS ended, SUM(n) AS n FROM counts GROUP BY window(time, '6 seconds')"


def test_progress_goes_downstream_and_cost_upstream(spark: SparkSession, tmp_path: Path) -> None:
    key = secrets.token_bytes(16)
    between = hr.testing.MemoryStream(PARTS, path=tmp_path / "counts")
    with (
        hr.Session(spark, policy="klink") as first,
        hr.Session(spark, policy="klink") as second,
    ):
        source = hr.sources.RandomFields(rate=10_000, disorder_s=0.05)
        first.stream("s", source, event_time="time", lateness="100 milliseconds")
        first.sql(FIRST, name="counts", sink=lambda table: between.push(table))
        upstream = hr.Upstream(first.publish(key), key, "counts")
        second.stream("counts", between, event_time="time", upstream=upstream)
        sums = second.sql(SECOND, name="sums")
        first.start()
        second.start()

        # By itself the second cannot know when its stream will move: it leaps two seconds ahead.
        # Told what the first has seen, it expects the same moves.
        until(lambda: sums.metrics().windows >= 2, second.explain)

        def is_told() -> bool:
            ours, theirs = (s.metrics().pipelines[0].sweep for s in (second, first))
            return ours is not None and theirs is not None and ours.epochs == theirs.epochs

        until(is_told, second.explain)
        sweep = second.metrics().pipelines[0].sweep
        assert sweep is not None

        # What the second has to do makes the first one's slack shorter.
        least = second.metrics().pipelines[0].fixed_cost_s / 2

        def is_shorter() -> bool:
            first.forward(True)
            told = first.metrics().pipelines[0].slack_s
            first.forward(False)
            alone = first.metrics().pipelines[0].slack_s
            return told is not None and alone is not None and alone > told + least

        until(is_shorter, first.explain)
        second.forward(False)

        def is_unsure() -> bool:
            alone = second.metrics().pipelines[0].sweep
            return alone is None or alone.width_s > sweep.width_s

        until(is_unsure, second.explain)

        # Whole windows hold six seconds of events, forwarding or not.
        until(lambda: sums.metrics().windows >= 4, second.explain)
        counts = [row["n"] for row in sums.collect().to_pylist()][1:]
        assert counts == pytest.approx([60_000] * len(counts), rel=0.02)


def test_a_session_publishes_once_and_needs_a_key(spark: SparkSession) -> None:
    with hr.Session(spark) as session:
        with pytest.raises(hr.QueryError, match="needs a key"):
            session.publish(b"")
        session.publish(b"key")
        with pytest.raises(hr.QueryError, match="publishes already"):
            session.publish(b"key")
