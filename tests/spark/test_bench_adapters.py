"""Headrace and plain Spark as systems under test: what they tell the driver is right."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pytest

from headrace.lab.bench import workloads
from headrace.lab.bench.driver.process import SystemFailed
from headrace.lab.bench.driver.stage import Setup, Stage
from tests.amounts import SOAK, rounds
from tests.waiting import GUARD_S, until

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

RATE = 5_000
COUNTS = """
title = "How many events there were"
about = "Counts all events of every second: what is lost or taken twice shows."
rate = 5_000
count = 1

[[stream]]
name = "s"
maker = "fields"

[queries]
text = '''
SELECT window.end AS window_end, COUNT(*) AS n, MAX(time) AS event_time
FROM s GROUP BY window(time, '1 second')
'''
"""


def counted(outputs: list[tuple[float, pa.Table]]) -> dict[tuple[str, int], int]:
    """Events by query and second: the checksum adds up both times, in seconds, and the count."""
    found: dict[tuple[str, int], int] = {}
    for _, table in outputs:
        for row in table.to_pylist():
            end, latest = row["window_end"].timestamp(), row["event_time"].timestamp()
            key = row["query"], int(end)
            assert key not in found, "one result for each window"
            assert row["rows"] == 1
            assert end - 1 <= latest < end
            found[key] = round(row["checksum"] - int(end) - int(latest))
    return found


def after_the_first(found: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """Without the seconds in which the stream began."""
    first = min((end for _, end in found), default=0)
    return {key: n for key, n in found.items() if key[1] > first + 1}


@pytest.mark.parametrize(
    ("sut", "options"),
    [("headrace", {}), ("plain-spark", {}), ("headrace", {"sharing": "off"})][: rounds(1, 3)],
    ids=["headrace", "plain-spark", "sharing off"][: rounds(1, 3)],
)
def test_every_event_is_counted_once_in_its_window_and_queries_come_and_go(
    sut: str, options: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "counts.toml"
    path.write_text(COUNTS)
    setup = Setup(workloads.load(str(path)), sut, 2, options=options, answer_s=GUARD_S)
    with Stage(setup) as stage:
        stage.await_ready()
        whole: dict[tuple[str, int], int] = {}
        while min(sum(1 for query, _ in whole if query == q) for q in ("q0", "q1")) < 4:
            stage.settle(RATE)  # a query that is not warm yet may have left a long queue
            stretch = stage.measure(RATE, 6.0)
            assert not stretch.failure
            whole = after_the_first(counted(stage.server.outputs()))
        assert min(stage.load.taken().values()) > 4 * RATE, "the driver knows who took how much"
        text = stage.setup.workload.queries(1, 7)[0]
        for kind in ("create", "delete"):
            for name in ("a0", "a1"):
                stage.requests.add(kind, name, text, time.time())
            until(lambda: not stage.requests.unacknowledged())
        assert [r.error for r in stage.requests.all] == [None] * 4
    assert {query for query, _ in whole} == {"q0", "q1"}
    assert len(whole) >= 8
    assert all(abs(n - RATE) <= 2 for n in whole.values()), whole


@pytest.mark.skipif(not SOAK, reason="a whole system for a scenario: make soak")
def test_queries_come_and_go_by_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "counts.toml"
    path.write_text(COUNTS + '\n[scenario]\nkind = "churn"\ncount = 3\nevery_s = 4.0\n')
    setup = Setup(workloads.load(str(path)), "headrace", 3, answer_s=GUARD_S)
    with Stage(setup) as stage:
        stage.await_ready()
        stage.settle(RATE)
        stretch = stage.measure(RATE, 10.0)
    asked = [(r.kind, r.name) for r in stretch.requests]
    assert asked[:3] == [("create", f"a{n}") for n in range(3)]
    assert ("delete", "a0") in asked
    assert all(r.error is None for r in stretch.requests)
    # Those of the last change may not be acknowledged when the run ends.
    assert all(r.acknowledged_s is not None for r in stretch.requests[:3])


@pytest.mark.skipif(not SOAK, reason="a whole system for one refusal: make soak")
def test_a_join_is_refused_in_words_by_headrace() -> None:
    workload = workloads.load("gaming-join")
    with (
        pytest.raises(SystemFailed, match="query 'q0': joins are not supported"),
        Stage(Setup(workload, "headrace", 1, answer_s=GUARD_S)) as stage,
    ):
        stage.await_ready()


@pytest.mark.skipif(not SOAK, reason="the same system as above with another text: make soak")
def test_plain_spark_runs_the_join_that_headrace_refuses() -> None:
    workload = workloads.load("gaming-join")
    with Stage(Setup(workload, "plain-spark", 1, answer_s=GUARD_S)) as stage:
        stage.await_ready()
        stage.settle(RATE)  # raises when no result comes
