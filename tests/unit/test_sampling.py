"""kernels/sampling.py: the same tuples are kept in every attempt, as many as the rate says."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.kernels.sampling import luck, sampled


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_the_rate_is_kept(rate: float) -> None:
    for partition in range(4):
        sample = sampled(np.zeros(200_000, np.int64), luck(partition, 0, 200_000), ((0, rate),))
        assert sample is not None
        luck_of_it = 4 * (rate * (1 - rate) / 200_000) ** 0.5
        assert sample.kept.mean() == pytest.approx(rate, abs=luck_of_it)


def test_neighbours_and_partitions_have_nothing_to_do_with_each_other() -> None:
    kept = luck(0, 0, 100_000) < 2**62
    other = luck(1, 0, 100_000) < 2**62
    for lag in (1, 2, 3, 8, 1_000):
        assert abs(np.corrcoef(kept[:-lag], kept[lag:])[0, 1]) < 0.02
    assert abs(np.corrcoef(kept, other)[0, 1]) < 0.02


def test_an_offset_has_the_same_luck_whatever_it_is_read_with() -> None:
    assert np.array_equal(luck(3, 1_000, 50), luck(3, 0, 1_050)[1_000:])
    assert not np.array_equal(luck(3, 1_000, 50), luck(4, 1_000, 50))


def test_rates_go_by_event_time_and_a_higher_one_keeps_what_a_lower_one_keeps() -> None:
    stamps = np.arange(30_000)
    hashes = luck(0, 0, 30_000)
    sample = sampled(stamps, hashes, ((10_000, 0.2), (20_000, 0.6)))
    assert sample is not None
    assert sample.cuts_us == (10_000, 20_000)
    kept = sample.kept
    assert kept[:10_000].all(), "before the first rate"
    assert kept[10_000:20_000].mean() == pytest.approx(0.2, abs=0.02)
    assert kept[20_000:].mean() == pytest.approx(0.6, abs=0.02)
    more = sampled(stamps, hashes, ((10_000, 0.5), (20_000, 1.0)))
    assert more is not None
    assert not (kept & ~more.kept).any()
    assert more.kept[20_000:].all()


def test_without_a_rate_all_are_kept() -> None:
    assert sampled(np.arange(5), luck(0, 0, 5), ()) is None
    assert sampled(np.arange(5), luck(0, 0, 5), ((0, 1.0), (3, 1.0))) is None
