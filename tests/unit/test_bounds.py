"""progress/bounds.py: estimates from a part of the tuples, and how often their bounds hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from headrace.approximate.bounds import (
    FEWEST,
    Bounded,
    Found,
    Strata,
    average,
    count,
    strength_of_average,
    strength_of_total,
    total,
)
from tests.amounts import SOAK, rounds

Floats = npt.NDArray[np.float64]
ROUNDS = rounds(400, 1_500)
VALUES: dict[str, Callable[[np.random.Generator, int], Floats]] = {
    "normal": lambda rng, n: rng.normal(10.0, 3.0, n),
    "exponential": lambda rng, n: rng.exponential(3.0, n),
    "all alike": lambda _rng, n: np.full(n, 7.0),
}


def holds(found: Bounded, exact: Floats) -> float:
    slack = 1e-9 * np.abs(exact)
    return float(np.mean((found.lower - slack <= exact) & (exact <= found.upper + slack)))


def found_of(parts: list[Floats]) -> Found:
    """One group, a part a stratum."""
    columns = [
        [float(len(p)) for p in parts],
        [float(p.mean()) if len(p) else 0.0 for p in parts],
        [float(((p - p.mean()) ** 2).sum()) if len(p) else 0.0 for p in parts],
    ]
    return Found(*(np.array(c)[:, None] for c in columns))


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("last", [0.3, 0.92])
@pytest.mark.parametrize("passes", [0.25, 1.0])
def test_bounds_hold_as_often_as_they_say(values: str, last: float, passes: float) -> None:
    """Three strata, of the last of which only a share has come, and a WHERE that keeps some."""
    rng = np.random.default_rng(7)
    held = {"count": 0.0, "sum": 0.0, "avg": 0.0}
    for _ in range(ROUNDS):
        sizes = rng.integers(300, 500, 3)
        parts, there, every = [], [], []
        for size, share in zip(sizes, (1.0, 0.9, last), strict=True):
            tuples = VALUES[values](rng, int(size))
            mine, came = rng.random(size) < passes, rng.random(size) < share
            parts.append(tuples[mine & came])
            there.append(float(came.sum()))
            every.append(tuples[mine])
        strata = Strata.made(there, sizes.astype(float).tolist(), [0.0, 0.0, 0.0])
        found, exact = found_of(parts), np.concatenate(every)
        held["count"] += holds(count(found.n, strata, 0.95), np.array([len(exact)]))
        held["sum"] += holds(total(found, strata, 0.95), np.array([exact.sum()]))
        held["avg"] += holds(average(found, strata, 0.95), np.array([exact.mean()]))
    shares = {name: times / ROUNDS for name, times in held.items()}
    assert min(shares.values()) >= (0.935 if SOAK else 0.92), shares


def test_a_count_of_all_tuples_is_as_sure_as_their_number() -> None:
    strata = Strata.made([900.0], [1_000.0], [0.0])
    found = count(np.array([[900.0]]), strata, 0.95)
    assert (found.value, found.lower, found.upper) == (1_000.0, 1_000.0, 1_000.0)
    half = count(np.array([[450.0]]), strata, 0.95)
    assert half.value == 500.0
    assert half.lower[0] < 500.0 < half.upper[0]
    assert (half.sample, half.input) == (450.0, 500.0)


def test_an_uncertain_number_of_tuples_widens_counts_and_sums_but_hardly_means() -> None:
    found = Found(*(np.array([[x]]) for x in (450.0, 5.0, 1_800.0)))
    sure, unsure = (Strata.made([900.0], [1_000.0], [v]) for v in (0.0, 10.0**2))
    for estimate in (
        lambda strata: count(found.n, strata, 0.95),
        lambda strata: total(found, strata, 0.95),
    ):
        narrow, wide = estimate(sure), estimate(unsure)
        assert wide.value == narrow.value
        assert wide.upper - wide.lower > 1.2 * (narrow.upper - narrow.lower)
    assert average(found, unsure, 0.95).upper == average(found, sure, 0.95).upper


def test_an_uncertain_stratum_moves_a_mean_as_far_as_it_differs() -> None:
    """The last stratum holds larger values: how many there are of them matters to the mean."""
    found = Found(*(np.array([[a], [b]]) for a, b in ((400.0, 400.0), (1.0, 9.0), (0.0, 0.0))))
    sure, unsure = (Strata.made([400.0, 400.0], [400.0, 500.0], [0.0, v]) for v in (0.0, 50.0**2))
    narrow, wide = average(found, sure, 0.95), average(found, unsure, 0.95)
    assert narrow.upper - narrow.lower < 1e-9
    assert wide.upper - wide.lower > 0.3


def test_what_is_whole_is_exact() -> None:
    found = total(Found(*(np.array([[x]]) for x in (3.0, 2.0, 2.0))), Strata.complete(), 0.95)
    assert (found.value, found.lower, found.upper) == (6.0, 6.0, 6.0)
    assert found.within(0.05).all(), "however few they are"


def test_few_tuples_a_mean_near_zero_and_none_at_all_are_not_guaranteed() -> None:
    strata = Strata.made([9e4], [1e5], [0.0])
    few = count(np.array([[FEWEST - 1.0]]), strata, 0.95)
    assert not few.within(0.9).any()
    near_zero = average(Found(*(np.array([[x]]) for x in (1e4, 1e-3, 1e4))), strata, 0.95)
    assert not near_zero.within(0.05).any()
    assert near_zero.lower[0] < 0.0 < near_zero.upper[0]
    one = average(Found(*(np.array([[x]]) for x in (1.0, 4.0, 0.0))), strata, 0.95)
    assert not one.within(0.05).any(), "one tuple has no deviation"
    nothing = Strata.made([0.0], [100.0], [0.0])
    none = total(Found(*(np.zeros((1, 1)) for _ in range(3))), nothing, 0.95)
    assert none.value == 0.0
    assert not none.within(0.05).any()


def test_higher_confidence_is_wider_and_more_tuples_are_narrower() -> None:
    def width(n: float, confidence: float) -> float:
        found = count(np.array([[n]]), Strata.made([8_000.0], [10_000.0], [0.0]), confidence)
        return float((found.upper - found.lower)[0] / found.value[0])

    assert width(100, 0.99) > width(100, 0.95) > width(1_000, 0.95)


def test_heavy_tails_are_weak_and_equal_values_are_as_strong_as_counts() -> None:
    rng = np.random.default_rng(1)
    heavy, light = found_of([rng.pareto(1.2, 2_000)]), found_of([rng.normal(10.0, 1.0, 2_000)])
    assert strength_of_total(heavy)[0] < 0.3 * strength_of_total(light)[0]
    assert strength_of_average(heavy)[0] < 0.01 * strength_of_average(light)[0]
    alike = found_of([np.full(500, 7.0), np.full(300, 7.0)])
    assert strength_of_total(alike)[0] == pytest.approx(800.0)
    assert strength_of_average(alike)[0] == np.inf, "one tuple tells the mean"
    balanced = found_of([rng.normal(0.0, 1.0, 2_000)])
    assert strength_of_average(balanced)[0] < 10.0, "a mean near zero has no strength"
