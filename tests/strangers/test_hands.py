"""Sinks that hang, raise or call back, and calls in the wrong order: others notice nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import faults
from tests.spark.helpers import SCHEMA, at, pairs, rows
from tests.waiting import until

pytestmark = [pytest.mark.spark]

COUNT = "SELECT window.start AS start, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds')"
LONG_S = 120.0
"""A guard against hanging, not a judgement."""


def test_a_sink_that_never_returns_ends_its_own_query_only(spark: SparkSession) -> None:
    stream, let_go = hr.testing.MemoryStream(SCHEMA), threading.Event()
    entered = threading.Event()

    def hang(_: pa.Table) -> None:
        entered.set()
        let_go.wait(LONG_S)

    try:
        with hr.Session(spark, sink_timeout="2 seconds") as session:
            session.stream("s", stream, event_time="time")
            hung = session.sql(COUNT, name="hung", sink=hang)
            neighbour = session.sql(COUNT, name="neighbour")
            session.start()
            stream.push(rows([1, 12]))
            assert entered.wait(LONG_S)
            stream.push(rows([25]))
            session.process_all_available()
            assert pairs(neighbour.collect(), "start", "n") == [(at(0), 1), (at(10), 1)]
            assert "neighbour" in session.explain()
            assert hung.status == "failed"
            assert "did not return within 2 s" in str(hung.error)
            assert neighbour.status == "active"
            neighbour.stop()
    finally:
        let_go.set()


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), OSError()])
def test_a_sink_that_raises_anything_ends_its_own_query_only(
    spark: SparkSession, error: BaseException
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)

    def fail(_: pa.Table) -> None:
        raise error

    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        raising = session.sql(COUNT, name="raising", sink=fail)
        neighbour = session.sql(COUNT, name="neighbour")
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        stream.push(rows([25]))
        session.process_all_available()
        assert raising.status == "failed"
        assert f"its sink raised {type(error).__name__}" in str(raising.error)
        assert pairs(neighbour.collect(), "start", "n") == [(at(0), 1), (at(10), 1)]


@pytest.mark.parametrize("place", ["sink", "listener"])
def test_a_query_made_inside_a_callback_lives_like_any_other(
    spark: SparkSession, place: str
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    made: list[hr.Query] = []
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")

        def ask(_: pa.Table) -> None:
            if not made:
                made.append(session.sql(COUNT, name="made"))
                made[0].await_active(LONG_S)
                assert "made" in session.explain()

        first = session.sql(COUNT, name="first", sink=ask if place == "sink" else "memory")
        if place == "listener":
            session.on_output(ask)
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        (query,) = made
        start = query.effective_start
        assert start is not None
        assert start > at(12)
        stream.push(rows([21, 35]))
        session.process_all_available()
        stream.push(rows([41]))
        session.process_all_available()
        assert pairs(query.collect(), "start", "n") == [(at(20), 1), (at(30), 1)]
        assert first.status == "active"


def test_a_sink_may_stop_its_own_query_and_others(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    ends = []
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        queries: dict[str, hr.Query] = {}

        def stop(_: pa.Table) -> None:
            ends.append(queries["other"].stop())
            ends.append(queries["mine"].stop())

        queries["mine"] = session.sql(COUNT, name="mine", sink=stop)
        queries["other"] = session.sql(COUNT, name="other")
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        assert ends == [at(12), at(12)]
        assert [q.status for q in queries.values()] == ["stopped", "stopped"]


async def _later(_: pa.Table) -> None: ...


def _in_turn(_: pa.Table) -> object:
    yield 1


@pytest.mark.parametrize("sink", [_later, _in_turn])
def test_a_sink_that_would_only_promise_to_work_is_refused(
    spark: SparkSession, sink: Callable[[pa.Table], object]
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        with pytest.raises(hr.QueryError, match="async or a generator"):
            session.sql(COUNT, sink=sink)
        with pytest.raises(hr.QueryError, match="a listener must be a callable"):
            session.on_output(3)  # type: ignore[arg-type]


# -- the order of calls ------------------------------------------------------------------------


def test_a_query_stopped_before_the_start_never_takes_part(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        early = session.sql(COUNT, name="early")
        assert early.stop() is None
        assert early.stop() is None
        assert early.status == "stopped"
        with pytest.raises(hr.ExecutionError, match="'early' was stopped before it took part"):
            early.await_active()
        again = session.sql(COUNT, name="early")
        session.start()
        stream.push(rows([1, 12]))
        session.process_all_available()
        assert len(early.collect()) == 0
        assert pairs(again.collect(), "start", "n") == [(at(0), 1)]


def test_calls_after_the_close_answer_at_once(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    session = hr.Session(spark)
    session.stream("s", stream, event_time="time")
    query = session.sql(COUNT, name="q")
    session.start()
    stream.push(rows([1, 12]))
    session.process_all_available()
    session.close()
    session.close()
    assert query.stop() is None
    assert query.status == "stopped"
    assert pairs(query.collect(), "start", "n") == [(at(0), 1)]
    assert [t.num_rows for t in query.results()] == [1]
    assert query.metrics().rows == 1
    assert "q" in query.explain()
    assert "closed" in session.explain()
    later: list[Callable[[], object]] = [
        lambda: session.sql(COUNT),
        lambda: session.start(),
        lambda: session.stream("t", stream, event_time="time"),
        lambda: session.process_all_available(),
        lambda: session.schedule("klink"),
        lambda: session.publish(b"key"),
    ]
    for call in later:
        with pytest.raises(hr.ExecutionError, match="the session is closed"):
            call()


def test_whoever_closes_a_session_that_is_being_closed_waits_for_the_end(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream, let_go, held = hr.testing.MemoryStream(SCHEMA), threading.Event(), threading.Event()

    def hold(point: str) -> None:
        if point == "before WriteCommit":
            held.set()
            let_go.wait(LONG_S)

    session = hr.Session(spark)
    session.stream("s", stream, event_time="time")
    session.sql(COUNT)
    session.start()
    monkeypatch.setattr(faults, "at", hold)
    stream.push(rows([1, 12]))
    assert held.wait(LONG_S)
    left: list[bool] = []

    def close() -> None:
        session.close()
        left.append(Path(str(session._temporary)).exists())

    threads = [threading.Thread(target=close) for _ in range(2)]
    threads[0].start()
    until(lambda: session._closed)
    threads[1].start()
    threads[1].join(0.5)
    let_go.set()
    for thread in threads:
        thread.join(LONG_S)
    assert left == [False, False]


def test_a_query_that_a_checkpoint_goes_on_with_cannot_be_stopped_after_the_close(
    spark: SparkSession, tmp_path: object
) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark, checkpoint=f"{tmp_path}/checkpoint") as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(COUNT, name="q")
        session.start()
        query.await_active(LONG_S)
    with pytest.raises(hr.ExecutionError, match="'q' cannot be stopped: the session is closed"):
        query.stop()


def test_nothing_can_be_asked_of_a_stream_that_has_failed(spark: SparkSession) -> None:
    class Broken(hr.testing.MemoryStream):
        def read(self, *_: object) -> object:  # type: ignore[override]
            raise OSError("the broker is gone")

    stream = Broken(SCHEMA)
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        query = session.sql(COUNT, name="q")
        session.start()
        stream.push(rows([1, 12]))
        with pytest.raises(hr.ExecutionError, match="the broker is gone"):
            session.process_all_available()
        assert query.status == "failed"
        assert "the broker is gone" in str(query.error)
        assert query.stop() is None
        with pytest.raises(hr.ExecutionError, match=r"'late' cannot run.*the broker is gone"):
            session.sql(COUNT, name="late")
        assert "the broker is gone" in session.explain()


def test_queries_of_eight_threads_come_and_go_while_batches_run(spark: SparkSession) -> None:
    stream = hr.testing.MemoryStream(SCHEMA)
    errors: list[BaseException] = []
    with hr.Session(spark) as session:
        session.stream("s", stream, event_time="time")
        stays = session.sql(COUNT, name="stays")
        session.start()

        def come_and_go(number: int) -> None:
            try:
                for turn in range(5):
                    query = session.sql(COUNT, name=f"q{number} {turn % 2}")
                    query.await_active(LONG_S)
                    query.explain()
                    query.stop()
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=come_and_go, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for second in range(0, 100, 10):
            stream.push(rows([second]))
            session.process_all_available()
        for thread in threads:
            thread.join(LONG_S)
        assert not errors
        assert [n for _, n in pairs(stays.collect(), "start", "n")] == [1] * 9
