"""The starvation bound: no pipeline waits for ever, whatever the policy."""

from __future__ import annotations

from headrace.scheduling.order import Order
from headrace.scheduling.snapshot import Snapshot

PATIENCE_S = 30.0


def with_patience(order: Order, snapshot: Snapshot, patience_s: float = PATIENCE_S) -> Order:
    """Those who have waited longer go before all others, the longest wait first."""
    waits = {p.name: snapshot.now_s - p.waits_since_s for p in snapshot.pipelines}
    starved = [name for name, wait in waits.items() if wait > patience_s]
    if not starved:
        return order
    starved.sort(key=lambda name: -waits[name])
    return order.first(tuple(starved), f"has waited for more than {patience_s:g} s")
