"""`Source`: where a pipeline's tuples come from, and what it can do, told as a value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from headrace.connectors.offsets import Offset, Offsets, Range
from headrace.connectors.sources import ArrowSource


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a source can do beside giving its tuples."""

    counts: bool = False
    """Offsets are whole numbers, so that what lies between two of them can be counted."""
    newest: bool = False
    """It tells how far it has come, at the cost of one question for all pipelines."""
    releases: bool = False
    """It keeps tuples until it is told that nobody will read them again."""
    memory: bool = False
    """It tells how much of its memory is in use."""


class Source(Protocol):
    """Tuples that tasks fetch themselves. Asked on the driver, in the thread of any pipeline; for
    `read` it is pickled and sent to tasks."""

    @property
    def abilities(self) -> Abilities:
        """What may be asked of it."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tuples."""
        ...

    @property
    def partitions(self) -> tuple[str, ...]:
        """Their names. More may come with a restart, none may go."""
        ...

    def initial(self) -> Offsets:
        """Where a new stream begins."""
        ...

    def latest(self, start: Offsets) -> Offsets:
        """How far a batch that begins at `start` may read now; never before it."""
        ...

    def newest(self) -> Offsets:
        """How far it has come, where it is able to tell."""
        ...

    def first(self, offsets: Sequence[Offset]) -> Offset:
        """Of some offsets of one partition, the one that comes before the others."""
        ...

    def release(self, offsets: Offsets) -> None:
        """Nothing before these offsets will be read again."""
        ...

    def memory(self) -> tuple[float, float]:
        """How much is in use, and how much there is."""
        ...

    def read(self, some: Range, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The tuples of a range, the same every time, with at least the named columns."""
        ...


@dataclass(frozen=True)
class Numbered:
    """An Arrow source, whose partitions and offsets are numbers."""

    source: ArrowSource

    @property
    def abilities(self) -> Abilities:
        """Whatever it has."""
        return Abilities(
            counts=True,
            newest=hasattr(self.source, "newest_offsets"),
            releases=hasattr(self.source, "commit"),
            memory=hasattr(self.source, "memory"),
        )

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tuples."""
        return self.source.schema

    @property
    def partitions(self) -> tuple[str, ...]:
        """Their numbers."""
        return tuple(str(n) for n in range(self.source.partitions))

    def initial(self) -> Offsets:
        """Where a new stream begins."""
        return self._named(self.source.initial_offsets())

    def latest(self, start: Offsets) -> Offsets:
        """How far a batch may read now; one that has lost sight of its end stays where it is."""
        numbers = self._numbers(start)
        ends = self.source.latest_offsets(numbers)
        return self._named(tuple(max(s, e) for s, e in zip(numbers, ends, strict=True)))

    def newest(self) -> Offsets:
        """How far it has come."""
        asked: Any = self.source
        return self._named(tuple(asked.newest_offsets()))

    def first(self, offsets: Sequence[Offset]) -> Offset:
        """The lowest."""
        return min(int(o) for o in offsets)

    def release(self, offsets: Offsets) -> None:
        """Told to the source."""
        told: Any = self.source
        told.commit(self._numbers(offsets))

    def memory(self) -> tuple[float, float]:
        """As the source tells it."""
        asked: Any = self.source
        used, bound = asked.memory()
        return float(used), float(bound)

    def read(self, some: Range, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The tuples of a range."""
        return self.source.read(int(some.partition), int(some.start), int(some.end), columns)

    def _named(self, numbers: Sequence[int]) -> dict[str, Offset]:
        return {str(p): int(n) for p, n in enumerate(numbers)}

    def _numbers(self, offsets: Offsets) -> tuple[int, ...]:
        return tuple(int(offsets[p]) for p in self.partitions)
