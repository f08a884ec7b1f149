"""What a session tells listeners about the results it delivers."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, rows

pytestmark = pytest.mark.spark

PER_KEY = (
    "SELECT window.end AS window_end, k, COUNT(*) AS n, MAX(time) AS latest FROM s "
    "GROUP BY window(time, '10 seconds'), k"
)


class Remembering(hr.testing.MemoryStream):
    """Notes in a file what was committed."""

    def commit(self, offsets: tuple[int, ...]) -> None:
        with (Path(self.path) / "committed").open("a") as file:
            file.write(f"{offsets[0]}\n")


def _told(tables: list[pa.Table]) -> dict[tuple[str, Any], dict[str, Any]]:
    told = [row for table in tables for row in table.to_pylist()]
    assert len({(r["query"], r["window_end"]) for r in told}) == len(told), "each window once"
    return {(r["query"], r["window_end"]): r for r in told}


def test_every_query_and_window_is_told_once_over_all_tasks(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA, partitions=2)
    tables: list[pa.Table] = []
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        session.on_output(tables.append)
        options = {"event_time": "latest"}
        digest = session.sql(PER_KEY, name="digest", sink="digest", options=options)
        memory = session.sql(PER_KEY, name="memory")
        top = session.sql(
            f"{PER_KEY} ORDER BY n LIMIT 2", name="top", sink="digest", options=options
        )
        session.start()
        for partition in (0, 1):
            for number in range(8):
                stream.push(rows([1, 4 + number / 10], k=f"k{number}"), partition=partition)
            stream.push(rows([12.5, 30]), partition=partition)
        session.process_all_available()
        shown = memory.collect()
    told = _told(tables)
    first = told["digest", at(10)]
    assert (first["window_start"], first["rows"]) == (at(0), 8)
    assert first["event_time"] == at(4.7), "the largest over all keys and tasks"
    assert told["digest", at(20)]["event_time"] == at(12.5)
    assert told["memory", at(10)]["rows"] == 8
    assert told["memory", at(10)]["event_time"] is None, "only the digest sink carries it"
    assert told["top", at(10)]["rows"] == 2
    assert told["top", at(10)]["event_time"] is not None
    assert digest.metrics().windows == 2, "a window that two tasks delivered is one"
    assert digest.metrics().rows == shown.num_rows == 9
    assert top.metrics().rows == 3


def test_a_listener_that_raises_hurts_nobody(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    tables: list[pa.Table] = []

    def broken(table: pa.Table) -> None:
        raise RuntimeError("no place left")

    with caplog.at_level(logging.WARNING, "headrace"), hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        session.on_output(broken)
        session.on_output(tables.append)
        query = session.sql(PER_KEY, name="q")
        session.start()
        stream.push(rows([1, 30]))
        session.process_all_available()
        assert query.collect().num_rows == 1
    assert [t.num_rows for t in tables] == [1]
    assert "a listener to outputs failed" in caplog.text


def test_an_event_time_that_the_result_does_not_have_is_refused(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        with pytest.raises(hr.QueryError, match=r"query 'q'.*'n', no time column.*latest"):
            session.sql(PER_KEY, name="q", sink="digest", options={"event_time": "n"})


@pytest.mark.parametrize("sharing", ["auto", "off"])
def test_a_source_is_told_what_will_not_be_read_again(
    spark: SparkSession, sharing: Literal["auto", "off"]
) -> None:
    stream = Remembering(SCHEMA)
    with hr.Session(spark, sharing=sharing) as session:
        session.stream("s", stream, event_time="time")
        session.sql(PER_KEY, name="q")
        session.sql(PER_KEY, name="p")
        session.start()
        for number in range(4):
            stream.push(rows([number]))
            session.process_all_available()
    committed = [int(n) for n in (Path(stream.path) / "committed").read_text().split()]
    assert committed == [1, 2, 3, 4], "each once, when both queries have it"


def test_a_batch_takes_what_has_come_when_it_runs(spark: SparkSession) -> None:
    """Not only what was there when Spark called for it: the first batch of a stream waits here."""
    stream = hr.testing.MemoryStream(SCHEMA)
    batches: list[int] = []

    class Counting(hr.testing.MemoryStream):
        def commit(self, offsets: tuple[int, ...]) -> None:
            batches.append(offsets[0])

    counting = Counting(SCHEMA, path=stream.path)
    with hr.Session(spark) as session:
        session.stream("s", counting, event_time="time")
        session.sql(PER_KEY, name="q")
        for number in range(3):
            stream.push(rows([number]))
        session.start()
        session.process_all_available()
    assert batches == [3]
