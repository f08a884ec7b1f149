"""The stream and the queries of the crash test, and what must come out of them."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa

QUERIES = 12
"""So many come, one after the other."""
START = dt.datetime(2024, 5, 1, tzinfo=dt.UTC)
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.int64()), ("time", pa.timestamp("us", "UTC"))])


def tables(seed: int, count: int) -> list[pa.Table]:
    """Tables of 50 tuples, two seconds each, up to three seconds out of order: none is late."""
    rng = random.Random(seed)
    out = []
    for number in range(count):
        rows = []
        for _ in range(50):
            second = number * 2.0 + rng.uniform(0.0, 2.0)
            second = max(second - (rng.uniform(0.0, 3.0) if rng.random() < 0.3 else 0.0), 0.0)
            second = max(second, number * 2.0 - 1.0)
            stamp = START + dt.timedelta(microseconds=int(second * 1e6))
            rows.append({"k": rng.choice("abcd"), "v": rng.randint(0, 99), "time": stamp})
        out.append(pa.Table.from_pylist(rows, schema=SCHEMA))
    return out


def window_of(number: int) -> tuple[int, int]:
    """Size and slide in seconds of query `number`."""
    size = 2 + number % 5
    return size, 1 + number % size


def template(number: int) -> str:
    """The SQL of query `number`."""
    size, slide = window_of(number)
    return (
        f"SELECT window.start AS start, k, SUM(v) AS total, COUNT(*) AS n FROM s "
        f"WHERE v >= {number * 3 % 70} "
        f"GROUP BY window(time, '{size} seconds', '{slide} seconds'), k"
    )


def expected(
    number: int, rows: list[dict[str, object]], life: tuple[dt.datetime, dt.datetime]
) -> dict[tuple[dt.datetime, str], tuple[int, int]]:
    """Every window wholly inside the life, by plain loops."""
    size, slide = window_of(number)
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    out: dict[tuple[dt.datetime, str], list[int]] = {}
    for row in rows:
        value, stamp, key = row["v"], row["time"], row["k"]
        assert isinstance(value, int)
        assert isinstance(stamp, dt.datetime)
        if value < number * 3 % 70:
            continue
        offset = (stamp - epoch).total_seconds()
        first = int(offset // slide) * slide
        for start_s in range(first, int(offset - size) - 1, -slide):
            start = epoch + dt.timedelta(seconds=start_s)
            end = start + dt.timedelta(seconds=size)
            if not start <= stamp < end or start < life[0] or end > life[1]:
                continue
            cell = out.setdefault((start, str(key)), [0, 0])
            cell[0] += value
            cell[1] += 1
    return {place: (total, n) for place, (total, n) in out.items()}
