"""The queries of a session by name: who was asked for, who runs, who has ended, who came back."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from headrace.connectors.sinks import Sink
from headrace.errors import QueryError
from headrace.query.logical import LogicalQuery
from headrace.query.sides import sides_of
from headrace.runtime.counters import Delivered
from headrace.runtime.entries import EndRecord, QueryRecord
from headrace.runtime.results import Budget
from headrace.spark.pipeline.handles import Feed
from headrace.spark.pipeline.keeper import Keeper
from headrace.spark.pipeline.runner import Remade, Remake
from headrace.spark.query import Query
from headrace.types import QueryUid

_KEPT_BYTES = 1 << 30
"""Results that all queries of a session with the memory sink keep together."""
_KEPT_ENDED = 1000
"""So many queries that have ended stay listed."""

Read = Callable[[QueryRecord], tuple[LogicalQuery, Sink]]
"""Reads the text of a query of the checkpoint again, and finds its sink."""


class Roster:
    """Changed by whoever holds the session's lock."""

    def __init__(self, first_uid: int, time_zone: str) -> None:
        self._time_zone = time_zone
        self._uids = itertools.count(first_uid)
        self._queries: dict[str, Query] = {}
        self._asked: list[Query] = []
        self._restored: set[str] = set()
        self._budget = Budget(_KEPT_BYTES)
        self.forgotten = Delivered()
        """What those gave that are no longer listed."""

    @property
    def queries(self) -> tuple[Query, ...]:
        """Oldest first."""
        return tuple(sorted(self._queries.values(), key=lambda query: query.uid))

    def free_name(self) -> str:
        """A name that no query has."""
        numbers = (f"query_{n}" for n in itertools.count(1))
        taken = set(self._queries)
        return next(n for n in numbers if n not in taken)

    # -- asking ---------------------------------------------------------------------------------

    def claimed(self, name: str, logical: LogicalQuery, sink: Sink) -> Query | None:
        """The query that the checkpoint brought back and that is asked for again, if it is one.
        Raises QueryError for a name that a running query has."""
        known = self._queries.get(name)
        if known is None or known.has_ended:
            return None
        if name in self._restored and _is_same(known, logical, sink):
            if sink.options != known.sink.options:
                raise QueryError(
                    f"query {name!r} came back from the checkpoint and runs with other options of "
                    f"its sink: {dict(known.sink.options)}",
                    choices=("those", "or ask for it before session.start()"),
                )
            self._restored.discard(name)
            return known
        raise QueryError(
            f"there is an active query named {known.name!r} already",
            choices=("stop it first", "or choose another name"),
        )

    def admit(
        self,
        name: str,
        logical: LogicalQuery,
        sink: Sink,
        *,
        partial_first: bool,
        requested_at: float,
    ) -> Query:
        """A new query, in the place of one of its name that has ended."""
        uid = next(self._uids)
        for _ in logical.join.sides if logical.join is not None else ():
            next(self._uids)  # sides have numbers of their own
        query = Query(
            QueryUid(uid),
            name,
            logical,
            sink,
            time_zone=self._time_zone,
            partial_first=partial_first,
            requested_at=requested_at,
            budget=self._budget,
        )
        ended = [q for q in self._queries.values() if q.has_ended]
        for old in ended[: max(len(ended) - _KEPT_ENDED, 0)]:
            self._forget(old)
        if name in self._queries:
            self._forget(self._queries[name])
        self._queries[name] = query
        return query

    def _list(self, query: Query, *, has_ended: bool) -> None:
        """By its name, unless one that still runs, or that came after it, has the name: streams
        are restored one after the other, and each knows of names that another has since."""
        other = self._queries.get(query.name)
        if other is None or (not has_ended, query.uid) > (not other.has_ended, other.uid):
            self._queries[query.name] = query

    def _forget(self, query: Query) -> None:
        """No longer list a query that has ended; whoever holds its handle may go on using it."""
        metrics = query.metrics()
        self.forgotten = self.forgotten.plus(metrics.rows, metrics.windows)
        del self._queries[query.name]
        query.forgotten()

    # -- before the start, and at it --------------------------------------------------------------

    def wait(self, query: Query) -> None:
        """It takes part from the start on."""
        self._asked.append(query)

    @property
    def asked(self) -> tuple[Query, ...]:
        """Those that wait for the start; the last one of each name."""
        return tuple({q.name: q for q in self._asked}.values())

    def started(self) -> tuple[Query, ...]:
        """Nobody waits any more: those that are new are told."""
        new = [q for q in self.asked if q.name not in self._restored and not q.has_ended]
        self._asked.clear()
        return tuple(new)

    def remake(self, pipeline: Keeper, read: Read) -> Remake:
        """Makes handles for the queries of a checkpoint, or finds those that were asked for."""
        asked = {q.name: q for q in self._asked}

        def remake(record: QueryRecord, ended: EndRecord | None) -> Remade:
            logical, sink = read(record)
            if record.side is not None:
                side = sides_of(logical)[record.side]
                feed = Feed(record.uid, record.name, side, record.side)
                return Remade(side, feed, feed.sink)
            query = asked.get(record.name)
            if query is None or ended is not None:
                query = Query(
                    QueryUid(record.uid),
                    record.name,
                    logical,
                    sink,
                    time_zone=self._time_zone,
                    partial_first=record.partial_first,
                    budget=self._budget,
                )
                if record.name not in asked:
                    self._list(query, has_ended=ended is not None)
            elif not _is_same(query, logical, sink):
                raise QueryError(
                    f"the checkpoint runs another query named {record.name!r}, with sink "
                    f"{record.sink.kind!r}: {record.text}",
                    choices=("ask for it as it is and stop it", "or choose another name"),
                )
            query.attached(pipeline)
            if ended is not None:
                query.activated(record.since_us)
                query.ended(ended.until_us, ended.error)
                return Remade(logical, query, sink)
            query.uid = QueryUid(record.uid)
            self._restored.add(query.name)
            return Remade(logical, query, sink)

        return remake


def _is_same(known: Query, logical: LogicalQuery, sink: Sink) -> bool:
    """Whether a query of the checkpoint is the one that is asked for."""
    return known.logical.text == logical.text and known.sink.kind == sink.kind
