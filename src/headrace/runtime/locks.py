"""Locks that are taken in one order only, so that no two threads can wait for each other.

A thread that holds one lock may take another only if it comes later in this list:

    session   who is declared and listed            (spark/session.py)
    pipeline  the turn to move one pipeline on      (spark/pipeline/runner.py)
    query     what a caller sees of one query       (spark/query.py)

Locks that call nobody while they are held (plans, deliveries, readers, the gate) come after these
and are ordinary ones. The order is checked where `CHECKED` is set, as it is in tests.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Literal

from headrace.errors import InternalError

Rank = Literal["session", "pipeline", "query"]
_ORDER: tuple[Rank, ...] = ("session", "pipeline", "query")

CHECKED = False
"""Whether a lock taken out of order raises InternalError."""

_held = threading.local()


class OrderedLock:
    """A lock that knows its place. A thread cannot take it twice."""

    def __init__(self, rank: Rank) -> None:
        self._lock = threading.Lock()
        self._rank = rank
        self._place = _ORDER.index(rank)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As a lock does; one that would not wait may be tried in any order."""
        if CHECKED and blocking:
            for other in self._mine():
                if other._place >= self._place:
                    raise InternalError(f"lock {self._rank!r} is asked for under {other._rank!r}")
        taken = self._lock.acquire(blocking, timeout)
        if taken:
            self._mine().append(self)
        return taken

    def release(self) -> None:
        """As a lock does."""
        self._mine().remove(self)
        self._lock.release()

    @staticmethod
    def _mine() -> list[OrderedLock]:
        if not hasattr(_held, "locks"):
            _held.locks = []
        locks: list[OrderedLock] = _held.locks
        return locks

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()
