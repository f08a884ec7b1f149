"""kernels/delays.py: delays of tuples from when they came and when they happened."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from headrace.approximate.usual import BINS, EDGES_S
from headrace.connectors.arrivals import Arrivals
from headrace.connectors.offsets import Came, Range
from headrace.connectors.source import Numbered
from headrace.kernels.delays import DelaySample, SubStreamCounts


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
        partitions, at = 1, (0,)

        def newest_offsets(self) -> tuple[int, ...]:
            return self.at

    source, now = Source(), [0.0]
    arrivals = Arrivals(Numbered(source), lambda: now[0])  # type: ignore[arg-type]
    for step in range(1, 201):
        now[0], source.at = step * 0.1, (step * 100,)
        arrivals.newest()
    came = arrivals.of(Range("0", 5_000, 9_000))
    assert came.offsets[0] <= 5_000
    assert came.offsets[-1] >= 9_000
    assert len(came.offsets) <= 66
    assert np.interp(7_050, came.offsets, came.times_s) == pytest.approx(7.05)
    assert Arrivals(Numbered(object())).of(Range("0", 0, 5)) == Came()  # type: ignore[arg-type]


def test_tuples_are_counted_by_sub_stream_and_some_of_their_delays_by_bin() -> None:
    counts = SubStreamCounts(1_000_000, EDGES_S, None, 0)
    stamps = np.arange(0, 2_500_000, 1_000)
    kept = np.arange(2_500) % 5 == 0
    counts.add(stamps[:1_000], 0, np.full(63, 0.2), kept[:1_000])
    counts.add(stamps[1_000:], 1_000, np.full(len(stamps[1_000:][8::16]), 0.7), kept[1_000:])
    found = counts.found
    assert {n: c[:2] for n, c in found.counts.items()} == {
        0: (1_000, 200),
        1: (1_000, 200),
        2: (500, 100),
    }
    assert found.longest_s == 0.7
    ((place, times),) = found.counts[0][2]
    assert EDGES_S[place] <= 0.2 < EDGES_S[place + 1]
    assert times == 63
    assert all(0 <= p < BINS for c in found.counts.values() for p, _ in c[2])


@pytest.mark.parametrize("length_us", [1_000_000, 40_000, 7, 3_000_000])
@pytest.mark.parametrize("negative", [False, True])
def test_counts_are_those_of_each_tuple_by_itself(length_us: int, negative: bool) -> None:
    rng = np.random.default_rng(2)
    stamps = rng.integers(0, 2_500_000, 4_000) - (1_200_000 if negative else 0)
    kept = rng.random(4_000) < 0.3
    counts = SubStreamCounts(length_us, EDGES_S, None, 0)
    counts.add(stamps, 0, np.full(250, 0.2), kept)
    wanted = Counter(s // length_us for s in stamps.tolist())
    of_kept = Counter(s // length_us for s in stamps[kept].tolist())
    looked_at = Counter(s // length_us for s in stamps[::16].tolist())
    found = counts.found.counts
    assert {n: c[:2] for n, c in found.items()} == {n: (c, of_kept[n]) for n, c in wanted.items()}
    assert {n: sum(t for _, t in c[2]) for n, c in found.items()} == {
        n: looked_at[n] for n in wanted
    }


def test_without_a_source_that_tells_tuples_came_evenly_since_the_last_batch() -> None:
    now = 10_000_000
    counts = SubStreamCounts(1_000_000, EDGES_S, now - 400_000, now)
    counts.add(np.full(1_600, now - 500_000), 0)
    delays = {p: n for c in counts.found.counts.values() for p, n in c[2]}
    places = [p for p, n in delays.items() for _ in range(n)]
    assert len(places) == 100
    assert EDGES_S[min(places) + 1] == pytest.approx(0.1, rel=0.2)
    assert EDGES_S[max(places)] == pytest.approx(0.5, rel=0.2)
    unknown = SubStreamCounts(1_000_000, EDGES_S, None, now)
    unknown.add(np.full(1_600, now - 500_000), 0)
    assert unknown.found.counts[9] == (1_600, 1_600, ())
    few = SubStreamCounts(1_000_000, EDGES_S, None, now)
    few.add(np.array([now]), 3)
    far = SubStreamCounts(10, EDGES_S, None, now)
    far.add(np.array([0, 10**12]), 0)
    assert len(far.found.counts) == len(few.found.counts) + 1
