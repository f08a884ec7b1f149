"""`Query`: the handle a caller holds on one running query."""

from __future__ import annotations

import datetime as dt
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from headrace.connectors.sinks import Sink
from headrace.errors import ExecutionError, QueryError
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.runtime.counters import Counters
from headrace.runtime.entries import QueryRecord
from headrace.runtime.locks import OrderedLock
from headrace.runtime.results import Budget, Limits, Results, ResultsLog
from headrace.spark.arguments import check_timeout
from headrace.spark.sinks import recorded
from headrace.types import BEGINNING, QueryUid, Status, duration_us, to_datetime

if TYPE_CHECKING:
    from headrace.spark.pipeline.keeper import Keeper


_KEPT_WINDOWS = 1000
"""So many windows of an approximate query are known to have come: exact rows may follow."""


@dataclass(frozen=True)
class QueryMetrics(Counters):
    """Counters of one query; readable as attributes and as a mapping.

    ``rows`` and ``windows`` were given to its sink; of the memory sink, ``rows_dropped`` and
    ``windows_dropped`` fell out of what is kept since. ``rows_waiting`` are committed, and its sink
    has not taken them yet. ``late_tuples`` came too late for at least one of its windows.
    ``deployment_latency_ms`` is from `Session.sql` to active, ``event_time_latency_ms`` from the
    end of its last window to the delivery (None where event time is not today's). ``checksum`` is
    the digest sink's. ``guaranteed_share``, for approximate queries, is the share of windows whose
    rows all met the error.
    """

    rows: int
    windows: int
    late_tuples: int
    deployment_latency_ms: float | None
    event_time_latency_ms: float | None
    checksum: float
    guaranteed_share: float | None
    rows_dropped: int = 0
    windows_dropped: int = 0
    rows_waiting: int = 0


