"""progress/kept.py: bounds of deviations and percentiles hold as often as they say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headrace.approximate.bounds import Floats, Strata, cautious
from headrace.approximate.closing import needed_share
from headrace.approximate.kept import (
    Made,
    Tuples,
    deviation_of,
    mean_of,
    percentile_of,
    variance_of,
)
from tests.amounts import rounds

ROUNDS = rounds(200, 600)
SHARES = (1.0, 0.9, 0.4)
ESTIMATES: dict[str, tuple[Callable[[Tuples, Floats], Made], Callable[[Floats], float]]] = {
    "stddev": (lambda t, v: deviation_of(t, v, 0.95, sampled=True), lambda v: v.std(ddof=1)),
    "var_pop": (lambda t, v: variance_of(t, v, 0.95, sampled=False), lambda v: v.var()),
    "median": (
        lambda t, v: percentile_of(t, v, 0.5, 0.95),
        lambda v: np.sort(v)[int(np.ceil(0.5 * len(v))) - 1],
    ),
    "p90": (
        lambda t, v: percentile_of(t, v, 0.9, 0.95),
        lambda v: np.sort(v)[int(np.ceil(0.9 * len(v))) - 1],
    ),
}


def part_of(values: Floats, rng: np.random.Generator) -> tuple[Tuples, Floats]:
    """Three strata, of which different shares are there."""
    parts, stratum, there, sizes = [], [], [], []
    for number, share in enumerate(SHARES):
        mine = values[number :: len(SHARES)]
        came = mine[rng.random(len(mine)) < share]
        parts.append(came)
        stratum.append(np.full(len(came), number))
        there.append(float(len(came)))
        sizes.append(float(len(mine)))
    found = np.concatenate(parts)
    strata = Strata.made(there, sizes, [0.0] * len(SHARES))
    return Tuples(np.concatenate(stratum), np.ones(len(found)), strata), found


@pytest.mark.parametrize("name", ESTIMATES)
@pytest.mark.parametrize("kind", ["normal", "gamma"])
def test_bounds_hold_and_are_not_huge(name: str, kind: str) -> None:
    estimate, exactly = ESTIMATES[name]
    rng = np.random.default_rng(11)
    held, widths = 0, []
    for _ in range(ROUNDS):
        size = int(rng.integers(600, 900))
        values = rng.normal(20.0, 4.0, size) if kind == "normal" else rng.gamma(3.0, 2.0, size)
        made = estimate(*part_of(values, rng)).bounded
        exact = exactly(values)
        held += bool(made.lower[0] - 1e-9 <= exact <= made.upper[0] + 1e-9)
        widths.append(float(made.upper[0] - made.lower[0]) / exact)
    assert held / ROUNDS >= 0.93
    assert np.mean(widths) < 0.25


@pytest.mark.parametrize("name", ESTIMATES)
def test_what_is_whole_is_exact(name: str) -> None:
    estimate, exactly = ESTIMATES[name]
    values = np.random.default_rng(3).gamma(3.0, 2.0, 500)
    tuples = Tuples(np.zeros(500, np.int64), np.ones(500), Strata.complete())
    made = estimate(tuples, values).bounded
    assert made.value[0] == pytest.approx(exactly(values))
    assert made.lower[0] == made.upper[0] == made.value[0]
    assert made.within(0.001).all()


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_strength_says_how_far_off_a_part_will_be(name: str) -> None:
    """The deviation of estimates from a share p is the root of (1 - p) / (p strength)."""
    estimate, exactly = ESTIMATES[name]
    rng = np.random.default_rng(5)
    values = rng.gamma(3.0, 2.0, 4_000)
    strengths, off = [], []
    for _ in range(rounds(120, 300)):
        came = values[rng.random(4_000) < 0.5]
        strata = Strata.made([float(len(came))], [4_000.0], [0.0])
        made = estimate(Tuples(np.zeros(len(came), np.int64), np.ones(len(came)), strata), came)
        strengths.append(made.strength)
        off.append(made.bounded.value[0] / exactly(values) - 1.0)
    assert np.std(off) == pytest.approx(np.median(strengths) ** -0.5, rel=0.3)


@pytest.mark.parametrize(
    ("name", "margin"), [("var_pop", 1.2), ("stddev", 1.6), ("median", 1.6), ("p90", 1.6)]
)
def test_as_many_as_the_strength_asks_for_suffice_for_the_bounds(name: str, margin: float) -> None:
    """With a margin: where few are needed, luck decides how wide bounds are."""
    estimate, _ = ESTIMATES[name]
    rng = np.random.default_rng(6)
    values = rng.gamma(3.0, 2.0, 40_000)
    whole = Tuples(np.zeros(40_000, np.int64), np.ones(40_000), Strata.complete())
    share = margin * needed_share(estimate(whole, values).strength, 0.05, cautious(0.95))
    met = []
    for _ in range(rounds(40, 100)):
        came = values[rng.random(40_000) < share]
        strata = Strata.made([float(len(came))], [40_000.0], [0.0])
        tuples = Tuples(np.zeros(len(came), np.int64), np.ones(len(came)), strata)
        met.append(estimate(tuples, came).bounded.within(0.05)[0])
    assert np.mean(met) >= 0.8


def test_repeated_values_count_as_often_as_they_are_there() -> None:
    strata = Strata.made([6.0], [12.0], [0.0])
    tuples = Tuples(np.zeros(3, np.int64), np.array([1.0, 2.0, 3.0]), strata)
    values = np.array([10.0, 20.0, 30.0])
    assert mean_of(tuples, values, 0.95).bounded.value[0] == pytest.approx(140 / 6)
    assert percentile_of(tuples, values, 0.5, 0.95).bounded.value[0] == 20.0
    assert mean_of(tuples, values, 0.95).bounded.input[0] == pytest.approx(12.0)
    assert not mean_of(tuples, values, 0.95).bounded.within(0.5).any(), "six tuples"
    alike = percentile_of(tuples, np.full(3, 7.0), 0.9, 0.95)
    assert alike.strength == np.inf
