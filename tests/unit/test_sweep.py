"""progress/sweep.py: when the next sweeping watermark comes; its interval keeps its word."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import pytest

from headrace.lab.delays import read_delay
from headrace.progress.epochs import Moments
from headrace.progress.sweep import Sweeps, anchor_s

SETTINGS = {
    "uniform": "uniform:50ms,250ms",
    "zipf": "zipf:0.99,1ms",
    "exponential": "exponential:240ms",
    "gamma": "gamma:60,4ms",
}


def seen(*delays: float, history: int = 400) -> Sweeps:
    return reduce(Sweeps.swept, delays, Sweeps(history=history))


def test_the_anchor_is_the_deadline_plus_lateness_or_the_next_emission() -> None:
    #  deadline 10, lateness 2           emissions every 5 s at 1, 6, 11, 16
    assert anchor_s(10.0, 2.0) == 12.0
    assert anchor_s(10.0, 2.0, period_s=5.0, phase_s=1.0) == 16.0
    assert anchor_s(10.0, 1.0, period_s=5.0, phase_s=1.0) == 11.0, "an emission at that very time"
    assert anchor_s(0.3, 0.0, period_s=0.1) == pytest.approx(0.3), "whatever rounding does"
    with pytest.raises(ValueError, match="emits no watermarks"):
        anchor_s(10.0, 0.0, period_s=0.0)


@pytest.mark.parametrize("setting", SETTINGS)
def test_sweeps_come_within_their_interval_as_often_as_it_says(setting: str) -> None:
    # Every estimate is made before its sweep is seen: 8,000 held-out epochs.
    delay = read_delay(SETTINGS[setting])
    drawn = delay.draw(np.random.default_rng(11), 8_400)
    sweeps = seen(*drawn[:400])
    held, widths = 0, []
    for n, taken in enumerate(drawn[400:]):
        anchor = 3.0 * n
        estimate = sweeps.estimate(anchor)
        held += estimate.holds(anchor + taken)
        widths.append(estimate.width_s)
        sweeps = sweeps.swept(float(taken))
    assert held / 8_000 >= 0.95
    assert np.mean(widths) <= 4.0 * np.std(drawn), "not by being huge"


def test_expectation_and_deviation_are_those_of_one_more_sweep() -> None:
    # Eq. 6 as printed is the variance of a mean: far narrower than what one sweep does.
    delays = np.random.default_rng(3).gamma(2.0, 0.1, 400)
    estimate = seen(*delays).estimate(100.0)
    assert estimate.mean_s == pytest.approx(100.0 + delays.mean())
    assert estimate.deviation_s == pytest.approx(delays.std(), rel=0.01)
    assert estimate.epochs == 400


def test_without_history_the_delays_of_tuples_are_what_there_is() -> None:
    nothing = Sweeps().estimate(12.0)
    assert (nothing.mean_s, nothing.low_s, nothing.high_s, nothing.epochs) == (12.0, 12.0, 12.0, 0)
    guess = Sweeps().estimate(12.0, tuples=Moments.of([0.1, 0.3]))
    assert guess.mean_s == pytest.approx(12.2)
    assert guess.low_s < 12.1 < 12.3 < guess.high_s


def test_zero_variance_gives_a_point() -> None:
    estimate = seen(*[0.15] * 100).estimate(3.0)
    assert estimate.low_s == estimate.high_s == pytest.approx(3.15)
    assert estimate.deviation_s == pytest.approx(0.0, abs=1e-8)


def test_a_clock_that_runs_ahead_gives_sweeps_before_their_anchor() -> None:
    estimate = seen(*[-0.2] * 60).estimate(3.0)
    assert estimate.mean_s == pytest.approx(2.8)


def test_what_is_no_time_is_refused() -> None:
    for nonsense in (math.nan, math.inf):
        with pytest.raises(ValueError, match="cannot come"):
            Sweeps().swept(nonsense)
    with pytest.raises(ValueError, match="between 0 and 1"):
        seen(0.1).estimate(0.0, confidence=95.0)


def test_the_history_forgets_what_is_old() -> None:
    sweeps = seen(*[9.0] * 50, *np.linspace(0.1, 0.2, 100), history=100)
    assert sweeps.estimate(0.0).high_s < 1.0
    assert list(sweeps.ordered_s) == sorted(sweeps.delays_s)
