"""Cut a stream into sub-streams, so that every window of an approximate query is made of them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from headrace.query.logical import LogicalQuery
from headrace.query.window import TimeWindow

USUAL_US = 600_000
"""The length that Aion's authors found best for windows of some seconds."""
_SHORTEST_US = 50_000
_MOST = 20
"""So many sub-streams a window at the most: each is a slice of its own."""
_FEWEST = 3
"""Windows of so many slices need no finer ones."""


def cut_sub_streams(queries: Iterable[LogicalQuery]) -> int | None:
    """The length of sub-streams in microseconds; None where no query is approximate.

    It divides all sizes, slides and offsets, if they have a common measure that is not too short.
    The measure itself is as good as a part of it if it is not twice as long as usual, and free:
    windows are cut there anyway.
    """
    windows = [
        q.window for q in queries if q.accuracy is not None and isinstance(q.window, TimeWindow)
    ]
    if not windows:
        return None
    measure = math.gcd(*(n for w in windows for n in (w.size_us, w.slide_us, w.offset_us)))
    shortest = min(w.size_us for w in windows)
    wanted = max(USUAL_US, shortest // _MOST)
    if wanted <= measure < 2 * wanted and shortest >= _FEWEST * measure:
        return measure
    parts = range(-(-measure // wanted), measure // _SHORTEST_US + 1)
    return next((measure // n for n in parts if measure % n == 0), wanted)
