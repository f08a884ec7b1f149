"""bench/results/summary.py: latencies and throughput, on examples worked out by hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headrace.lab.bench.driver.protocol import OUTPUTS
from headrace.lab.bench.driver.queues import Pull
from headrace.lab.bench.driver.requests import Request
from headrace.lab.bench.driver.stage import Moment, Setup, Stretch
from headrace.lab.bench.results.summary import capacity, outputs_of, record_of, statistics_of
from headrace.lab.bench.workloads import load

START = 1_000_000.0


def results(*rows: tuple[str, float, float]) -> pa.Table:
    """Results by query, window end and largest event time, in seconds of the run."""
    columns = [
        [q for q, _, _ in rows],
        [int((START + end) * 1e6) for _, end, _ in rows],
        [10] * len(rows),
        [0.0] * len(rows),
        [int((START + time) * 1e6) for _, _, time in rows],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, OUTPUTS, strict=True)]
    return pa.Table.from_arrays(arrays, schema=OUTPUTS)


def moment(at_s: float, offered: int, queued: int, **taken: int) -> Moment:
    return Moment(at_s, offered, queued, taken, 1.5, 800.0, 0.2, 2, None)


def test_event_time_latency_runs_from_the_largest_contributing_event_time() -> None:
    # The window [0, 10) holds events of 3.0, 7.5 and 9.2 s; its last one was taken from the queue
    # at 9.9 s, and the result came at 11.0 s: 1.8 s after the event, 1.1 s after it was taken.
    stretch = Stretch(START, 20.0, 100.0)
    stretch.outputs = [(START + 11.0, results(("q", 10.0, 9.2)))]
    stretch.pulls = {
        "headrace": [
            [Pull(START + 4.0, 30, int((START + 3.9) * 1e6))],
            [
                Pull(START + 8.0, 75, int((START + 7.9) * 1e6)),
                Pull(START + 9.9, 95, int((START + 9.8) * 1e6)),
            ],
        ]
    }
    out = outputs_of(stretch)
    assert out["event_time_latency_s"].tolist() == [1.8]
    assert out["processing_time_latency_s"].tolist() == [1.1]
    assert out["at_s"].tolist() == [11.0]


def test_a_query_with_a_reader_of_its_own_is_timed_by_what_that_one_took() -> None:
    stretch = Stretch(START, 20.0, 100.0)
    stretch.outputs = [(START + 11.0, results(("fast", 10.0, 9.0), ("slow", 10.0, 9.0)))]
    upto = int((START + 9.5) * 1e6)
    stretch.pulls = {
        "fast": [[Pull(START + 9.6, 95, upto)]],
        "slow": [[Pull(START + 10.5, 95, upto)]],
    }
    out = outputs_of(stretch)
    assert sorted(out["processing_time_latency_s"].tolist()) == [0.5, 1.4]
    assert out["event_time_latency_s"].tolist() == [2.0, 2.0]


def test_results_of_events_before_the_stretch_do_not_count() -> None:
    stretch = Stretch(START, 20.0, 100.0)
    stretch.outputs = [(START + 1.0, results(("q", 0.5, -3.0), ("q", 1.0, 0.5)))]
    assert outputs_of(stretch)["event_time_latency_s"].tolist() == [0.5]


def test_results_that_agree_are_kept_as_one_with_their_number() -> None:
    stretch = Stretch(START, 20.0, 100.0)
    stretch.outputs = [(START + 2.0, results(*[(f"q{n}", 1.0, 0.9) for n in range(1000)]))]
    out = outputs_of(stretch)
    assert out["count"].tolist() == [1000]
    assert out["rows"] == 10_000


def test_percentiles_are_the_least_value_that_so_many_do_not_exceed() -> None:
    values = np.arange(1, 101, dtype=np.float64)
    found = statistics_of(values)
    assert found == {
        "avg": 50.5,
        "min": 1.0,
        "max": 100.0,
        "p50": 50.0,
        "p90": 90.0,
        "p95": 95.0,
        "p99": 99.0,
        "count": 100,
    }
    weighed = statistics_of(np.array([0.1, 5.0]), np.array([97, 3]))
    assert weighed is not None
    assert (weighed["p95"], weighed["p99"], weighed["count"]) == (0.1, 5.0, 100)
    assert statistics_of(np.zeros(0)) is None
    assert statistics_of(np.array([np.nan])) is None


def stretch_at(rate: float, *, queued_per_s: float = 0.0) -> Stretch:
    stretch = Stretch(START, 40.0, rate)
    for quarter in range(160):
        at = quarter / 4
        offered, queued = int(rate * at), int(queued_per_s * at)
        stretch.moments.append(moment(at, offered, queued, headrace=offered - queued))
        if quarter % 4 == 0:
            both = results(("q0", at, at - 0.5), ("q1", at, at - 0.5))
            stretch.outputs.append((START + at, both))
            object.__setattr__(stretch.moments[-1], "latency_s", 0.5)
    return stretch


def setup() -> Setup:
    return Setup(load("astream"), "headrace", 2)


def test_throughput_is_what_left_the_queue_after_the_warm_up() -> None:
    record = record_of(setup(), stretch_at(1000.0, queued_per_s=200.0))
    summary = record["summary"]
    assert summary["offered_per_s"] == pytest.approx(1000.0)
    assert summary["taken_per_s"] == pytest.approx(800.0)
    assert summary["overall_per_s"] == pytest.approx(1600.0), "two queries are served by it"
    assert not record["verdict"]["sustained"]
    assert record["end"] == "complete"


def test_what_a_system_can_take_is_told_only_where_several_batches_were_seen() -> None:
    assert capacity(stretch_at(1000.0, queued_per_s=200.0)) == pytest.approx(800.0)
    cold = Stretch(START, 4.0, 1000.0)
    for quarter in range(16):
        at, taken = quarter / 4, 12 if quarter >= 9 else 0
        cold.moments.append(moment(at, int(1000 * at), int(1000 * at) - taken, headrace=taken))
    assert capacity(cold) is None, "one small batch in four seconds"


def test_a_level_run_is_sustained_and_its_first_quarter_left_out() -> None:
    record = record_of(setup(), stretch_at(1000.0))
    assert record["verdict"]["sustained"], record["verdict"]
    latency = record["summary"]["event_time_latency_s"]
    assert (latency["p50"], latency["max"]) == (0.5, 0.5)
    assert latency["count"] == 2 * 30, "one a second of two queries, from 10 s on"
    assert record["summary"]["outputs"] == 2 * 39, "the very first was of before the start"


def test_a_driver_that_fell_behind_makes_the_run_void() -> None:
    stretch = stretch_at(1000.0)
    stretch.late_s = 0.8
    record = record_of(setup(), stretch)
    assert record["end"] == "void"
    assert "driver itself fell behind" in record["reason"]


def test_a_system_that_dies_or_a_run_that_is_stopped_keeps_what_was_measured() -> None:
    died, stopped = stretch_at(1000.0), stretch_at(1000.0)
    died.failure = "headrace ended with exit code 1"
    stopped.interrupted = True
    assert record_of(setup(), died)["end"] == "failed"
    assert "dropped" in record_of(setup(), died)["verdict"]["reason"]
    assert record_of(setup(), stopped)["end"] == "interrupted"
    assert record_of(setup(), stopped)["summary"]["outputs"] > 0


def test_deployment_latency_runs_from_when_the_request_was_due() -> None:
    stretch = stretch_at(1000.0)
    stretch.requests = [
        Request(0, "create", "a0", "", START + 1.0, START + 1.4),
        Request(1, "create", "a1", "", START + 1.2, START + 1.4),
        Request(2, "create", "a2", "", START + 1.3, START + 1.4, "refused"),
        Request(3, "delete", "a0", "", START + 2.0, START + 9.0),
        Request(4, "create", "a3", "", START + 9.5),
    ]
    record = record_of(setup(), stretch)
    deployed = record["summary"]["deployment_latency_s"]
    assert deployed["count"] == 2
    assert deployed["max"] == pytest.approx(0.4, abs=1e-6)
    assert deployed["min"] == pytest.approx(0.2, abs=1e-6)
    assert record["requests"]["errors"] == ["refused"]
    assert record["summary"]["queries_per_s"] == pytest.approx(4 / 9.0)
