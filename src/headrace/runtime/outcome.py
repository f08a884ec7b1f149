"""What a transaction led to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from headrace.optimizer import Statistics
from headrace.progress.epochs import NO_DELAYS, Moments
from headrace.runtime.emitted import Emitted
from headrace.runtime.messages import Ingested
from headrace.runtime.state import PipelineState


@dataclass(frozen=True, slots=True)
class Outcome:
    """A transaction that was done: the state after it, and what it gives to whom."""

    state: PipelineState
    told: tuple[Ingested, ...]
    emitted: Emitted
    used_files: frozenset[str]
    """Bucket files that were there before or on the way; those not in the state can go."""
    ingest_s: float
    fire_s: float | None
    """How long the firing took, None where nothing was due."""

    @property
    def failed(self) -> Mapping[int, str]:
        """Queries that cannot go on, with the reason."""
        return self.emitted.failed

    @property
    def tuples(self) -> int:
        """How many were read."""
        return sum(i.tuples for i in self.told)

    @property
    def delays(self) -> Moments:
        """Of tuples on their way to the source, where that is known."""
        found = [Moments(*i.delays) for i in self.told if i.delays is not None]
        return reduce(Moments.plus, found, NO_DELAYS)

    @property
    def statistics(self) -> Statistics | None:
        """How many tuples and keys there were, if there were any."""
        tuples = self.tuples
        keys = max((i.keys for i in self.told), default=0)
        slices = {s for i in self.told for ref in i.sections for s in ref.slices}
        if not (tuples and keys and slices):
            return None
        return Statistics(tuples / len(slices), float(keys))


@dataclass(frozen=True, slots=True)
class Culprits:
    """A transaction that has to be done again without these queries: their expressions raise."""

    reasons: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class FilesGivenUp:
    """A batch that has to be done again: Spark has to read its files."""

    reason: str
