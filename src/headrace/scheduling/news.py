"""What one instance tells the next: when the windows of a query will be out (section 4).

An instance that reads another one's results cannot see the delays before it, and its own watermark
moves in leaps, a window at a time. With the news it knows when the next leap is due.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headrace.progress.sweep import SweepEstimate


@dataclass(frozen=True, slots=True)
class News:
    """Of one windowed query."""

    next_end_s: float
    """End of its next window that is not out, in event time."""
    slide_s: float
    out: SweepEstimate
    """When that window will be out, by the clock."""

    def sweep(self, deadline_s: float, lateness_s: float) -> SweepEstimate:
        """When a window of whoever reads the results can be closed: the first window of the query
        must be out that ends at or past its deadline and the lateness. Where that one was out
        before the next one, its time is past: the sweep has come.

        >>> out = SweepEstimate(10.0, 10.5, 0.1, 10.3, 10.7, 400)
        >>> News(10.0, 5.0, out).sweep(18.0, 1.0).mean_s
        20.5
        """
        more = math.ceil((deadline_s + lateness_s - self.next_end_s) / self.slide_s - 1e-9)
        return self.out.moved(more * self.slide_s)

    def to_json(self) -> dict[str, Any]:
        """As a message."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> News:
        """Back from a message."""
        out = SweepEstimate(**value["out"])
        return cls(value["next_end_s"], value["slide_s"], out)
