"""One query's failure is its own: it ends `failed` with its reason, the others lose nothing."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, pairs, rows

GOOD = (
    "SELECT window.start AS start, k, SUM(v) AS total FROM s GROUP BY window(time, '10 seconds'), k"
)
WINDOW = "FROM s GROUP BY window(time, '10 seconds')"


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (f"SELECT SUM(CAST(s AS INT)) {WINDOW}", "CAST_INVALID_INPUT"),
        ("SELECT CAST(s AS INT) AS n FROM s", "CAST_INVALID_INPUT"),
        ("SELECT COUNT(*) FROM s WHERE CAST(s AS INT) > 0 GROUP BY window(time, '10 seconds')",
         "CAST_INVALID_INPUT"),
        ("SELECT COUNT(*) FROM s GROUP BY window(time, '10 seconds'), CAST(s AS INT)",
         "CAST_INVALID_INPUT"),
        (f"SELECT 1 / (COUNT(*) - COUNT(*)) AS x {WINDOW}", "DIVIDE_BY_ZERO"),
        (f"SELECT COUNT(*) AS n {WINDOW} HAVING 1 / (COUNT(*) - COUNT(*)) > 0", "DIVIDE_BY_ZERO"),
        (f"SELECT SUM(v + 9223372036854775000) AS x {WINDOW}", "OVERFLOW|does not fit"),
    ],
)  # fmt: skip
def test_an_expression_that_raises_fails_its_query_alone(
    spark: SparkSession, bad: str, reason: str
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        good = session.sql(GOOD, name="good")
        poor = session.sql(bad, name="poor")
        session.start()
        stream.push(rows([1, 2], s="7"))
        session.process_all_available()
        assert poor.status == "active"
        stream.push(rows([3, 12, 900, 925], s="seven"))
        session.process_all_available()
        stream.push(rows([950, 960]))
        session.process_all_available()
        assert poor.status == "failed"
        assert poor.error is not None
        assert any(word in poor.error for word in reason.split("|")), poor.error
        assert good.status == "active"
        assert pairs(good.collect(), "start", "total") == [
            (at(0), 1), (at(10), 1), (at(900), 2), (at(920), 3), (at(950), 0),
        ]  # fmt: skip


def test_several_that_raise_in_one_batch_are_told_apart(spark: SparkSession) -> None:
    """Parts they have in common raise for those who have them; `IN (1 / 0)` while Spark plans."""
    texts = {
        "cast": f"SELECT SUM(CAST(s AS INT)) AS x {WINDOW}",
        "cast and more": f"SELECT SUM(CAST(s AS INT) + 1) AS x {WINDOW}",
        "planned": "SELECT COUNT(*) AS n FROM s WHERE v IN (1 / 0) "
        "GROUP BY window(time, '10 seconds')",
        "guarded": f"SELECT SUM(CASE WHEN v > 99 THEN CAST(s AS INT) END) AS x {WINDOW}",
        "tried": f"SELECT COUNT(TRY_CAST(s AS INT)) AS x {WINDOW}",
    }
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        asked = {name: session.sql(text, name=name) for name, text in texts.items()}
        session.start()
        stream.push(rows([1, 2, 3], s="seven"))
        session.process_all_available()
        told = {name: query.error for name, query in asked.items()}
    assert "CAST_INVALID_INPUT" in (told.pop("cast") or "")
    assert "CAST_INVALID_INPUT" in (told.pop("cast and more") or "")
    assert "DIVIDE_BY_ZERO" in (told.pop("planned") or "")
    assert told == {"guarded": None, "tried": None}


def test_the_guard_of_a_where_keeps_a_cast_from_raising(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(
            "SELECT SUM(CAST(s AS INT)) AS total FROM s WHERE k = 'a' "
            "GROUP BY window(time, '10 seconds')"
        )
        other = session.sql(GOOD)
        session.start()
        stream.push(rows([1, 2], s="7") + rows([3], k="b", s="seven") + rows([11]))
        session.process_all_available()
        assert query.status == "active", query.error
        assert pairs(query.collect(), "total") == [(14,)]
        assert len(other.collect()) == 2


def test_a_callable_sink_that_raises_fails_its_query_alone(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    seen: list[pa.Table] = []

    def refuse(table: pa.Table) -> None:
        raise RuntimeError("no room")

    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        poor = session.sql(GOOD, name="poor", sink=refuse)
        good = session.sql(GOOD, name="good", sink=seen.append)
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        stream.push(rows([22]))
        session.process_all_available()
        assert (poor.status, good.status) == ("failed", "active")
        assert "no room" in str(poor.error)
        assert [t.column("total").to_pylist() for t in seen] == [[0], [1]]
        with pytest.raises(hr.QueryError, match="memory sink"):
            good.collect()


def test_a_parquet_sink_that_cannot_be_written_fails_its_query_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        poor = session.sql(GOOD, name="poor", sink="parquet", options={"path": out})
        good = session.sql(GOOD, name="good")
        session.start()
        out.rmdir()
        out.write_text("not a folder")
        stream.push(rows([1, 12]))
        session.process_all_available()
        assert (poor.status, good.status) == ("failed", "active")
        assert "parquet" in str(poor.error)
        assert len(good.collect()) == 1
