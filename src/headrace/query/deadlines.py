"""When the next window of any query ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.query.window import TimeWindow, Window
from headrace.types import BEGINNING


@dataclass(frozen=True)
class Deadlines:
    """Of queries that are answered together.

    A selection or a session window has no deadline that could be told beforehand, so with one of
    them there is none: such queries are always due.
    """

    windows: frozenset[tuple[TimeWindow, int]] = frozenset()
    """Each with the time after which its first window ends."""

    @classmethod
    def of(cls, queries: Iterable[tuple[Window | None, int, bool]]) -> Deadlines:
        """Of queries with this window and effective start, partial first windows or not."""
        found = set()
        for window, since_us, partial_first in queries:
            if not isinstance(window, TimeWindow):
                return cls()
            begins = BEGINNING if partial_first else since_us + window.size_us - 1
            found.add((window, begins))
        return cls(frozenset(found))

    def after(self, emitted_upto_us: int) -> int | None:
        """The first end after what is out; None while nothing is, or where there is no deadline."""
        if emitted_upto_us <= BEGINNING:
            return None
        return min(
            (window.next_end(max(emitted_upto_us, begins)) for window, begins in self.windows),
            default=None,
        )
