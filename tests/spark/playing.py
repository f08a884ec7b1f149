"""Streams whose tuples are under way for a while, played through in steps of the clock."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.spark.query import QueryMetrics
from headrace.spark.sinks import SinkFunction
from tests.spark.by_hand import move_by_hand
from tests.spark.helpers import DAY

LATENESS_S = 2.0
SCHEMA = pa.schema([("k", pa.string()), ("v", pa.float64()), ("time", pa.timestamp("us", "UTC"))])
GROUPS = np.array(["ash", "birch", "tiny"])


@dataclass(frozen=True)
class Events:
    """What happens, and when it comes."""

    time_s: np.ndarray
    came_s: np.ndarray
    group: np.ndarray
    value: np.ndarray

    @classmethod
    def drawn(cls, seed: int, rate: int, seconds: float) -> Events:
        """Evenly over time, with delays of 240 ms on average; the third group is tiny."""
        rng = np.random.default_rng(seed)
        count = int(rate * seconds)
        time_s = np.sort(rng.uniform(0.0, seconds, count))
        delay_s = np.minimum(rng.exponential(0.24, count), LATENESS_S - 0.1)
        group = rng.choice(3, count, p=[0.6, 0.396, 0.004])
        return cls(time_s, time_s + delay_s, group, rng.gamma(4.0, 2.5, count))

    def where(self, chosen: np.ndarray) -> Events:
        """Some of them."""
        return Events(
            self.time_s[chosen], self.came_s[chosen], self.group[chosen], self.value[chosen]
        )

    def table(self, chosen: np.ndarray) -> pa.Table:
        """Some of them as tuples of the stream."""
        micros = int(DAY.timestamp()) * 1_000_000 + (self.time_s[chosen] * 1e6).astype(np.int64)
        stamps = pa.array(micros).view(pa.timestamp("us", "UTC"))
        groups = pa.array(GROUPS[self.group[chosen]])
        return pa.table([groups, self.value[chosen], stamps], schema=SCHEMA)

    def of_window(self, start_s: float, window_s: float) -> np.ndarray:
        """Values of one window."""
        return self.value[(self.time_s >= start_s) & (self.time_s < start_s + window_s)]


@dataclass
class Heard:
    """Rows of one query, each with the time it came."""

    rows: list[tuple[float, dict[str, Any]]] = field(default_factory=list)

    def early(self) -> list[tuple[float, dict[str, Any]]]:
        """Those that are not exact."""
        return [(t, r) for t, r in self.rows if not r["exact"]]


@dataclass
class Played:
    """A stream that was played through, and what its queries gave."""

    events: Events
    heard: dict[str, Heard]
    statuses: dict[str, tuple[str, str | None]]
    metrics: dict[str, QueryMetrics]
    explained: str


def play(
    spark: SparkSession,
    events: Events,
    questions: Mapping[str, str],
    *,
    seconds: float,
    step_s: float,
    files: Path | None = None,
) -> Played:
    """All that comes in so many seconds and the lateness after; through `files`, where a folder is
    given, that Spark reads as a stream. Windows are answered by the batch after their end, never
    between two of them: whether that happens would depend on the machine."""
    clock, heard = hr.testing.ManualClock(DAY), {name: Heard() for name in questions}
    memory = hr.testing.MemoryStream(SCHEMA)
    with pytest.MonkeyPatch.context() as patch, hr.Session(spark, clock=clock) as session:
        move_by_hand(patch)
        source: Any = memory
        if files is not None:
            source = spark.readStream.schema("k string, v double, time timestamp").parquet(
                str(files)
            )
        session.stream("s", source, event_time="time", lateness=f"{LATENESS_S:g} seconds")

        def listen(name: str) -> SinkFunction:
            def deliver(table: pa.Table) -> None:
                now_s = clock.now() - DAY.timestamp()
                heard[name].rows += [(now_s, row) for row in table.to_pylist()]

            return deliver

        queries = {n: session.sql(t, name=n, sink=listen(n)) for n, t in questions.items()}
        session.start()
        done = np.zeros(len(events.time_s), bool)
        for step in range(int((seconds + LATENESS_S) / step_s)):
            clock.advance(step_s)
            fresh = (events.came_s <= clock.now() - DAY.timestamp()) & ~done
            done |= fresh
            if files is None:
                memory.push(events.table(fresh))
            else:
                pq.write_table(events.table(fresh), files / f"{step:06d}.parquet")
            session.process_all_available()
        explained = session.explain()
        statuses = {n: (q.status, q.error) for n, q in queries.items()}
        metrics = {n: q.metrics() for n, q in queries.items()}
    return Played(events, heard, statuses, metrics, explained)


def start_s(row: dict[str, Any]) -> float:
    """When the window of a row begins."""
    start: dt.datetime = row["start"]
    return (start - DAY).total_seconds()
