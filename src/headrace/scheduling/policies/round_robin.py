"""Round-robin: everybody in turn."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.snapshot import Snapshot


@dataclass(frozen=True)
class RoundRobin:
    """Whoever had its turn longest ago is next, which is a cycle over all who have work."""

    name = "round-robin"
    gated = True

    def order(self, snapshot: Snapshot) -> Order:
        """By the last turn."""
        waiting = sorted(snapshot.pipelines, key=lambda p: (p.last_turn_s, p.waits_since_s))
        return Order(tuple(Turn(p.name, "its turn in the round") for p in waiting), snapshot.memory)
