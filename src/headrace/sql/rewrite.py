"""Rewrites pieces of a query's text: for analysis over the stream, or over its combined results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import TokenType

from headrace.query.schema import quoted
from headrace.sql.aggregates import FoundAggregate, find_aggregates
from headrace.sql.text import Piece

Edit = tuple[int, int, str]


@dataclass(slots=True)
class Rewriter:
    """Knows what a query's words stand for.

    ``qualifiers`` are the stream's name and alias, dropped before a dot. The window may be named
    by its call, by an alias, or by Spark's own column name.
    """

    qualifiers: frozenset[str]
    window_column: str = "window"
    window_words: tuple[str, ...] = ()
    window_alias: str | None = None
    keys: Sequence[Piece] = ()
    key_names: Sequence[str] = ()
    aggregates: list[FoundAggregate] = field(default_factory=list)
    aliases: dict[str, Piece] = field(default_factory=dict)

    def on_stream(self, piece: Piece) -> str:
        """The text for Spark over the stream itself: unqualified names, the window by its name."""
        edits = self._window_edits(piece)
        edits += _free_of(edits, self._qualifiers(piece))
        return piece.edited(edits)

    def on_results(self, piece: Piece, *, with_aliases: bool = False) -> str:
        """The text over combined results: aggregates, keys and window by their result columns."""
        edits = [
            (found.start, found.stop, f"_a{self.number_of(found)}")
            for found in find_aggregates(piece)
        ]
        for key, name in zip(self.keys, self.key_names, strict=True):
            found_at = self._find(piece, self.words(key))
            edits += _free_of(edits, ((a, b, quoted(name)) for a, b in found_at))
        edits += _free_of(edits, self._window_edits(piece))
        if with_aliases:
            edits += _free_of(edits, self._alias_edits(piece))
        edits += _free_of(edits, self._qualifiers(piece))
        return piece.edited(edits)

    def words(self, piece: Piece) -> tuple[str, ...]:
        """The words of a piece without the stream's name before its columns."""
        dropped = {i for start, stop, _ in self._qualifiers(piece) for i in range(start, stop)}
        return tuple(w for i, w in enumerate(piece.words) if i not in dropped)

    def _find(self, piece: Piece, words: tuple[str, ...]) -> list[tuple[int, int]]:
        """Where a run of words stands, whether its names are qualified or not."""
        qualifiers = {start: stop for start, stop, _ in self._qualifiers(piece)}
        places: list[tuple[int, int]] = []
        index = 0
        while index < len(piece.tokens):
            stop = qualifiers.get(index, index) + 1
            places.append((index, stop))
            index = stop
        own = [piece.words[stop - 1] for _, stop in places]
        found, at = [], 0
        while at + len(words) <= len(own):
            if tuple(own[at : at + len(words)]) == words:
                found.append((places[at][0], places[at + len(words) - 1][1]))
                at += len(words)
            else:
                at += 1
        return found

    def note(self, piece: Piece) -> None:
        """Remember the aggregates of a piece; the same call is computed once."""
        known = {a.piece.words for a in self.aggregates}
        for found in find_aggregates(piece):
            if found.piece.words not in known:
                known.add(found.piece.words)
                self.aggregates.append(found)

    def number_of(self, found: FoundAggregate) -> int:
        """Which of the remembered aggregates this is."""
        return next(n for n, a in enumerate(self.aggregates) if a.piece.words == found.piece.words)

    def _window_edits(self, piece: Piece) -> list[Edit]:
        edits: list[Edit] = []
        if self.window_words:
            edits += [(a, b, self.window_column) for a, b in piece.find(self.window_words)]
        if self.window_alias is not None:
            alias = self.window_alias.lower()
            edits += _free_of(edits, self._names(piece, alias.__eq__, self.window_column))
        return edits

    def _alias_edits(self, piece: Piece) -> list[Edit]:
        edits: list[Edit] = []
        for alias, target in self.aliases.items():
            edits += self._names(piece, alias.__eq__, f"({self.on_results(target)})")
        return edits

    def _qualifiers(self, piece: Piece) -> list[Edit]:
        tokens = piece.tokens
        return [
            (i, i + 2, "")
            for i in range(len(tokens) - 2)
            if tokens[i].text.lower() in self.qualifiers
            and tokens[i + 1].token_type == TokenType.DOT
            and (i == 0 or tokens[i - 1].token_type != TokenType.DOT)
        ]

    @staticmethod
    def _names(piece: Piece, is_it: Callable[[str], bool], new: str) -> list[Edit]:
        """Single-token names that are neither fields nor function calls nor strings."""
        tokens = piece.tokens
        return [
            (i, i + 1, new)
            for i, t in enumerate(tokens)
            if is_it(t.text.lower())
            and t.token_type not in {TokenType.STRING, TokenType.NUMBER}
            and not (i > 0 and tokens[i - 1].token_type == TokenType.DOT)
            and not (i + 1 < len(tokens) and tokens[i + 1].token_type == TokenType.L_PAREN)
        ]


def _free_of(taken: Sequence[Edit], candidates: Iterable[Edit]) -> list[Edit]:
    """The candidates that overlap no edit already made."""
    return [c for c in candidates if all(c[1] <= t[0] or c[0] >= t[1] for t in taken)]
