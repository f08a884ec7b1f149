"""What a simulation saw, and the figures made of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from headrace.lab.simulator.model import Conditions

WARM_UP = 0.25
"""The first share of a run, in which queries are still being deployed, is in no figure."""
COOL_DOWN = 0.2
"""Nor are windows that were swept in the last share. Of those before it, one that is not out at the
end counts with its age: a policy that never runs a query must not look good for it."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Output:
    """A window: when its sweeping watermark was emitted, and when it was through, if it was."""

    query: int
    emitted_at_s: float
    done_at_s: float | None


@dataclass(frozen=True, slots=True)
class Moment:
    """All nodes together at one moment; amounts and seconds count from the start."""

    at_s: float
    queued: float
    processed: float
    busy_s: float
    useful_s: float
    """Of it, what garbage collection left."""
    memory_mode: bool
    full: int
    """Nodes whose memory is full."""


@dataclass(frozen=True)
class Outcome:
    """One simulation."""

    conditions: Conditions
    event_s: tuple[float, ...]
    """By query: what one event takes at all of its operators."""
    outputs: tuple[Output, ...]
    moments: tuple[Moment, ...]
    estimated: tuple[tuple[bool, float], ...]
    """Of every sweep that was estimated: whether its interval held it, and how wide it was."""

    @cached_property
    def latencies_s(self) -> Numbers:
        """Of all windows between warm-up and cool-down."""
        return np.array([self._latency_s(o) for o in self._counted])

    @cached_property
    def slowdowns(self) -> Numbers:
        """Latencies over what one event takes at all operators."""
        return np.array([self._latency_s(o) / self.event_s[o.query] for o in self._counted])

    @property
    def unfinished(self) -> int:
        """Windows that count but are not out at the end."""
        return sum(o.done_at_s is None for o in self._counted)

    @cached_property
    def _counted(self) -> list[Output]:
        upto = (1.0 - COOL_DOWN) * self.conditions.seconds
        return [o for o in self.outputs if self._since_s <= o.emitted_at_s < upto]

    def _latency_s(self, output: Output) -> float:
        end = self.conditions.seconds if output.done_at_s is None else output.done_at_s
        return end - output.emitted_at_s

    @property
    def mean_s(self) -> float:
        """Mean output latency."""
        return float(self.latencies_s.mean()) if len(self.latencies_s) else float("nan")

    def percentile_s(self, percent: float) -> float:
        """The least latency that so many of a hundred windows do not exceed."""
        if not len(self.latencies_s):
            return float("nan")
        return float(np.percentile(self.latencies_s, percent, method="inverted_cdf"))

    @property
    def throughput_per_s(self) -> float:
        """Events processed per second, counted at every operator, after the warm-up."""
        kept = self._kept
        return (kept[-1].processed - kept[0].processed) / (kept[-1].at_s - kept[0].at_s)

    @property
    def cores_busy(self) -> float:
        """Share of the cores' time that was used."""
        kept, c = self._kept, self.conditions
        busy = (kept[-1].busy_s - kept[0].busy_s) / (kept[-1].at_s - kept[0].at_s)
        return busy / (c.cores * c.nodes)

    @property
    def queued(self) -> Numbers:
        """Events in memory at every moment after the warm-up."""
        return np.array([m.queued for m in self._kept])

    @property
    def in_memory_mode(self) -> float:
        """Share of the time after the warm-up in which a node was in memory mode."""
        return float(np.mean([m.memory_mode for m in self._kept]))

    @property
    def covered(self) -> float:
        """Share of sweeps that came within their interval."""
        return (
            float(np.mean([hit for hit, _ in self.estimated])) if self.estimated else float("nan")
        )

    @property
    def width_s(self) -> float:
        """Mean width of those intervals."""
        widths = [width for _, width in self.estimated]
        return float(np.mean(widths)) if widths else float("nan")

    @property
    def _since_s(self) -> float:
        return WARM_UP * self.conditions.seconds

    @property
    def _kept(self) -> list[Moment]:
        return [m for m in self.moments if m.at_s >= self._since_s]
