"""progress/distance.py: how far a watermark usually is behind the clock."""

from __future__ import annotations

import random
from collections.abc import Iterable
from functools import reduce

import pytest

from headrace.progress.distance import Distance


def after(behind_s: Iterable[float]) -> Distance:
    return reduce(Distance.heard, behind_s, Distance())


def around(level_s: float, count: int, seed: int = 1) -> list[float]:
    rng = random.Random(seed)
    return [level_s + rng.uniform(0.0, 0.02) for _ in range(count)]


def test_a_stream_that_moves_with_the_clock_is_steady_from_its_second_batch() -> None:
    assert not Distance().steady
    assert not after([0.35]).steady, "one batch shows no motion"
    assert after([0.35, 0.36]).steady
    assert after(around(-3.0, 10)).steady, "a watermark ahead of the clock moves with it too"


@pytest.mark.parametrize("odd", [[12.0], [9.0, 4.0, 2.0]])
def test_a_hold_up_is_not_learned_from(odd: list[float]) -> None:
    held_up = after(around(0.35, 20) + odd)
    assert not held_up.steady, "right after it nothing is expected"
    again = held_up.heard(0.36)
    assert again.steady
    estimate = again.sweeps.estimate(0.0)
    assert estimate.width_s < 0.1
    assert estimate.holds(0.36)


def test_a_cold_start_is_forgotten_after_a_few_batches() -> None:
    cold = [11.0, 8.0, 5.0, 2.0]
    assert not after(cold).steady
    warm = after(cold + around(0.35, 6))
    assert warm.steady
    assert warm.sweeps.estimate(0.0).width_s < 0.1


def test_another_level_is_followed_once_most_batches_have_it() -> None:
    before = around(0.35, 30)
    assert not after(before + around(3.0, 2)).steady
    followed = after(before + around(3.0, 9))
    assert followed.steady
    assert followed.sweeps.estimate(0.0).holds(3.01)
    assert not followed.sweeps.estimate(0.0).holds(0.36)


def test_a_stream_that_catches_up_or_falls_behind_is_not_steady() -> None:
    assert not after([60.0 - 2.0 * n for n in range(20)]).steady
    assert not after([2.0 * n for n in range(20)]).steady


def test_a_heavy_tail_is_learned_from() -> None:
    rng = random.Random(5)
    heavy = after(0.1 + rng.expovariate(2.0) for _ in range(100))
    assert len(heavy.sweeps.delays_s) >= 90
    estimate = heavy.sweeps.estimate(0.0)
    assert sum(estimate.holds(0.1 + rng.expovariate(2.0)) for _ in range(500)) > 450
