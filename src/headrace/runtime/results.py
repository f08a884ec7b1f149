"""The results of a query with the memory sink: a bounded log, and the iterator that reads it."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import pyarrow as pa

from headrace.errors import QueryError
from headrace.query.window import Span

_WORTH_COPYING = 4096
"""A table that keeps fewer bytes than this alive besides its own is kept as it is."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a log keeps: rows, bytes and seconds. Its newest entry stays in any case."""

    rows: int = 1_000_000
    bytes: int = 64 * 2**20
    age_s: float = 86_400.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if not getattr(self, name) > 0:
                raise QueryError(f"the limit {name} of kept results must be above 0")


@dataclass(frozen=True, slots=True)
class Entry:
    """Rows of one window, as they came."""

    txn: int
    span: Span
    table: pa.Table
    at_s: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Count:
    """So many windows with so many rows.

    As a cursor it stands before the entry of that number, counted from the first ever appended;
    `Count()` is the beginning.
    """

    windows: int = 0
    rows: int = 0

    def plus(self, entry: Entry) -> Count:
        """With one more entry."""
        return Count(self.windows + 1, self.rows + entry.table.num_rows)

    def until(self, other: Count) -> Count:
        """What lies between this and a later one; nothing if the other is not later."""
        if other.windows <= self.windows:
            return Count()
        return Count(other.windows - self.windows, other.rows - self.rows)


class Budget:
    """Bytes that all logs of a session may keep together. Safe to use from any thread."""

    def __init__(self, bytes: int) -> None:
        if bytes <= 0:
            raise QueryError("the budget of kept results must be above 0")
        self.bytes = bytes
        self._used = 0
        self._lock = threading.Lock()

    @property
    def used(self) -> int:
        """Bytes that logs keep now."""
        return self._used

    @property
    def exceeded(self) -> bool:
        """Whether logs keep more than they may."""
        return self._used > self.bytes

    def take(self, count: int) -> None:
        """Note bytes that a log keeps; a negative count gives them back."""
        with self._lock:
            self._used += count


class ResultsLog:
    """The last results of one query, oldest first. Its owner's lock guards it.

    When a limit is passed the oldest entries fall out; an append that exceeds the shared budget
    costs the appending log its own oldest entries, never another log's. The newest entry always
    stays, so logs with one entry each can exceed a budget together.

    An append costs O(1) amortised. Bytes are those of whole buffers, for these are what an entry
    keeps alive. A slice that would keep more than twice its own bytes alive is copied, once: many
    windows are cut from one table, and each would otherwise count, and keep, all of it.
    """

    def __init__(self, limits: Limits, budget: Budget | None = None) -> None:
        self._limits = limits
        self._budget = budget
        self._entries: deque[Entry] = deque()
        self._dropped = Count()
        self._end = Count()
        self._bytes = 0

    @property
    def rows(self) -> int:
        """Rows that are kept."""
        return self._end.rows - self._dropped.rows

    @property
    def bytes(self) -> int:
        """Bytes that are kept."""
        return self._bytes

    @property
    def dropped_rows(self) -> int:
        """Rows that fell out so far."""
        return self._dropped.rows

    @property
    def dropped_windows(self) -> int:
        """Entries that fell out so far."""
        return self._dropped.windows

    def __len__(self) -> int:
        return len(self._entries)

    def append(self, txn: int, span: Span, table: pa.Table, now_s: float) -> None:
        """Keep rows of one window; what is too much or too old falls out."""
        table = _compact(table)
        entry = Entry(txn, span, table, now_s, table.get_total_buffer_size())
        self._entries.append(entry)
        self._end = self._end.plus(entry)
        self._count(entry.bytes)
        self.expire(now_s)

    def expire(self, now_s: float) -> None:
        """Let entries fall out that are too old, or too much."""
        while len(self._entries) > 1 and self._exceeds(now_s):
            self._drop_oldest()

    def clear(self) -> None:
        """Let everything fall out, the newest entry too: nobody may read it any more."""
        while self._entries:
            self._drop_oldest()

    def leave(self) -> None:
        """Count no longer for the budget: only its reader keeps it alive from now on."""
        if self._budget is not None:
            self._budget.take(-self._bytes)
            self._budget = None

    def has_after(self, cursor: Count) -> bool:
        """Whether an entry at or after a cursor is kept."""
        return bool(self._entries) and self._end.windows > cursor.windows

    def since(self, cursor: Count) -> tuple[tuple[Entry, ...], Count, Count]:
        """The entries from a cursor on, the cursor behind them, and what fell out before them.

        Costs as much as there are entries to give.
        """
        fresh = min(self._end.windows - cursor.windows, len(self._entries))
        newest_first = islice(reversed(self._entries), max(fresh, 0))
        return tuple(newest_first)[::-1], self._end, cursor.until(self._dropped)

    def next(self, cursor: Count) -> tuple[Entry | None, Count, Count]:
        """The one entry at a cursor or the oldest after it, as `since` tells it; None at the end.

        A reader that takes one at a time keeps nothing alive that has fallen out.
        """
        missed = cursor.until(self._dropped)
        at = self._dropped if missed.windows else cursor
        index = at.windows - self._dropped.windows
        if index >= len(self._entries):
            return None, at, missed
        entry = self._entries[index]
        return entry, at.plus(entry), missed

    def tables(self) -> list[pa.Table]:
        """The tables that are kept, oldest first."""
        return [e.table for e in self._entries]

    def _exceeds(self, now_s: float) -> bool:
        limits = self._limits
        return (
            self.rows > limits.rows
            or self._bytes > limits.bytes
            or now_s - self._entries[0].at_s > limits.age_s
            or (self._budget is not None and self._budget.exceeded)
        )

    def _drop_oldest(self) -> None:
        entry = self._entries.popleft()
        self._dropped = self._dropped.plus(entry)
        self._count(-entry.bytes)

    def _count(self, bytes: int) -> None:
        self._bytes += bytes
        if self._budget is not None:
            self._budget.take(bytes)


class Results(Iterator[pa.Table]):
    """Tables of a query, one per window, from the first one that is still kept.

    Waits for more on the condition that guards the log; whoever appends, or makes `over` true,
    notifies it. Ends for good when the query is over and all is read, or when nothing new comes
    for `timeout_s`.
    """

    def __init__(
        self,
        log: ResultsLog,
        changed: threading.Condition,
        over: Callable[[], bool],
        timeout_s: float | None = None,
    ) -> None:
        self._log = log
        self._changed = changed
        self._over = over
        self._timeout_s = timeout_s
        self._cursor = Count()
        self._dropped = Count()
        self._ended = False

    @property
    def dropped(self) -> Count:
        """Windows and rows that fell out before they were read here."""
        return self._dropped

    def __next__(self) -> pa.Table:
        with self._changed:
            if not self._ended:
                self._changed.wait_for(self._has_news, self._timeout_s)
                entry, self._cursor, missed = self._log.next(self._cursor)
                windows, rows = self._dropped.windows, self._dropped.rows
                self._dropped = Count(windows + missed.windows, rows + missed.rows)
                if entry is not None:
                    return entry.table
                self._ended = True
        raise StopIteration

    def _has_news(self) -> bool:
        return self._log.has_after(self._cursor) or self._over()


def _compact(table: pa.Table) -> pa.Table:
    """The table, or a copy if it keeps much more alive than its own rows."""
    own: int = table.nbytes
    if table.get_total_buffer_size() <= 2 * own + _WORTH_COPYING:
        return table
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()
