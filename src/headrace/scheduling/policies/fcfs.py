"""First come, first served: whoever has the oldest event waiting."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.snapshot import Snapshot


@dataclass(frozen=True)
class Fcfs:
    """Events are processed in the order in which they arrived."""

    name = "fcfs"
    gated = True

    def order(self, snapshot: Snapshot) -> Order:
        """By the arrival of the oldest event."""
        waiting = sorted(snapshot.pipelines, key=lambda p: (p.oldest_s, p.waits_since_s))
        turns = [
            Turn(p.name, f"its oldest event waits for {snapshot.now_s - p.oldest_s:.2f} s")
            for p in waiting
        ]
        return Order(tuple(turns), snapshot.memory)
