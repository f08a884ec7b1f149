"""A line: the parcels that wait for one query's sink, and the call into it that is under way.

No lock and no thread of its own: `Deliveries` guards it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from headrace.runtime.outbox import Waiting

Deliver = Callable[[pa.Table, int], object]
"""Takes the rows of one window and the transaction that made them."""


@dataclass(eq=False, slots=True)
class Line:
    """Parcels of one query in order; the first one stays in it until the sink took it."""

    uid: int
    name: str
    deliver: Deliver
    queue: deque[Waiting] = field(default_factory=deque)
    rows: int = 0
    bytes: int = 0
    last_txn: int = -1
    """The last transaction that had rows for it, also while it fails."""
    over: bool = False
    """Failed or removed: whatever its thread still does counts for nothing."""
    worker: int | None = None
    """The thread that hands its rows over or tells of its failure."""
    _calling: bool = False
    _seen_s: float | None = None

    def put(self, waiting: Waiting) -> bool:
        """One more parcel; False when it is over and takes none."""
        self.last_txn = waiting.txn
        if self.over:
            return False
        self.queue.append(waiting)
        self.rows += waiting.rows
        self.bytes += waiting.length
        return True

    def begin_call(self) -> bool:
        """The first parcel is handed to the sink now; False when it is over."""
        self._calling, self._seen_s = not self.over, None
        return self._calling

    def end_call(self) -> bool:
        """The sink took the first parcel; whether it was the last of its transaction."""
        self._calling = False
        taken = self.queue.popleft()
        self.rows -= taken.rows
        self.bytes -= taken.length
        return not self.queue or self.queue[0].txn != taken.txn

    def trouble(self, now_s: float, timeout_s: float, limit_bytes: int) -> str | None:
        """What is wrong with the sink at a look at it, if anything.

        A call is timed from the first look at it. The oldest transaction that waits does not count
        as lag, however large it is: handing it over may be all that the sink does.
        """
        if self._calling:
            self._seen_s = now_s if self._seen_s is None else self._seen_s
            if now_s - self._seen_s >= timeout_s:
                return f"its sink did not return within {timeout_s:g} s"
        if self.bytes > limit_bytes:
            first = self.queue[0].txn
            if sum(w.length for w in self.queue if w.txn != first) > limit_bytes:
                return f"its sink is slower than the stream: {self.bytes / 1e6:.1f} MB wait"
        return None

    def end(self) -> int:
        """Nothing waits any more, and nothing will; returns how many rows did."""
        rows, self.rows, self.bytes = self.rows, 0, 0
        self.over = True
        self.queue.clear()
        return rows
