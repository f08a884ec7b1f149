"""Queries as their pipelines know them; and the sides of joins, which feed a query elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from headrace.connectors.sinks import MemorySink, Sink
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.runtime.entries import QueryRecord, SinkRecord
from headrace.types import BEGINNING, QueryUid


class Handle(Protocol):
    """A query as its pipeline knows it."""

    uid: QueryUid
    name: str
    sink: Sink

    @property
    def has_ended(self) -> bool:
        """Whether it is stopped or failed."""
        ...

    def activated(self, since_us: int) -> None:
        """It takes part from this event time."""
        ...

    def ended(self, until_us: int | None, error: str | None = None) -> None:
        """It is over."""
        ...

    def emitted(
        self, txn: int, span: Span, table: pa.Table, latency_ms: float | None, now_s: float
    ) -> None:
        """Rows are there to be read."""
        ...

    def counted(self, span: Span, rows: int, checksum: float, latency_ms: float | None) -> None:
        """Rows were delivered elsewhere."""
        ...

    def judged(self, span: Span, met: bool) -> None:
        """Rows of an approximate window came, as it asked or not."""
        ...

    def missed(self, tuples: int) -> None:
        """Tuples came too late for at least one of its windows."""
        ...

    def expire(self, now_s: float) -> None:
        """Let go of results that are too old to be kept."""
        ...


class Feed:
    """One side of a join, in the pipeline of its stream. Tells whoever runs the join when it
    begins, when it ends, and what came too late for it."""

    def __init__(self, uid: int, name: str, logical: LogicalQuery, side: int) -> None:
        self.uid = QueryUid(uid)
        self.name = name
        self.logical = logical
        self.side = side
        self.sink: Sink = MemorySink()
        self.since_us: int | None = None
        self.has_ended = False
        self.on_begun: Callable[[], object] = lambda: None
        self.on_ended: Callable[[str | None], object] = lambda _: None
        self.on_missed: Callable[[int], object] = lambda _: None

    def record(self) -> QueryRecord:
        """As the journal of its stream keeps it."""
        sink = SinkRecord(self.sink.kind)
        text = self.logical.text
        return QueryRecord(int(self.uid), self.name, text, sink, False, BEGINNING, self.side)

    def activated(self, since_us: int) -> None:
        """It takes part from this event time."""
        self.since_us = since_us
        self.on_begun()

    def ended(self, until_us: int | None, error: str | None = None) -> None:
        """It is over; with an error, its join cannot go on."""
        self.has_ended = True
        self.on_ended(error)

    def missed(self, tuples: int) -> None:
        """Tuples came too late for at least one of its windows."""
        self.on_missed(tuples)

    def emitted(
        self, txn: int, span: Span, table: pa.Table, latency_ms: float | None, now_s: float
    ) -> None:
        """It has no rows of its own, ..."""

    def counted(self, span: Span, rows: int, checksum: float, latency_ms: float | None) -> None:
        """... nor any that were delivered elsewhere, ..."""

    def judged(self, span: Span, met: bool) -> None:
        """... nor approximate ones, ..."""

    def expire(self, now_s: float) -> None:
        """... and so none to let go of."""
