"""Decisions written down, so that they can be read, kept, and made again.

A record holds the snapshot, not only the outcome: whoever has it can ask the same policy again, or
another one, what it would have done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headrace.progress.sweep import SweepEstimate
from headrace.scheduling.order import Turn
from headrace.scheduling.snapshot import Memory, PipelineView, Snapshot, Stage, SweepView


@dataclass(frozen=True, slots=True)
class Decision:
    """Who was let in, out of which snapshot, and the order of all who waited."""

    policy: str
    snapshot: Snapshot
    patience_s: float
    room: int
    turns: tuple[Turn, ...]
    started: tuple[str, ...]

    @property
    def ready(self) -> tuple[Turn, ...]:
        """Those that might run, in order."""
        return tuple(turn for turn in self.turns if not turn.held)

    @property
    def at_s(self) -> float:
        """When."""
        return self.snapshot.now_s

    def to_json(self) -> dict[str, Any]:
        """As a record."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Decision:
        """Back from a record."""
        seen = value["snapshot"]
        return cls(
            value["policy"],
            Snapshot(
                seen["now_s"],
                seen["cycle_s"],
                tuple(_view(p) for p in seen["pipelines"]),
                Memory(**seen["memory"]),
                seen["asleep_until_s"],
            ),
            value["patience_s"],
            value["room"],
            tuple(Turn(**t) for t in value["turns"]),
            tuple(value["started"]),
        )


def _view(value: Mapping[str, Any]) -> PipelineView:
    given = dict(value)
    given["stages"] = tuple(Stage(**s) for s in value["stages"])
    given["sweeps"] = tuple(
        SweepView(SweepEstimate(**s["estimate"]), s["arrived_at_s"]) for s in value["sweeps"]
    )
    return PipelineView(**given)
