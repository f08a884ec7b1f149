"""A pattern of java.util.regex as a small tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.patterns.charsets import ANY, Chars

MOST_COPIES = 32
"""A part that is repeated more often counts as one that is repeated without end."""


@dataclass(frozen=True, slots=True)
class One:
    """One character of a set."""

    chars: Chars


@dataclass(frozen=True, slots=True)
class Row:
    """One part after the other."""

    parts: tuple[Tree, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part so often; `most` is None where there is no end."""

    body: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Atomic:
    """A part of which only the first way to match is tried."""

    body: Tree


@dataclass(frozen=True, slots=True)
class Look:
    """A part that is looked at and not read."""

    body: Tree
    behind: bool = False
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """A place, as the beginning of the text; what may not come next, where that is known."""

    at_start: bool = False
    before: Chars = ANY


@dataclass(frozen=True, slots=True)
class Again:
    """What a group has matched."""


Tree = One | Row | Choice | Repeat | Atomic | Look | Check | Again


def sets(tree: Tree) -> Iterator[Chars]:
    """All sets of characters in it."""
    match tree:
        case One(chars):
            yield chars
        case Row(parts) | Choice(parts):
            for part in parts:
                yield from sets(part)
        case Repeat(body) | Atomic(body) | Look(body):
            yield from sets(body)
        case Check(_, before):
            yield before
        case Again():
            yield ANY


def loops(tree: Tree) -> bool:
    """Whether a part of it repeats without end."""
    match tree:
        case Repeat(body, _, most):
            return most is None or most > MOST_COPIES or loops(body)
        case Row(parts) | Choice(parts):
            return any(loops(p) for p in parts)
        case Atomic(body) | Look(body):
            return loops(body)
        case Again():
            return True
    return False
