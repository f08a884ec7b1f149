"""A pattern as an automaton: its states are the places of the pattern that read a character.

After Glushkov: an edge leads from one place to the next, and there are as many edges as there are
ways between them without reading anything. That keeps `(a|a)*` apart from `a*`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field

from headrace.sql.patterns.charsets import ANY, Intervals, union
from headrace.sql.patterns.tree import (
    MOST_COPIES,
    Again,
    Atomic,
    Check,
    Choice,
    Look,
    One,
    Repeat,
    Row,
    Tree,
    sets,
)

MOST_PLACES = 1_500
"""So many characters, classes and their repetitions a pattern may have."""
_MOST_EDGES = 60_000

_CHECKED, _AT_START = 1, 2
Ways = dict[tuple[int, int, int], int]
"""By a place, the atoms that may not come next and flags: how many ways lead there."""
Edge = tuple[int, int]
"""The place it leads to, and the atoms it reads."""


class TooLargeError(Exception):
    """The analysis would take longer than is right for one text."""


@dataclass(slots=True)
class Automaton:
    """States are numbers; `edges` count the ways from one to the next by the atoms they read."""

    atoms: tuple[int, ...]
    """The first character of each atom: no set of the pattern tells two characters of one apart."""
    edges: list[dict[Edge, int]] = field(default_factory=list)
    starts: dict[Edge, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Part:
    """Where a part of a pattern begins and ends; `empty` are the ways to match nothing."""

    first: Ways = field(default_factory=dict)
    last: Ways = field(default_factory=dict)
    empty: dict[tuple[int, int], int] = field(default_factory=dict)


def automaton(tree: Tree, *, whole: bool) -> Automaton:
    """The automaton of a pattern that a text is searched for.

    `whole`: an atomic part stands for all that it could read at once, else for its own parts.
    """
    building = _Building(tree, whole=whole)
    part = building.part(tree)
    free = any(not flags & _AT_START for _, _, flags in part.first)
    part = building.settled(part, 0, always=free)
    found = Automaton(building.atoms, building.edges)
    for (place, guard, flags), ways in part.first.items():
        if building.scan is not None and not flags & _AT_START:
            building.connect(building.scan, place, guard, ways)
        else:
            label = building.reads[place] & ~guard
            if label:
                found.starts[place, label] = ways
    if building.scan is not None:
        found.starts[building.scan, building.all] = 1
    return found


class _Building:
    def __init__(self, tree: Tree, *, whole: bool) -> None:
        bounds = {0}
        for chars in sets(tree):
            for low, high in (*chars.may, *chars.must):
                bounds |= {low, high + 1}
        self.atoms = tuple(sorted(b for b in bounds if b <= 0x10FFFF))
        self.all = (1 << len(self.atoms)) - 1
        self.whole = whole
        self.reads: list[int] = []
        self.edges: list[dict[Edge, int]] = []
        self.count = 0
        self.scan: int | None = None

    def mask(self, intervals: Intervals) -> int:
        found = 0
        for low, high in intervals:
            found |= (1 << bisect_left(self.atoms, high + 1)) - (1 << bisect_left(self.atoms, low))
        return found

    def place(self, reads: int) -> int:
        if len(self.reads) >= MOST_PLACES:
            raise TooLargeError
        self.reads.append(reads)
        self.edges.append({})
        return len(self.reads) - 1

    def connect(self, at: int, to: int, guard: int, ways: int) -> None:
        label = self.reads[to] & ~guard
        if label:
            if (to, label) not in self.edges[at]:
                self.count += 1
            self.edges[at][to, label] = self.edges[at].get((to, label), 0) + ways
        if self.count > _MOST_EDGES:
            raise TooLargeError

    # -- parts --------------------------------------------------------------------------------

    def part(self, tree: Tree) -> _Part:
        match tree:
            case One(chars):
                place = self.place(self.mask(chars.may))
                return _Part({(place, 0, 0): 1}, {(place, 0, 0): 1})
            case Row(parts):
                return self.row(parts)
            case Choice(parts):
                return _either(self.part(p) for p in parts)
            case Repeat(body, least, most):
                return self.repeat(body, least, most)
            case Atomic(body):
                return self.atomic(body)
            case Look():
                return self.look(tree)
            case Check(at_start, before):
                flags = _CHECKED | (_AT_START if at_start else 0)
                return _Part(empty={(self.mask((~before).must), flags): 1})
            case Again():
                # A group may have matched anything, and matches that in one way.
                again = self.star(One(ANY))
                again.last = {(p, g, f | _CHECKED): n for (p, g, f), n in again.last.items()}
                again.empty = {(0, _CHECKED): 1}
                return again

    def row(self, parts: Iterable[Tree]) -> _Part:
        whole = _Part(empty={(0, 0): 1})
        for tree in parts:
            whole = self.then(whole, self.part(tree))
        return whole

    def then(self, one: _Part, two: _Part) -> _Part:
        self.join(one.last, two.first)
        first = dict(one.first)
        _add(first, two.first, one.empty)
        last = dict(two.last)
        _add(last, one.last, two.empty)
        empty: dict[tuple[int, int], int] = {}
        for (g1, f1), n1 in one.empty.items():
            for (g2, f2), n2 in two.empty.items():
                key = (g1 | g2, f1 | f2)
                empty[key] = empty.get(key, 0) + n1 * n2
        return _Part(first, last, empty)

    def join(self, last: Ways, first: Ways) -> None:
        if len(last) * len(first) > _MOST_EDGES:
            raise TooLargeError
        for (at, g1, f1), n1 in last.items():
            for (to, g2, f2), n2 in first.items():
                if not (f1 | f2) & _AT_START:  # nothing has been read at the start
                    self.connect(at, to, g1 | g2, n1 * n2)

    def repeat(self, body: Tree, least: int, most: int | None, guard: int = 0) -> _Part:
        if most is None or most > MOST_COPIES:
            fewer = min(least, MOST_COPIES)
            again = self.star(body, guard if most is None else 0)  # it may be full, and stop
            if not fewer:
                return again
            return self.then(self.row([body] * fewer), again)
        whole = self.row([body] * least)
        optional = _Part(empty={(0, 0): 1})
        for _ in range(most - least):
            optional = self.then(self.part(body), optional)
            _count(optional.empty, (guard, 0), 1)
        return self.then(whole, optional)

    def star(self, body: Tree, guard: int = 0) -> _Part:
        part = self.part(body)
        self.join(part.last, part.first)
        # Java tries an empty repetition once, and not again.
        ends = {(guard, 0): 1}
        for key, ways in part.empty.items():
            _count(ends, key, ways)
        last: Ways = {}
        _add(last, part.last, ends)
        return _Part(part.first, last, ends)

    def atomic(self, body: Tree) -> _Part:
        match body:
            case One():
                return self.part(body)
            case Row((single,)):
                return self.atomic(single)
            case Repeat(One(chars), least, most):
                # What is behind it comes only where one more could not be read.
                return self.repeat(body.body, least, most, self.mask(chars.must))
            case Repeat(Row((One() as single,)), least, most):
                return self.atomic(Repeat(single, least, most))
        if self.whole:
            return self.blob(body)
        match body:
            case Choice(parts):
                return _either(self.atomic(p) for p in parts)
            case Row((*before, final)):
                return self.then(self.row(before), self.atomic(final))
        return self.part(body)

    def blob(self, body: Tree) -> _Part:
        """All that the body could read, in one way; and beside it what it tries on its own."""
        aside, can_be_empty = self.aside(body)
        reads = One(union(sets(body)))
        # What it repeats is of the sets that it has: a loop over them holds every way it may end.
        blob = self.repeat(reads, 0 if can_be_empty else 1, None)
        _add(blob.first, aside, {(0, 0): 1})
        return blob

    def look(self, look: Look) -> _Part:
        aside, _ = self.aside(look.body)
        forbidden = 0
        if not look.behind and isinstance(look.body, Row) and len(look.body.parts) == 1:
            inner = look.body.parts[0]
            if isinstance(inner, One):
                chars = inner.chars if look.negative else ~inner.chars
                forbidden = self.mask(chars.must)
        return _Part(first=aside, empty={(forbidden, _CHECKED): 1})

    def aside(self, body: Tree) -> tuple[Ways, bool]:
        """The first places of a part that nothing comes behind: it is tried, and that is all."""
        begin = len(self.reads)
        part = self.part(body)
        part.last = {k: n for k, n in part.last.items() if not k[2]}
        return self.settled(part, begin).first, bool(part.empty)

    # -- where nothing can fail any more ------------------------------------------------------

    def settled(self, part: _Part, begin: int, *, always: bool = False) -> _Part:
        """Without the places from which the match cannot fail.

        A matcher that gets there goes on in one way until it is done, and nothing that it left
        open before is tried any more. What it tries in vain from there on counts as tried from the
        beginning: one place stands for that way. `always`: also for where a search begins.
        """
        safe = {p for p, _, flags in part.last if not flags}
        if not safe and not always:
            return part
        inner = any(to in safe for p in safe for to, _ in self.edges[p])
        reads = self.all if always else 0
        for p in safe:
            reads |= self.reads[p]
        one = self.place(reads)
        if always:
            self.scan = one
        further = self.edges[one]
        for p in safe:
            for (to, label), ways in self.edges[p].items():
                if to not in safe:
                    further[to, label] = max(further.get((to, label), 0), ways)
            self.edges[p] = {}
        for p in range(begin, one):
            for edge in [e for e in self.edges[p] if e[0] in safe]:
                del self.edges[p][edge]
        if inner or always:
            further[one, reads] = 1
        first = {key: ways for key, ways in part.first.items() if key[0] not in safe}
        if not always:
            first[one, 0, 0] = 1
        return _Part(first, part.last, part.empty)


def _either(parts: Iterable[_Part]) -> _Part:
    whole = _Part()
    for part in parts:
        whole.first.update(part.first)
        whole.last.update(part.last)
        for key, ways in part.empty.items():
            _count(whole.empty, key, ways)
    return whole


def _add(ways: Ways, more: Ways, through: dict[tuple[int, int], int]) -> None:
    """The ways to places by way of nothing."""
    for (place, g1, f1), n1 in more.items():
        for (g2, f2), n2 in through.items():
            key = (place, g1 | g2, f1 | f2)
            ways[key] = ways.get(key, 0) + n1 * n2


def _count(ends: dict[tuple[int, int], int], key: tuple[int, int], ways: int) -> None:
    ends[key] = ends.get(key, 0) + ways