class Query:
    """The handle of one query, made by `Session.sql`: its life, its results, its counters.

    ``name`` is its name, unique among running queries. Safe to use from any thread.
    """

    def __init__(
        self,
        uid: QueryUid,
        name: str,
        logical: LogicalQuery,
        sink: Sink,
        *,
        time_zone: str = "UTC",
        partial_first: bool = False,
        requested_at: float | None = None,
        budget: Budget | None = None,
    ) -> None:
        self.uid = uid
        self.name = name
        self.logical = logical
        self.sink = sink
        self.partial_first = partial_first
        self._time_zone = time_zone
        self._pipeline: Keeper | None = None
        """None where the session is not started."""
        self._ends: Literal["", "over", "resumes"] = ""
        """Once the session is closed: whether another one may go on with it."""
        self._changed = threading.Condition(OrderedLock("query"))  # type: ignore[arg-type]
        self._status: Status = "pending"
        self._error: str | None = None
        self._since_us: int | None = None
        self._until_us: int | None = None
        self._requested_at = time.monotonic() if requested_at is None else requested_at
        self._deployment_ms: float | None = None
        self._latency_ms: float | None = None
        self._log = ResultsLog(limits_of(sink), budget) if sink.place == "log" else None
        self._rows = self._windows = self._late = 0
        self._checksum = 0.0
        self._judged: dict[Span, None] = {}
        self._counted: dict[Span, None] = {}
        """The last windows of an approximate query that were judged, and that were counted."""
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
        """The first event time it sees (UTC), or None while it is pending. For a query that sees
        its stream from the beginning it lies before every tuple."""
        return None if self._since_us is None else to_datetime(self._since_us)

    @property
    def effective_end(self) -> dt.datetime | None:
        """The event time before which all its windows are out and from which it sees no tuples
        (UTC); None until it is stopped."""
        return None if self._until_us is None else to_datetime(self._until_us)

    @property
    def schema(self) -> pa.Schema:
        """Names and Arrow types of the columns of its results."""
        outputs, zone = self.logical.outputs, self._time_zone
        fields = [pa.field(o.name, arrow_type(o.type, zone)) for o in outputs]
        if self.partial_first:
            fields.append(pa.field("partial", pa.bool_()))
        return pa.schema(fields)

    def await_active(self, timeout_s: float | None = None) -> dt.datetime:
        """Wait until it is active; returns its effective start.

        Raises ExecutionError when it has failed or was stopped before, when the session is closed,
        or when it is not active after ``timeout_s`` seconds (default: wait for ever).
        """
        check_timeout(timeout_s)
        if self._pipeline is not None:
            self._pipeline.nudge()
        with self._changed:
            self._changed.wait_for(lambda: self._status != "pending" or self._ends, timeout_s)
            start, status = self.effective_start, self._status
        if status == "failed":
            raise ExecutionError(f"query {self.name!r} failed: {self._error}")
        if start is not None:
            return start
        if status == "stopped":
            raise ExecutionError(f"query {self.name!r} was stopped before it took part")
        if self._ends:
            raise ExecutionError(f"query {self.name!r}: the session was closed before it took part")
        raise ExecutionError(f"query {self.name!r} is not active after {timeout_s} s")

    def stop(self, wait: bool = True) -> dt.datetime | None:
        """End it at the watermark (a selection: after the newest tuple); returns the effective end.

        Every window before that end has been emitted. Windows that are still open are not, as when
        a Spark query is stopped. With ``wait=False`` it returns at once, with None if the query
        has not ended yet. A query that has ended, or has not begun because the session is not
        started, ends at once: the effective end is None where it never took part. Raises
        ExecutionError when the session is closed and its checkpoint goes on with the query.
        """
        with self._changed:
            if self.has_ended:
                return self.effective_end
            if self._ends:
                raise ExecutionError(
                    f"query {self.name!r} cannot be stopped: the session is closed, and its "
                    "checkpoint goes on with it; start a session there and stop it then"
                )
            if self._pipeline is None:
                self._status = "stopped"
                self._changed.notify_all()
                return None
            self._status = "stopping"
        self._pipeline.request_stop(self)
        if wait:
            with self._changed:
                self._changed.wait_for(lambda: self.has_ended or self._ends)
        return self.effective_end

    # -- results ------------------------------------------------------------------------------

    def results(self, timeout_s: float | None = None) -> Results:
        """Result tables as windows close, one per window, from the first one that is still kept.

        A selection gives one table per micro-batch. Waits for the next table; ends when the query
        or its session has ended, or when nothing new comes for ``timeout_s`` seconds (default:
        wait for ever). Every call begins with the first table. How much is kept, the options
        ``rows``, ``bytes`` and ``age`` of the memory sink say; ``dropped`` of what is returned
        tells how many windows and rows fell out before they were read. Needs the memory sink, else
        raises QueryError.
        """
        check_timeout(timeout_s)
        return Results(self._kept("results()"), self._changed, self._is_over, timeout_s)

    def collect(self) -> pa.Table:
        """Everything emitted so far that is still kept, as one table. Does not wait; needs the
        memory sink."""
        kept = self._kept("collect()")
        with self._changed:
            tables = kept.tables()
        return pa.concat_tables(tables) if tables else self.schema.empty_table()

    def metrics(self) -> QueryMetrics:
        """Its counters so far; does not wait for a batch."""
        waiting = 0 if self._pipeline is None else self._pipeline.rows_waiting(self.uid)
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
                rows_dropped=0 if self._log is None else self._log.dropped_rows,
                windows_dropped=0 if self._log is None else self._log.dropped_windows,
                rows_waiting=waiting,
            )

    def explain(self) -> str:
        """A text for people: who reads and reduces its tuples, and with which queries it shares."""
        if self._pipeline is None:
            return f"query {self.name!r}: {self._status}; the session is not started"
        return self._pipeline.explain_query(self)

    def __repr__(self) -> str:
        return f"<Query {self.name!r} {self._status}>"

    def _is_over(self) -> bool:
        return self.has_ended or bool(self._ends)

    def _kept(self, what: str) -> ResultsLog:
        if self._log is None:
            raise QueryError(
                f"{what} needs the memory sink; query {self.name!r} writes to {self.sink.kind!r}"
            )
        return self._log

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
            if self.has_ended:
                return
            self._until_us = until_us
            self._status = "failed" if error is not None else "stopped"
            self._error = error
            self._changed.notify_all()

    def emitted(
        self, txn: int, span: Span, table: pa.Table, latency_ms: float | None, now_s: float
    ) -> None:
        """Rows are there to be read."""
        assert self._log is not None
        with self._changed:
            self._log.append(txn, span, table, now_s)
            self._rows += table.num_rows
            self._count_window(span, latency_ms)
            self._changed.notify_all()

    def counted(self, span: Span, rows: int, checksum: float, latency_ms: float | None) -> None:
        """Rows were delivered elsewhere."""
        with self._changed:
            self._rows += rows
            self._checksum += checksum
            self._count_window(span, latency_ms)

    def judged(self, span: Span, met: bool) -> None:
        """Rows of an approximate window came, as it asked or not. More may come of it later."""
        with self._changed:
            if _is_new(span, self._judged):
                self._windows_judged += 1
                self._windows_met += met

    def _count_window(self, span: Span, latency_ms: float | None) -> None:
        """Of an approximate query a window may come twice, early and exact: it counts once."""
        if self.logical.accuracy is None or _is_new(span, self._counted):
            self._windows += 1
            self._latency_ms = latency_ms if latency_ms is not None else self._latency_ms

    def missed(self, tuples: int) -> None:
        """Tuples came too late for at least one of its windows."""
        with self._changed:
            self._late += tuples

    def expire(self, now_s: float) -> None:
        """Let go of results that are too old to be kept."""
        if self._log is not None:
            with self._changed:
                self._log.expire(now_s)

    def forgotten(self) -> None:
        """The session lists it no longer; whoever holds it may go on reading."""
        if self._log is not None:
            with self._changed:
                self._log.leave()

    def attached(self, pipeline: Keeper) -> None:
        """From now on this pipeline answers for it."""
        with self._changed:
            self._pipeline = pipeline

    def closed(self, *, resumes: bool) -> None:
        """The session is closed; another one may go on with it, or nobody."""
        with self._changed:
            self._ends = "resumes" if resumes else "over"
            if not resumes and not self.has_ended:
                self._status = "stopped"
            self._changed.notify_all()

    def record(self) -> QueryRecord:
        """As the journal keeps it."""
        sink = recorded(self.sink)
        return QueryRecord(
            int(self.uid), self.name, self.logical.text, sink, self.partial_first, BEGINNING
        )


def _is_new(span: Span, known: dict[Span, None]) -> bool:
    """Whether a window is not among those known; then it is from now on, and the oldest is not."""
    if span in known:
        return False
    known[span] = None
    while len(known) > _KEPT_WINDOWS:
        del known[next(iter(known))]
    return True


def limits_of(sink: Sink) -> Limits:
    """How much of its results a query keeps; raises QueryError for what is no number."""
    given = dict(sink.options)
    usual = Limits()
    try:
        return Limits(
            int(given.get("rows", usual.rows)),
            int(given.get("bytes", usual.bytes)),
            duration_us(given["age"]) / 1e6 if "age" in given else usual.age_s,
        )
    except ValueError as error:
        raise QueryError(
            f"the memory sink keeps a number of rows and bytes: {error}",
            choices=("options={'rows': 1000000, 'bytes': 67108864, 'age': '1 day'}",),
        ) from error
