"""Scheduling on Spark: whatever the policy, the same results; who runs, and why, can be read."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.lab.simulator.model import Conditions
from headrace.lab.simulator.node import Node
from headrace.scheduling import POLICIES, policy_named
from headrace.scheduling.decision import Decision
from headrace.scheduling.scheduler import Scheduler
from headrace.scheduling.snapshot import Memory
from tests.spark.helpers import SCHEMA, rows

QUERIES = {
    f"q{n}": f"SELECT window.start AS start, k, SUM(v) AS total, COUNT(*) AS n FROM s "
    f"GROUP BY window(time, '{size} seconds', '{size} seconds', '{n} seconds'), k"
    for n, size in enumerate((5, 7, 10, 13))
}


def results_under(spark: SparkSession, policies: list[str]) -> dict[str, list[tuple[object, ...]]]:
    """Results of all queries, each with a pipeline of its own, the policies taking turns."""
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark, sharing="off", policy=policies[0], concurrency=1) as session:
        session.stream("s", stream, event_time="time", lateness="1 second")
        asked = {name: session.sql(text, name=name) for name, text in QUERIES.items()}
        session.start()
        for number in range(6):
            session.schedule(policies[number % len(policies)], concurrency=1 + number % 2)
            begin = 20 * number
            stream.push([r for k in "ab" for r in rows(range(begin, begin + 20), k=k)])
            session.process_all_available()
        return {
            name: sorted(tuple(r.values()) for r in q.collect().to_pylist())  # type: ignore[type-var]
            for name, q in asked.items()
        }


def test_results_do_not_depend_on_who_runs_first(spark: SparkSession) -> None:
    plain = results_under(spark, ["default"])
    assert all(len(found) > 10 for found in plain.values())
    assert results_under(spark, [name for name in POLICIES if name != "default"]) == plain


@contextmanager
def live(spark: SparkSession, queries: int, **more: object) -> Iterator[hr.Session]:
    """A session without sharing over a stream that runs by the clock, windows ending one after
    the other."""
    with hr.Session(spark, sharing="off", **more) as session:  # type: ignore[arg-type]
        source = hr.sources.RandomFields(rate=20_000, disorder_s=0.05)
        session.stream("s", source, event_time="time", lateness="100 milliseconds")
        for n in range(queries):
            session.sql(
                f"SELECT window.end AS ended, COUNT(*) AS n FROM s "
                f"GROUP BY window(time, '4 seconds', '4 seconds', '{n} seconds')",
                name=f"q{n}",
            )
        session.start()
        yield session


def await_windows(session: hr.Session, count: int, seconds: float = 90.0) -> None:
    limit = time.monotonic() + seconds
    while min(q.metrics().windows for q in session.queries) < count:
        assert time.monotonic() < limit, session.explain()
        threading.Event().wait(0.1)


def test_a_run_on_spark_is_decided_again_alike_by_the_simulators_scheduler(
    spark: SparkSession,
) -> None:
    with live(spark, 4, policy="klink") as session:
        await_windows(session, 3)
        told = session.explain()
        metrics = session.metrics()
        # As a file would keep them.
        kept = [json.loads(json.dumps(d.to_json())) for d in session.decisions]
    decisions = [Decision.from_json(d) for d in kept]
    assert len(decisions) >= 10
    assert any(d.started for d in decisions)
    assert any(turn.held for d in decisions for turn in d.turns), "some were not worth a run yet"
    scheduler = Scheduler(policy_named("klink"), patience_s=decisions[0].patience_s)
    node = Node(0, Conditions(), scheduler, [], {}, Memory())
    for decision in decisions:
        seen = decision.snapshot
        again = node.scheduler.decide(
            seen.now_s, seen.pipelines, seen.memory, decision.room, seen.asleep_until_s
        )
        assert again == decision
    # What a user can read of it.
    assert "scheduling: klink" in told
    assert "sweep in" in told
    assert metrics.schedule.policy == "klink"
    assert 0 < metrics.schedule.deciding_share < 0.05
    assert all(p.fixed_cost_s > 0 for p in metrics.pipelines)
    assert any(p.slack_s is not None and p.sweep is not None for p in metrics.pipelines)


def test_klink_needs_fewer_batches_for_the_same_windows(spark: SparkSession) -> None:
    def batches(policy: str) -> float:
        with live(spark, 3, policy=policy) as session:
            await_windows(session, 2)
            before = session.metrics()
            await_windows(session, 5)
            after = session.metrics()
            return (after.batches - before.batches) / max(after.windows - before.windows, 1)

    assert batches("klink") < 0.7 * batches("fcfs")


def test_a_session_closes_at_once_although_its_pipelines_are_held(spark: SparkSession) -> None:
    with live(spark, 3, policy="klink", patience="1 hour") as session:
        await_windows(session, 1)
        begun = time.monotonic()
    assert time.monotonic() - begun < 15.0


def test_no_more_batches_than_allowed_run_at_a_time(spark: SparkSession) -> None:
    inside, most = [0], [0]
    lock = threading.Lock()

    def slow(table: pa.Table) -> None:
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        threading.Event().wait(0.05)
        with lock:
            inside[0] -= 1

    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark, sharing="off", policy="fcfs", concurrency=1) as session:
        session.stream("s", stream, event_time="time")
        for name, text in QUERIES.items():
            session.sql(text, name=name, sink=slow)
        session.start()
        for begin in (0, 40, 80):
            stream.push(rows(range(begin, begin + 40)))
            session.process_all_available()
    assert most[0] == 1


def test_what_is_no_policy_is_refused(spark: SparkSession) -> None:
    with pytest.raises(hr.QueryError, match=r"no policy 'klinc'.*did you mean 'klink'"):
        hr.Session(spark, policy="klinc")
    with pytest.raises(hr.QueryError, match="concurrency is 0"):
        hr.Session(spark, policy="klink", concurrency=0)
    with hr.Session(spark) as session:
        with pytest.raises(hr.QueryError, match="no policy"):
            session.schedule("lifo")
        assert session.metrics().schedule.policy == "default"
