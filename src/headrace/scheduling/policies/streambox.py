"""StreamBox (Miao et al.): the earliest deadline, and then until its watermark is through."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.snapshot import Snapshot


@dataclass(frozen=True)
class StreamBox:
    """Stays with a pipeline until a watermark is processed, then goes to the next deadline.

    It looks at deadlines alone: neither at what is queued, nor at when the watermark will come.
    """

    name = "streambox"
    gated = True

    def order(self, snapshot: Snapshot) -> Order:
        """Those in progress first, then by the end of their next window."""
        waiting = sorted(
            snapshot.pipelines,
            key=lambda p: (not p.in_progress, p.deadline_s, p.waits_since_s),
        )
        turns = [
            Turn(p.name, "until its watermark is through" if p.in_progress else "next deadline")
            for p in waiting
        ]
        return Order(tuple(turns), snapshot.memory)
