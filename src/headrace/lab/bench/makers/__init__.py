"""Makers of events: what the tuples of a stream hold, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import headrace as hr
from headrace.lab.bench.makers.fields import Fields
from headrace.lab.bench.makers.gaming import Ads, Purchases
from headrace.lab.bench.makers.linear_road import LinearRoad
from headrace.lab.bench.makers.points import Points
from headrace.lab.bench.makers.settings import build, settings_of
from headrace.lab.bench.makers.taxi import Taxi
from headrace.lab.bench.makers.ysb import Ysb

__all__ = ["Maker", "maker", "names", "parameters_of"]


class Maker(Protocol):
    """Makes the columns of some tuples; the driver adds their event time."""

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """Columns of the tuples with these numbers, made so many seconds after the stream began.

        Names and types of the columns are the same for any tuples, also for none.
        """
        ...


_MAKERS: dict[str, type[Maker]] = {
    "ads": Ads,
    "fields": Fields,
    "linear_road": LinearRoad,
    "points": Points,
    "purchases": Purchases,
    "taxi": Taxi,
    "ysb": Ysb,
}


def names() -> list[str]:
    """All makers."""
    return sorted(_MAKERS)


def parameters_of(name: str) -> tuple[str, ...]:
    """What can be set on a maker."""
    return tuple(settings_of(_kind(name)))


def maker(name: str, parameters: Mapping[str, object]) -> Maker:
    """A maker by its name; a parameter that is not given has the maker's default."""
    return build(_kind(name), name, parameters)


def _kind(name: str) -> type[Maker]:
    if name not in _MAKERS:
        raise hr.HeadraceError(f"maker {name!r} is none of {', '.join(names())}")
    return _MAKERS[name]
