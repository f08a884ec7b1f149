"""A matcher as Java's, as simple as can be: it tries one way after the other and counts its steps.

It searches, as RLIKE does. There are no captures, and what was tried before is tried again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.sql.patterns.java import parse_pattern
from headrace.sql.patterns.tree import Atomic, Check, Choice, Look, One, Repeat, Row, Tree


class TooManyError(Exception):
    """It has made as many steps as it may."""


@dataclass
class Matcher:
    """Counts the steps of a search, up to a limit."""

    pattern: str
    limit: int = 100_000
    steps: int = 0

    def search(self, text: str) -> bool:
        """Whether the pattern is found."""
        self.steps = 0
        tree = parse_pattern(self.pattern)
        return any(True for start in range(len(text) + 1) for _ in self._ends(tree, text, start))

    def explodes(self, text: str) -> bool:
        """Whether the search makes more steps than it may."""
        try:
            self.search(text)
        except TooManyError:
            return True
        return False

    def _ends(self, tree: Tree, text: str, at: int) -> Iterator[int]:
        self.steps += 1
        if self.steps > self.limit:
            raise TooManyError
        match tree:
            case One(chars):
                if at < len(text) and any(a <= ord(text[at]) <= z for a, z in chars.may):
                    yield at + 1
            case Row(parts):
                yield from self._row(parts, text, at)
            case Choice(parts):
                for part in parts:
                    yield from self._ends(part, text, at)
            case Repeat(body, least, most):
                yield from self._repeat(body, least, most, text, at)
            case Atomic(body):
                yield from itertools.islice(self._ends(body, text, at), 1)
            case Look(body, False, negative):
                if any(True for _ in self._ends(body, text, at)) != negative:
                    yield at
            case Check(at_start, _):
                if at == 0 if at_start else at == len(text):
                    yield at

    def _row(self, parts: tuple[Tree, ...], text: str, at: int) -> Iterator[int]:
        if not parts:
            yield at
            return
        for end in self._ends(parts[0], text, at):
            yield from self._row(parts[1:], text, end)

    def _repeat(
        self, body: Tree, least: int, most: int | None, text: str, at: int
    ) -> Iterator[int]:
        if most != 0:
            for end in self._ends(body, text, at):
                if end > at or least > 0:  # an empty repetition is not repeated
                    fewer = None if most is None else most - 1
                    yield from self._repeat(body, max(least - 1, 0), fewer, text, end)
        if least == 0:
            yield at
