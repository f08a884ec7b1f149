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


class Growing(hr.testing.MemoryStream):
    """Gets one table more between the first look that finds something and the next."""

    grown = False

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        found = super().latest_offsets(start)
        if found != start and not self.grown:
            self.grown = True
            self.push(rows([2]))
        return found

    def commit(self, offsets: tuple[int, ...]) -> None:
        with (Path(self.path) / "committed").open("a") as file:
            file.write(f"{offsets[0]}\n")


def test_a_batch_takes_what_has_come_when_it_runs(spark: SparkSession) -> None:
    """Not only what was there when it was found that there is something to do."""
    stream = Growing(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        session.sql(PER_KEY, name="q")
        stream.push(rows([1]))
        session.start()
        session.process_all_available()
    assert (Path(stream.path) / "committed").read_text().split() == ["2"], "both in one batch"


def test_a_query_that_has_ended_holds_nothing_back_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    stream = Remembering(SCHEMA, path=tmp_path / "stream")
    checkpoint = str(tmp_path / "checkpoint")
    for number in range(2):
        with hr.Session(spark, sharing="off", checkpoint=checkpoint) as session:
            session.stream("s", stream, event_time="time")
            session.sql(PER_KEY, name="stays")
            ends = session.sql(PER_KEY, name="ends") if number == 0 else None
            session.start()
            stream.push(rows([number]))
            session.process_all_available()
            if ends is not None:
                ends.stop()
    committed = (Path(stream.path) / "committed").read_text().split()
    assert committed[-1] == "2", "what the one that stays has read"
