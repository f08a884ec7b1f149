"""The benchmark's own truth: systems whose speed is known must be measured right.

Everything is real but the system: the driver, its clock, the Flight server, the process. A busy
machine is measured wrong, so this is for `make figures`; what holds on any machine is in tests/e2e.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headrace.lab.bench import workloads
from headrace.lab.bench.alternate import alternate
from headrace.lab.bench.driver.feed import TICK_S
from headrace.lab.bench.driver.load import speed
from headrace.lab.bench.driver.stage import Setup
from headrace.lab.bench.effort import Effort
from headrace.lab.bench.run import Watcher, run, sustain

RATE = 20_000.0
SLACK_S = 4 * TICK_S
"""The timer's resolution: a step of the driver, a step of the fake system, and a busy machine."""


def fake(**options: object) -> Setup:
    given = {name: str(value) for name, value in options.items()}
    return Setup(workloads.load("astream"), "fake", 1, options=given, answer_s=20.0)


def test_the_highest_rate_a_system_holds_is_found_within_five_percent() -> None:
    record = sustain(fake(service_rate=50_000), 35_000.0, Effort(5.0, tolerance=0.03), Watcher())
    assert record["end"] == "complete", record["reason"]
    assert record["sustainable_rate"]["mean"] == pytest.approx(50_000, rel=0.05)
    assert record["at_100"]["verdict"]["sustained"]
    assert record["at_90"]["summary"]["event_time_latency_s"]["p99"] < 0.5
    refused = [t for t in record["searches"][0]["tries"] if not t["sustained"]]
    assert refused[0]["processed"] == pytest.approx(50_000, rel=0.05)


def test_latency_percentiles_are_those_of_the_system() -> None:
    # Nine windows of ten come 0.3 s after their end, the tenth 0.8 s after it.
    record = run(fake(result_delay_s=0.3, tenth_delay_s=0.8), RATE, 16.0, Watcher())
    assert record["end"] == "complete", record["reason"]
    latency = record["summary"]["event_time_latency_s"]
    assert latency["p50"] == pytest.approx(0.3, abs=SLACK_S)
    assert latency["min"] == pytest.approx(0.3, abs=SLACK_S)
    assert latency["p95"] == pytest.approx(0.8, abs=SLACK_S)
    assert latency["count"] == pytest.approx(4 * 12, abs=2), "four windows a second, 12 s"
    assert record["summary"]["offered_per_s"] == pytest.approx(RATE, rel=0.01)
    assert record["verdict"]["sustained"], record["verdict"]


def test_a_pause_of_the_system_cannot_be_omitted() -> None:
    # It stands still for 1.5 s; what came meanwhile waited, and that is in the event-time latency
    # of every window that ended in the pause. Measured from when tuples were taken it would hide.
    setup = fake(pause_at_s=9.0, pause_s=1.5, service_rate=100_000)
    record = run(setup, RATE, 14.0, Watcher())
    assert record["end"] == "complete", record["reason"]
    latencies = np.array(record["outputs"]["event_time_latency_s"])
    hit = np.sort(latencies)[::-1]
    assert hit[0] == pytest.approx(1.5, abs=0.3)
    assert (latencies > 0.2).sum() >= 5, "all windows of the pause, not only the one it hit"
    assert max(record["outputs"]["processing_time_latency_s"]) < 0.5
    assert max(record["series"]["queued"]) == pytest.approx(1.5 * RATE, rel=0.35)
    assert record["verdict"]["sustained"], "a pause that is made up for is no overload"


def test_a_system_that_is_too_slow_is_told_by_its_queue_and_its_rate() -> None:
    record = run(fake(service_rate=10_000), RATE, 8.0, Watcher())
    assert not record["verdict"]["sustained"]
    assert record["summary"]["taken_per_s"] == pytest.approx(10_000, rel=0.05)
    assert record["series"]["queued"][-1] > 30_000


def test_queries_that_come_and_go_are_timed_until_acknowledged() -> None:
    workload = workloads.load("astream-sc1")
    record = run(Setup(workload, "fake", 50, answer_s=20.0), RATE, 6.0, Watcher())
    assert record["end"] == "complete", record["reason"]
    assert record["summary"]["deployment_latency_s"]["count"] == pytest.approx(60, abs=3)
    assert record["summary"]["deployment_latency_s"]["max"] < 1.0
    assert record["series"]["active"][-1] == pytest.approx(60, abs=3)
    assert record["summary"]["queries_per_s"] == pytest.approx(10, rel=0.1)


def test_the_driver_makes_three_million_events_a_second_on_one_core() -> None:
    # Far more on an idle machine; the figure of a run is in its record.
    assert speed(workloads.load("astream"), seconds=0.5) > 3_000_000


def test_values_of_a_setting_are_measured_in_turns_on_one_running_system() -> None:
    record = alternate(
        fake(), RATE, 4.0, "result_delay_s", ["0.3", "0.9"], 2, pause_s=1.5, watcher=Watcher()
    )
    assert record["end"] == "complete", record["reason"]
    assert record["figures"]["0.3"]["avg"]["mean"] == pytest.approx(0.3, abs=SLACK_S)
    assert record["figures"]["0.9"]["avg"]["mean"] == pytest.approx(0.9, abs=SLACK_S)
    assert record["ratios"]["0.9 / 0.3"]["p50"]["mean"] == pytest.approx(3.0, rel=0.3)
    orders = [list(measured) for measured in record["rounds"]]
    assert orders == [["0.3", "0.9"], ["0.9", "0.3"]], "no value always follows the same one"


def test_what_one_value_leaves_waiting_is_not_the_next_ones() -> None:
    # At 10,000/s half of the stream is left waiting; at 40,000/s that would be seen.
    setup = replace(fake(), queue_bytes=4_000_000, backpressure=True)
    rates = ["40000", "10000"]
    record = alternate(setup, RATE, 6.0, "service_rate", rates, 2, pause_s=2.0, watcher=Watcher())
    assert record["end"] == "complete", record["reason"]
    assert record["figures"]["40000"]["p99"]["mean"] < 0.5
    assert record["figures"]["40000"]["taken_per_s"]["mean"] == pytest.approx(RATE, rel=0.1)
    assert record["figures"]["10000"]["taken_per_s"]["mean"] == pytest.approx(10_000, rel=0.1)
    assert record["ratios"]["10000 / 40000"]["taken_per_s"]["mean"] == pytest.approx(0.5, rel=0.2)


def test_with_backpressure_events_wait_before_the_queue_and_keep_their_times() -> None:
    # It takes half of what is due: the queue stays at its bound, and latency grows all the same.
    setup = replace(fake(service_rate=RATE / 2), queue_bytes=400_000, backpressure=True)
    record = run(setup, RATE, 10.0, Watcher())
    assert record["end"] == "complete", record["reason"]
    bound = max(record["series"]["queued"])
    assert bound < 1.5 * RATE, "seconds of events wait, but not in the queue"
    assert record["summary"]["taken_per_s"] == pytest.approx(RATE / 2, rel=0.1)
    latencies = record["outputs"]["event_time_latency_s"]
    assert latencies[-1] > latencies[0] + 2.0
    assert not record["verdict"]["sustained"]
