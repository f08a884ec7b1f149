"""The tuples every text is asked about: two streams with the awkward values of every type."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

PLAIN, ODD, DOTS = "t", "odd", "dots"
"""`t` has ordinary names; `odd` has a column named `window`, which hides `window.start`; `dots` has
names with a dot and with a backtick."""

LATENESS = "5 seconds"
LATE = dt.timedelta(seconds=4)
"""Some tuples come a batch late, by less than the lateness."""
SEED = 20240331

COLUMNS: dict[str, pa.DataType] = {
    "k": pa.string(),
    "s": pa.string(),
    "tiny": pa.int8(),
    "small": pa.int16(),
    "i": pa.int32(),
    "b": pa.int64(),
    "f": pa.float32(),
    "x": pa.float64(),
    "v": pa.float64(),
    "d": pa.decimal128(10, 2),
    "w": pa.decimal128(38, 18),
    "ok": pa.bool_(),
    "day": pa.date32(),
    "ts": pa.timestamp("us", "UTC"),
    "ntz": pa.timestamp("us"),
    "bin": pa.binary(),
    "arr": pa.list_(pa.int32()),
    "tags": pa.map_(pa.string(), pa.int32()),
    "st": pa.struct([("a", pa.int32()), ("b", pa.string())]),
    "time": pa.timestamp("us", "UTC"),
}

NAMES: dict[str, dict[str, str]] = {
    PLAIN: {name: name for name in COLUMNS},
    ODD: {
        "k": "window",
        "s": "session_window",
        "small": "select",
        "b": "order",
        "v": "my col",
        "d": "Größe",
        "ok": "MixedCase",
        "st": "st",
        "i": "_k0",
        "tiny": "_a0",
        "time": "time",
    },
    DOTS: {"k": "a`b", "i": "a.b", "st": "a", "v": "v", "time": "time"},
}
"""Columns of each stream: those of `t`, some under names that a text has to spell with care."""

_DAY = dt.timedelta(days=1)
# Before 1970; the two nights in which Berlin's clocks change, at 01:00 UTC; the turn of a year.
_MOMENTS = tuple(
    dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    for text in (
        "1955-11-05 06:00:00",
        "1970-01-01 00:00:00",
        "2024-03-31 01:00:00",
        "2024-10-27 01:00:00",
        "2025-01-01 00:00:00",
    )
)
_STEPS_US = (
    -20_000_000, -10_000_000, -10_000_000, -7_500_000, -5_000_001, -997_000, -1_000_000, -1,
    0, 0, 1, 997_000, 1_994_000, 2_500_000, 5_000_000, 9_999_999, 10_000_000, 10_000_001,
    31_000_000, 59_999_999, 60_000_000, 61_500_000, 3_599_999_999, 3_600_000_000,
)  # fmt: skip

_STRINGS = (
    "", "a", "A", "b", "Ab", "banana", "BANANA", "12", "-7", " 12 ", "1e3", "NaN", "true", "x y",
    "2024-03-31", "2024-10-27 02:30:00", "50%", "a_b", "a\\b", "it's", 'say "hi"', "é", "e\u0301",
    "ÄHRE", "ähre", "straße", "STRASSE", "İstanbul", "日本", "🦉", "tab\there", "line\nbreak",
    "nul\x00in", "x" * 3000, "ab  ",
)  # fmt: skip
_DOUBLES = (
    0.0, -0.0, 1.5, -2.25, 100.0, 1e300, -1e300, 5e-324, 1.7976931348623157e308,
    float("nan"), float("inf"), float("-inf"), 9007199254740993.0, 0.1,
)  # fmt: skip
_FLOATS = (0.0, -0.0, 0.5, -1.25, 16777217.0, 3.4028234663852886e38, 1e-45, float("nan"),
           float("inf"), float("-inf"), 0.1)  # fmt: skip
_DAYS = (
    dt.date(1, 1, 1), dt.date(1582, 10, 15), dt.date(1969, 12, 31), dt.date(1970, 1, 1),
    dt.date(2024, 2, 29), dt.date(2024, 3, 31), dt.date(2024, 10, 27), dt.date(9999, 12, 31),
)  # fmt: skip
_TIMES = tuple(
    dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)
    for text in (
        "0001-01-02 00:00:00", "1582-10-15 00:00:00", "1893-03-31 23:06:32", "1969-12-31 23:59:59",
        "1970-01-01 00:00:00", "2024-03-31 00:59:59.999999", "2024-03-31 01:00:00",
        "2024-03-31 01:00:00.000001", "2024-10-26 23:30:00", "2024-10-27 00:30:00",
        "2024-10-27 01:30:00", "2024-10-27 01:30:00.000001", "9999-12-31 12:59:59.999999",
    )
)  # fmt: skip


def stream_rows(stream: str) -> list[pa.Table]:
    """The batches of a stream, oldest first; within a batch tuples come in no order."""
    rng = random.Random(SEED)
    made = [_batch(rng, number, moment) for number, moment in enumerate(_MOMENTS)]
    batches = [made[0] + made[1] + made[2], made[3] + made[4]]
    for earlier, later in itertools.pairwise(batches):
        late = [r for r in earlier if r["time"] is not None and r["time"].second == 59]
        straggler = [r for r in late if r["time"] > max(x["time"] for x in late) - LATE]
        for row in straggler:
            earlier.remove(row)
            later.append(row)
    return [_table(rows, stream) for rows in batches]


def closing_row(stream: str) -> pa.Table:
    """A tuple so late that every window before it closes; it is no part of any comparison."""
    row = dict.fromkeys(COLUMNS) | {"time": _MOMENTS[-1] + 1000 * _DAY}
    return _table([row], stream)


def schema_of(stream: str) -> pa.Schema:
    """Columns of a stream."""
    return pa.schema([(new, COLUMNS[old]) for old, new in NAMES[stream].items()])


def _table(rows: Sequence[dict[str, Any]], stream: str) -> pa.Table:
    picked = [{new: row[old] for old, new in NAMES[stream].items()} for row in rows]
    return pa.Table.from_pylist(picked, schema=schema_of(stream))


def _batch(rng: random.Random, number: int, moment: dt.datetime) -> list[dict[str, Any]]:
    """Two tuples for each step away from a moment, one of them with ordinary values."""
    rows = []
    for step in _STEPS_US:
        for odd in (False, True):
            row = _row(rng, odd=odd)
            row["time"] = moment + dt.timedelta(microseconds=step)
            rows.append(row)
    if number == 2:
        rows.append(_row(rng, odd=False) | {"time": None})
    rng.shuffle(rows)
    return rows


def _row(rng: random.Random, *, odd: bool) -> dict[str, Any]:
    at = rng.choice(_TIMES) if odd else _MOMENTS[2] + dt.timedelta(seconds=rng.randint(-9999, 9999))
    row: dict[str, Any] = {
        "k": rng.choice(("a", "b", "c", "B", "")),
        "s": rng.choice(_STRINGS) if odd else rng.choice(("a", "b", "12", "-7")),
        "tiny": rng.choice((-128, 127, 0)) if odd else rng.randint(-9, 9),
        "small": rng.choice((-32768, 32767, 0)) if odd else rng.randint(-99, 99),
        "i": rng.choice((-(2**31), 2**31 - 1, 0)) if odd else rng.randint(-9, 19),
        "b": rng.choice((-(2**63), 2**63 - 1, 2**53 + 1)) if odd else rng.randint(-9, 9),
        "f": rng.choice(_FLOATS) if odd else rng.randint(-64, 64) / 8,
        "x": rng.choice(_DOUBLES) if odd else rng.randint(-640, 640) / 64,
        "v": rng.randint(-6400, 6400) / 64,
        "d": rng.choice((-9999999999, 9999999999, 0)) if odd else rng.randint(-9999, 9999),
        "w": rng.choice((10**38 - 1, 1 - 10**38, 1)) if odd else rng.randint(-9, 9) * 10**18,
        "ok": rng.random() < 0.5,
        "day": rng.choice(_DAYS) if odd else at.date(),
        "ts": at,
        "ntz": at.replace(tzinfo=None),
        "bin": rng.choice((b"", b"a", b"\x00\xff", b"\x80")),
        "arr": rng.choice(([], [1], [1, 2, 3], [None, 2], [7, -7, 7])),
        "tags": rng.choice(({}, {"a": 1}, {"a": 1, "b": None}, {"": 3})),
        "st": rng.choice(({"a": 1, "b": "x"}, {"a": None, "b": "y"}, {"a": 2, "b": None})),
    }
    # Text, because arithmetic would round to the 28 digits of Python's context.
    row |= {"d": Decimal(f"{row['d']}E-2"), "w": Decimal(f"{row['w']}E-18")}
    row["tags"] = list(row["tags"].items())
    for name in row:
        if rng.random() < (0.15 if odd else 0.05):
            row[name] = None
    return row
