"""Tuples merged into cells in one pass: how many there are and what they add up to, in one number.

Adding a tuple to its cell costs the look-up of the cell, whatever is added. A 64-bit number has
room for the count of a cell, a sum and a sum of squares beside each other: fields that are wide
enough for the values and for as many tuples as a cell is likely to have. Whether a cell had more
shows in the counts, which then do not add up; the sums are made one by one in that case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headrace.kernels.columns import Array, Ints
from headrace.kernels.states import Partials, State, merge
from headrace.query.plan import Partial

_BITS = 63
_BLOCK = 1 << 14
"""Tuples that are packed at a time: their parts stay in the processor's cache."""
_CROWD = 8
"""The fullest cell is taken to have no more than so many times the tuples of the average one."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A component of a state that may be packed; ``low`` is its smallest value."""

    state: Partial
    name: str
    data: Array
    low: int
    width: int


@dataclass(frozen=True, slots=True)
class _Field:
    """Where a part is in a packed number."""

    part: _Part
    shift: int
    bits: int


@dataclass(frozen=True, slots=True)
class _Word:
    """One number for every tuple: a one for itself, and its fields above."""

    values: Ints
    fields: tuple[_Field, ...]
    bits: int
    """Of the count."""

    @property
    def states(self) -> set[Partial]:
        """What is packed."""
        return {f.part.state for f in self.fields}

    def totals(
        self, chosen: Ints | None, groups: Ints, size: int
    ) -> tuple[Ints, dict[Partial, dict[str, Array]]] | None:
        """Counts and sums by group; None if a group has more tuples than there is room for."""
        total = np.zeros(size, dtype=np.int64)
        np.add.at(total, groups, self.values if chosen is None else self.values[chosen])
        counts = total & _ones(self.bits)
        if int(counts.sum()) != len(groups):
            return None
        sums: dict[Partial, dict[str, Array]] = {}
        for field in self.fields:
            part = field.part
            found = total >> field.shift
            found &= _ones(field.bits)
            if part.low:
                found += counts * part.low
            sums.setdefault(part.state, {})[part.name] = found
        return counts, sums


class Packing:
    """Of one table of tuples; groups share what was packed, also for one that keeps more."""

    def __init__(self) -> None:
        self._parts: dict[Partial, tuple[_Part, ...] | None] = {}
        self._words: list[_Word] = []
        self.crowded = False
        """Whether cells were fuller than expected."""

    def word(self, states: Sequence[State], tuples: int, cells: int) -> _Word | None:
        """As many of these states as there is room for; None if there is none for any."""
        likely = tuples if self.crowded else min(_CROWD * (tuples // max(cells, 1) + 8), tuples)
        needed = likely.bit_length()
        held = [parts for s in states if (parts := self._parts_of(s))]
        held.sort(key=lambda parts: sum(p.width for p in parts))
        while held and _room(held) < needed:
            held.pop()
        if not held:
            return None
        wanted = {parts[0].state for parts in held}
        for word in self._words:
            if word.bits >= needed and wanted <= word.states:
                return word
        self._words.append(_packed(held))
        return self._words[-1]

    def _parts_of(self, state: State) -> tuple[_Part, ...] | None:
        if state.partial not in self._parts:
            self._parts[state.partial] = _parts(state)
        return self._parts[state.partial]


@dataclass(frozen=True, slots=True)
class Tuples:
    """Some tuples of a table as partial results."""

    states: Sequence[State]
    chosen: Ints | None
    """Their places in the table; None for all of them."""
    packing: Packing

    def merge(self, groups: Ints, size: int) -> tuple[Ints, tuple[State, ...]]:
        """Tuples by group number, and their states."""
        word = self.packing.word(self.states, len(groups), size)
        found = None if word is None else word.totals(self.chosen, groups, size)
        if found is None:
            self.packing.crowded |= word is not None
            return Partials([self._taken(s) for s in self.states]).merge(groups, size)
        counts, sums = found
        states = [
            State(s.partial, sums[s.partial])
            if s.partial in sums
            else merge(self._taken(s), groups, size)
            for s in self.states
        ]
        return counts, tuple(states)

    def _taken(self, state: State) -> State:
        return state if self.chosen is None else state.take(self.chosen)


def _parts(state: State) -> tuple[_Part, ...] | None:
    """The components of a state that is a sum of whole numbers; None of any other."""
    if state.partial.op not in ("count", "sum", "squares") or not state.parts:
        return None
    found = []
    for name, data in state.parts.items():
        if data.dtype.kind not in "ib" or not len(data):
            return None
        squares = state.partial.op == "squares"
        low, high = 0 if squares or data.dtype.kind == "b" else int(data.min()), int(data.max())
        found.append(_Part(state.partial, name, data, low, (high - low).bit_length()))
    return tuple(found)


def _room(held: Sequence[tuple[_Part, ...]]) -> int:
    """The bits that are left for the tuples of a cell, beside each of these parts."""
    parts = [p for some in held for p in some]
    return (_BITS - sum(p.width for p in parts)) // (1 + len(parts))


def _packed(held: Sequence[tuple[_Part, ...]]) -> _Word:
    bits = shift = _room(held)
    fields = []
    for part in (p for some in held for p in some):
        fields.append(_Field(part, shift, part.width + bits))
        shift += part.width + bits
    values = np.empty(len(held[0][0].data), dtype=np.int64)
    for first in range(0, len(values), _BLOCK):
        block = slice(first, first + _BLOCK)
        here = values[block]
        here.fill(1)
        for field in fields:
            data = field.part.data[block]
            if field.part.low:
                data = data - field.part.low
            here |= np.left_shift(data, field.shift, dtype=np.int64)
    return _Word(values, tuple(fields), bits)


def _ones(bits: int) -> int:
    return (1 << bits) - 1
