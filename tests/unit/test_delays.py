"""delays.py: distributions by name, and that they are what their names say."""

from __future__ import annotations

import numpy as np
import pytest

import headrace as hr
from headrace.lab.delays import Constant, Exponential, Gamma, Uniform, Zipf, read_delay

TEXTS = {
    "constant:150ms": Constant(0.15),
    "uniform:0ms, 300ms": Uniform(0.0, 0.3),
    "exponential:240ms": Exponential(0.24),
    "gamma:60,4ms": Gamma(60.0, 0.004),
    "zipf:0.99,1ms": Zipf(0.99, 0.001),
    "zipf:1.2,30us,50": Zipf(1.2, 30e-6, 50),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_delay_is_read_from_words(text: str) -> None:
    assert read_delay(text) == TEXTS[text]


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_drawn_has_the_stated_mean_and_is_the_same_for_a_seed(text: str) -> None:
    delay = read_delay(text)
    drawn = delay.draw(np.random.default_rng(1), 200_000)
    assert drawn.mean() == pytest.approx(delay.mean, rel=0.02)
    assert drawn.min() >= 0.0
    assert np.array_equal(drawn, delay.draw(np.random.default_rng(1), 200_000))


def test_a_bounded_zipf_keeps_to_its_ranks_and_weights() -> None:
    drawn = Zipf(0.99, 1.0, 100).draw(np.random.default_rng(2), 400_000)
    assert set(np.unique(drawn)) == set(range(1, 101))
    once, twice = (drawn == 1).mean(), (drawn == 2).mean()
    assert once / twice == pytest.approx(2**0.99, rel=0.05)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("normal:1ms", "'normal' is no distribution"),
        ("constant", "constant is written constant:150ms"),
        ("uniform:1ms", "uniform is written"),
        ("constant:150", "'150' is no time"),
        ("gamma:x,4ms", "'x' is no number"),
    ],
)
def test_words_that_are_no_delay_are_refused_with_the_valid_ones(text: str, why: str) -> None:
    with pytest.raises(hr.HeadraceError, match=why) as caught:
        read_delay(text)
    assert "exponential:240ms" in str(caught.value)
