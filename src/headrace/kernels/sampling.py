"""Bernoulli samples by a hash of a tuple's identity: the same tuples in every attempt and replay.

A tuple is kept if its hash, spread evenly over 64 bits, is below its rate of them. So what a lower
rate keeps, a higher one keeps too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.kernels.columns import Bools, Ints

Schedule = tuple[tuple[int, float], ...]
"""Event times, rising, each with the rate from there on; before the first, all are kept."""
_ALL = float(2**64)


def luck(partition: int, first: int, count: int) -> npt.NDArray[np.uint64]:
    """Hashes of the tuples at some offsets of a partition (the finalizer of SplitMix64)."""
    place = np.uint64((partition + 1) * 0x9E3779B97F4A7C15 % 2**64)
    with np.errstate(over="ignore"):
        x = np.arange(first, first + count, dtype=np.uint64) * np.uint64(0xD1342543DE82EF95) + place
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class Sample:
    """Some of the tuples of a table."""

    kept: Bools
    """Which they are."""
    cuts_us: tuple[int, ...]
    """Event times at which the rate changes: what is kept before and after stands for more or
    fewer tuples, and must not be added up."""


def sampled(stamps_us: Ints, hashes: npt.NDArray[np.uint64], schedule: Schedule) -> Sample | None:
    """Which tuples are kept; None where all are."""
    if not schedule or all(rate >= 1.0 for _, rate in schedule):
        return None
    cuts = tuple(start for start, _ in schedule)
    starts = np.array(cuts, dtype=np.int64)
    # The largest of 64 bits stands for all: one tuple in 2^64 is missed.
    bounds = [2**64 - 1, *(min(int(rate * _ALL), 2**64 - 1) for _, rate in schedule)]
    limits = np.array(bounds, dtype=np.uint64)
    return Sample(hashes <= limits[np.searchsorted(starts, stamps_us, side="right")], cuts)
