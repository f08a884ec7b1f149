"""bench/results/verdict.py: what counts as holding a rate, and the highest one."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from headrace.lab.bench.results.verdict import Sample, Tried, Verdict, judge, search, trend

RATE = 50_000.0


def run(queued: Callable[[float], float], latency: Callable[[float], float]) -> list[Sample]:
    """A minute with a sample a second and some noise."""
    rng = random.Random(3)
    return [
        Sample(t, int(max(queued(t) + rng.gauss(0, 500), 0)), latency(t) + rng.gauss(0, 0.02))
        for t in range(60)
    ]


def test_level_queue_and_latency_are_sustained() -> None:
    verdict = judge(run(lambda _: 20_000, lambda _: 0.4), RATE)
    assert verdict.sustained, verdict


def test_a_queue_that_keeps_growing_is_not() -> None:
    verdict = judge(run(lambda t: 2_000 * t, lambda t: 0.4 + 0.04 * t), RATE)
    assert not verdict.sustained
    assert verdict.queue_growth == pytest.approx(2_000, rel=0.05)
    assert "queue grew" in verdict.reason


def test_latency_that_keeps_growing_is_not_even_where_the_queue_is_short() -> None:
    # The system takes tuples eagerly and holds them itself.
    verdict = judge(run(lambda _: 1_000, lambda t: 0.4 + 0.05 * t), RATE)
    assert not verdict.sustained
    assert "50 ms every second" in verdict.reason


def test_a_pause_that_is_made_up_for_is_allowed() -> None:
    def paused(t: float) -> float:
        return max(0.0, 5.0 - abs(t - 40.0)) * RATE

    verdict = judge(run(paused, lambda t: 0.4 + paused(t) / RATE), RATE)
    assert verdict.sustained, verdict


def test_the_warm_up_is_not_looked_at() -> None:
    verdict = judge(run(lambda t: max(0.0, 14 - t) * RATE, lambda t: max(0.3, 14 - t)), RATE)
    assert verdict.sustained, verdict


def test_a_run_that_cannot_be_judged_is_not_sustained() -> None:
    assert "dropped" in judge(run(lambda _: 0, lambda _: 0.1), RATE, dropped=True).reason
    assert "too short" in judge([Sample(0.0, 0, 0.1)], RATE).reason
    silent = [Sample(float(t), 0, None) for t in range(60)]
    assert "no result" in judge(silent, RATE).reason


def test_what_grows_slowly_may_settle_and_what_grows_fast_may_not() -> None:
    def growing(share: float) -> Verdict:
        return judge([Sample(t, int(share * RATE * t), 0.5 + share * t) for t in range(60)], RATE)

    assert [growing(s).sustained for s in (0.1, 0.5)] == [False, False]
    assert [growing(s).may_settle for s in (0.1, 0.5)] == [True, False]


def test_a_trend_is_not_moved_by_outliers() -> None:
    values = [3.0 * t for t in range(30)]
    values[7] = values[20] = 1e6
    slope, _, _ = trend(list(range(30)), values)
    assert slope == pytest.approx(3.0, abs=0.01)


@pytest.mark.parametrize("holds", [1_000.0, 48_000.0, 50_000.0, 730_000.0, 2_000_000.0])
def test_the_search_finds_what_a_system_holds(holds: float) -> None:
    def tried(rate: float) -> Tried:
        held = rate <= holds
        return Tried(rate, Verdict(held, "", 0.0, 0.0), min(rate, holds))

    found, tries = search(tried, 1_000_000.0)
    assert found <= holds
    assert found >= min(holds, 1_000_000.0) * 0.95
    assert len(tries) <= 8


def test_a_failure_that_was_none_does_not_bound_what_is_found() -> None:
    rates: list[float] = []

    def tried(rate: float) -> Tried:
        held = rate <= 50_000.0 and bool(rates)  # the first try meets a system that is not warm
        rates.append(rate)
        return Tried(rate, Verdict(held, "", 0.0, 0.0), min(rate, 50_000.0))

    found, tries = search(tried, 32_000.0)
    assert 47_500.0 <= found <= 50_000.0
    assert rates.count(32_000.0) == 2
    assert len(tries) <= 12


def test_where_a_run_does_not_tell_what_a_system_takes_the_rate_is_halved() -> None:
    rates: list[float] = []

    def tried(rate: float) -> Tried:
        rates.append(rate)
        return Tried(rate, Verdict(len(rates) > 1, "", 0.0, 0.0), None)

    found, _ = search(tried, 1_000_000.0, most=2)
    assert rates == [1_000_000.0, 500_000.0]
    assert found == 500_000.0


def test_small_steps_find_a_rate_that_is_nearly_known_without_offering_twice_as_much() -> None:
    def tried(rate: float) -> Tried:
        return Tried(rate, Verdict(rate <= 50_000.0, "", 0.0, 0.0), min(rate, 50_000.0))

    found, tries = search(tried, 49_000.0, step=1.2)
    assert 47_500.0 <= found <= 50_000.0
    assert max(t.rate for t in tries) < 60_000.0


def test_a_system_that_holds_nothing_is_given_up() -> None:
    found, tries = search(
        lambda rate: Tried(rate, Verdict(False, "stuck", 0.0, 0.0), 0.0), 1_000_000.0, most=6
    )
    assert found == 0.0
    assert len(tries) == 6
