"""Changelog: numbered changes of the active query set, with query-sets over bit positions.

A position is a bit in a query-set. Positions of deleted queries are reused, lowest first, and
`Registry.compact` renumbers the rest when too many stand empty. A changelog-set has a 1 where the
query at that position is unchanged since the version before; results of two versions may meet only
in the positions whose changelog-set between them is 1 (AStream, section 4.2.1).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from headrace.errors import InternalError
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.types import BEGINNING, FOREVER, QueryUid, Version


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
class Changelog:
    """One change: what began, what ended, and which positions stayed as they were."""

    version: Version
    created: tuple[QueryUid, ...]
    deleted: tuple[QueryUid, ...]
    unchanged: int
    """The changelog-set, as the bits of an integer."""


@dataclass(slots=True)
class Registry:
    """Active queries by uid, their positions, and the changelogs that led here."""

    active: dict[QueryUid, ActiveQuery] = field(default_factory=dict)
    changelogs: list[Changelog] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)
    _width: int = 0

    @property
    def version(self) -> Version:
        """The number of the last changelog; 0 before the first."""
        return self.changelogs[-1].version if self.changelogs else Version(0)

    @property
    def width(self) -> int:
        """Bits in a query-set."""
        return self._width

    def apply(
        self,
        created: Iterable[tuple[QueryUid, str, LogicalQuery, int, bool]],
        deleted: Iterable[QueryUid],
        version: Version | None = None,
    ) -> Changelog:
        """Apply one batch of requests as the next version.

        Created queries are (uid, name, query, effective start, partial first).
        """
        gone, come = [], []
        touched = 0
        for uid in deleted:
            query = self.active.pop(uid, None)
            if query is None:
                raise InternalError(f"query uid {uid} is not active")
            gone.append(uid)
            touched |= 1 << query.position
            heapq.heappush(self._free, query.position)
        for uid, name, logical, since, partial_first in created:
            position = heapq.heappop(self._free) if self._free else self._grow()
            self.active[uid] = ActiveQuery(
                uid, name, position, logical, since, partial_first=partial_first
            )
            come.append(uid)
            touched |= 1 << position
        unchanged = ((1 << self._width) - 1) & ~touched
        number = Version(self.version + 1) if version is None else version
        changelog = Changelog(number, tuple(come), tuple(gone), unchanged)
        self.changelogs.append(changelog)
        return changelog

    def _grow(self) -> int:
        self._width += 1
        return self._width - 1

    def compact(self) -> bool:
        """Drop empty positions at the end; renumber when over half of the others stand empty."""
        self._width = max((q.position + 1 for q in self.active.values()), default=0)
        self._free = [p for p in self._free if p < self._width]
        heapq.heapify(self._free)
        if len(self.active) * 2 >= self._width:
            return False
        ordered = sorted(self.active.values(), key=lambda q: q.position)
        for position, query in enumerate(ordered):
            self.active[query.uid] = ActiveQuery(
                query.uid,
                query.name,
                position,
                query.logical,
                query.since_us,
                query.until_us,
                query.partial_first,
            )
        self._width = len(ordered)
        self._free.clear()
        moved = {q.position: n for n, q in enumerate(ordered)}
        self.changelogs[:] = [
            replace(c, unchanged=sum((c.unchanged >> old & 1) << new for old, new in moved.items()))
            for c in self.changelogs
        ]
        return True

    def unchanged_between(self, older: Version, newer: Version) -> int:
        """The changelog-set between two versions: a running AND over the ones in between."""
        bits = (1 << self._width) - 1
        for changelog in self._after(older):
            if changelog.version > newer:
                break
            bits &= changelog.unchanged
        return bits

    def _after(self, version: Version) -> Iterator[Changelog]:
        return (c for c in self.changelogs if c.version > version)

    def forget_before(self, version: Version) -> None:
        """Drop changelogs that no live slice can refer to any more."""
        kept = [c for c in self.changelogs if c.version >= version]
        self.changelogs[:] = kept or self.changelogs[-1:]
