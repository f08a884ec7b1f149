"""Aggregates that need the distinct values of a cell: distinct counts, percentiles, HLL++.

Their groups carry the value as one more key, so slices merge like any other cells, and the
aggregate itself is taken from the sorted (query, key, value) rows when a window fires.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.kernels.columns import Array, Ints

Floats = npt.NDArray[np.float64]


def count_distinct(group: Ints, size: int) -> Ints:
    """Distinct values per group; every row is one value."""
    return np.bincount(group, minlength=size)


def percentiles(
    group: Ints, values: Array, counts: Ints, size: int, percentages: tuple[float, ...]
) -> tuple[Array, Ints]:
    """Size × percentages values, and how many tuples each group has.

    The value of rank ``ceil(p * n)``, at least the first: what Spark's percentile_approx returns
    while its summary is exact.
    """
    order = np.lexsort((values, group))
    group, values, counts = group[order], values[order], counts[order]
    total = np.bincount(group, weights=counts, minlength=size).astype(np.int64)
    upto = np.cumsum(counts)
    before = np.cumsum(total) - total
    out = np.zeros((size, len(percentages)), dtype=values.dtype)
    has = total > 0
    for column, p in enumerate(percentages):
        rank = np.maximum(np.ceil(p * total), 1).astype(np.int64)
        place = np.searchsorted(upto, (before + rank)[has], side="left")
        out[has, column] = values[place]
    return out, total


@dataclass(frozen=True, slots=True)
class HllTables:
    """Spark's HyperLogLog++ constants, read from the running Spark, by precision."""

    thresholds: Floats
    raw_estimates: tuple[Floats, ...]
    biases: tuple[Floats, ...]


def hll_precision(relative_sd: float) -> int:
    """Bits of the register index for a relative standard deviation."""
    return int(np.ceil(2.0 * np.log(1.106 / relative_sd) / np.log(2.0)))


def hll_registers(hashes: Ints, precision: int) -> tuple[Ints, Ints]:
    """Register number and rank of each 64-bit hash, as Spark computes them."""
    unsigned = hashes.astype(np.uint64)
    register = (unsigned >> np.uint64(64 - precision)).astype(np.int64)
    rest = (unsigned << np.uint64(precision)) | np.uint64(1 << (precision - 1))
    return register, _leading_zeros(rest) + 1


def _leading_zeros(words: npt.NDArray[np.uint64]) -> Ints:
    count = np.zeros(len(words), dtype=np.int64)
    left = words.copy()
    for bits in (32, 16, 8, 4, 2, 1):
        high = left >> np.uint64(64 - bits)
        empty = high == 0
        count[empty] += bits
        left[empty] <<= np.uint64(bits)
    return count


def hll_estimate(group: Ints, ranks: Ints, size: int, precision: int, tables: HllTables) -> Ints:
    """Distinct-count estimates from the occupied registers of each group."""
    m = 1 << precision
    alpha = {4: 0.673, 5: 0.697, 6: 0.709}.get(precision, 0.7213 / (1.0 + 1.079 / m))
    occupied = np.bincount(group, minlength=size)
    inverse = np.bincount(group, weights=2.0**-ranks, minlength=size) + (m - occupied)
    raw = alpha * m * m / inverse
    estimate = raw.copy()
    if 4 <= precision <= 18:
        small = raw < 5.0 * m
        estimate[small] = raw[small] - _bias(raw[small], precision, tables)
    empty = m - occupied
    with np.errstate(divide="ignore"):
        linear = m * np.log(m / np.maximum(empty, 1e-300))
    is_small = raw <= 2.5 * m
    if 4 <= precision <= 18:
        is_small |= linear <= tables.thresholds[precision - 4]
    use_linear = (empty > 0) & is_small
    return np.floor(np.where(use_linear, linear, estimate) + 0.5).astype(np.int64)


def _bias(raw: Floats, precision: int, tables: HllTables) -> Floats:
    """Mean bias of the six nearest raw estimates in the table."""
    estimates, biases = tables.raw_estimates[precision - 4], tables.biases[precision - 4]
    out = np.zeros(len(raw))
    for place, value in enumerate(raw):
        out[place] = biases[_nearest(estimates, float(value))].mean()
    return out


def _nearest(estimates: Floats, value: float) -> slice:
    """The six neighbours Spark averages over, moved up while that brings them closer."""
    neighbours = 6
    at = int(np.searchsorted(estimates, value))
    low = max(at - neighbours + 1, 0)
    high = min(low + neighbours, len(estimates))
    while high < len(estimates) and (
        (value - estimates[high]) ** 2 < (value - estimates[low]) ** 2
    ):
        low, high = low + 1, high + 1
    return slice(low, high)
