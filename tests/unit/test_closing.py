"""progress/closing.py: when a window may be closed."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.approximate.closing import STEADY, Aion, AqKSlack, KSlack, needed_share, weak
from headrace.approximate.usual import BINS, Heard, Size, Usual, bin_of


def exponential(mean_s: float = 0.24) -> Usual:
    delays = np.random.default_rng(1).exponential(mean_s, 200_000)
    return Usual.of([Heard.all_of(np.bincount(bin_of(delays), minlength=BINS))] * 2)


def test_the_share_that_is_needed_falls_with_the_number_of_tuples() -> None:
    shares = [needed_share(n, 0.05, 0.95) for n in (10, 100, 1_000, 10_000, 100_000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.99
    assert shares[-1] < 0.02
    assert needed_share(1_000, 0.01, 0.95) > needed_share(1_000, 0.05, 0.95)
    assert needed_share(1_000, 0.05, 0.99) > needed_share(1_000, 0.05, 0.95)


def test_the_stated_share_gives_the_stated_error() -> None:
    rng = np.random.default_rng(3)
    n, error = 2_000, 0.05
    share = needed_share(n, error, 0.95)
    counts = rng.binomial(n, share, 5_000) / share
    assert np.mean(np.abs(counts - n) <= error * n) == pytest.approx(0.95, abs=0.01)


def test_where_the_number_of_all_tuples_is_too_uncertain_nothing_less_than_all_will_do() -> None:
    assert needed_share(1e6, 0.05, 0.95, relative_variance=0.001) == 1.0
    assert needed_share(0.0, 0.05, 0.95) == 1.0, "a mean near zero has no strength"
    for nonsense in ((0.0, 0.95), (0.05, 1.0), (1.5, 0.9)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            needed_share(100, *nonsense)


def test_enough_is_enough_only_while_the_stream_is_as_it_was() -> None:
    usual = Size(arrived=920, expected=1_000, variance=1.0, due=921, due_variance=70.0)
    assert not Aion(0.05, 0.95).closes(usual), "no window has told how strong groups are"
    large, small = told(1_000.0), told(20.0)
    assert large.closes(usual)
    assert not large.closes(usual, rate=0.2), "too few were sampled"
    assert not small.closes(usual), "small groups have to wait"
    assert not large.closes(None), "nothing is known yet"
    burst = Size(arrived=1_500, expected=1_600, variance=1.0, due=921, due_variance=70.0)
    assert burst.surprise > STEADY
    assert not large.closes(burst)


def test_no_more_is_sampled_than_is_needed() -> None:
    at_the_end = Size(arrived=9_200, expected=10_000, variance=1.0, due=9_200, due_variance=70.0)
    rates = [told(strength).rate(at_the_end) for strength in (1e2, 1e4, 1e6)]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] == 1.0
    assert rates[2] < 0.01
    assert Aion(0.05, 0.95).rate(at_the_end) == 1.0, "all, before a window has told"
    assert told(1e4).rate(None) == 1.0
    doubtful = Size(arrived=9_200, expected=10_000, variance=150.0**2, due=9_200)
    assert told(1e4).rate(doubtful) > rates[1]
    mean = Aion(0.05, 0.95, doubts_size=False)
    mean.learned(1e4)
    counts = Aion(0.05, 0.95, only_counts=True)
    counts.learned(1e4)
    assert counts.rate(at_the_end) == pytest.approx(0.75 * rates[1]), "values differ by window"
    assert mean.rate(doubtful) == mean.rate(at_the_end), "a mean does not carry that error"


def test_the_weaker_groups_count_but_not_the_very_weakest() -> None:
    assert weak(np.array([])) is None
    assert weak(np.array([7.0])) == 7.0
    strengths = np.array([1.0, *([100.0] * 99)])
    assert weak(strengths) == 100.0
    assert weak(np.array([np.inf, 5.0])) == 5.0


def told(strength: float) -> Aion:
    aion = Aion(0.05, 0.95)
    aion.learned(strength)
    return aion


def test_k_slack_waits_for_the_longest_delay_ever() -> None:
    slack = KSlack()
    slack.heard(0.4)
    slack.heard(1.5)
    slack.heard(0.1)
    assert slack.slack_s == 1.5
    assert not slack.closes(10.0, 11.4)
    assert slack.closes(10.0, 11.5)


def test_aq_k_slack_waits_until_no_more_is_missing_than_the_error() -> None:
    quality = AqKSlack(error=0.05, window_s=3.0)
    assert quality.slack_s(None) is None
    # Of a 3 s window 0.24 / 3 exp(-k / 0.24) is missing after k seconds: 0.05 at 0.113 s.
    assert quality.slack_s(exponential()) == pytest.approx(0.24 * np.log(0.08 / 0.05), abs=0.02)
    assert AqKSlack(0.05, window_s=60.0).slack_s(exponential()) == pytest.approx(0.0, abs=1e-3)
    for _ in range(50):
        quality.lacked(0.15)
    assert quality.correction < 0.6, "windows lacked too much: wait longer"
    longer = quality.slack_s(exponential())
    assert longer is not None
    assert longer > 0.2
    for _ in range(200):
        quality.lacked(0.0)
    assert quality.correction == 1.0
