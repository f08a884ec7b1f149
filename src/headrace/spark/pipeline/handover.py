"""Where the rows of a pipeline go once they are committed: to readers, sinks and listeners.

Rows for sinks on the driver are posted to the outbox before the commit, and handed over after it by
threads of their own; rows in memory can be read as soon as they are committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from headrace.connectors.sinks import Sink, is_lost
from headrace.connectors.store import Store
from headrace.query.window import Span
from headrace.runtime import faults
from headrace.runtime.delivery import Deliveries
from headrace.runtime.listeners import Listeners, Output
from headrace.runtime.outbox import Outbox, Parcel
from headrace.runtime.outcome import Outcome
from headrace.runtime.state import PipelineState
from headrace.spark.pipeline.handles import Handle
from headrace.types import Clock

log = logging.getLogger("headrace")

_LATE = 0
"""In the outbox, the stream's own sink for late tuples; queries are numbered from 1."""
_CLOSE_S = 5.0
"""So long a session that closes waits for sinks; what is left is handed over next time."""


@dataclass(frozen=True, slots=True)
class LateSink:
    """Where the late tuples of a stream go, with these columns of it."""

    sink: Sink
    columns: tuple[str, ...]


class HandOver:
    """Of one pipeline. Sinks that fail are told to `on_failed`, by uid and reason."""

    def __init__(
        self,
        name: str,
        late: LateSink | None,
        folder: Store,
        clock: Clock,
        listeners: Listeners,
        on_failed: Callable[[int, str], None],
        timeout_s: float,
        limit_bytes: int,
    ) -> None:
        self._name = name
        self._late_sink = late
        self._clock = clock
        self._listeners = listeners
        self._on_failed = on_failed
        self._timeout_s = timeout_s
        self._outbox = Outbox(folder)
        self._deliveries = Deliveries(
            self._outbox,
            on_delivered=self._delivered,
            on_failed=self._failed,
            timeout_s=timeout_s,
            limit_bytes=limit_bytes,
        )
        self._served: dict[int, Handle] = {}
        """Queries whose rows are handed over here; they may have ended."""
        self._started = False

    # -- queries --------------------------------------------------------------------------------

    def add(self, query: Handle) -> None:
        """A query came; where its sink is on the driver, it is served here."""
        uid = int(query.uid)
        if query.sink.place == "outbox" and not is_lost(query.sink):
            self._served[uid] = query
            if self._started:
                self._deliveries.add(uid, query.name, query.sink.commit)

    def give_up(self, uid: int) -> None:
        """A query has failed: what it was still owed goes."""
        self._deliveries.remove(uid)

    def start(self, state: PipelineState) -> None:
        """Go on with what an earlier run has committed and not handed over."""
        self._started = True
        if self._late_sink is not None:
            self._deliveries.add(_LATE, "late tuples", self._late)
        for uid, query in self._served.items():
            self._deliveries.add(uid, query.name, query.sink.commit)
        self._deliveries.restore(state.txn, state.delivered)

    # -- transactions ---------------------------------------------------------------------------

    def post(self, outcome: Outcome, sinks: Mapping[int, Sink]) -> dict[int, int]:
        """Before the commit: rows for sinks on the driver go to the outbox. Returns, for the commit
        to note, how far each of them has got."""
        parcels = [
            Parcel(uid, span, table)
            for uid, span, table in outcome.emitted.tables()
            if uid in sinks and sinks[uid].place == "outbox" and not is_lost(sinks[uid])
        ]
        if self._late_sink is not None and outcome.emitted.late:
            names = list(self._late_sink.columns)
            late = pa.concat_tables([t.select(names) for t in outcome.emitted.late])
            parcels.append(Parcel(_LATE, (0, 0), late))
        if parcels:
            self._outbox.write(outcome.state.txn, parcels)
        faults.reach("after outbox")
        return self._deliveries.delivered()

    def committed(
        self, outcome: Outcome, queries: Mapping[int, Handle], noted: Mapping[int, int]
    ) -> None:
        """After the commit, which notes how far sinks had got: now the rows count."""
        txn, emitted, told = outcome.state.txn, outcome.emitted, list[Output]()
        self._deliveries.post(txn)
        self._deliveries.noted(noted)
        for uid, span, table in emitted.tables():
            query = queries.get(uid)
            if query is not None and query.sink.place == "log":
                query.emitted(txn, span, table, self._latency_ms(span), self._clock.now())
                told.append((query.name, span, table.num_rows, 0.0, None))
        for part in emitted.delivered():
            query, span = queries.get(part.uid), (part.start_us, part.end_us)
            if query is not None:
                query.counted(span, part.rows, part.checksum, self._latency_ms(span))
                told.append((query.name, span, part.rows, part.checksum, part.event_time_us))
        for uid, span, met in emitted.judged():
            if uid in queries:
                queries[uid].judged(span, met)
        for info in outcome.told:
            for uid, count in info.late.items():
                if uid in queries:
                    queries[uid].missed(count)
        self._listeners.tell(told)

    # -- now and then ---------------------------------------------------------------------------

    def rows_waiting(self, uid: int) -> int:
        """Rows of a query that were committed and not handed over yet."""
        return self._deliveries.waiting(uid)[0]

    def watch(self) -> None:
        """About every second: fail sinks that hang, forget queries that have ended and got all."""
        self._deliveries.watch(time.monotonic())
        for uid, query in list(self._served.items()):
            if query.has_ended and self._deliveries.waiting(uid) == (0, 0):
                self._deliveries.remove(uid)
                del self._served[uid]

    @property
    def is_done(self) -> bool:
        """Whether sinks have got all that was committed."""
        return all(self._deliveries.waiting(uid) == (0, 0) for uid in list(self._served))

    def drain(self) -> None:
        """Wait until sinks and listeners have got all that was committed."""
        self._deliveries.drain()
        self._listeners.drain(self._timeout_s)

    def close(self) -> None:
        """Hand over no more; what is left stays in the outbox."""
        self._deliveries.drain(_CLOSE_S)
        self._deliveries.close()

    # -- inside ---------------------------------------------------------------------------------

    def _late(self, table: pa.Table, txn: int) -> None:
        """Late tuples go to the stream's own sink, at least once; one that fails is logged."""
        assert self._late_sink is not None
        try:
            self._late_sink.sink.commit(table, txn)
        except BaseException:
            log.warning("the sink for late tuples of %r failed", self._name, exc_info=True)

    def _delivered(self, uid: int, txn: int, span: Span, table: pa.Table) -> None:
        query = self._served.get(uid)
        if query is not None:
            query.counted(span, table.num_rows, 0.0, self._latency_ms(span))
            self._listeners.tell([(query.name, span, table.num_rows, 0.0, None)])

    def _failed(self, uid: int, reason: str) -> None:
        if uid == _LATE:
            log.error("stream %r: its sink for late tuples gets no more: %s", self._name, reason)
        else:
            self._on_failed(uid, reason)

    def _latency_ms(self, span: Span) -> float | None:
        """How long after its window's end a result is out; None when event time is not now."""
        latency = self._clock.now() * 1000.0 - span[1] / 1000.0
        return latency if 0.0 <= latency < 86_400_000.0 else None
