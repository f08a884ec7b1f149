"""Watermarks: per partition the highest event time seen, over partitions the lowest.

A partition that stays silent for `idle_after_s` stops holding the watermark back, until it speaks
again. A watermark never moves backwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headrace.types import BEGINNING


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """The highest event time seen in a partition, and when it last spoke (wall clock)."""

    highest_us: int
    heard_at_s: float


@dataclass(frozen=True, slots=True)
class Progress:
    """Event-time progress of one stream."""

    lateness_us: int
    idle_after_s: float
    partitions: Mapping[str, PartitionProgress]
    watermark_us: int = BEGINNING
    highest_us: int = BEGINNING

    @classmethod
    def start(
        cls, lateness_us: int, idle_after_s: float, partitions: tuple[str, ...], now_s: float
    ) -> Progress:
        """Before the first tuple; known partitions hold the watermark until they speak or idle."""
        silent = {p: PartitionProgress(BEGINNING, now_s) for p in partitions}
        return cls(lateness_us, idle_after_s, silent)

    def heard(self, highest_us: Mapping[str, int], now_s: float) -> Progress:
        """After a batch whose partitions reached these event times."""
        partitions = dict(self.partitions)
        for name, time_us in highest_us.items():
            before = partitions.get(name, PartitionProgress(BEGINNING, now_s))
            partitions[name] = PartitionProgress(max(before.highest_us, time_us), now_s)
        highest = max([self.highest_us, *highest_us.values()])
        return replace(self, partitions=partitions, highest_us=highest).at(now_s)

    def at(self, now_s: float) -> Progress:
        """The same progress at a later time: idle partitions no longer hold it back."""
        holding = [
            p.highest_us
            for p in self.partitions.values()
            if now_s - p.heard_at_s < self.idle_after_s
        ]
        if not holding:
            holding = [self.highest_us]
        lowest = min(holding)
        if lowest <= BEGINNING:
            return self
        return replace(self, watermark_us=max(self.watermark_us, lowest - self.lateness_us))
