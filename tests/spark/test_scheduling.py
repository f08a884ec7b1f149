"""Scheduling on Spark: whatever the policy, the same results; who runs, and why, can be read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.lab.simulator.model import Conditions
from headrace.lab.simulator.node import Node
from headrace.runtime import faults
from headrace.scheduling import POLICIES, policy_named
from headrace.scheduling.decision import Decision
from headrace.scheduling.scheduler import Scheduler
from headrace.scheduling.snapshot import Memory
from tests.spark.helpers import SCHEMA, rows
from tests.waiting import until

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


def await_windows(session: hr.Session, count: int) -> None:
    until(lambda: min(q.metrics().windows for q in session.queries) >= count, session.explain)


def is_held(decision: Decision) -> bool:
    """Whether it left somebody out who was not worth a run yet."""
    return any(turn.held for turn in decision.turns)


def test_a_run_on_spark_is_decided_again_alike_by_the_simulators_scheduler(
    spark: SparkSession,
) -> None:
    # A patience of an hour: those that are held when the session closes are let go by nothing else.
    with live(spark, 4, policy="klink", patience="1 hour") as session:
        await_windows(session, 2)
        until(lambda: any(is_held(d) for d in session.decisions), session.explain)
        until(lambda: len(session.decisions) >= 10, session.explain)
        told = session.explain()
        metrics = session.metrics()
        # As a file would keep them.
        kept = [json.loads(json.dumps(d.to_json())) for d in session.decisions]
    decisions = [Decision.from_json(d) for d in kept]
    assert any(d.started for d in decisions)
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
    assert metrics.schedule.deciding_share > 0
    assert all(p.fixed_cost_s > 0 for p in metrics.pipelines)
    assert any(p.slack_s is not None and p.sweep is not None for p in metrics.pipelines)


def test_no_more_batches_than_allowed_run_at_a_time(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, most = set[int](), [0, 0]

    def count(point: str) -> None:
        if point == "before transaction":
            inside.add(threading.get_ident())
            most[:] = [max(most[0], len(inside)), most[1] + 1]
        elif point == "after transaction":
            inside.discard(threading.get_ident())

    monkeypatch.setattr(faults, "at", count)
    stream = hr.testing.MemoryStream(SCHEMA)
    with hr.Session(spark, sharing="off", policy="fcfs", concurrency=1) as session:
        session.stream("s", stream, event_time="time")
        for name, text in QUERIES.items():
            session.sql(text, name=name)
        session.start()
        for begin in (0, 40, 80):
            stream.push(rows(range(begin, begin + 40)))
            session.process_all_available()
    assert most[0] == 1
    assert most[1] >= 3 * len(QUERIES)


def test_what_is_no_policy_is_refused(spark: SparkSession) -> None:
    with pytest.raises(hr.QueryError, match=r"no policy 'klinc'.*did you mean 'klink'"):
        hr.Session(spark, policy="klinc")
    with pytest.raises(hr.QueryError, match="concurrency is 0"):
        hr.Session(spark, policy="klink", concurrency=0)
    with hr.Session(spark) as session:
        with pytest.raises(hr.QueryError, match="no policy"):
            session.schedule("lifo")
        assert session.metrics().schedule.policy == "default"
