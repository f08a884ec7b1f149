"""scheduling/standing.py: what a pipeline of micro-batches learns of itself."""

from __future__ import annotations

import pytest

from headrace.scheduling.standing import Standing

LATENESS = 2.0


def live(batches: int = 30, lag_s: float = 0.15, every_s: float = 0.5) -> Standing:
    """A stream that moves with the clock: the watermark is `lag_s` and the lateness behind it."""
    standing = Standing(LATENESS)
    for n in range(batches):
        now = 100.0 + n * every_s
        standing.ran(
            settled_s=now,
            tuples=1_000 + n,
            rows=10,
            ingest_s=0.2,
            fire_s=0.1 if n % 5 == 0 else None,
            watermark_s=now - lag_s - LATENESS,
            swept=n % 5 == 0,
        )
    return standing


def test_a_sweep_is_due_after_the_deadline_the_lateness_and_the_usual_lag() -> None:
    estimate = live().expected(deadline_s=200.0)
    assert estimate is not None
    assert estimate.mean_s == pytest.approx(202.15)
    assert estimate.low_s <= 202.15 <= estimate.high_s


def test_nothing_is_expected_of_a_stream_that_does_not_move_with_the_clock() -> None:
    assert Standing(LATENESS).expected(200.0) is None, "nothing was seen yet"
    standing = live()
    standing.ran(
        settled_s=130.0,
        tuples=10,
        rows=0,
        ingest_s=0.2,
        fire_s=None,
        watermark_s=40.0,
        swept=False,
    )
    assert standing.expected(200.0) is None, "a source that was held up for a minute"
    catching_up = Standing(LATENESS)
    for n in range(20):
        catching_up.ran(
            settled_s=100.0 + n,
            tuples=10,
            rows=0,
            ingest_s=0.2,
            fire_s=None,
            watermark_s=-900.0 + 40.0 * n,
            swept=True,
        )
    assert catching_up.expected(200.0) is None, "a replay, forty times faster than the clock"


def test_the_view_tells_cost_queue_and_progress() -> None:
    standing = live()
    view = standing.view(
        "p",
        now_s=120.0,
        waits_since_s=119.0,
        queued=5_000.0,
        oldest_s=None,
        deadline_s=200.0,
        hurried=False,
    )
    assert view.queued == 5_000.0
    assert view.oldest_s == view.last_turn_s == standing.settled_s
    assert view.in_progress, "no sweep in the last batch"
    assert view.fixed_s + 1_000 * view.path_s == pytest.approx(0.2, rel=0.05)
    assert view.sweep_s == pytest.approx(0.1)
    assert len(view.sweeps) == 1
    unknown = standing.view(
        "p",
        now_s=120.0,
        waits_since_s=119.0,
        queued=0.0,
        oldest_s=118.0,
        deadline_s=None,
        hurried=True,
    )
    assert (unknown.sweeps, unknown.oldest_s, unknown.hurried) == ((), 118.0, True)
