"""What a policy decides: who goes first, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headrace.scheduling.snapshot import Memory


@dataclass(frozen=True, slots=True)
class Turn:
    """One pipeline's place in the order."""

    name: str
    reason: str
    slack_s: float | None = None
    stages: int | None = None
    """Run only so many of its stages; None runs it to its end."""
    until_s: float | None = None
    """Take only what had come by then; None takes all."""
    held: bool = False
    """Better not now, even if there is room: it would take more than it brings."""
    held_until_s: float | None = None
    """… but by then at the latest."""


@dataclass(frozen=True, slots=True)
class Order:
    """All who wait, first come first; and the memory mode after this decision."""

    turns: tuple[Turn, ...]
    memory: Memory

    @property
    def ready(self) -> tuple[Turn, ...]:
        """Those that may run now, in order."""
        return tuple(turn for turn in self.turns if not turn.held)

    def first(self, names: tuple[str, ...], reason: str) -> Order:
        """The same order with these before all others, and none of them held."""
        by_name = {turn.name: turn for turn in self.turns}
        ahead = tuple(replace(by_name[n], reason=reason, held=False, stages=None) for n in names)
        rest = tuple(turn for turn in self.turns if turn.name not in names)
        return replace(self, turns=(*ahead, *rest))
