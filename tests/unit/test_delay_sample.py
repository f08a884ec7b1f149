"""kernels/delays.py: delays of tuples from when they came and when they happened."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.kernels.delays import DelaySample
from headrace.spark.arrivals import Arrivals
from headrace.spark.offsets import Came, Range


def test_mean_and_deviation_of_delays_are_found_from_a_few_offsets() -> None:
    rng = np.random.default_rng(3)
    count, rate = 200_000, 20_000.0
    came = np.arange(count) / rate
    delays = rng.gamma(4.0, 0.05, count)
    stamps = ((came - delays) * 1e6).astype(np.int64)
    offsets = list(range(0, count + 1, 2_000))
    sample = DelaySample(500, offsets, [o / rate for o in offsets])
    for begin in range(500, count, 30_001):
        sample.add(stamps[begin : begin + 30_001])
    seen, mean, second = sample.moments
    assert seen == pytest.approx(count / 16, rel=0.01)
    assert mean == pytest.approx(0.2, rel=0.02)
    assert (second - mean**2) ** 0.5 == pytest.approx(0.1, rel=0.05)


def test_without_times_there_is_nothing_to_tell() -> None:
    sample = DelaySample(0, (), ())
    sample.add(np.arange(100))
    assert sample.moments == (0, 0.0, 0.0)


def test_a_source_that_was_asked_tells_when_a_range_came() -> None:
    class Source:
        at = (0,)

        def newest_offsets(self) -> tuple[int, ...]:
            return self.at

    source, now = Source(), [0.0]
    arrivals = Arrivals(source, lambda: now[0])  # type: ignore[arg-type]
    for step in range(1, 201):
        now[0], source.at = step * 0.1, (step * 100,)
        arrivals.newest()
    came = arrivals.of(Range(0, 5_000, 9_000))
    assert came.offsets[0] <= 5_000
    assert came.offsets[-1] >= 9_000
    assert len(came.offsets) <= 66
    assert np.interp(7_050, came.offsets, came.times_s) == pytest.approx(7.05)
    assert Arrivals(object()).of(Range(0, 0, 5)) == Came()  # type: ignore[arg-type]
