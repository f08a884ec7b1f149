"""What a sink cannot hold is said at once, not with the first window."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.sinks import WriterSink
from headrace.testing import ManualClock, MemoryStream
from tests.spark.helpers import SCHEMA

pytestmark = pytest.mark.spark

WINDOW = "FROM s GROUP BY window(time, '10 seconds')"


@pytest.fixture
def session(spark: SparkSession) -> Iterator[hr.Session]:
    with hr.Session(spark, clock=ManualClock()) as made:
        made.stream("s", MemoryStream(SCHEMA), event_time="time")
        yield made


@pytest.mark.parametrize(
    ("select", "sink", "options", "why"),
    [
        ("COUNT(*), COUNT(*)", "parquet", {}, "two columns of the result are named 'count(1)'"),
        ("COUNT(*) AS n, MAX(v) AS N", "parquet", {}, "two columns of the result are named 'N'"),
        ("COUNT(*) AS n, MAX(v) AS N", "json", {}, "two columns of the result are named 'N'"),
        ("window, COUNT(*)", "csv", {}, "CSV datasource doesn't support the column `window`"),
        ("COUNT(*)", "text", {}, "Text datasource doesn't support the column `count(1)`"),
        ("COUNT(*)", "xml", {}, "`rowTag` option is required"),
        ("COUNT(*)", "json", {"path": None}, "needs options={'path'"),
        ("COUNT(*)", "parquet", {"path": "/dev/null/here"}, "where no folder can be made"),
        ("COUNT(*)", "parquet", {"path": "a\0b"}, "where no folder can be made"),
        ("COUNT(*)", "no such format", {}, "DATA_SOURCE_NOT_FOUND"),
    ],
)
def test_what_a_sink_cannot_hold_is_refused(
    session: hr.Session,
    tmp_path: Path,
    select: str,
    sink: str,
    options: dict[str, Any],
    why: str,
) -> None:
    given = {k: v for k, v in {"path": str(tmp_path), **options}.items() if v is not None}
    with pytest.raises(hr.QueryError, match=re.escape(why)):
        session.sql(f"SELECT {select} {WINDOW}", name="q", sink=sink, options=given)
    assert session.queries == ()


@pytest.mark.parametrize("sink", ["json", "orc", "csv", "noop"])
def test_what_it_can_hold_is_taken(session: hr.Session, tmp_path: Path, sink: str) -> None:
    text = f"SELECT window.start, k, COUNT(*) {WINDOW}, k"
    query = session.sql(text, sink=sink, options={"path": str(tmp_path)})
    assert query.status == "pending"


def test_spark_writes_all_rows_of_a_table_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    """Of a table with an empty piece Spark 4.3 takes what comes before it, and no more."""
    some = pa.table({"n": [1, 2]})
    pieces = pa.concat_tables([some, some.slice(0, 0), some])
    assert [c.num_rows for c in pieces.to_batches()] != [4]
    WriterSink({"path": str(tmp_path / "out")}, "json", spark).commit(pieces, 1)
    assert spark.read.json(str(tmp_path / "out")).count() == 4
