"""Whoever wants to hear of results: each in a thread of its own, so that none holds up anybody."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable

import pyarrow as pa

from headrace.query.window import Span

log = logging.getLogger("headrace")

Listener = Callable[[pa.Table], object]
OUTPUTS = pa.schema(
    [
        pa.field("query", pa.string()),
        pa.field("window_start", pa.timestamp("us", "UTC")),
        pa.field("window_end", pa.timestamp("us", "UTC")),
        pa.field("rows", pa.int64()),
        pa.field("checksum", pa.float64()),
        pa.field("event_time", pa.timestamp("us", "UTC")),
    ]
)
"""What listeners are told: one row for each query and window that was delivered."""

Output = tuple[str, Span, int, float, int | None]
"""Query, window, rows, checksum and event time."""

_KEPT = 10_000
"""A listener that is so many tables behind misses the oldest."""


class Listeners:
    """All listeners of a session. Telling them never waits and never fails."""

    def __init__(self) -> None:
        self._ears: list[_Ear] = []

    def add(self, listener: Listener) -> None:
        """From now on it hears of everything."""
        self._ears.append(_Ear(listener))

    def tell(self, outputs: Iterable[Output]) -> None:
        """Some results were delivered."""
        if not self._ears:
            return
        told = list(outputs)
        if not told:
            return
        spans = [span if span != (0, 0) else (None, None) for _, span, *_ in told]
        columns = [
            [name for name, *_ in told],
            [start for start, _ in spans],
            [end for _, end in spans],
            *zip(*(rest for _, _, *rest in told), strict=True),
        ]
        arrays = [pa.array(c, f.type) for c, f in zip(columns, OUTPUTS, strict=True)]
        table = pa.Table.from_arrays(arrays, schema=OUTPUTS)
        for ear in self._ears:
            ear.put(table)

    def drain(self, timeout_s: float) -> None:
        """Wait until all have heard what was told so far, or time is out."""
        for ear in self._ears:
            ear.drain(timeout_s)

    def close(self) -> None:
        """Nobody hears any more."""
        for ear in self._ears:
            ear.close()


class _Ear:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._changed = threading.Condition()
        self._waiting: deque[pa.Table] = deque()
        self._thread: threading.Thread | None = None
        self._busy = self._closed = False
        self._missed = 0

    def put(self, table: pa.Table) -> None:
        with self._changed:
            if self._closed:
                return
            self._waiting.append(table)
            if len(self._waiting) > _KEPT:
                self._waiting.popleft()
                self._missed += 1
                if self._missed == 1:
                    log.warning("a listener to outputs is %d tables behind and misses some", _KEPT)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._listen, name="headrace-listener", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def drain(self, timeout_s: float) -> None:
        with self._changed:
            if threading.current_thread() is not self._thread:
                self._changed.wait_for(lambda: not self._waiting and not self._busy, timeout_s)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _listen(self) -> None:
        while True:
            with self._changed:
                self._busy = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                table, self._busy = self._waiting.popleft(), True
            try:
                self._listener(table)
            except BaseException:
                log.warning("a listener to outputs failed", exc_info=True)
