"""Expected slack: how long a pipeline can stay idle and still be ready for its sweep (eq. 1, 8).

``sl(t) = Σ P(x ≤ w ≤ x + r | w ≥ t) · ((x + r − t) − cost)`` over x from max(t, t_min) to t_max in
steps of r. As printed the condition of eq. 9 is reversed and eq. 10 divides by the variance; here
it is x ≥ t and the standard deviation. The interval is cut at f, so the probabilities are divided
by their sum: otherwise slack would shrink by what was cut off.

What the paper leaves open: a watermark that has come has no distribution any more, and one that is
past its interval is taken to have come at its end. Both give a slack that falls as time passes, so
of two overdue pipelines the one that waits longer goes first.
"""

from __future__ import annotations

import math

from headrace.scheduling.snapshot import PipelineView, SweepView

_MOST_STEPS = 16
"""A long interval is walked in so many steps at most; finer ones change no order."""
_ROOT_2 = math.sqrt(2.0)


def expected_slack_s(sweep: SweepView, now_s: float, cost_s: float, cycle_s: float) -> float:
    """Of one input stream."""
    estimate = sweep.estimate
    if sweep.arrived_at_s is not None:
        return sweep.arrived_at_s - now_s - cost_s
    if now_s >= estimate.high_s:
        return estimate.high_s - now_s - cost_s
    start = max(now_s, estimate.low_s)
    span = estimate.high_s - start
    if estimate.deviation_s <= 0.0 or span <= cycle_s:
        return max(estimate.mean_s, now_s) - now_s - cost_s
    steps = min(math.ceil(span / cycle_s), _MOST_STEPS)
    step = span / steps
    scale = 1.0 / (estimate.deviation_s * _ROOT_2)
    below = math.erf((start - estimate.mean_s) * scale)
    first, wait = below, 0.0
    for k in range(1, steps + 1):
        x = start + k * step
        upto = math.erf((x - estimate.mean_s) * scale)
        wait += (upto - below) * (x - now_s)
        below = upto
    total = below - first
    if total <= 0.0:
        return start - now_s - cost_s
    return wait / total - cost_s


def slack_s(pipeline: PipelineView, now_s: float, cycle_s: float) -> float | None:
    """The least over its input streams (section 3.3), or None while no window is known."""
    cost, least = pipeline.cost_s, None
    for sweep in pipeline.sweeps:
        slack = expected_slack_s(sweep, now_s, cost, cycle_s)
        least = slack if least is None else min(least, slack)
    return least
