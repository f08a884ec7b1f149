"""kernels/holistic.py: percentiles by rank, distinct counts, and HLL++ exactly as Spark has it."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from headrace.kernels.holistic import (
    count_distinct,
    hll_estimate,
    hll_precision,
    hll_registers,
    percentiles,
)

from .hll import estimate_of, register_of, tables

# -- percentiles ----------------------------------------------------------------------------------


def rank_of(p: float, n: int) -> int:
    """Spark's rank while its summary is exact: ceil in double arithmetic, at least the first."""
    return max(math.ceil(p * n), 1)


@pytest.mark.parametrize("seed", range(30))
def test_a_percentile_is_the_value_of_rank_ceil_p_n_in_the_sorted_list(seed: int) -> None:
    rng = random.Random(seed)
    wanted = tuple(rng.choice([0.0, 0.25, 0.5, 0.75, 0.9, 1.0]) for _ in range(3))
    size = rng.randint(1, 5)
    lists: list[list[int]] = [
        [rng.randint(-5, 5) for _ in range(rng.randrange(20))] for _ in range(size)
    ]
    rows = [(g, v, values.count(v)) for g, values in enumerate(lists) for v in set(values)]
    rng.shuffle(rows)
    group, value, count = (np.array([r[i] for r in rows], dtype=np.int64) for i in range(3))
    found, total = percentiles(group, value, count, size, wanted)
    assert total.tolist() == [len(v) for v in lists]
    for number, values in enumerate(lists):
        if values:
            expected = [sorted(values)[rank_of(p, len(values)) - 1] for p in wanted]
            assert found[number].tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 99, 100, 1000])
def test_every_hundredth_has_sparks_rank(n: int) -> None:
    # 0.07 * 100 is 7.000000000000001 in doubles, so Spark takes the eighth value.
    wanted = tuple(i / 100 for i in range(101))
    values, ones = np.arange(n), np.ones(n, np.int64)
    found, _ = percentiles(np.zeros(n, np.int64), values, ones, 1, wanted)
    assert (found[0] + 1).tolist() == [rank_of(p, n) for p in wanted]


def test_nan_is_the_largest_value() -> None:
    values = np.array([math.nan, 1.0, 2.0])
    found, _ = percentiles(np.zeros(3, int), values, np.ones(3, np.int64), 1, (0.0, 0.5, 1.0))
    assert found[0, :2].tolist() == [1.0, 2.0]
    assert math.isnan(found[0, 2])


def test_a_group_without_values_counts_nothing() -> None:
    none = np.empty(0, np.int64)
    _, total = percentiles(none, none, none, 2, (0.5,))
    assert total.tolist() == [0, 0]
    assert count_distinct(none, 2).tolist() == [0, 0]


def test_distinct_values_are_counted_per_group() -> None:
    assert count_distinct(np.array([2, 0, 2, 2]), 4).tolist() == [1, 0, 3, 0]


# -- HLL++ ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("precision", [4, 9, 14, 18])
def test_registers_and_ranks_are_those_of_the_hash_read_bit_by_bit(precision: int) -> None:
    rng = random.Random(precision)
    hashes = [rng.getrandbits(64) - 2**63 for _ in range(300)]
    hashes += [0, -1, 1, 2**63 - 1, -(2**63), 1 << (63 - precision), 1 << (64 - precision)]
    register, rank = hll_registers(np.array(hashes, dtype=np.int64), precision)
    found = list(zip(register.tolist(), rank.tolist(), strict=True))
    assert found == [register_of(h, precision) for h in hashes]


@pytest.mark.parametrize(
    ("relative_sd", "precision"), [(0.05, 9), (0.01, 14), (0.39, 4), (0.1, 7), (0.005, 16)]
)
def test_the_error_decides_the_precision_as_in_spark(relative_sd: float, precision: int) -> None:
    assert hll_precision(relative_sd) == precision


@pytest.mark.parametrize("precision", [4, 7, 9, 12])
def test_estimates_equal_sparks_formula_at_every_size(precision: int) -> None:
    rng = random.Random(precision)
    m = 2**precision
    groups, ranks, expected = [], [], []
    sizes = [0, 1, 2, m // 4, m // 2, m, 2 * m, 3 * m, 4 * m, 8 * m]
    for number, distinct in enumerate(sizes):
        registers: dict[int, int] = {}
        for _ in range(distinct):
            register, rank = register_of(rng.getrandbits(64), precision)
            registers[register] = max(registers.get(register, 0), rank)
        groups += [number] * len(registers)
        ranks += registers.values()
        expected.append(estimate_of(list(registers.values()), precision))
    found = hll_estimate(
        np.array(groups, dtype=np.int64),
        np.array(ranks, dtype=np.int64),
        len(sizes),
        precision,
        tables(),
    )
    assert found.tolist() == expected
    assert found[0] == 0
