"""bench/driver/requests.py: queries to create and delete, in batches."""

from __future__ import annotations

from headrace.lab.bench.driver.requests import Plan, Requests
from headrace.lab.bench.workloads import Scenario

TEXTS = [f"SELECT {n}" for n in range(10)]


def test_the_next_batch_waits_for_the_acknowledgement_of_the_last() -> None:
    requests = Requests()
    requests.add("create", "a", "SELECT 1", 10.0)
    requests.add("create", "b", "SELECT 2", 10.5)
    first, stop = requests.next_batch(0.0)
    assert ([r.name for r in first], stop) == (["a", "b"], False)
    requests.add("delete", "a", "", 11.0)
    assert requests.next_batch(0.0) == ([], False)
    assert requests.unacknowledged() == 3
    requests.acknowledge({1: "no such column"}, 12.0)
    second, _ = requests.next_batch(0.0)
    assert [(r.kind, r.name) for r in second] == [("delete", "a")]
    assert [(r.acknowledged_s, r.error) for r in requests.all] == [
        (12.0, None),
        (12.0, "no such column"),
        (None, None),
    ]


def test_stopping_is_told_at_once() -> None:
    requests = Requests()
    requests.stop()
    assert requests.next_batch(60.0) == ([], True)


def test_queries_grow_at_their_rate_up_to_the_last() -> None:
    plan = Plan(Scenario(kind="grow", per_second=10, upto=25), TEXTS)
    first = plan.due(0.95, 100.0)
    assert [name for _, name, _, _ in first] == [f"a{n}" for n in range(10)]
    assert [due for _, _, _, due in first] == [100.0 + n / 10 for n in range(10)]
    assert len(plan.due(60.0, 100.0)) == 15
    assert plan.due(120.0, 100.0) == []
    assert plan.active == 25


def test_queries_churn_the_oldest_going_as_new_ones_come() -> None:
    plan = Plan(Scenario(kind="churn", count=3, every_s=10.0), TEXTS)
    assert [(k, n) for k, n, _, _ in plan.due(0.0, 0.0)] == [
        ("create", "a0"),
        ("create", "a1"),
        ("create", "a2"),
    ]
    assert plan.due(9.9, 0.0) == []
    assert [(k, n, d) for k, n, _, d in plan.due(10.0, 0.0)] == [
        ("create", "a3", 10.0),
        ("create", "a4", 10.0),
        ("create", "a5", 10.0),
        ("delete", "a0", 10.0),
        ("delete", "a1", 10.0),
        ("delete", "a2", 10.0),
    ]
    assert plan.active == 3
