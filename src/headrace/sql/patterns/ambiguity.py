"""In how many ways a pattern can match the same text: what a matcher tries before it gives up.

After Weber and Seidl (1991) and Weideman et al. (2016): with two ways from a state back to itself
over the same word, a text of n such words has 2^n ways. Else it has at most as many as a power of
its length, and the power is the longest row of states p, q, … where one word leads from p to p,
from p to q and from q to q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.sql.patterns.positions import Automaton, Edge, TooLargeError

_MOST_STEPS = 200_000
"""So many steps of products are made for one pattern: about a third of a second."""
_FEW = 4
"""A set of so many characters is a letter in its cases; a text has to be made for that one."""


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """`degree` is the power of a text's length that the time grows with, None if it is
    exponential; then `before` and `pump` are the texts to see it by. `degree_of_any` counts only
    loops that share words of no letter in particular, so that any text will do. `branches` bounds
    the ways that loops do not explain."""

    degree: int | None
    degree_of_any: int = 0
    branches: int = 1
    before: str = ""
    pump: str = ""


def ambiguity(automaton: Automaton) -> Ambiguity:
    """How ambiguous it is."""
    return _Analysis(automaton).all()


class _Analysis:
    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self.edges = automaton.edges
        self.steps = 0
        self.sizes: dict[int, int] = {}
        self.components = _components(self.edges, [to for to, _ in automaton.starts])
        self.of = {s: n for n, c in enumerate(self.components) for s in c}
        self.loops = {n for n, c in enumerate(self.components) if any(self.within(s, n) for s in c)}

    def all(self) -> Ambiguity:
        for number in sorted(self.loops):
            pump = self.exponential(number)
            if pump is not None:
                at, word = pump
                return Ambiguity(None, before=self.word(self.way_to(at)), pump=self.word(word))
        degree = self.degree()
        of_any = self.degree(few=_FEW) if degree > 1 else degree
        return Ambiguity(degree, of_any, self.branches())

    def within(self, state: int, number: int) -> list[tuple[Edge, int]]:
        return [(e, n) for e, n in self.edges[state].items() if self.of[e[0]] == number]

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise TooLargeError

    # -- two ways back to the same state ------------------------------------------------------

    def exponential(self, number: int) -> tuple[int, list[int]] | None:
        """A state with two ways back to it over one word, and the word."""
        inside = {s: self.within(s, number) for s in self.components[number]}
        before: dict[tuple[int, int], tuple[tuple[int, int], int]] = {}
        waiting: list[tuple[int, int]] = []
        for state, edges in inside.items():
            for at, ((to, label), ways) in enumerate(edges):
                if ways > 1:
                    return state, [label, *self.way(to, state, inside)]
                for (other, more), _ in edges[at + 1 :]:
                    self.step()
                    if not label & more:
                        continue
                    if to == other:
                        return state, [label & more, *self.way(to, state, inside)]
                    pair = (min(to, other), max(to, other))
                    if pair not in before:
                        before[pair] = ((state, state), label & more)
                        waiting.append(pair)
        while waiting:
            one, two = pair = waiting.pop()
            for (to, label), _ in inside[one]:
                for (other, more), _ in inside[two]:
                    self.step()
                    if not label & more:
                        continue
                    if to == other:
                        word = [label & more]
                        while pair[0] != pair[1]:
                            pair, read = before[pair]
                            word.append(read)
                        word.reverse()
                        return pair[0], word + self.way(to, pair[0], inside)
                    reached = (min(to, other), max(to, other))
                    if reached not in before:
                        before[reached] = (pair, label & more)
                        waiting.append(reached)
        return None

    def way(self, start: int, end: int, inside: dict[int, list[tuple[Edge, int]]]) -> list[int]:
        """What is read on a way from one state to another."""
        known: dict[int, list[int]] = {start: []}
        waiting = [start]
        for state in waiting:
            for (to, label), _ in inside[state]:
                if to not in known:
                    known[to] = [*known[state], label]
                    waiting.append(to)
        return known[end]

    def way_to(self, end: int) -> list[int]:
        known: dict[int, list[int]] = {}
        waiting: list[int] = []
        for to, label in self.automaton.starts:
            known[to] = [label]
            waiting.append(to)
        for state in waiting:
            for to, label in self.edges[state]:
                if to not in known:
                    known[to] = [*known[state], label]
                    waiting.append(to)
        return known.get(end, [])

    def word(self, labels: Sequence[int]) -> str:
        """A text of such atoms: of letters that can be read, where there are any."""
        chars = []
        for label in labels:
            among = [a for n, a in enumerate(self.automaton.atoms) if label >> n & 1]
            chars.append(chr(next((a for a in among if 0x20 <= a < 0x7F), among[0])))
        return "".join(chars)

    # -- a power of the length ----------------------------------------------------------------

    def degree(self, *, few: int = 0) -> int:
        """The longest row of loops that share a word from each to the next; a word is of sets of
        more than so `few` letters."""
        rows: dict[int, int] = {}
        # Components come after those that they lead to.
        reached: dict[int, set[int]] = {}
        for number, component in enumerate(self.components):
            further = {self.of[to] for s in component for to, _ in self.edges[s]} - {number}
            reached[number] = further.union(*(reached[n] for n in further))
            longest = max((rows[n] for n in further), default=0)
            if number in self.loops:
                longest = max(longest, 1)
                for n in reached[number] & self.loops:
                    if rows[n] >= longest and self.shares(number, n, few):
                        longest = rows[n] + 1
            rows[number] = longest
        return max((rows[self.of[to]] for to, _ in self.automaton.starts), default=0)

    def shares(self, one: int, two: int, few: int) -> bool:
        """Whether a word leads from a state of one loop to itself, to a state of the other, and
        from there to itself."""
        first = {s: self.within(s, one) for s in self.components[one]}
        second = {s: self.within(s, two) for s in self.components[two]}
        if not _labels(first) & _labels(second):
            return False
        leaving = [p for p, edges in first.items() if len(edges) < len(self.edges[p])]
        return any(self.pumped(p, q, first, second, few) for p in leaving for q in second)

    def pumped(
        self,
        p: int,
        q: int,
        first: dict[int, list[tuple[Edge, int]]],
        second: dict[int, list[tuple[Edge, int]]],
        few: int,
    ) -> bool:
        known = {(p, p, q)}
        waiting = [(p, p, q)]
        while waiting:
            x, y, z = waiting.pop()
            for (x2, in_x), _ in first[x]:
                for (z2, in_z), _ in second[z]:
                    both = in_x & in_z
                    if not both:
                        continue
                    for y2, in_y in self.edges[y]:
                        self.step()
                        if self.size(both & in_y) <= few:
                            continue
                        if (x2, y2, z2) == (p, q, q):
                            return True
                        if (x2, y2, z2) not in known:
                            known.add((x2, y2, z2))
                            waiting.append((x2, y2, z2))
        return False

    def size(self, label: int) -> int:
        """How many characters some atoms have."""
        if label not in self.sizes:
            atoms = (*self.automaton.atoms, 0x110000)
            held = (n for n in range(len(atoms) - 1) if label >> n & 1)
            self.sizes[label] = sum(atoms[n + 1] - atoms[n] for n in held)
        return self.sizes[label]

    # -- ways without loops -------------------------------------------------------------------

    def branches(self) -> int:
        """So many ways at most go on at once from one state, beside those of loops: `a?a?a?…`."""
        most: dict[int, int] = {}
        for number, component in enumerate(self.components):
            found = 1
            for state in component:
                found = max(found, self.ahead(self.edges[state], most, number))
            most[number] = found + (number in self.loops)
        return self.ahead(self.automaton.starts, most, -1)

    def ahead(self, edges: dict[Edge, int], most: dict[int, int], number: int) -> int:
        by_atom: dict[int, int] = {}
        for (to, label), ways in edges.items():
            if self.of[to] == number:
                continue
            value = ways * most[self.of[to]]
            while label:
                self.step()
                low = label & -label
                by_atom[low] = by_atom.get(low, 0) + value
                label ^= low
        return max(by_atom.values(), default=1)


def _labels(inside: dict[int, list[tuple[Edge, int]]]) -> int:
    found = 0
    for edges in inside.values():
        for (_, label), _ in edges:
            found |= label
    return found


def _components(edges: list[dict[Edge, int]], starts: Sequence[int]) -> list[list[int]]:
    """States that lead to each other, after those that they lead to (Tarjan, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    standing: set[int] = set()
    found: list[list[int]] = []
    for start in starts:
        if start in index:
            continue
        work = [(start, iter([to for to, _ in edges[start]]))]
        index[start] = low[start] = len(index)
        stack.append(start)
        standing.add(start)
        while work:
            state, further = work[-1]
            for to in further:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    standing.add(to)
                    work.append((to, iter([t for t, _ in edges[to]])))
                    break
                if to in standing:
                    low[state] = min(low[state], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == index[state]:
                    component = []
                    while True:
                        one = stack.pop()
                        standing.discard(one)
                        component.append(one)
                        if one == state:
                            break
                    found.append(component)
    return found
