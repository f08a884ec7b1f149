"""`Accuracy`: the error a query accepts, how sure it wants to be, and what happens otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Fallback = Literal["exact", "best_effort", "error"]
Closing = Literal["aion", "aq-k-slack", "k-slack", "lateness"]
FALLBACKS: tuple[str, ...] = get_args(Fallback)
CLOSINGS: tuple[str, ...] = get_args(Closing)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The contract of an approximate query.

    An answer is off by no more than ``error`` (a share of it) with probability ``confidence``.
    Where that cannot be said of a row before the stragglers have come, the row waits for them
    (``exact``), comes and says so (``best_effort``), or the query fails (``error``).
    """

    error: float
    confidence: float = 0.95
    fallback: Fallback = "exact"
    refine: bool = False
    """The exact row follows when the stragglers have come."""
    sample: bool = False
    """Only as many tuples are kept as the error needs."""
    closing: Closing | None = None
    """How its windows are closed; None leaves it to the stream."""

    def __post_init__(self) -> None:
        if not 0.0 < self.error < 1.0:
            raise ValueError(f"error lies between 0 and 1, not at {self.error:g}")
        if not 0.5 <= self.confidence < 1.0:
            raise ValueError(f"confidence lies between 0.5 and 1, not at {self.confidence:g}")
        if self.sample and (self.fallback == "exact" or self.refine):
            what = "refine => true" if self.refine else "fallback => 'exact'"
            raise ValueError(f"of a sample there is nothing exact to come: {what} needs all tuples")

    def __str__(self) -> str:
        words = [f"{self.error:.3g} at {self.confidence:.3g}", f"else {self.fallback}"]
        words += ["sampled"] if self.sample else []
        words += ["refined"] if self.refine else []
        return ", ".join([*words, *([self.closing] if self.closing else [])])
