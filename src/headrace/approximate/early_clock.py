"""Wakes a pipeline before a window of an approximate query ends, and keeps batches off it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headrace.types import BEGINNING, Clock

_LONGEST_HOLD_S = 0.3
"""A batch does not wait for longer than this."""
_LEAD_US = 4_000
"""So long before its end a window is looked at, so that no answer waits for that."""
_LOOK_AGAIN_S = 1.0
_PATIENCE_S = 0.5
"""What is done at the end of a window takes no longer than this, or batches go on."""


class EarlyClock:
    """Of one pipeline: a thread that sleeps from one end of a window to the next."""

    def __init__(
        self,
        clock: Clock,
        next_end_us: Callable[[int], int | None],
        close_windows: Callable[[int], None],
    ) -> None:
        self._clock = clock
        self._next_end_us = next_end_us
        self._close_windows = close_windows
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._next_us: int | None = None
        self._done_us = BEGINNING

    def look(self) -> None:
        """Queries came or went."""
        with self._changed:
            if self._thread is None and self._next_end_us(self._now_us) is not None:
                self._thread = threading.Thread(
                    target=self._run, name="headrace-early", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def hold(self, batch_s: float) -> None:
        """Before a batch that takes so long: wait, if a window ends before it would be over."""
        with self._changed:
            end_us = self._next_us
            if self._thread is None or end_us is None:
                return
            left_s = end_us / 1e6 - self._clock.now()
            if 0.0 < left_s < min(batch_s, _LONGEST_HOLD_S):
                self._changed.wait_for(
                    lambda: self._closed or self._done_us >= end_us, left_s + _PATIENCE_S
                )

    def close(self) -> None:
        """No more windows are closed. Does not wait for one that is: it may wait for a lock."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def _now_us(self) -> int:
        return int(self._clock.now() * 1e6)

    def _run(self) -> None:
        while self._sleep():
            assert self._next_us is not None
            self._close_windows(self._next_us)
            with self._changed:
                self._done_us = self._next_us
                self._changed.notify_all()

    def _sleep(self) -> bool:
        """Until a moment before the next end; False when there is no more to wait for."""
        with self._changed:
            self._next_us = self._next_end_us(max(self._now_us, self._done_us))
            while not self._closed:
                if self._next_us is not None and self._now_us >= self._next_us - _LEAD_US:
                    return True
                left_s = _LOOK_AGAIN_S
                if self._next_us is not None:
                    left_s = min(left_s, (self._next_us - _LEAD_US) / 1e6 - self._clock.now())
                self._changed.wait(max(left_s, 1e-3))
                if self._next_us is None or self._now_us < self._next_us:
                    self._next_us = self._next_end_us(max(self._now_us, self._done_us))
            return False
