"""Random tuples for the kernels, as an Arrow table and as plain rows; cells as dictionaries."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.cells import Cells
from headrace.kernels.columns import Ints
from headrace.kernels.finish import finish
from headrace.kernels.states import State
from headrace.query.logical import AggregateCall, Function
from headrace.query.needs import need_of
from headrace.query.plan import ROWS, Partial

from .aggregation import call_of

SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("x", pa.int64()),
        ("word", pa.string()),
        ("p", pa.int32()),
        ("q", pa.float64()),
    ]
)
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Events:
    """The same tuples twice. A row's event time is under ``time``."""

    table: pa.Table
    times: Ints
    rows: list[Row]


def random_events(rng: random.Random, rows: int, *, low: int = 0, high: int = 60) -> Events:
    """Few keys and small numbers, so that everything collides; every column may be null."""
    nulls = rng.choice([0.0, 0.2])

    def maybe(value: Any) -> Any:
        return None if rng.random() < nulls else value

    made = [
        {
            "k": maybe(rng.choice("abc")),
            "x": maybe(rng.choice([1, 2, 3, -7, 2**40])),
            "word": maybe(rng.choice(["ant", "bee", "cat"])),
            "p": maybe(rng.randrange(10)),
            "q": maybe(rng.choice([-1.0, 0.0, 0.5, 2.0])),
            "time": rng.randint(low, high),
        }
        for _ in range(rows)
    ]
    return events_of(made)


def events_of(made: list[Row]) -> Events:
    table = pa.table({n: [r[n] for r in made] for n in SCHEMA.names}, schema=SCHEMA)
    return Events(table, np.array([r["time"] for r in made], dtype=np.int64), made)


def count_of_rows() -> AggregateCall:
    return AggregateCall(Function.COUNT, None, "bigint")


CALLS = (
    count_of_rows(),
    call_of(Function.COUNT, "bigint"),
    call_of(Function.SUM, "bigint"),
    call_of(Function.MIN, "bigint"),
    call_of(Function.MAX, "bigint"),
)
"""What dense blocks can carry."""
MORE_CALLS = (
    *CALLS,
    call_of(Function.VAR_POP, "double"),
    call_of(Function.FIRST, "bigint"),
    call_of(Function.LAST, "bigint", ignore_nulls=True),
)


def partials_of(calls: tuple[AggregateCall, ...]) -> tuple[Partial, ...]:
    found = [need_of(c).partial for c in calls]
    return tuple(dict.fromkeys([ROWS, *(p for p in found if p is not None)]))


def finished(
    calls: tuple[AggregateCall, ...], states: tuple[State, ...], rows: Ints
) -> list[tuple[Any, ...]]:
    """One tuple of final values per cell."""
    by_partial = {s.partial: s for s in states}
    columns = []
    for call in calls:
        partial = need_of(call).partial
        assert partial is not None
        done = finish(call, by_partial[partial], rows, time_zone="UTC", ansi=True)
        columns.append(done.to_pylist())
    return list(zip(*columns, strict=True))


def listed(cells: Cells, calls: tuple[AggregateCall, ...]) -> dict[tuple[Any, ...], Any]:
    """Cells that hold tuples, by slice start, column and key."""
    cells = cells.sparse()
    keys = [tuple(row.values()) for row in cells.keys.to_pylist()]
    values = finished(calls, cells.states, cells.rows)
    return {
        (int(cells.slices[s]), c, keys[k]): (n, v)
        for s, c, k, n, v in zip(
            *(part.tolist() for part in cells.coordinates), cells.rows.tolist(), values, strict=True
        )
    }
