"""`Query`: the handle a caller holds on one running query."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import ExecutionError, QueryError
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.runtime.counters import Counters
from headrace.spark.sinks import Sink
from headrace.types import BEGINNING, QueryUid, Status, to_datetime

if TYPE_CHECKING:
    from headrace.spark.pipeline.runner import Pipeline


_KEPT_WINDOWS = 1000
"""So many windows of an approximate query are known to have come: exact rows may follow."""


@dataclass(frozen=True)
class QueryMetrics(Counters):
    """Counters of one query; readable as attributes and as a mapping."""

    rows: int
    windows: int
    late_tuples: int
    deployment_latency_ms: float | None
    event_time_latency_ms: float | None
    checksum: float
    guaranteed_share: float | None
    """Of the windows of an approximate query: those of which all rows that came are as it asked."""


class Query:
    """One query: its life, its results, its counters. Safe to use from any thread."""

    def __init__(
        self,
        uid: QueryUid,
        name: str,
        logical: LogicalQuery,
        sink: Sink,
        pipeline: Pipeline,
        *,
        partial_first: bool = False,
        requested_at: float | None = None,
    ) -> None:
        self.uid = uid
        self.name = name
        self.logical = logical
        self.sink = sink
        self.partial_first = partial_first
        self.restored = False
        self._pipeline = pipeline
        self._changed = threading.Condition()
        self._status: Status = "pending"
        self._error: str | None = None
        self._since_us: int | None = None
        self._until_us: int | None = None
        self._requested_at = time.monotonic() if requested_at is None else requested_at
        self._deployment_ms: float | None = None
        self._latency_ms: float | None = None
        self._tables: list[tuple[int, Span, pa.Table]] = []
        self._rows = self._windows = self._late = 0
        self._checksum = 0.0
        self._judged: dict[Span, bool] = {}
        self._windows_judged = self._windows_met = 0

    # -- state --------------------------------------------------------------------------------

    @property
    def status(self) -> Status:
        """``pending``, ``active``, ``stopping``, ``stopped`` or ``failed``."""
        return self._status

    @property
    def has_ended(self) -> bool:
        """Whether it is stopped or failed."""
        return self._status in ("stopped", "failed")

    @property
    def error(self) -> str | None:
        """Why it failed, or None."""
        return self._error

    @property
    def effective_start(self) -> dt.datetime | None:
        """First event time it sees (UTC); the beginning of time for one that sees all."""
        return None if self._since_us is None else to_datetime(self._since_us)

    @property
    def effective_end(self) -> dt.datetime | None:
        """Event time from which it no longer sees tuples, once it is stopped."""
        return None if self._until_us is None else to_datetime(self._until_us)

    @property
    def schema(self) -> pa.Schema:
        """Columns of its results."""
        zone = self._pipeline.setting.time_zone
        fields = [pa.field(o.name, arrow_type(o.type, zone)) for o in self.logical.outputs]
        if self.partial_first:
            fields.append(pa.field("partial", pa.bool_()))
        return pa.schema(fields)

    def await_active(self, timeout_s: float | None = None) -> dt.datetime:
        """Wait until it takes part; returns its effective start.

        Raises ExecutionError when it failed or was stopped before, or when time runs out.
        """
        self._pipeline.nudge()
        with self._changed:
            reached = self._changed.wait_for(lambda: self._status != "pending", timeout_s)
        if not reached:
            raise ExecutionError(f"query {self.name!r} is not active after {timeout_s} s")
        if self._status == "failed":
            raise ExecutionError(f"query {self.name!r} failed: {self._error}")
        start = self.effective_start
        assert start is not None
        return start

    def stop(self, wait: bool = True) -> dt.datetime | None:
        """End it at a slice boundary; returns the effective end when waiting.

        Windows that are still open are not emitted, as when a Spark query is stopped.
        """
        with self._changed:
            if self.has_ended:
                return self.effective_end
            self._status = "stopping"
        self._pipeline.request_stop(self)
        if wait:
            with self._changed:
                self._changed.wait_for(lambda: self.has_ended)
        return self.effective_end

    # -- results ------------------------------------------------------------------------------

    def results(self, timeout_s: float | None = None) -> Iterator[pa.Table]:
        """Tables as windows close, one per window, from the first one emitted.

        Ends when the query is over, or when nothing new comes for `timeout_s`.
        """
        self._need_memory("results()")
        at = 0
        while True:
            with self._changed:
                self._changed.wait_for(partial(self._has_more_than, at), timeout_s)
                fresh = self._tables[at:]
            if not fresh:
                return
            at += len(fresh)
            yield from (table for _, _, table in fresh)

    def collect(self) -> pa.Table:
        """Everything emitted so far, as one table."""
        self._need_memory("collect()")
        with self._changed:
            tables = [table for _, _, table in self._tables]
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def metrics(self) -> QueryMetrics:
        """Counters so far."""
        with self._changed:
            return QueryMetrics(
                rows=self._rows,
                windows=self._windows,
                late_tuples=self._late,
                deployment_latency_ms=self._deployment_ms,
                event_time_latency_ms=self._latency_ms,
                checksum=self._checksum,
                guaranteed_share=(
                    self._windows_met / self._windows_judged if self._windows_judged else None
                ),
            )

    def explain(self) -> str:
        """How it is run: its group, classes and lane, in words."""
        return self._pipeline.members.explain_query(self)

    def __repr__(self) -> str:
        return f"<Query {self.name!r} {self._status}>"

    def _has_more_than(self, count: int) -> bool:
        return len(self._tables) > count or self._over

    @property
    def _over(self) -> bool:
        return self.has_ended or self._pipeline.closed

    def _need_memory(self, what: str) -> None:
        if self.sink.kind != "memory":
            raise QueryError(
                f"{what} needs the memory sink; query {self.name!r} writes to {self.sink.kind!r}"
            )

    # -- called by the pipeline ---------------------------------------------------------------

    def activated(self, since_us: int) -> None:
        """It takes part from this event time."""
        with self._changed:
            self._since_us = since_us
            if self._status == "pending":
                self._status = "active"
                self._deployment_ms = (time.monotonic() - self._requested_at) * 1000.0
            self._changed.notify_all()

    def ended(self, until_us: int | None, error: str | None = None) -> None:
        """It is over."""
        with self._changed:
            if self._since_us is None:
                self._since_us = BEGINNING if until_us is None else until_us
            self._until_us = until_us
            self._status = "failed" if error is not None else "stopped"
            self._error = error
            self._changed.notify_all()

    def emitted(self, txn: int, span: Span, table: pa.Table, latency_ms: float | None) -> None:
        """Rows were delivered; replaying a transaction replaces what it delivered before."""
        with self._changed:
            if self.sink.kind == "memory":
                self._tables = [t for t in self._tables if t[:2] != (txn, span)]
                self._tables.append((txn, span, table))
            self._rows += table.num_rows
            self._count_window(span, latency_ms)
            self._changed.notify_all()

    def counted(self, span: Span, rows: int, checksum: float, latency_ms: float | None) -> None:
        """Rows were delivered by the executors."""
        with self._changed:
            self._rows += rows
            self._checksum += checksum
            self._count_window(span, latency_ms)

    def judged(self, span: Span, met: bool) -> None:
        """Rows of an approximate window came, as it asked or not. More may come of it later."""
        with self._changed:
            if span not in self._judged:
                self._windows_judged += 1
                self._windows_met += met
                self._judged[span] = met
                while len(self._judged) > _KEPT_WINDOWS:
                    del self._judged[next(iter(self._judged))]

    def _count_window(self, span: Span, latency_ms: float | None) -> None:
        """A window of an approximate query that was judged already has come before."""
        if span not in self._judged:
            self._windows += 1
            self._latency_ms = latency_ms if latency_ms is not None else self._latency_ms

    def missed(self, tuples: int) -> None:
        """Tuples came too late for at least one of its windows."""
        with self._changed:
            self._late += tuples

    def wake(self) -> None:
        """Let waiting readers look again."""
        with self._changed:
            self._changed.notify_all()
