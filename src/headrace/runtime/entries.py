"""The entries of a journal: what begins, what changes, who takes part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from headrace.connectors.offsets import Range
from headrace.optimizer import Statistics
from headrace.types import BEGINNING


@dataclass(frozen=True, slots=True)
class Begin:
    """What was fixed before a transaction ran, so that a replay does the same work."""

    txn: int
    kind: Literal["batch", "tick"]
    batch_id: int
    version: int
    now_s: float
    ranges: tuple[Range, ...] = ()
    """What a batch reads of a source whose offsets are ours to keep."""
    frontier_us: int = BEGINNING
    """Of a firing of joins: up to where all their streams had come."""


@dataclass(frozen=True, slots=True)
class SinkRecord:
    """Where a query's rows go; a callable is only noted, it cannot be stored."""

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """All that is needed to read and run a query again."""

    uid: int
    name: str
    text: str
    sink: SinkRecord
    partial_first: bool
    since_us: int
    side: int | None = None
    """Of a query that feeds a join: which of its sides it is."""

    def starting(self, since_us: int) -> QueryRecord:
        """The same, from an event time on."""
        return replace(self, since_us=since_us)


@dataclass(frozen=True, slots=True)
class EndRecord:
    """The end of a query, and why it failed if it did."""

    uid: int
    until_us: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One changelog: who came, who went."""

    version: int
    created: tuple[QueryRecord, ...]
    deleted: tuple[EndRecord, ...]
    statistics: Statistics
    moved: tuple[QueryRecord, ...] = ()
    """Queries that run on, with other options of their sinks."""
    is_snapshot: bool = False
    """Whether it stands for all before it, together with `earlier`."""
    earlier: tuple[Change, ...] = ()
    """Of a snapshot: the versions before it that something still needs, each with what changed
    since the one before."""
