"""HyperLogLog++ for one buffer, bit by bit and register by register, as Spark's helper has it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from headrace.kernels.holistic import HllTables

THRESHOLDS = [10, 20, 40, 80, 220, 400, 900, 1800, 3100, 6500, 15500, 20000, 50000, 120000, 350000]


def tables() -> HllTables:
    """Made-up biases (an eighth of the estimate): the real ones are read from Spark."""
    raw = tuple(np.linspace(0.7 * 2**p, 5.0 * 2**p, 50) for p in range(4, 19))
    return HllTables(np.array(THRESHOLDS, dtype=float), raw, tuple(r / 8 for r in raw))


def register_of(hashed: int, precision: int) -> tuple[int, int]:
    """Register and rank of a hash, bit by bit."""
    bits = f"{hashed % 2**64:064b}"
    rest = bits[precision:] + "1" + "0" * (precision - 1)
    return int(bits[:precision], 2), rest.index("1") + 1


def estimate_of(ranks: list[int], precision: int) -> int:
    """HyperLogLogPlusPlusHelper.query of Spark, for one buffer's occupied registers."""
    m = 2**precision
    alpha = {4: 0.673, 5: 0.697, 6: 0.709}.get(precision, 0.7213 / (1.0 + 1.079 / m))
    zeros = m - len(ranks)
    raw = alpha * m * m / (sum(2.0**-r for r in ranks) + zeros)
    corrected = raw - bias_of(raw, precision) if raw < 5.0 * m else raw
    if zeros > 0:
        linear = m * math.log(m / zeros)
        if linear <= THRESHOLDS[precision - 4] or raw <= 2.5 * m:
            return math.floor(linear + 0.5)
    return math.floor(corrected + 0.5)


def bias_of(raw: float, precision: int) -> float:
    """The mean bias of six neighbouring estimates, moved upwards while that brings them closer."""
    estimates = tables().raw_estimates[precision - 4].tolist()
    low = max(sum(e < raw for e in estimates) - 5, 0)
    high = min(low + 6, len(estimates))
    while high < len(estimates) and abs(raw - estimates[high]) < abs(raw - estimates[low]):
        low, high = low + 1, high + 1
    return float(np.mean(tables().biases[precision - 4][low:high]))


def hash_of(value: Any) -> int:
    """A 64-bit hash in the place of Spark's xxhash64."""
    digest = hashlib.blake2b(repr(value).encode(), digest_size=8).digest()
    return int.from_bytes(digest, signed=True)


def count_of(values: Iterable[Any], precision: int) -> int:
    """The estimate for some values."""
    registers: dict[int, int] = {}
    for value in values:
        register, rank = register_of(hash_of(value), precision)
        registers[register] = max(registers.get(register, 0), rank)
    return estimate_of(list(registers.values()), precision)
