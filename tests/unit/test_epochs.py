"""progress/epochs.py: moments of delays per epoch, and what to expect of the next one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headrace.progress.epochs import EpochDelays, Moments


def test_moments_put_together_are_those_of_all_values() -> None:
    rng = random.Random(4)
    values = [rng.gauss(0.2, 0.1) for _ in range(300)]
    apart = Moments()
    for start in range(0, 300, 37):
        apart = apart.plus(Moments.of(values[start : start + 37]))
    assert apart.count == 300
    assert apart.mean_s == pytest.approx(np.mean(values))
    assert apart.deviation_s == pytest.approx(np.std(values))


def test_every_epoch_counts_alike_however_many_tuples_it_had() -> None:
    delays = EpochDelays().heard(Moments.of([1.0] * 1000)).swept()
    delays = delays.heard(Moments.of([3.0])).swept()
    assert delays.expected.mean_s == pytest.approx(2.0)
    assert delays.expected.second_s2 == pytest.approx(5.0)
    assert delays.expected.deviation_s == pytest.approx(1.0), "between the epochs, too"


def test_while_there_is_no_history_the_running_epoch_tells() -> None:
    assert EpochDelays().expected.count == 0, "nothing is known, and that is said"
    assert EpochDelays().heard(Moments.of([0.5])).expected.mean_s == 0.5


def test_the_history_forgets_and_an_epoch_without_tuples_leaves_nothing() -> None:
    delays = EpochDelays(history=3)
    for n in range(10):
        delays = delays.heard(Moments.of([float(n)])).swept().swept()
    assert [e.mean_s for e in delays.ended] == [7.0, 8.0, 9.0]


def test_zero_variance_and_negative_delays_are_what_they_are() -> None:
    assert Moments.of([0.1] * 7).deviation_s == pytest.approx(0.0, abs=1e-8)
    assert Moments.of([-0.2, -0.4]).mean_s == pytest.approx(-0.3), "a clock that runs ahead"
