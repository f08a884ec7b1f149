"""Highest Rate (Sharaf et al.): the path that turns processor time into output fastest."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.scheduling.order import Order, Turn
from headrace.scheduling.snapshot import PipelineView, Snapshot


@dataclass(frozen=True)
class HighestRate:
    """By output per second of work: selectivity of the path over its cost."""

    name = "highest-rate"
    gated = True

    def order(self, snapshot: Snapshot) -> Order:
        """Paths of equal rate take turns, as those of equal queries would otherwise starve."""
        rated = [(_rate(p), p) for p in snapshot.pipelines]
        rated.sort(key=lambda item: (-item[0], item[1].last_turn_s, item[1].waits_since_s))
        turns = [Turn(p.name, f"yields {rate:,.3g} rows per second of work") for rate, p in rated]
        return Order(tuple(turns), snapshot.memory)


def _rate(pipeline: PipelineView) -> float:
    path = pipeline.path_s
    if path <= 0.0:
        return float("inf")
    # Three digits: learned costs differ in the last ones, and that must not starve anybody.
    return float(f"{pipeline.selectivity / path:.2e}")
