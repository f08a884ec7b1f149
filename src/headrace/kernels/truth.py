"""Predicates in three-valued logic, evaluated for many points at once: tuples, or codes of axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from headrace.kernels.axes import Axis, Columns, axes_of
from headrace.kernels.columns import Array, Bools, Ints, flat
from headrace.query.plan import Member, axis_of
from headrace.query.predicate import (
    Always,
    And,
    IsNull,
    Not,
    Or,
    Predicate,
    Ranges,
    Truth,
    leaves,
)

LookUp = Callable[[Axis, Bools, Ints | None], Bools]
"""For some points, None for all: what their code on an axis means."""

_NARROW = 16
"""Where the items before leave fewer than one point in so many undecided, the rest is evaluated for
these alone."""


class Points:
    """Points whose predicates can be evaluated: how many there are, and their codes."""

    def __init__(self, axes: tuple[Axis, ...], count: int, look_up: LookUp) -> None:
        self._axes = {a.column: a for a in axes}
        self._count = count
        self._look_up = look_up

    def where(self, predicate: Predicate, value: bool = True) -> Bools:
        """Where a predicate is TRUE, or with False where it is FALSE. Where it is neither it is
        NULL, so NOT only changes what is asked for."""
        return self._where(predicate, value, None)

    def _where(self, predicate: Predicate, value: bool, rows: Ints | None) -> Bools:
        count = self._count if rows is None else len(rows)
        match predicate:
            case Always():
                return np.full(count, value)
            case Not(item):
                return self._where(item, not value, rows)
            case And(items) | Or(items):
                # All must be TRUE for AND, and all FALSE for OR; otherwise one is enough.
                together = isinstance(predicate, And) == value
                if not items:
                    return np.full(count, together)
                found = self._where(items[0], value, rows)
                for done, item in enumerate(items[1:], start=1):
                    undecided = found if together else ~found
                    if np.count_nonzero(undecided) * _NARROW < count:
                        left = np.flatnonzero(undecided)
                        rest = type(predicate)(items[done:])
                        some = left if rows is None else rows[left]
                        found[left] = self._where(rest, value, some)
                        break
                    part = self._where(item, value, rows)
                    if together:
                        found &= part
                    else:
                        found |= part
                return found
            case _:
                axis = self._axes[axis_of(predicate)]
                return self._look_up(axis, _codes_where(predicate, axis, value), rows)


def points_of(axes: tuple[Axis, ...], codes: dict[str, Array], count: int) -> Points:
    """Points that are told by their codes."""

    def look_up(axis: Axis, meaning: Bools, rows: Ints | None) -> Bools:
        known = codes[axis.column]
        return meaning[known if rows is None else known[rows]]

    return Points(axes, count, look_up)


def tuples_of(axes: tuple[Axis, ...], columns: Columns, rows: int) -> Points:
    """Tuples as points: an atom costs one look-up of its column, or of its codes if it is text."""
    codes: dict[str, Ints] = {}

    def look_up(axis: Axis, meaning: Bools, some: Ints | None) -> Bools:
        if not axis.is_text:
            column = flat(columns[axis.column])
            return axis.look_up(column if some is None else column.take(pa.array(some)), meaning)
        if axis.column not in codes:
            codes[axis.column] = axis.codes(columns[axis.column])
        return meaning[codes[axis.column] if some is None else codes[axis.column][some]]

    return Points(axes, rows, look_up)


def _codes_where(leaf: Ranges | IsNull | Truth, axis: Axis, value: bool) -> Bools:
    """The codes of an axis for which an atom is TRUE, or with False those for which it is FALSE."""
    true = np.zeros(axis.size, dtype=bool)
    match leaf:
        case IsNull():
            true[-1] = True
            return true if value else ~true
        case Truth():
            true[axis.code_of(1, 0) : -1] = True
        case Ranges(_, ranges):
            for low, high in ranges:
                true[axis.code_of(low, 0) : axis.code_of(high, axis.size - 1)] = True
    if value:
        return true
    false = ~true
    false[-1] = False
    return false


def matching(predicate: Predicate, columns: Columns, rows: int) -> Bools:
    """The tuples one predicate keeps: for selections, at one look-up for every atom."""
    member = Member(uid=0, position=0, where=predicate)  # type: ignore[arg-type]
    axes = axes_of([member], sorted({axis_of(leaf) for leaf in leaves(predicate)}))
    return tuples_of(axes, columns, rows).where(predicate)
