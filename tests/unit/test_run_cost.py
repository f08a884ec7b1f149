"""scheduling/cost.py: fixed and per-event cost of a run, learned from runs."""

from __future__ import annotations

import random

import pytest

from headrace.scheduling.cost import LinearCost, PipelineCost


def learned(*runs: tuple[float, float]) -> LinearCost:
    cost = LinearCost()
    for events, seconds in runs:
        cost = cost.ran(events, seconds)
    return cost


def test_a_fixed_part_and_a_part_per_event_are_found_in_noise() -> None:
    rng = random.Random(2)
    sizes = [rng.uniform(1e3, 1e6) for _ in range(60)]
    cost = learned(*((n, 0.2 + 1e-6 * n + rng.gauss(0, 0.02)) for n in sizes))
    assert cost.fixed_s == pytest.approx(0.2, rel=0.25)
    assert cost.per_event_s == pytest.approx(1e-6, rel=0.15)
    assert cost.of(500_000) == pytest.approx(0.7, rel=0.1)


def test_it_follows_a_change() -> None:
    runs = [(1e5, 0.3), (2e5, 0.4)] * 30 + [(1e5, 1.3), (2e5, 1.4)] * 30
    assert learned(*runs).of(1e5) == pytest.approx(1.3, rel=0.1)


def test_a_cold_start_and_a_pause_change_nothing() -> None:
    sizes = [1e5, 3e5, 2e5, 5e5] * 4
    runs = [(n, 0.2 + 1e-6 * n) for n in sizes]
    disturbed = learned((2e3, 11.0), *runs[:8], (1e5, 4.0), *runs[8:])
    assert disturbed.fixed_s == pytest.approx(0.2, rel=0.15)
    assert disturbed.per_event_s == pytest.approx(1e-6, rel=0.15)


def test_runs_of_one_size_are_told_right_at_that_size() -> None:
    cost = learned(*[(1e5, 0.3)] * 20)
    assert cost.of(1e5) == pytest.approx(0.3)
    assert 0.0 < cost.fixed_s < 0.3


def test_nothing_known_and_impossible_runs() -> None:
    assert LinearCost().of(1e6) == 0.0
    assert learned((1e5, -1.0), (-5, 1.0)) == LinearCost(), "a clock that went back tells nothing"
    downhill = learned(*[(1e5, 0.5), (9e5, 0.1)] * 10)
    assert downhill.per_event_s >= 0.0 <= downhill.fixed_s


def test_a_pipeline_learns_ingest_and_fire_apart() -> None:
    cost = PipelineCost()
    for _ in range(30):
        cost = cost.ingested(1e5, 0.2).ingested(2e5, 0.25).fired(300, 0.1)
    assert cost.ingest.per_event_s == pytest.approx(5e-7, rel=0.3)
    assert cost.sweep_s == pytest.approx(0.1)
    assert cost.selectivity == pytest.approx(1e-3, rel=0.1)
    assert PipelineCost().selectivity == 1.0, "until something is known, nothing is filtered"
