"""Taxi trips of New York: made from the distributions of real ones, or real ones from a file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.lab.bench.makers.replay import Replay
from headrace.lab.bench.makers.settings import setting
from headrace.lab.bench.makers.trips import PAYMENTS, read_trips

# Fitted to a sample of the city's trip records of March 2019.
_ZONES = 263
_ZONE_DECAY = 30.0
"""The n-th most popular zone has e^(-n/30) times the trips of the first."""
_FIRST_ZONE = 161
"""Midtown Center; multiples of its number, modulo the prime 263, are the order of the others."""
_LOG_MILES, _LOG_MILES_SPREAD = 0.55, 0.98
_FLAG, _UNIT = 2.5, 0.5
"""The meter: dollars at the start, and for every fifth of a mile or minute in slow traffic."""
_SURCHARGES = 3.3
_PASSENGERS = np.repeat(np.arange(7, dtype=np.int32), [15, 727, 136, 38, 17, 43, 24])
_CARD, _CASH, _UNKNOWN = (PAYMENTS.index(p).as_py() for p in ("credit card", "cash", "unknown"))
_PAYING = np.repeat(np.array([_CARD, _CASH, _UNKNOWN], dtype=np.int8), [711, 282, 7])


@dataclass(frozen=True)
class Taxi:
    """`passengers`, `distance` (miles), `fare` and `tip` (dollars), `payment`, `zone` (pick-up).

    `file` names real trips instead: a file of the city's Taxi and Limousine Commission, or one with
    the columns of the well-known sample (`passengers`, `pickup_zone` …), as CSV or parquet.
    """

    file: str = setting("")

    def __post_init__(self) -> None:
        _ = self._replay  # a file that cannot be read is told of now, not in the middle of a run

    @cached_property
    def _replay(self) -> Replay | None:
        return Replay(read_trips(Path(self.file))) if self.file else None

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """Trips; fares follow the meter of 2019, and only card payers' tips are known."""
        if self._replay is not None:
            return self._replay.columns(number)
        count = len(number)
        rank = (rng.standard_exponential(count, np.float32) * _ZONE_DECAY).astype(np.int32) % _ZONES
        log_miles = rng.standard_normal(count, np.float32) * _LOG_MILES_SPREAD + _LOG_MILES
        distance = _cents(np.clip(np.exp(log_miles), 0.1, 60.0))
        slow_minutes = rng.random(count, np.float32) * 2.0 * (3.0 + distance)
        fare = _FLAG + _UNIT * np.floor(5.0 * distance + slow_minutes)
        paying = _PAYING[rng.integers(0, len(_PAYING), count, dtype=np.int16)]
        generous = rng.random(count, np.float32)
        share = np.where((paying == _CARD) & (generous >= 0.1), 0.08 + 0.2 * generous, 0.0)
        return {
            "passengers": pa.array(
                _PASSENGERS[rng.integers(0, len(_PASSENGERS), count, dtype=np.int16)]
            ),
            "distance": pa.array(distance),
            "fare": pa.array(fare),
            "tip": pa.array(_cents(share * (fare + _SURCHARGES))),
            "payment": PAYMENTS.take(pa.array(paying)),
            "zone": pa.array((_FIRST_ZONE * (rank + 1) - 1) % _ZONES + 1),
        }


def _cents(values: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    return np.rint(values.astype(np.float64) * 100.0) / 100.0
