"""No gate at all: every pipeline runs when it likes, and Spark shares out its cores."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.snapshot import Snapshot


@dataclass(frozen=True)
class Default:
    """Lets everybody in, in the order they asked."""

    name = "default"
    gated = False

    def order(self, snapshot: Snapshot) -> Order:
        """As they came."""
        waiting = sorted(snapshot.pipelines, key=lambda p: p.waits_since_s)
        return Order(tuple(Turn(p.name, "no gate") for p in waiting), snapshot.memory)
