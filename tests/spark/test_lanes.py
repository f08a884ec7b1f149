"""DataFrame sources: who reads and who reduces the tuples, and no seam between them."""

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
        self.read_by_spark = self.frame.select("*")
        """Anything on top of the files leaves the reading to Spark."""

    def push(self, tuples: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> None:
        hidden = self.folder / f"_{self.count}"
        pq.write_table(pa.Table.from_pylist(tuples, schema=schema), hidden)
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


NAMES = ("start", "k", "n", "total", "mean", "low", "high", "spread")


def test_whoever_reads_and_reduces_the_tuples_the_answers_are_the_same(
    spark: SparkSession, files: Files
) -> None:
    fetchable = SQL.replace(", VAR_POP(v) AS spread", "")  # which needs a cast, so Spark
    with hr.Session(spark) as alone, hr.Session(spark) as crowd, hr.Session(spark) as direct:
        for session in (alone, crowd):
            session.stream("s", files.read_by_spark, event_time="time", lateness="1 second")
        direct.stream("s", files.frame, event_time="time", lateness="1 second")
        catalyst, kernel, fetched = alone.sql(SQL), crowd.sql(SQL), direct.sql(fetchable)
        crowd.sql("SELECT window.end, COUNT(*) FROM s GROUP BY window(time, '3 seconds')")
        for session in (alone, crowd, direct):
            session.start()
        for batch in _batches():
            files.push(batch)
            for session in (alone, crowd, direct):
                session.process_all_available()
        assert "lane: catalyst" in catalyst.explain()
        assert "lane: kernel" in kernel.explain()
        assert "fetched inside the Python stage" in fetched.explain()
        assert catalyst.collect().schema == kernel.collect().schema
        for other, names in ((catalyst, NAMES), (fetched, NAMES[:-1])):
            assert pairs(other.collect(), *names) == pairs(kernel.collect(), *names)
            assert other.metrics().late_tuples == kernel.metrics().late_tuples == 1
        assert len(kernel.collect()) > 12
        tuples = sum(len(batch) for batch in _batches())
        assert {s.metrics().tuples for s in (alone, crowd, direct)} == {tuples}


def test_a_window_that_spans_a_change_of_lane_is_whole(spark: SparkSession, files: Files) -> None:
    count = "SELECT window.start AS start, k, COUNT(*) AS n FROM s GROUP BY {}, k"
    with hr.Session(spark) as session:
        session.stream("s", files.read_by_spark, event_time="time")
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


def test_catalyst_cuts_slices_where_a_first_partial_window_begins(
    spark: SparkSession, files: Files
) -> None:
    count = "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')"
    with hr.Session(spark) as session:
        session.stream("s", files.read_by_spark, event_time="time", lateness="5 seconds")
        first = session.sql(count)
        session.start()
        files.push(rows([1, 2, 13]))
        session.process_all_available()
        partial = session.sql(count, partial_first=True)
        partial.await_active(10)
        first.stop()
        files.push(rows([12, 14, 15, 21, 36]))  # the first one is from before its life
        session.process_all_available()
        assert "lane: catalyst" in partial.explain()
        assert pairs(partial.collect(), "start", "n") == [(at(10), 2), (at(20), 1)]


@pytest.mark.parametrize("read_by", ["tasks", "spark"])
def test_a_query_alone_waits_for_the_slowest_partition(
    spark: SparkSession, files: Files, read_by: str
) -> None:
    with hr.Session(spark, clock=hr.testing.ManualClock()) as session:
        frame = files.frame if read_by == "tasks" else files.read_by_spark
        session.stream("s", frame, event_time="time", partition="k", max_ahead=None)
        query = session.sql("SELECT COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')")
        session.start()
        files.push(rows([1, 50]) + rows([2], k="b"))
        session.process_all_available()
        assert query.collect().num_rows == 0
        files.push(rows([3, 30], k="b"))
        session.process_all_available()
        assert query.collect().column("n").to_pylist() == [3]


def test_expressions_of_spark_and_columns_of_files_meet_in_one_batch(
    spark: SparkSession, files: Files
) -> None:
    with hr.Session(spark) as session:
        session.stream("s", files.frame, event_time="time")
        plain = session.sql("SELECT COUNT(*) AS n FROM s GROUP BY window(time, '50 seconds')")
        upper = session.sql(
            "SELECT upper(k) AS key, SUM(v) AS total FROM s WHERE length(s) < 2 "
            "GROUP BY window(time, '50 seconds'), upper(k)"
        )
        # All there before the first listing: one that runs meanwhile may miss a file between two.
        for batch in _batches():
            files.push(batch)
        session.start()
        session.process_all_available()
        files.push(rows([100]))
        session.process_all_available()
        assert "read by: tasks, from parquet files; Spark where it computes" in session.explain()
        counted = [row for batch in _batches() for row in batch]
        assert plain.collect().column("n").to_pylist() == [len(counted)]
        want: dict[str, int] = {}
        for row in counted:
            if len(row["s"]) < 2:
                want[row["k"].upper()] = want.get(row["k"].upper(), 0) + row["v"]
        assert pairs(upper.collect(), "key", "total") == sorted(want.items())
        assert session.metrics().tuples == len(counted) + 1


def test_a_file_that_is_not_as_declared_is_read_by_spark_and_nothing_is_lost(
    spark: SparkSession, files: Files
) -> None:
    without_s = SCHEMA.remove(SCHEMA.get_field_index("s"))
    with hr.Session(spark) as session:
        session.stream("s", files.frame, event_time="time")
        query = session.sql(
            "SELECT COUNT(*) AS n, COUNT(s) AS known FROM s GROUP BY window(time, '10 seconds')"
        )
        session.start()
        files.push(rows([1, 2]))
        session.process_all_available()
        files.push([{k: v for k, v in row.items() if k != "s"} for row in rows([3, 4])], without_s)
        files.push(rows([5, 20]))
        session.process_all_available()
        assert pairs(query.collect(), "n", "known") == [(5, 3)]
        assert session.metrics().tuples == 6


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
