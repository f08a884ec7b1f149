"""Random streams: out of order, late, skewed, with nulls, ties, idle partitions and empty batches.

A stream is a list of steps. One step is one micro-batch: what each partition receives, after the
wall clock has moved by some seconds. Some come in bursts: the clock stands still between them. All
event times lie on a grid, so that tuples often fall exactly on the edges of windows and exactly a
gap apart.
"""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
START = dt.datetime(2024, 3, 9, 23, 59, 0, tzinfo=dt.UTC)
WORDS = ("", "a", "Ab", "abc", "banana", "Bee", "ähre", "x y", "zz%", "Zoe ", "m_n", "10")
KEYS = ("a", "b", "c", "d", "e", "A", "", "long key", "ö")
IDLE_AFTER_S = 30.0
WIDE = tuple(f"w{n}" for n in range(14))
"""Columns of small numbers, for predicates over many columns."""

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("k", pa.string()),
        ("i", pa.int32()),
        ("b", pa.int64()),
        ("x", pa.float64()),
        ("d", pa.decimal128(10, 2)),
        ("s", pa.string()),
        ("f", pa.bool_()),
        ("day", pa.date32()),
        ("ts", pa.timestamp("us", "UTC")),
        ("time", pa.timestamp("us", "UTC")),
        *((name, pa.int16()) for name in WIDE),
    ]
)

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One micro-batch: seconds the wall clock moves first, then the tuples by partition. One whose
    clock does not move comes together with the step before it."""

    clock_s: float
    tables: dict[int, pa.Table]


@dataclass(frozen=True, slots=True)
class Workload:
    """A whole stream and how it is declared."""

    seed: int
    partitions: int
    lateness_s: int
    max_ahead: str | None
    steps: tuple[Step, ...]
    began: dt.datetime = EPOCH
    """What the wall clock says at first: far behind the stream, or far ahead of it."""


def micros(time: dt.datetime) -> int:
    """Event time in microseconds since the epoch; a time without zone is UTC."""
    aware = time if time.tzinfo is not None else time.replace(tzinfo=dt.UTC)
    return (aware - EPOCH) // dt.timedelta(microseconds=1)


def make_workload(seed: int, *, steps: int = 8, rows: int = 150) -> Workload:
    """A stream of about steps × rows tuples over about steps × 10 seconds of event time."""
    rng, pace = random.Random(f"workload {seed}"), random.Random(f"pace {seed}")
    partitions = 1 + seed % 3
    lateness_s = rng.choice((0, 2, 5))
    max_ahead = rng.choice((None, "1 hour"))
    tuples = _Tuples(rng, random.Random(f"wide {seed}"))
    made: list[Step] = []
    for number in range(steps):
        idle = rng.random() < 0.25
        speaking = [p for p in range(partitions) if rng.random() < 0.8 or number == 0]
        if number > 0 and rng.random() < 0.1:
            speaking = []
        tables = {}
        for partition in speaking:
            count = rng.choice((0, 1, *[rows // partitions] * 6))
            batch = [tuples.make(number) for _ in range(count)]
            # The first tuples of a stream set the scale; later ones may be from the far future.
            if max_ahead is not None and any(t.num_rows for m in made for t in m.tables.values()):
                batch += [tuples.from_far_future(number)] if rng.random() < 0.3 else []
            tables[partition] = pa.Table.from_pylist(batch, schema=SCHEMA)
        passes_s = IDLE_AFTER_S + 1 if idle else 1.0
        made.append(Step(0.0 if number > 0 and pace.random() < 0.4 else passes_s, tables))
    made.append(_flush(tuples, partitions, steps))
    began = pace.choice((EPOCH, START + dt.timedelta(days=1)))
    return Workload(seed, partitions, lateness_s, max_ahead, tuple(made), began)


def _flush(tuples: _Tuples, partitions: int, steps: int) -> Step:
    """Every partition moves on far enough to close every window; these tuples' own stay open."""
    late = {"time": START + dt.timedelta(seconds=10 * steps + 600)}
    return Step(
        1.0,
        {
            p: pa.Table.from_pylist([tuples.make(steps) | late], schema=SCHEMA)
            for p in range(partitions)
        },
    )


class _Tuples:
    """Makes tuples whose event time advances ten seconds a step."""

    def __init__(self, rng: random.Random, wide: random.Random) -> None:
        self.rng, self.wide = rng, wide
        self.grid_ms = rng.choice((1000, 500, 250, 1))
        self.disorder_s = rng.choice((0.0, 2.0, 6.0))
        self.nulls = rng.choice((0.02, 0.1, 0.25))
        self.number = 0

    def make(self, step: int) -> Row:
        rng = self.rng
        self.number += 1
        row: Row = {
            "id": self.number,
            "k": KEYS[min(int(rng.expovariate(0.7)), len(KEYS) - 1)],
            "i": rng.randint(-20, 40),
            "b": rng.choice((rng.randint(-9, 9), rng.randint(-(2**45), 2**45))),
            # Multiples of 1/64: their sums are exact whatever the order of addition.
            "x": rng.randint(-6400, 12800) / 64,
            "d": Decimal(rng.randint(-99999, 99999)).scaleb(-2),
            "s": rng.choice(WORDS),
            "f": rng.random() < 0.6,
            "day": dt.date(2020, 1, 1) + dt.timedelta(days=rng.randint(-400, 400)),
            "ts": START
            + dt.timedelta(minutes=rng.randint(-3000, 3000), milliseconds=rng.choice((0, 7))),
            "time": self._time(step),
        }
        for name in row:
            share = self.nulls if name not in ("id", "time") else 0.01
            if rng.random() < share:
                row[name] = None
        few = (None, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
        return row | dict(zip(WIDE, self.wide.choices(few, k=len(WIDE)), strict=True))

    def from_far_future(self, step: int) -> Row:
        """A tuple of a machine whose clock is wrong."""
        return self.make(step) | {"time": START + dt.timedelta(days=400)}

    def _time(self, step: int) -> dt.datetime:
        rng = self.rng
        seconds = 10.0 * step + rng.uniform(0.0, 10.0)
        if self.disorder_s:
            seconds -= rng.expovariate(1.0 / self.disorder_s)
        if rng.random() < 0.03:
            seconds -= rng.uniform(10.0, 60.0)
        ms = int(seconds * 1000) // self.grid_ms * self.grid_ms
        return START + dt.timedelta(milliseconds=ms)
