"""AStream's tuples: a key that counts round, and five random fields."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import headrace as hr
from headrace.lab.bench.makers.settings import setting


@dataclass(frozen=True)
class Fields:
    """`key` and `f0` … `f4`, all below a maximum; a share `skew` of the tuples has key 0."""

    keys: int = setting(1000, 1, 2**31 - 1)
    field_max: int = setting(1000, 1, 2**31 - 1)
    skew: float = setting(0.0, 0.0, 1.0)

    @cached_property
    def _source(self) -> hr.sources.RandomFields:
        return hr.sources.RandomFields(rate=None, keys=self.keys, field_max=self.field_max)

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """The fields, and the keys with what skew makes of them."""
        columns = self._source.fields(rng, number, len(number))
        if self.skew:
            kept = rng.random(len(number), dtype=np.float32) >= self.skew
            columns["key"] = pa.array((number % self.keys * kept).astype(np.int32))
        return columns
