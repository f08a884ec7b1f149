"""Gem packs of a game: bought by users (purchases) and proposed to them (ads)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import headrace as hr
from headrace.lab.bench.makers.settings import setting


@dataclass(frozen=True)
class _AsSource:
    """Columns as a source of Headrace makes them."""

    kind: ClassVar[type[hr.sources.Purchases] | type[hr.sources.Ads]]
    users: int = setting(10_000, 1)

    @cached_property
    def _source(self) -> hr.sources.Purchases | hr.sources.Ads:
        return self.kind(rate=None, users=self.users)

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """Columns of the tuples with these numbers."""
        return self._source.fields(rng, number, len(number))


class Purchases(_AsSource):
    """`user_id`, `gem_pack`, `price`: small packs are bought most."""

    kind = hr.sources.Purchases


class Ads(_AsSource):
    """`user_id`, `gem_pack`: what users are asked to buy."""

    kind = hr.sources.Ads
