"""Tokens with their places, and pieces of the user's text that can be cut out and edited."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType
from sqlglot.dialects.spark import Spark
from sqlglot.errors import TokenError

from headrace.errors import QueryError

OPEN = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
CLOSE = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}


def tokenize(text: str) -> tuple[Token, ...]:
    """Spark's tokens; a text that cannot be read at all is a QueryError."""
    try:
        tokens = tuple(Spark().tokenize(text))
    except TokenError as error:
        raise QueryError(f"the text cannot be read as SQL: {error}") from error
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens = tokens[:-1]
    return tokens


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, 1-based, of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of tokens of one text."""

    source: str
    tokens: tuple[Token, ...]

    @property
    def text(self) -> str:
        """The user's own words."""
        if not self.tokens:
            return ""
        return self.source[self.tokens[0].start : self.tokens[-1].end + 1]

    @property
    def words(self) -> tuple[str, ...]:
        """Token texts for comparing pieces: names and keywords fold case, strings do not."""
        return tuple(
            f"'{t.text}'" if "STRING" in t.token_type.name else t.text.lower() for t in self.tokens
        )

    @property
    def place(self) -> tuple[int, int]:
        """Where it begins."""
        return place(self.source, self.tokens[0].start) if self.tokens else (1, 1)

    def part(self, start: int, stop: int | None = None) -> Piece:
        """Tokens from start up to stop."""
        return Piece(self.source, self.tokens[start:stop])

    def split(self, separator: TokenType) -> list[Piece]:
        """Pieces between separators at the outermost level."""
        pieces, begin = [], 0
        for index, token in self.outermost():
            if token.token_type == separator:
                pieces.append(self.part(begin, index))
                begin = index + 1
        pieces.append(self.part(begin))
        return pieces

    def outermost(self) -> Iterator[tuple[int, Token]]:
        """Tokens outside any bracket, with their positions; brackets themselves are outside."""
        depth = 0
        for index, token in enumerate(self.tokens):
            if token.token_type in CLOSE:
                depth -= 1
            if depth == 0:
                yield index, token
            if token.token_type in OPEN:
                depth += 1

    def close_of(self, opening: int) -> int:
        """Position of the bracket that closes the one at `opening`."""
        depth = 0
        for index in range(opening, len(self.tokens)):
            if self.tokens[index].token_type in OPEN:
                depth += 1
            elif self.tokens[index].token_type in CLOSE:
                depth -= 1
                if depth == 0:
                    return index
        line, column = place(self.source, self.tokens[opening].start)
        raise QueryError("a bracket is not closed", line=line, column=column)

    def find(self, words: Sequence[str]) -> list[tuple[int, int]]:
        """Every place where this run of words occurs, as (start, stop) token positions."""
        own, n = self.words, len(words)
        found, index = [], 0
        while index + n <= len(own):
            if own[index : index + n] == tuple(words):
                found.append((index, index + n))
                index += n
            else:
                index += 1
        return found

    def edited(self, replacements: Iterable[tuple[int, int, str]]) -> str:
        """The text with token runs (start, stop) replaced; runs must not overlap."""
        if not self.tokens:
            return ""
        base, out, at = self.tokens[0].start, [], self.tokens[0].start
        for start, stop, new in sorted(replacements):
            out.append(self.source[at : self.tokens[start].start])
            out.append(new)
            at = self.tokens[stop - 1].end + 1
        out.append(self.source[at : self.tokens[-1].end + 1])
        assert base <= at
        return "".join(out)

    def error(self, message: str, *choices: str, kind: type[QueryError] = QueryError) -> QueryError:
        """An error that points at the beginning of this piece."""
        line, column = self.place
        return kind(message, line=line, column=column, construct=self.text[:80], choices=choices)
