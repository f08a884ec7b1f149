"""The scheduler: snapshots in, decisions out. The gate on Spark and the simulator both run this.

All it remembers from one decision to the next is whether memory mode is on.
"""

from __future__ import annotations

from headrace.scheduling.decision import Decision
from headrace.scheduling.patience import PATIENCE_S, with_patience
from headrace.scheduling.policies import Policy
from headrace.scheduling.snapshot import Memory, PipelineView, Snapshot

CYCLE_S = 0.12
"""r of the paper: how long a decision holds, at most."""


class Scheduler:
    """One policy, its starvation bound, and its memory mode."""

    def __init__(
        self, policy: Policy, *, patience_s: float = PATIENCE_S, cycle_s: float = CYCLE_S
    ) -> None:
        self.policy = policy
        self.patience_s = patience_s
        self.cycle_s = cycle_s
        self._mode = Memory()

    @property
    def memory_mode(self) -> bool:
        """Whether the policy frees memory first."""
        return self._mode.entered_at_s is not None

    def decide(
        self,
        now_s: float,
        waiting: tuple[PipelineView, ...],
        used: Memory,
        room: int,
        asleep_until_s: float = float("inf"),
    ) -> Decision:
        """Order those who wait, and let in as many of them as there is room for.

        Others may be held and left out: the first of them is due at `asleep_until_s`.
        """
        mode = self._mode
        memory = Memory(used.used, used.bound, mode.entered_at_s, mode.used_at_entry)
        snapshot = Snapshot(now_s, self.cycle_s, waiting, memory, asleep_until_s)
        order = with_patience(self.policy.order(snapshot), snapshot, self.patience_s)
        self._mode = order.memory
        started = tuple(turn.name for turn in order.ready[:room])
        return Decision(self.policy.name, snapshot, self.patience_s, room, order.turns, started)
