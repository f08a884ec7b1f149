"""progress/substreams.py: what has arrived of a stretch of event time, and what there will be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from headrace.approximate.substreams import Stratum, SubStreams, merged, whole
from headrace.approximate.usual import BINS, EDGES_S, Heard, Size, Usual, bin_of
from tests.amounts import rounds

F_US = 600_000


def fed(
    times_s: npt.NDArray[np.float64],
    delays_s: npt.NDArray[np.float64],
    now_s: float,
    lateness_s: float = 3.0,
    history: int = 50,
) -> SubStreams:
    """All that has come by now, in steps of 0.1 s."""
    stream = SubStreams(F_US, history)
    came = times_s + delays_s
    highest = 0.0
    for step in np.arange(0.1, now_s + 1e-9, 0.1):
        here = (came > step - 0.1) & (came <= step)
        if here.any():
            numbers = (times_s[here] * 1e6).astype(np.int64) // F_US
            bins = bin_of(delays_s[here])
            found = np.unique(numbers)
            stream.heard({int(n): heard(bins[numbers == n]) for n in found})
            highest = max(highest, float(times_s[here].max()))
            stream.completed(int((highest - lateness_s) * 1e6))
    return stream


def heard(bins: npt.NDArray[np.int64]) -> Heard:
    return Heard.all_of(np.bincount(bins, minlength=BINS))


def an_even_stream(seconds: float, rate: int = 1_000) -> npt.NDArray[np.float64]:
    return np.arange(int(seconds * rate)) / rate


def test_nothing_is_known_before_some_sub_streams_are_complete() -> None:
    assert SubStreams(F_US).size(0, 3_000_000, 3_000_000) is None
    times = an_even_stream(4.0)
    assert fed(times, np.full(len(times), 0.15), 4.0).usual is None, "lateness: all may still come"
    with pytest.raises(ValueError, match="holds nothing"):
        SubStreams(0)


@pytest.mark.parametrize("delay", ["constant", "exponential", "gamma"])
def test_with_an_even_rate_the_size_is_known_at_the_deadline(delay: str) -> None:
    rng = np.random.default_rng(5)
    times = an_even_stream(30.0)
    delays = {
        "constant": np.full(len(times), 0.15),
        "exponential": rng.exponential(0.24, len(times)),
        "gamma": rng.gamma(60, 0.004, len(times)),
    }[delay]
    size = fed(times, delays, 24.0).size(21_000_000, 24_000_000, 24_000_000)
    assert size is not None
    assert size.expected == pytest.approx(3_000, abs=2)
    came = np.sum((times >= 21.0) & (times < 24.0) & (times + delays <= 24.0))
    assert size.arrived == came
    assert size.share == pytest.approx(came / 3_000, abs=1e-3)
    assert size.surprise < 4.0


def test_with_an_uneven_rate_the_stated_variance_holds() -> None:
    within, windows = 0, 0
    for seed in range(rounds(20, 60)):
        rng = np.random.default_rng(seed)
        times = np.cumsum(rng.gamma(2.0, 0.5e-3, 32_000))
        delays = rng.exponential(0.24, len(times))
        size = fed(times, delays, 27.0).size(24_000_000, 27_000_000, 27_000_000)
        assert size is not None
        exact = np.sum((times >= 24.0) & (times < 27.0))
        within += abs(size.expected - exact) <= 1.96 * size.variance**0.5
        windows += 1
        assert size.at_most > size.expected
    assert within / windows >= 0.88, "about 95 of 100"


def test_what_is_complete_is_exact_and_a_part_of_a_sub_stream_counts_in_part() -> None:
    times = an_even_stream(30.0)
    stream = fed(times, np.full(len(times), 0.1), 30.0)
    whole = stream.size(20_400_000, 24_000_000, 30_000_000)
    assert whole is not None
    assert (whole.arrived, whole.expected, whole.variance) == (3_600.0, 3_600.0, 0.0)
    part = stream.size(20_400_000, 20_700_000, 30_000_000)
    assert part is not None
    assert part.expected == pytest.approx(300.0)
    assert stream.size(-60_000_000, 0, 30_000_000) is None, "it was not heard"


def test_a_burst_and_a_source_that_stops_are_surprises() -> None:
    rng = np.random.default_rng(2)
    even = an_even_stream(24.0)
    burst = np.sort(np.concatenate([even, 23.0 + rng.uniform(0.0, 0.5, 2_000)]))
    size = fed(burst, np.full(len(burst), 0.1), 24.0).size(21_000_000, 24_000_000, 24_000_000)
    assert size is not None
    assert size.surprise > 10.0
    assert size.expected >= size.arrived, "never fewer than have come"
    stops = even[even < 22.0]
    size = fed(stops, np.full(len(stops), 0.1), 24.0).size(21_000_000, 24_000_000, 24_000_000)
    assert size is not None
    assert size.surprise > 10.0


def test_late_tuples_count_nowhere_and_silence_counts_as_nothing() -> None:
    times = an_even_stream(20.0)
    stream = fed(times, np.full(len(times), 0.1), 20.0)
    before = stream.size(600_000, 12_000_000, 20_000_000)
    assert before is not None
    stream.heard({3: Heard.all_of(np.full(BINS, 7))})
    assert stream.size(600_000, 12_000_000, 20_000_000) == before
    stream.completed(27_000_000)
    usual = stream.usual
    assert usual is not None
    assert usual.mean < 500.0, "sub-streams without a tuple are sub-streams"
    stream.completed(60_000_000)
    assert stream.usual is None, "after a long silence nothing is usual"


def test_delays_have_a_distribution() -> None:
    rng = np.random.default_rng(4)
    delays = rng.exponential(0.24, 200_000)
    usual = Usual.of([heard(bin_of(delays))] * 2)
    for age in (0.05, 0.24, 1.0):
        assert usual.share_by(age) == pytest.approx(1 - np.exp(-age / 0.24), abs=0.01)
    assert usual.delay_s(0.5) == pytest.approx(0.24 * np.log(2), rel=0.05)
    # Of tuples that are 0 to 600 ms old: 1 - 0.4 (1 - exp(-2.5)).
    assert usual.share_between(0.0, 0.6) == pytest.approx(1 - 0.4 * (1 - np.exp(-2.5)), abs=0.01)
    assert usual.share_between(-0.6, 0.0) == 0.0
    assert usual.share_by(2e3) == pytest.approx(1.0, abs=1e-5)
    assert usual.share_by(2e3) < 1.0, "a longer one than any may come"
    negative = Usual.of([heard(bin_of(np.full(10, -5.0)))] * 2)
    assert negative.share_by(float(EDGES_S[1])) == 20 / 21, "clocks that disagree: it came at once"


def test_an_empty_stretch_is_all_there() -> None:
    assert (Size().share, Size().relative_variance, Size().surprise) == (1.0, 0.0, 0.0)


def test_what_came_before_anybody_listened_is_not_told_of() -> None:
    stream = SubStreams(F_US, from_us=6_100_000)
    for number in range(8, 40):
        stream.heard({number: Heard.all_of(np.full(BINS, 1))})
        stream.completed((number - 2) * F_US)
    assert stream.size(6_000_000, 9_000_000, 24_000_000) is None
    later = stream.size(11 * F_US, 15 * F_US, 24_000_000)
    assert later is not None
    assert later.arrived == 4 * BINS
    unknown = SubStreams(F_US, from_us=0)
    for number in range(40):
        unknown.heard({number: Heard(100, 100, np.zeros(BINS, np.int64))})
        unknown.completed(number * F_US)
    assert unknown.usual is None, "how long tuples take is not known"


def test_windows_longer_than_the_history_are_still_told_of() -> None:
    short, long = SubStreams(F_US, history=12), SubStreams(F_US, history=12, longest_us=40 * F_US)
    for number in range(60):
        for stream in (short, long):
            stream.heard({number: Heard(100, 30, np.full(BINS, 1))})
            stream.completed((number - 1) * F_US)
    assert short.size(20 * F_US, 60 * F_US, 60 * F_US) is None
    strata = long.strata(20 * F_US, 58 * F_US, 60 * F_US)
    assert strata is not None
    assert sum(s.kept for s in strata) == 30 * 38, "and how many were sampled"
    assert whole(strata).arrived == 100 * 38


def test_strata_of_few_tuples_are_laid_together() -> None:
    def stratum(number: int, kept: float) -> Stratum:
        return Stratum(number, number + 1, Size(kept, kept + 1.0, 1.0), kept)

    laid = merged([stratum(n, k) for n, k in enumerate([10, 25, 40, 5, 3])])
    assert [(s.start_us, s.end_us, s.kept) for s in laid] == [(0, 2, 35), (2, 5, 48)]
    assert laid[1].size.variance == 3.0
    assert [s.kept for s in merged([stratum(0, 3), stratum(1, 2)])] == [5]
    assert merged([]) == ()


def test_where_delays_differ_from_one_sub_stream_to_the_next_what_has_come_tells_less() -> None:
    """Sizes that vary, and delays that do or do not: only even ones tell a size from a part."""
    rng = np.random.default_rng(6)
    sizes = rng.integers(600, 1_400, 40)

    def told(means_s: npt.NDArray[np.float64]) -> Usual:
        ended = []
        for size, mean in zip(sizes, means_s, strict=True):
            bins = np.bincount(bin_of(rng.exponential(mean, 200)), minlength=BINS)
            ended.append(Heard(int(size), int(size), bins))
        return Usual.of(ended)

    even, uneven = told(np.full(40, 0.24)), told(rng.uniform(0.05, 0.6, 40))
    doubts = [usual.shares_in(0.0, 0.6, 1)[1][0] for usual in (even, uneven)]
    assert doubts[0] < 0.002, "what is left is the noise of two hundred delays"
    assert doubts[1] > 0.01
    share = 0.6
    sure, unsure = (u.size(900.0, share, d) for u, d in zip((even, uneven), doubts, strict=True))
    assert abs(unsure.expected - uneven.mean) < abs(sure.expected - even.mean)
    assert unsure.variance > sure.variance
    assert unsure.surprise < sure.surprise


def test_the_share_of_ages_is_the_mean_of_the_shares_of_each() -> None:
    rng = np.random.default_rng(8)
    several = [heard(bin_of(rng.gamma(3.0, 0.1, 500))) for _ in range(12)]
    usual, apart = Usual.of(several), [Usual.of([one]) for one in several]
    for low, high in ((0.0, 0.6), (0.13, 0.71), (-0.4, 0.2), (0.5, 5.0), (900.0, 2_000.0)):
        ages = np.linspace(low, high, 20_001)
        obvious = np.mean([usual.share_by(float(a)) for a in ages[::20]])
        assert usual.share_between(low, high) == pytest.approx(obvious, abs=2e-3)
    assert usual.share_between(0.3, 0.3) == pytest.approx(usual.share_by(0.3))
    together = usual.shares_in(-0.4, 0.3, 8)
    for step in range(8):
        youngest = -0.4 + 0.3 * step
        assert together[0][step] == pytest.approx(usual.share_between(youngest, youngest + 0.3))
        alone = [u.share_between(youngest, youngest + 0.3) for u in apart]
        noise = together[0][step] * (1.0 - together[0][step]) / 500
        assert together[1][step] == pytest.approx(max(np.var(alone, ddof=1) - noise, 0), abs=2e-5)
