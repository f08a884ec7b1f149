"""Predicates in three-valued logic, evaluated for many points at once: tuples, or codes of axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headrace.kernels.axes import Axis, Columns, axes_of
from headrace.kernels.columns import Array, Bools, Ints
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

LookUp = Callable[[Axis, Bools], Bools]
"""For every point: what its code on an axis means."""


class Points:
    """Points whose predicates can be evaluated: how many there are, and their codes."""

    def __init__(self, axes: tuple[Axis, ...], count: int, look_up: LookUp) -> None:
        self._axes = {a.column: a for a in axes}
        self._count = count
        self._look_up = look_up

    def where(self, predicate: Predicate, value: bool = True) -> Bools:
        """Where a predicate is TRUE, or with False where it is FALSE. Where it is neither it is
        NULL, so NOT only changes what is asked for."""
        match predicate:
            case Always():
                return np.full(self._count, value)
            case Not(item):
                return self.where(item, not value)
            case And(items) | Or(items):
                # All must be TRUE for AND, and all FALSE for OR; otherwise one is enough.
                together = isinstance(predicate, And) == value
                if not items:
                    return np.full(self._count, together)
                found = self.where(items[0], value)
                for item in items[1:]:
                    part = self.where(item, value)
                    if together:
                        found &= part
                    else:
                        found |= part
                return found
            case _:
                axis = self._axes[axis_of(predicate)]
                return self._look_up(axis, _codes_where(predicate, axis, value))


def points_of(axes: tuple[Axis, ...], codes: dict[str, Array], count: int) -> Points:
    """Points that are told by their codes."""
    return Points(axes, count, lambda axis, meaning: meaning[codes[axis.column]])


def tuples_of(axes: tuple[Axis, ...], columns: Columns, rows: int) -> Points:
    """Tuples as points: an atom costs one look-up of its column, or of its codes if it is text."""
    codes: dict[str, Ints] = {}

    def look_up(axis: Axis, meaning: Bools) -> Bools:
        if not axis.is_text:
            return axis.look_up(columns[axis.column], meaning)
        if axis.column not in codes:
            codes[axis.column] = axis.codes(columns[axis.column])
        return meaning[codes[axis.column]]

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
