"""Gem packs of a game: bought by users (purchases) and proposed to them (ads)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import headrace as hr
from headrace.bench.makers.settings import setting


@dataclass(frozen=True)
class Purchases:
    """`user_id`, `gem_pack`, `price`: small packs are bought most."""

    users: int = setting(10_000, 1)

    @cached_property
    def _source(self) -> hr.sources.Purchases:
        return hr.sources.Purchases(rate=None, users=self.users)

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """As the source of the same name makes them."""
        return self._source.fields(rng, number, len(number))


@dataclass(frozen=True)
class Ads:
    """`user_id`, `gem_pack`: what users are asked to buy."""

    users: int = setting(10_000, 1)

    @cached_property
    def _source(self) -> hr.sources.Ads:
        return hr.sources.Ads(rate=None, users=self.users)

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """As the source of the same name makes them."""
        return self._source.fields(rng, number, len(number))
