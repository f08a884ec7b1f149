"""Puts the rows of a firing together and hands them to the queries' sinks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.query.window import Span
from headrace.spark.messages import Message
from headrace.spark.query import Query
from headrace.spark.task_sinks import span_of
from headrace.types import Clock

log = logging.getLogger("headrace")


class Emitter:
    """Delivers the messages of one transaction; remembers which queries failed and why."""

    def __init__(
        self, spark: SparkSession, queries: Mapping[int, Query], txn: int, clock: Clock
    ) -> None:
        self._spark = spark
        self._queries = queries
        self._txn = txn
        self._clock = clock
        self.failed: dict[int, str] = {}
        self.staged: dict[int, list[str]] = {}
        self.held_from_us: int | None = None
        self.fired_sessions = False
        self._compacted: list[dict[str, Any]] = []
        self.late: list[pa.Table] = []
        self.rows = 0
        self._tables: dict[tuple[int, Span], list[pa.Table]] = {}

    def take(self, messages: list[Message], end_us: int) -> None:
        """Sort the messages of a job."""
        for message in messages:
            match message.kind:
                case "rows":
                    table = message.rows
                    self._tables.setdefault((message.uid, span_of(table)), []).append(table)
                case "written":
                    self._written(message, end_us)
                case "staged":
                    self.staged.setdefault(message.uid, []).append(message.value["file"])
                case "failed":
                    self.failed.setdefault(message.uid, str(message.value))
                case "compacted":
                    self._compacted.append(message.value)
                case "late":
                    self.late.append(message.rows)
                case "held":
                    first = int(message.value)
                    old = self.held_from_us
                    self.held_from_us = first if old is None else min(old, first)

    def begin_firing(self, *, sessions: bool) -> None:
        """What the last firing said about open sessions no longer holds."""
        self.fired_sessions, self.held_from_us = sessions, None

    def take_compacted(self) -> list[dict[str, Any]]:
        """Which sections were replaced since the last call."""
        compacted, self._compacted = self._compacted, []
        return compacted

    def deliver(self) -> None:
        """Hand rows over, window by window in the order of their ends."""
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
        self._tables.clear()

    def _written(self, message: Message, end_us: int) -> None:
        value = message.value
        if message.uid >= 0:
            value = {str(message.uid): [value["rows"], 0.0]}
        latency = self._latency_ms(end_us)
        for uid, (rows, checksum) in value.items():
            self.rows += rows
            query = self._queries.get(int(uid))
            if query is not None:
                query.counted(rows, checksum, latency)

    def _latency_ms(self, end_us: int) -> float | None:
        """How long after its window's end a result is out; None when event time is not now."""
        latency = self._clock.now() * 1000.0 - end_us / 1000.0
        return latency if 0.0 <= latency < 86_400_000.0 else None
