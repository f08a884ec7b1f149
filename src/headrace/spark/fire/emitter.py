"""Puts the rows of a firing together and hands them to the queries' sinks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.query.window import Span
from headrace.runtime.messages import Message
from headrace.spark.fire.delivery import span_of
from headrace.spark.query import Query
from headrace.types import Clock

log = logging.getLogger("headrace")


Listener = Callable[[pa.Table], object]
OUTPUTS = pa.schema(
    [
        pa.field("query", pa.string()),
        pa.field("window_start", pa.timestamp("us", "UTC")),
        pa.field("window_end", pa.timestamp("us", "UTC")),
        pa.field("rows", pa.int64()),
        pa.field("checksum", pa.float64()),
        pa.field("event_time", pa.timestamp("us", "UTC")),
    ]
)
"""What listeners are told: one row for each query and window that was delivered."""


@dataclass
class Written:
    """What was delivered for one query and window, over all tasks."""

    rows: int = 0
    checksum: float = 0.0
    event_time_us: int | None = None

    def add(self, rows: int, checksum: float, event_time_us: int | None) -> None:
        """One task's part."""
        self.rows += rows
        self.checksum += checksum
        known = [t for t in (self.event_time_us, event_time_us) if t is not None]
        self.event_time_us = max(known, default=None)


class Emitter:
    """Delivers the messages of one transaction; remembers which queries failed and why."""

    def __init__(
        self,
        spark: SparkSession,
        queries: Mapping[int, Query],
        txn: int,
        clock: Clock,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self._spark = spark
        self._queries = queries
        self._txn = txn
        self._clock = clock
        self._listeners = listeners
        self.failed: dict[int, str] = {}
        self.staged: dict[int, list[str]] = {}
        self.held_from_us: int | None = None
        self.fired_sessions = False
        self._compacted: list[dict[str, Any]] = []
        self.late: list[pa.Table] = []
        self.strengths: dict[int, tuple[float, float]] = {}
        self.answered: list[tuple[str, int]] = []
        self.pending: set[tuple[int, Span]] = set()
        self._met: dict[tuple[int, Span], tuple[int, int]] = {}
        self.rows = 0
        self._tables: dict[tuple[int, Span], list[pa.Table]] = {}
        self._written: dict[tuple[int, Span], Written] = {}

    def take(self, messages: list[Message]) -> None:
        """Sort the messages of a job."""
        for message in messages:
            match message.kind:
                case "rows":
                    table = message.rows
                    self._tables.setdefault((message.uid, span_of(table)), []).append(table)
                case "written":
                    for uid, start, end, *what in message.value:
                        self._written.setdefault((uid, (start, end)), Written()).add(*what)
                case "staged":
                    self.staged.setdefault(message.uid, []).append(message.value["file"])
                case "failed":
                    self.failed.setdefault(message.uid, str(message.value))
                case "compacted":
                    self._compacted.append(message.value)
                case "early":
                    self._take_early(message.value)
                case "late":
                    self.late.append(message.rows)
                case "held":
                    first = int(message.value)
                    old = self.held_from_us
                    self.held_from_us = first if old is None else min(old, first)

    def _take_early(self, value: Mapping[str, Any]) -> None:
        """What a task tells of approximate queries: the weakest of its groups counts."""
        for name, (weaker, middle) in value["strengths"].items():
            known = self.strengths.get(int(name), (weaker, middle))
            self.strengths[int(name)] = min(known[0], weaker), min(known[1], middle)
        self.answered += [(str(name), int(end)) for name, end in value["files"]]
        self.pending |= {(uid, (start, end)) for uid, start, end in value["pending"]}
        for uid, start, end, rows, met in value["met"]:
            known = self._met.get((uid, (start, end)), (0, 0))
            self._met[uid, (start, end)] = known[0] + rows, known[1] + met

    def begin_firing(self, *, sessions: bool) -> None:
        """What the last firing said about open sessions no longer holds."""
        self.fired_sessions, self.held_from_us = sessions, None

    def take_compacted(self) -> list[dict[str, Any]]:
        """Which sections were replaced since the last call."""
        compacted, self._compacted = self._compacted, []
        return compacted

    def deliver(self) -> None:
        """Hand rows over, window by window in the order of their ends."""
        told: dict[tuple[int, Span], Written] = {}
        for (uid, span), parts in sorted(self._tables.items(), key=lambda i: (i[0][1][::-1], i[0])):
            query = self._queries.get(uid)
            if query is None or uid in self.failed:
                continue
            table = pa.concat_tables(parts).replace_schema_metadata(None)
            try:
                query.sink.deliver(self._spark, table, self._txn)
            except Exception as error:
                log.warning("sink of query %r failed", query.name, exc_info=True)
                self.failed[uid] = f"sink {query.sink.kind!r} failed: {error}"
                continue
            self.rows += table.num_rows
            query.emitted(self._txn, span, table, self._latency_ms(span[1]))
            told[uid, span] = Written(table.num_rows)
        for (uid, span), written in self._written.items():
            self.rows += written.rows
            query = self._queries.get(uid)
            if query is not None:
                latency_ms = self._latency_ms(span[1])
                query.counted(span, written.rows, written.checksum, latency_ms)
                told[uid, span] = written
        for (uid, span), (rows, met) in self._met.items():
            query = self._queries.get(uid)
            if query is not None and uid not in self.failed:
                query.judged(span, met == rows)
        self._tables.clear()
        self._written.clear()
        self._met.clear()
        if told and self._listeners:
            self._tell(told)

    def _tell(self, told: Mapping[tuple[int, Span], Written]) -> None:
        """Let listeners know; one that fails hurts nobody."""
        spans = [span if span != (0, 0) else (None, None) for _, span in told]
        columns = [
            [self._queries[uid].name for uid, _ in told],
            [start for start, _ in spans],
            [end for _, end in spans],
            [w.rows for w in told.values()],
            [w.checksum for w in told.values()],
            [w.event_time_us for w in told.values()],
        ]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, OUTPUTS, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=OUTPUTS)
        for listener in self._listeners:
            try:
                listener(table)
            except Exception:
                log.warning("a listener to outputs failed", exc_info=True)

    def _latency_ms(self, end_us: int) -> float | None:
        """How long after its window's end a result is out; None when event time is not now."""
        latency = self._clock.now() * 1000.0 - end_us / 1000.0
        return latency if 0.0 <= latency < 86_400_000.0 else None
