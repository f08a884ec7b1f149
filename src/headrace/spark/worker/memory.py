"""How a worker process keeps its memory from task to task.

A task of ours works on arrays of megabytes that live for milliseconds. By default the C library
asks the system for each of them and gives it back, and the system clears every page anew: a third
of the time of an ingest task. And Python looks at all objects after every task, though modules and
plans are here to stay.
"""

from __future__ import annotations

import ctypes
import gc

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Parameters of mallopt(3)."""
_SPARE = 256 << 20
"""Free memory above this goes back to the system."""


def keep_memory() -> None:
    """Called once a process has what it will keep: plans, modules."""
    gc.freeze()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return  # not the GNU C library
    mallopt(_MMAP_THRESHOLD, 1 << 30)
    mallopt(_TRIM_THRESHOLD, _SPARE)
    mallopt(_TOP_PAD, _SPARE // 8)
