"""`Join`: how tuples of several streams meet in a window.

Every side of a join is asked of its stream as a query of its own: what it keeps, the keys by which
it meets other sides or by which the answer is grouped, and partial results. Where sides meet, keys
that must be equal are one `Variable`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from headrace.query.expression import Expression
from headrace.query.predicate import Always, Predicate

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A key of a side, by number."""

    side: int
    key: int


@dataclass(frozen=True, slots=True)
class Variable:
    """Keys that must be equal where tuples meet, of two or more sides. A side may have several of
    them: then they must be equal to each other, too."""

    places: tuple[Place, ...]
    null_safe: bool = False
    """NULL meets NULL, as with ``<=>``."""

    @property
    def sides(self) -> frozenset[int]:
        """Whose keys they are."""
        return frozenset(p.side for p in self.places)


@dataclass(frozen=True, slots=True)
class Meeting:
    """How sides meet. Only ``inner`` has more than two of them."""

    kind: JoinKind
    sides: int
    variables: tuple[Variable, ...]
    keys: tuple[tuple[Place, ...], ...] = ()
    """What the answer is grouped by: one place, or all places of a variable, of which the first
    that is not NULL is taken."""
    gates: tuple[Place, ...] = ()
    """Boolean keys that say whether a tuple may meet others at all: where one is not TRUE, a tuple
    that an outer join keeps stays without a partner."""
    after: tuple[Place, ...] = ()
    """Boolean keys that must be TRUE where a tuple has met others: a WHERE over the side that an
    outer join fills with NULLs, where rows of NULLs pass it."""

    @property
    def kept(self) -> frozenset[int]:
        """Sides of which every tuple comes out, whether it has a partner or not."""
        kept = {"left": (0,), "right": (1,), "full": (0, 1)}
        return frozenset(kept.get(self.kind, ()))

    @property
    def filled(self) -> frozenset[int]:
        """Sides whose columns are NULL in some rows."""
        filled = {"left": (1,), "right": (0,), "full": (0, 1)}
        return frozenset(filled.get(self.kind, ()))

    @property
    def order(self) -> tuple[int, ...]:
        """The sides as they are joined, as written but that each shares a variable with those
        before it; raises ValueError where one shares none with any."""
        found = [0]
        while len(found) < self.sides:
            reached = {s for v in self.variables if v.sides & set(found) for s in v.sides}
            found.append(min(reached - set(found)))
        return tuple(found)


@dataclass(frozen=True, slots=True)
class JoinSide:
    """One stream in a join, as one query sees it."""

    stream: str
    name: str
    """What the text calls it."""
    keys: tuple[Expression, ...] = ()
    where: Predicate = field(default_factory=Always)
    where_sql: str | None = None


@dataclass(frozen=True, slots=True)
class Join:
    """Sides in the order of the text, and how they meet."""

    sides: tuple[JoinSide, ...]
    meeting: Meeting
    shows_rows: bool = False
    """Every row of the join is one of the answer; else they are aggregated."""
