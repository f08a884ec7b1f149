"""progress/bounds.py: estimates from a part of the tuples, and how often their bounds hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from headrace.progress.bounds import FEWEST, Bounded, Seen, average, count, total

Floats = npt.NDArray[np.float64]
ROUNDS = 1_500
VALUES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(10.0, 3.0, n),
    "exponential": lambda rng, n: rng.exponential(3.0, n),
    "all alike": lambda _rng, n: np.full(n, 7.0),
}


def holds(found: Bounded, exact: Floats) -> float:
    slack = 1e-9 * np.abs(exact)
    return float(np.mean((found.lower - slack <= exact) & (exact <= found.upper + slack)))


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("share", [0.3, 0.92])
def test_bounds_hold_as_often_as_they_say(values: str, share: float) -> None:
    rng = np.random.default_rng(7)
    n, mean, variance, exact = (np.empty((ROUNDS,)) for _ in range(4))
    sums, averages = np.empty(ROUNDS), np.empty(ROUNDS)
    for i in range(ROUNDS):
        there = VALUES[values](rng, int(rng.integers(150, 400)))
        kept = there[rng.random(len(there)) < share]
        n[i], mean[i], variance[i] = len(kept), kept.mean(), kept.var(ddof=1)
        exact[i], sums[i], averages[i] = len(there), there.sum(), there.mean()
    seen = Seen(share)
    assert holds(count(n, seen, 0.95), exact) >= 0.935
    assert holds(total(n, mean, variance, seen, 0.95), sums) >= 0.925
    assert holds(average(n, mean, variance, seen, 0.95), averages) >= 0.925


def test_an_uncertain_number_of_tuples_widens_counts_and_sums_but_not_means() -> None:
    n, mean, variance = np.array([900.0]), np.array([5.0]), np.array([4.0])
    sure, unsure = Seen(0.9), Seen(0.9, relative_variance=0.01**2)
    for estimate in (
        lambda seen: count(n, seen, 0.95),
        lambda seen: total(n, mean, variance, seen, 0.95),
    ):
        narrow, wide = estimate(sure), estimate(unsure)
        assert wide.value == narrow.value
        assert wide.upper - wide.lower > narrow.upper - narrow.lower
    assert (
        average(n, mean, variance, unsure, 0.95).upper
        == average(n, mean, variance, sure, 0.95).upper
    )


def test_what_is_whole_is_exact() -> None:
    found = total(np.array([3.0]), np.array([2.0]), np.array([1.0]), Seen(1.0), 0.95)
    assert (found.value, found.lower, found.upper) == (6.0, 6.0, 6.0)
    assert found.within(0.05).all(), "however few they are"


def test_few_tuples_and_a_mean_near_zero_are_not_guaranteed() -> None:
    seen = Seen(0.9)
    few = count(np.array([FEWEST - 1.0]), seen, 0.95)
    assert not few.within(0.9).any()
    near_zero = average(np.array([1e4]), np.array([1e-3]), np.array([1.0]), seen, 0.95)
    assert not near_zero.within(0.05).any()
    assert near_zero.lower[0] < 0.0 < near_zero.upper[0]
    one = average(np.array([1.0]), np.array([4.0]), np.array([np.nan]), seen, 0.95)
    assert not one.within(0.05).any(), "one tuple has no deviation"


def test_higher_confidence_is_wider_and_more_tuples_are_narrower() -> None:
    def width(n: float, confidence: float) -> float:
        found = count(np.array([n]), Seen(0.8), confidence)
        return float((found.upper - found.lower)[0] / found.value[0])

    assert width(100, 0.99) > width(100, 0.95) > width(1_000, 0.95)
