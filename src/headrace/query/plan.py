"""`SharedPlan`: how many queries are run as one, as plain data that every layer can read."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from headrace.query.predicate import IsNull, Predicate, Ranges, Truth, leaves
from headrace.query.window import TimeWindow, Window
from headrace.types import BEGINNING, QueryUid, Version

Op = Literal[
    "rows",
    "count",
    "sum",
    "squares",
    "min",
    "max",
    "moments",
    "first",
    "last",
    "first_known",
    "last_known",
]
Representation = Literal["cells", "vectors"]
Lane = Literal["catalyst", "kernel"]


@dataclass(frozen=True, slots=True)
class Partial:
    """A partial result kept per cell: an operation on a column (none for ``rows``)."""

    op: Op
    column: str | None = None
    type: str = "bigint"
    condition: str | None = None
    """A boolean column: only tuples where it is true take part."""


ROWS = Partial("rows")
RANK = Partial("max", "__hr_rank")
"""The rank of an HLL++ register."""
LAST_TIME = Partial("max", "__hr_time", "timestamp")
"""The last event time of a run: session groups keep it beside what they are asked for."""
LARGEST_GRID = 1 << 20
"""Combinations of codes that are looked up in a table: eight megabytes in every worker."""
LARGEST_LAYOUT = 1 << 22
"""Classes × queries of a group. To turn so many into queries takes a tenth of a second for every
slice, however few keys there are: then one result per query is cheaper than one per class."""
_BETWEEN = "\x1f"
_OF_SIDE = "\x1e"
COMPUTED = frozenset({"__hr_rank", "__hr_time"})
"""Columns the kernels make themselves."""


@dataclass(frozen=True, slots=True)
class Member:
    """A query's place in a group: its bit position, what it keeps, and since when."""

    uid: QueryUid
    position: int
    where: Predicate
    window: Window | None = None
    since_us: int = BEGINNING
    feeds: bool = False
    """It is a side of a join."""


@dataclass(frozen=True, slots=True)
class Group:
    """Queries that share keys, classes and partial results.

    ``value`` names a further key whose distinct values are kept, for distinct counts, percentiles
    and sketches (``sketch`` is then the precision of the registers that stand for the values).
    ``axes`` are the columns whose constants tell classes apart.
    """

    number: int
    keys: tuple[str, ...]
    value: str | None
    partials: tuple[Partial, ...]
    members: tuple[Member, ...]
    axes: tuple[str, ...]
    windows: tuple[Window, ...]
    sketch: int | None = None
    sampled: bool = False
    """Whether it is made of a sample of the tuples."""
    representation: Representation = "cells"
    why: str = ""

    @property
    def is_session(self) -> bool:
        """Whether its slices are runs of tuples between gaps."""
        return bool(self.windows) and not isinstance(self.windows[0], TimeWindow)


@dataclass(frozen=True, slots=True)
class Selector:
    """A continuous selection: what it keeps, which columns it shows, and since when."""

    uid: QueryUid
    where: Predicate
    columns: tuple[str, ...]
    since_us: int = BEGINNING


@dataclass(frozen=True, slots=True)
class SharedPlan:
    """One version of the plan for one pipeline.

    ``derived`` maps a column's name to the SQL that Spark computes it with; ``types`` maps every
    column the kernels read to its Spark type.
    """

    version: Version
    lane: Lane
    groups: tuple[Group, ...] = ()
    selectors: tuple[Selector, ...] = ()
    derived: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    cuts: tuple[int, ...] = ()
    stream: str = ""
    sub_stream_us: int | None = None
    """How long sub-streams are, where a query is approximate."""
    why: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the kernels read, beside event time."""
        wanted: set[str] = set()
        for group in self.groups:
            wanted.update(group.keys, group.axes, parts_of(group.value) if group.value else ())
            wanted.update(p.column for p in group.partials if p.column is not None)
            wanted.update(p.condition for p in group.partials if p.condition is not None)
        wanted -= COMPUTED
        for selector in self.selectors:
            wanted.update(selector.columns)
            wanted.update(axis_of(leaf) for leaf in leaves(selector.where))
        return tuple(sorted(wanted))


def composed(names: Sequence[str]) -> str:
    """The name of a value that is made of several columns."""
    return _BETWEEN.join(names)


def parts_of(value: str) -> tuple[str, ...]:
    """The columns that a value is made of."""
    return tuple(value.split(_BETWEEN))


def of_side(side: int, name: str) -> str:
    """What a join calls a column of one of its sides."""
    return f"{side}{_OF_SIDE}{name}"


def sided(side: int, partial: Partial) -> Partial:
    """What a join calls a partial result of one of its sides."""
    column, condition = partial.column, partial.condition
    return replace(
        partial,
        column=None if column is None else of_side(side, column),
        condition=None if condition is None else of_side(side, condition),
    )


def derived_name(sql: str) -> str:
    """A stable name for a derived column: the same SQL has the same name in every version."""
    return "_x" + hashlib.sha1(sql.encode(), usedforsecurity=False).hexdigest()[:12]


def axis_of(leaf: Ranges | IsNull | Truth) -> str:
    """The column that decides an atom; a Truth's is the boolean Spark computes for it."""
    return derived_name(leaf.sql) if isinstance(leaf, Truth) else leaf.column
