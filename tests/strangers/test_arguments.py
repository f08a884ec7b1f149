"""Arguments of the wrong kind are refused in words, before anything is done with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import MemoryStream
from tests.spark.helpers import SCHEMA

pytestmark = pytest.mark.spark

TEXT = "SELECT COUNT(*) FROM s GROUP BY window(time, '10 seconds')"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[hr.Session]:
    with hr.Session(spark) as made:
        made.stream("s", MemoryStream(SCHEMA), event_time="time")
        yield made


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"trigger": "x"}, "'x' is not a duration"),
        ({"trigger": "-1 seconds"}, "duration|trigger"),
        ({"concurrency": "2"}, "concurrency is '2'"),
        ({"sink_timeout": 5}, "5 is not a duration"),
        ({"clock": 3}, "clock is 3"),
        ({"checkpoint": 3}, "checkpoint is 3"),
        ({"checkpoint": ""}, "checkpoint is ''"),
        ({"checkpoint": "a\0b"}, "checkpoint is 'a"),
        ({"checkpoint": "nosuch://a/b"}, "nosuch://a/b cannot be opened"),
    ],
)
def test_of_a_session(spark: SparkSession, given: dict[str, Any], why: str) -> None:
    with pytest.raises(hr.QueryError, match=why):
        hr.Session(spark, **given)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": None}, "a stream's name is None"),
        ({"name": "n" * 300}, "300 characters"),
        ({"name": "a b"}, "not a stream name"),
        ({"event_time": None}, "event_time is None"),
        ({"lateness": 5}, "5 is not a duration"),
        ({"lateness": None}, "None is not a duration"),
        ({"upstream": "x"}, "upstream is 'x'"),
        ({"late_sink": 3}, "sink is 3"),
        ({"late_sink": "nosuch"}, "DATA_SOURCE_NOT_FOUND"),
    ],
)
def test_of_a_stream(session: hr.Session, given: dict[str, Any], why: str) -> None:
    arguments = {"name": "other", "event_time": "time", **given}
    with pytest.raises(hr.QueryError, match=why):
        session.stream(source=MemoryStream(SCHEMA), **arguments)


def three(table: pa.Table, txn: int, more: int) -> None: ...


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"text": None}, "the text of a query is None"),
        ({"text": b"SELECT 1"}, "the text of a query is b"),
        ({"name": 3}, "the name of a query is 3"),
        ({"name": ""}, "the name of a query is ''"),
        ({"name": "a\ud800"}, "name of a query has .* at character 2, which is no character"),
        ({"text": f"{TEXT} -- \ud800"}, "text of a query has .* no character"),
        ({"options": {"path": "\udfff"}}, "option of a sink has .* no character"),
        ({"options": 3}, "options is 3"),
        ({"sink": 3}, "sink is 3"),
        ({"sink": lambda: None}, r"takes \(\)"),
        ({"sink": three}, "takes .*more"),
    ],
)
def test_of_a_query(session: hr.Session, given: dict[str, Any], why: str) -> None:
    with pytest.raises(hr.QueryError, match=why):
        session.sql(**{"text": TEXT, **given})
    assert session.queries == ()


@pytest.mark.parametrize("sink", [print, [].append, max, partial(print, end="")])
def test_functions_that_can_be_called(session: hr.Session, sink: Callable[..., object]) -> None:
    query = session.sql(TEXT, sink=sink)
    assert query.status == "pending"
    query.stop()
    session._roster._queries.clear()


def test_a_key_is_bytes(session: hr.Session) -> None:
    with pytest.raises(hr.QueryError, match="key is 'secret'"):
        session.publish("secret")  # type: ignore[arg-type]


def test_nothing_is_taken_after_the_close(spark: SparkSession) -> None:
    with hr.Session(spark) as closed:
        pass
    for call in (lambda: closed.on_output(print), lambda: closed.forward(False)):
        with pytest.raises(hr.ExecutionError, match="the session is closed"):
            call()


@pytest.mark.parametrize("timeout", ["1", -1, float("nan"), float("inf"), True])
def test_of_what_waits(session: hr.Session, timeout: Any) -> None:
    query = session.sql(TEXT, name=f"waits {timeout}")
    for wait in (query.await_active, query.results):
        with pytest.raises(hr.QueryError, match="timeout_s is"):
            wait(timeout)
    query.stop()
