"""Predicates as the sharing sees them: unions of ranges on columns, combined with AND, OR, NOT.

A range is half-open, [low, high), over the column's own discrete order: ``x <= 5`` on whole
numbers is [-inf, 6), on floats it ends at the next float, on strings at the next string. So one
binary search per column decides every comparison with a constant. What is not a column against a
constant is a `Truth`: a boolean that Spark itself computes.

Evaluation is three-valued, as in Spark; a query keeps the tuples where its predicate is TRUE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Bound = int | float | bytes | None
"""A cut on a column's order, or None for no bound. Strings are compared as UTF-8 bytes."""

Range = tuple[Bound, Bound]


@dataclass(frozen=True, slots=True)
class Ranges:
    """TRUE where the column lies in one of the ranges, FALSE elsewhere, NULL where it is null."""

    column: str
    ranges: tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class IsNull:
    """TRUE where the column is null, otherwise FALSE."""

    column: str


@dataclass(frozen=True, slots=True)
class Truth:
    """A boolean SQL expression that Spark evaluates into a column of its own."""

    sql: str


@dataclass(frozen=True, slots=True)
class And:
    items: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    items: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    item: Predicate


@dataclass(frozen=True, slots=True)
class Always:
    """No WHERE at all."""


Predicate = Ranges | IsNull | Truth | And | Or | Not | Always


def leaves(predicate: Predicate) -> Iterator[Ranges | IsNull | Truth]:
    """Every atom, left to right."""
    match predicate:
        case And(items) | Or(items):
            for item in items:
                yield from leaves(item)
        case Not(item):
            yield from leaves(item)
        case Always():
            return
        case _:
            yield predicate


def columns_of(predicate: Predicate) -> frozenset[str]:
    """The stream columns that decide the predicate without Spark's help."""
    return frozenset(a.column for a in leaves(predicate) if not isinstance(a, Truth))


def truths_of(predicate: Predicate) -> frozenset[str]:
    """The boolean expressions Spark has to compute for it."""
    return frozenset(a.sql for a in leaves(predicate) if isinstance(a, Truth))
