"""The active queries of a pipeline, by version: who takes part, and at which bit position.

A position is a bit in a query-set. Positions of deleted queries are reused, lowest first, and all
are numbered anew when more than half of them stand empty (AStream, section 4.2.1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from headrace.errors import InternalError
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.types import BEGINNING, FOREVER, QueryUid, Version

NONE = Version(0)


@dataclass(frozen=True, slots=True)
class ActiveQuery:
    """A query that takes part: where its bit is and which event time it sees."""

    uid: QueryUid
    name: str
    position: int
    logical: LogicalQuery
    since_us: int = BEGINNING
    until_us: int = FOREVER
    partial_first: bool = False

    @property
    def life(self) -> Span:
        """Event time it sees."""
        return self.since_us, self.until_us


@dataclass(frozen=True, slots=True)
class Registry:
    """One version of the set of active queries."""

    version: Version = NONE
    """The number of the changelog that led here; 0 before the first."""
    active: Mapping[QueryUid, ActiveQuery] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Bits in a query-set."""
        return max((q.position + 1 for q in self.active.values()), default=0)

    def changed(
        self,
        created: Iterable[ActiveQuery],
        deleted: Iterable[QueryUid],
        version: Version | None = None,
    ) -> Registry:
        """The next version; whoever is created gets a free position, whatever it says.

        Raises InternalError where a deleted query is not active.
        """
        active = dict(self.active)
        for uid in deleted:
            if active.pop(uid, None) is None:
                raise InternalError(f"query uid {uid} is not active")
        used = {q.position for q in active.values()}
        free = (p for p in count() if p not in used)
        for query in created:
            active[query.uid] = replace(query, position=next(free))
        if 2 * len(active) < max((q.position + 1 for q in active.values()), default=0):
            ordered = sorted(active.values(), key=lambda q: q.position)
            moved = {q.uid: n for n, q in enumerate(ordered)}
            active = {u: replace(q, position=moved[u]) for u, q in active.items()}
        return Registry(Version(self.version + 1) if version is None else version, active)
