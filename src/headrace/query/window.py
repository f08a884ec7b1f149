"""Event-time windows: where they start and end, which slices they need, when they are due.

Windows are half-open, [start, end), and aligned as Spark aligns them: a start is congruent to the
offset modulo the slide, counted from the Unix epoch in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Span = tuple[int, int]
"""A half-open stretch of event time in microseconds."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Tumbling (slide = size) or sliding windows of a fixed size."""

    size_us: int
    slide_us: int
    offset_us: int = 0

    @property
    def residues(self) -> tuple[int, ...]:
        """Starts and ends of all windows, modulo the slide: where slices must be cut."""
        start = self.offset_us % self.slide_us
        return tuple(sorted({start, (start + self.size_us) % self.slide_us}))

    def edges(self, low_us: int, high_us: int) -> npt.NDArray[np.int64]:
        """Every window start and end in [low, high]."""
        parts = [
            np.arange(low_us + (residue - low_us) % self.slide_us, high_us + 1, self.slide_us)
            for residue in self.residues
        ]
        return np.unique(np.concatenate(parts)).astype(np.int64)

    def first_end_after(self, time_us: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The earliest end among the windows that hold each time.

        Sliding windows with gaps (slide > size) may hold no window at some times; then this is
        the end of the last window before it, which is at or before the time.
        """
        end = (self.offset_us + self.size_us) % self.slide_us
        first = time_us - (time_us - end) % self.slide_us + self.slide_us
        holds = first - self.size_us <= time_us
        return np.where(holds, first, first - self.slide_us)

    def due(
        self,
        slices_us: npt.NDArray[np.int64],
        after_us: int,
        upto_us: int,
        life: Span,
        *,
        partial_first: bool = False,
    ) -> list[Span]:
        """Windows with an end in (after, upto] that a life may emit and that hold a given slice.

        Only windows that hold data are named, so a jump in event time costs nothing.
        """
        life_start, life_end = life
        if slices_us.size == 0:
            return []
        low = max(after_us, int(slices_us[0]))
        high = min(upto_us, int(slices_us[-1]) + self.size_us, life_end)
        overlap = -(-self.size_us // self.slide_us)
        if (high - low) // self.slide_us <= len(slices_us) * overlap:
            first = low - (low - self.offset_us - self.size_us) % self.slide_us
            ends = np.arange(first, high + 1, self.slide_us, dtype=np.int64)
            held = np.searchsorted(slices_us, ends) > np.searchsorted(
                slices_us, ends - self.size_us
            )
            ends = ends[held]
        else:
            ends = self.first_end_after(slices_us)
            ends = ends[ends > slices_us]
            ends = np.unique(ends[:, None] + self.slide_us * np.arange(overlap, dtype=np.int64))
        starts = ends - self.size_us
        inside = (ends > after_us) & (ends <= min(upto_us, life_end))
        inside &= (ends > life_start) if partial_first else (starts >= life_start)
        return [(int(s), int(e)) for s, e in zip(starts[inside], ends[inside], strict=True)]

    def next_end(self, time_us: int) -> int:
        """The first end of a window after a time."""
        end = (self.offset_us + self.size_us) % self.slide_us
        return time_us - (time_us - end) % self.slide_us + self.slide_us

    def needed_from(self, watermark_us: int) -> int:
        """Event time before which no window that ends after the watermark begins."""
        return self.next_end(watermark_us) - self.size_us

    def __str__(self) -> str:
        slide = "" if self.slide_us == self.size_us else f" every {_seconds(self.slide_us)}"
        offset = f" from {_seconds(self.offset_us)}" if self.offset_us else ""
        return f"{_seconds(self.size_us)}{slide}{offset}"


@dataclass(frozen=True, slots=True)
class SessionWindow:
    """Windows that close after a gap without tuples: [first, last + gap)."""

    gap_us: int

    def __str__(self) -> str:
        return f"session gap {_seconds(self.gap_us)}"


Window = TimeWindow | SessionWindow


def _seconds(us: int) -> str:
    return f"{us / 1_000_000:g} s"
