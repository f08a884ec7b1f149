"""scheduling/slack.py: expected slack, compared with drawing the sweep's time many times over."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from headrace.progress.sweep import SweepEstimate, Sweeps
from headrace.scheduling.slack import expected_slack_s, slack_s
from headrace.scheduling.snapshot import PipelineView, Stage, SweepView

R = 0.01


def normal(mean: float, deviation: float) -> SweepEstimate:
    return SweepEstimate(
        mean, mean, deviation, mean - 1.96 * deviation, mean + 1.96 * deviation, 400
    )


def drawn_slack(estimate: SweepEstimate, now: float, cost: float) -> float:
    """The same by drawing: sweeps that have not come yet, within the interval."""
    times = np.random.default_rng(5).normal(estimate.mean_s, estimate.deviation_s, 400_000)
    times = times[(times >= now) & (times >= estimate.low_s) & (times <= estimate.high_s)]
    return float(times.mean()) - now - cost


@pytest.mark.parametrize("now", [0.0, 9.0, 9.9, 10.2, 10.5])
def test_expected_slack_is_that_of_all_times_the_sweep_may_come(now: float) -> None:
    estimate = normal(10.0, 0.3)
    slack = expected_slack_s(SweepView(estimate), now, cost_s=0.4, cycle_s=R)
    # A step is counted at its end, as printed: up to a step later than the middle of it.
    step = (estimate.high_s - max(now, estimate.low_s)) / 16
    assert slack == pytest.approx(drawn_slack(estimate, now, 0.4) + step / 2, abs=step / 2 + 0.01)


def test_slack_falls_with_time_and_does_not_stop_at_the_deadline() -> None:
    view = SweepView(normal(10.0, 0.2))
    slacks = [expected_slack_s(view, t, 0.5, 0.12) for t in np.linspace(8.0, 14.0, 61)]
    assert all(later < earlier + 0.05 for earlier, later in pairwise(slacks))
    assert slacks[-1] == pytest.approx(10.392 - 14.0 - 0.5)


def test_a_sweep_that_has_come_is_no_longer_a_guess() -> None:
    view = SweepView(normal(10.0, 5.0), arrived_at_s=9.0)
    assert expected_slack_s(view, 11.0, 0.5, 0.12) == pytest.approx(-2.5)


def test_without_variance_slack_is_plain_arithmetic() -> None:
    view = SweepView(Sweeps().estimate(10.0))
    assert expected_slack_s(view, 8.0, 0.5, 0.12) == pytest.approx(1.5)
    assert expected_slack_s(view, 10.0, 0.5, 0.12) == pytest.approx(-0.5)


def test_a_join_has_the_least_slack_of_its_inputs_and_costs_count() -> None:
    pipeline = PipelineView(
        name="join",
        # 1,000 events of which half reach the second stage, and 100 that wait there already
        stages=(Stage(1_000, 1e-4, 0.5), Stage(100, 1e-3, 0.1)),
        sweeps=(SweepView(normal(20.0, 0.0)), SweepView(normal(10.0, 0.0))),
        waits_since_s=0.0,
        last_turn_s=0.0,
        oldest_s=0.0,
        deadline_s=9.0,
        fixed_s=0.05,
        sweep_s=0.02,
        downstream_s=0.03,
    )
    assert pipeline.events_s == pytest.approx(1_000 * 6e-4 + 100 * 1e-3)
    assert pipeline.cost_s == pytest.approx(0.8)
    assert slack_s(pipeline, 8.0, 0.12) == pytest.approx(2.0 - 0.8)
