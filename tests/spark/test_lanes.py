"""DataFrame sources: Catalyst for one query, kernels for many, and no seam between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, pairs, rows

SQL = (
    "SELECT window.start AS start, k, COUNT(*) AS n, SUM(v) AS total, AVG(v) AS mean, "
    "MIN(s) AS low, MAX(v) AS high, VAR_POP(v) AS spread FROM s WHERE v <> 1 "
    "GROUP BY window(time, '10 seconds', '5 seconds'), k"
)


class Files:
    """A folder that a streaming DataFrame reads, one file per batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.folder = folder
        self.count = 0
        folder.mkdir()
        self.frame: DataFrame = (
            spark.readStream.schema("k string, v bigint, s string, time timestamp")
            .option("maxFilesPerTrigger", 1)
            .parquet(str(folder))
        )

    def push(self, tuples: list[dict[str, Any]]) -> None:
        hidden = self.folder / f"_{self.count}"
        pq.write_table(pa.Table.from_pylist(tuples, schema=SCHEMA), hidden)
        hidden.rename(self.folder / f"{self.count:05d}.parquet")
        self.count += 1


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> Files:
    return Files(spark, tmp_path / "in")


def _batches() -> list[list[dict[str, Any]]]:
    return [
        rows([1, 3, 6, 8]) + rows([2, 4], k="b", s="zz"),
        rows([9, 12, 14, 4]) + rows([11], k="c"),
        rows([16, 21, 24, 33]) + rows([18, 19, 22], k="b"),
        rows([41, 45]),
    ]


def test_one_query_runs_in_catalyst_and_gives_what_the_kernels_give(
    spark: SparkSession, files: Files
) -> None:
    with hr.Session(spark) as alone, hr.Session(spark) as crowd:
        for session in (alone, crowd):
            session.stream("s", files.frame, event_time="time", lateness="1 second")
        catalyst = alone.sql(SQL)
        kernel = crowd.sql(SQL)
        crowd.sql("SELECT window.end, COUNT(*) FROM s GROUP BY window(time, '3 seconds')")
        alone.start()
        crowd.start()
        for batch in _batches():
            files.push(batch)
            alone.process_all_available()
            crowd.process_all_available()
        assert "lane: catalyst" in catalyst.explain()
        assert "lane: kernel" in kernel.explain()
        names = ("start", "k", "n", "total", "mean", "low", "high", "spread")
        assert catalyst.collect().schema == kernel.collect().schema
        assert pairs(catalyst.collect(), *names) == pairs(kernel.collect(), *names)
        assert len(kernel.collect()) > 12
        assert catalyst.metrics().late_tuples == kernel.metrics().late_tuples == 1


def test_a_window_that_spans_a_change_of_lane_is_whole(spark: SparkSession, files: Files) -> None:
    count = "SELECT window.start AS start, k, COUNT(*) AS n FROM s GROUP BY {}, k"
    with hr.Session(spark) as session:
        session.stream("s", files.frame, event_time="time")
        query = session.sql(count.format("window(time, '20 seconds')"))
        session.start()
        files.push(rows([1, 2]))
        session.process_all_available()
        assert "lane: catalyst" in query.explain()
        second = session.sql(count.format("window(time, '7 seconds')"))
        files.push(rows([6, 8]))
        session.process_all_available()
        assert "lane: kernel" in query.explain()
        second.stop()
        files.push(rows([12, 19, 20, 41]))
        session.process_all_available()
        assert "lane: catalyst" in query.explain()
        assert pairs(query.collect(), "start", "n") == [(at(0), 6), (at(20), 1)]


def test_queries_with_different_keys_share_scan_and_classification(
    spark: SparkSession, files: Files
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", files.frame, event_time="time")
        for number, key in enumerate(["k", "s", "k, s", "v % 2"]):
            session.sql(
                f"SELECT {key}, COUNT(*) FROM s WHERE v > {number} "
                f"GROUP BY window(time, '5 seconds'), {key}"
            )
        session.start()
        files.push(_batches()[0])
        session.process_all_available()
        text = session.explain()
        assert "4 queries on one scan" in text
        for word in ("group 0", "keys: k", "classes:", "slices held", "representation:"):
            assert word in text
        assert session.metrics().queries_per_scan == 4


def test_an_unreadable_source_stops_the_stream_with_a_reason(
    spark: SparkSession, files: Files
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", files.frame, event_time="time")
        query = session.sql(SQL)
        session.start()
        (files.folder / "broken.parquet").write_bytes(b"this is not parquet")
        with pytest.raises(hr.ExecutionError, match="stream 's'"):
            session.process_all_available()
        assert query.status == "failed"
        assert query.error is not None


def test_what_is_not_a_stream_is_refused(spark: SparkSession, files: Files) -> None:
    session = hr.Session(spark)
    with pytest.raises(hr.QueryError, match="not a stream"):
        session.stream("s", spark.range(3), event_time="id")
    with pytest.raises(hr.QueryError, match=r"no column 'tim'.*did you mean 'time'"):
        session.stream("s", files.frame, event_time="tim")
    with pytest.raises(hr.QueryError, match="'v' is a bigint"):
        session.stream("s", files.frame, event_time="v")
    with pytest.raises(hr.QueryError, match="list is not a source"):
        session.stream("s", [], event_time="time")  # type: ignore[arg-type]
    session.close()
