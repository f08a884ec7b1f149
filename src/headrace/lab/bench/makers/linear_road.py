"""Linear Road: cars on expressways that report where they are, and accidents among them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

import headrace as hr
from headrace.lab.bench.makers.replay import Replay
from headrace.lab.bench.makers.settings import setting

REPORT_S = 30.0
"""A car reports its position every so many seconds."""
STAND_S = 180.0
"""How long the two cars of an accident stand: six reports each; four make an accident."""
FEET = 5280
SEGMENTS = 100
COLUMNS = "vid speed xway lane dir seg pos".split()

_ROAD = float(FEET * SEGMENTS)
_FPS = FEET / 3600.0
"""Feet per second of one mile per hour."""
_DRIVE_S = 600.0
"""Cars speed up and slow down with this period; those of an accident meet when it is over."""
_STYLES = 1 << 16
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class _Styles:
    """How cars drive; car n drives like n modulo the number of styles. 2n and 2n + 1 are a pair."""

    mph: npt.NDArray[np.float32]
    swing: npt.NDArray[np.float32]
    """Feet by which a car is ahead of or behind its mean speed half-way through a period."""
    begun_s: npt.NDArray[np.float32]
    stand_s: npt.NDArray[np.float32]
    lane: npt.NDArray[np.int32]
    dir: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    """1 for the car that runs into the one before it."""


@dataclass(frozen=True)
class LinearRoad:
    """`vid`, `speed` (mph), `xway`, `lane`, `dir`, `seg`, `pos` (feet), all whole numbers.

    Where a car is follows from its number and the time alone, so tuples can be made in any order
    and in several processes. There are as many cars as make `rate` reports a second when each
    reports every 30 s. A share `accidents` of them stands in an accident at any moment. `file`
    names real reports instead, in the benchmark's own format.
    """

    rate: float = setting(10_000.0, 1.0, 30_000_000.0)
    xways: int = setting(10, 1, 10_000)
    accidents: float = setting(0.0005, 0.0, 0.2)
    seed: int = setting(7, 0)
    file: str = setting("")

    def __post_init__(self) -> None:
        _ = self._replay  # a file that cannot be read is told of now, not in the middle of a run

    @property
    def cars(self) -> int:
        """An even number: cars come in pairs."""
        return max(2 * round(self.rate * REPORT_S / 2), 2)

    @cached_property
    def _replay(self) -> Replay | None:
        return Replay(read_reports(Path(self.file))) if self.file else None

    @cached_property
    def _styles(self) -> _Styles:
        rng = np.random.default_rng(self.seed)
        pairs = _STYLES // 2
        crash = np.zeros(pairs, dtype=bool)
        if self.accidents:
            share = min(self.accidents * (_DRIVE_S + STAND_S) / STAND_S, 1.0)
            crash[:: max(round(1.0 / share), 1)] = True
        both = np.repeat(crash, 2)

        def drawn(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float32]:
            values[1::2] = np.where(crash, values[::2], values[1::2])
            return values.astype(np.float32)

        return _Styles(
            mph=drawn(rng.uniform(25.0, 85.0, _STYLES)),
            swing=rng.uniform(-2000.0, 2000.0, _STYLES).astype(np.float32),
            begun_s=drawn(rng.uniform(0.0, _DRIVE_S + STAND_S, _STYLES)),
            stand_s=(both * STAND_S).astype(np.float32),
            lane=drawn(rng.uniform(1.0, 4.0, _STYLES)).astype(np.int32).clip(1, 3),
            dir=drawn(rng.uniform(0.0, 2.0, _STYLES)).astype(np.int32).clip(0, 1),
            second=(both & (np.arange(_STYLES) % 2 == 1)).astype(np.int32),
        )

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """Reports; cars take turns, and drive at a speed that swings around their own mean.

        A car of a pair that crashes drives for a period, stands, and drives on. Both have the same
        mean speed and begin at the same place, so they are apart on the way and together at its
        end.
        """
        if self._replay is not None:
            return self._replay.columns(number)
        styles = self._styles
        vid = (number % self.cars).astype(np.int32)
        style = vid & (_STYLES - 1)
        stand_s = styles.stand_s[style]
        clock = at_s + styles.begun_s[style]
        cycle = _DRIVE_S + stand_s
        turns = np.floor(clock / cycle)
        driven = np.minimum(clock - turns * cycle, _DRIVE_S)
        standing = (driven >= _DRIVE_S) & (stand_s > 0)
        angle = (np.where(standing, 0.0, driven) * (2.0 * np.pi / _DRIVE_S)).astype(np.float32)
        mph, swing = styles.mph[style], styles.swing[style]
        begun_at = vid - styles.second[style]
        feet = (begun_at * _GOLDEN) % 1.0 * _ROAD
        feet += mph * _FPS * (turns * _DRIVE_S + driven)
        feet += swing * (1.0 - np.cos(angle))
        feet -= np.floor(feet / _ROAD) * _ROAD
        swings = swing * np.float32(2.0 * np.pi / _DRIVE_S / _FPS) * np.sin(angle)
        direction = styles.dir[style]
        ahead = np.minimum(feet, _ROAD - 1.0).astype(np.int32)
        pos = np.where(direction == 1, FEET * SEGMENTS - 1 - ahead, ahead).astype(np.int32)
        speed = np.where(standing, 0.0, np.rint(mph + swings)).astype(np.int32)
        xway = (begun_at >> 1) % np.int32(self.xways)
        values = (vid, speed, xway, styles.lane[style], direction, pos // np.int32(FEET), pos)
        return {name: pa.array(value) for name, value in zip(COLUMNS, values, strict=True)}


def read_reports(path: Path) -> pa.Table:
    """The position reports of a file of lines `type,time,vid,speed,xway,lane,dir,seg,pos,…`.

    Other types of lines (requests, type 2 and up) are left out.
    """
    names = ["f0", *(f"f{n}" for n in range(2, 9))]
    try:
        table = pyarrow.csv.read_csv(
            path,
            read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.int32())
            ),
        )
    except (OSError, KeyError, pa.ArrowException) as error:
        form = "type,time,vid,speed,xway,lane,dir,seg,pos,… in whole numbers"
        raise hr.HeadraceError(f"reports {path}: lines are not {form}: {error}") from error
    reports = table.filter(pc.equal(table.column("f0"), 0)).drop_columns("f0")
    if not reports.num_rows:
        raise hr.HeadraceError(f"reports {path}: has no position report (lines of type 0)")
    return reports.rename_columns(COLUMNS)
