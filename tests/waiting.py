"""Waiting for a condition. No test judges how long that takes; the guard only ends a hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

GUARD_S = 240.0
"""Longer than anything here takes on a machine that is busy with other things."""


def until(condition: Callable[[], bool], why: Callable[[], object] = lambda: "") -> None:
    """Returns when it holds; `why` says what there is instead when it never does."""
    limit = time.monotonic() + GUARD_S
    while not condition():
        assert time.monotonic() < limit, why()
        threading.Event().wait(0.01)
