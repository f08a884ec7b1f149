"""A query's text: places in it, and the few words of it that are read without Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.errors import QueryError, UnsupportedQuery

LONGEST = 1 << 21
"""So many characters a text may have: the parser's time and memory grow with it."""

_VARIABLE = re.compile(r"\$\{[^\s}]+\}")
"""What Spark replaces by a setting, a property or a variable of the environment before it reads a
text, be it in a string or a comment."""

Span = tuple[int, int]
"""From this character to before that one."""

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*)
  | (?P<hint>/\*\+.*?\*/)
  | (?P<comment>/\*.*?\*/)
  | (?P<string>[rR]?'(?:[^'\\]|\\.|'')*'|[rR]?"(?:[^"\\]|\\.|"")*")
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?:BD|bd|[a-zA-Z])?)
  | (?P<word>\w+)
  | (?P<symbol>.)
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number, string or symbol, and where it stands."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """The place after it."""
        return self.start + len(self.text)


def tokens(text: str) -> Iterator[Token]:
    """All that is neither space nor comment."""
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind not in ("space", "comment"):
            yield Token(kind, match.group(), match.start())


def place(text: str, offset: int) -> tuple[int, int]:
    """Line and column, 1-based, of an offset."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def error_at(
    text: str,
    span: Span | None,
    message: str,
    *choices: str,
    kind: type[QueryError] = QueryError,
) -> QueryError:
    """An error that points at a part of the text, where that is known."""
    if span is None:
        return kind(message, choices=choices)
    line, column = place(text, span[0])
    construct = text[span[0] : min(span[1], span[0] + 80)]
    return kind(message, line=line, column=column, construct=construct, choices=choices)


def refuse_variables(text: str, written: str) -> None:
    """Raise for a variable in what is `written` to Spark on behalf of a text: its value is no
    function of the tuples."""
    found = _VARIABLE.search(written)
    if found is not None:
        span = found.span() if written is text else None
        raise error_at(
            text,
            span,
            f"{found.group()} stands for a variable of the process, which a query may not read",
            "a constant",
            kind=UnsupportedQuery,
        )


def blanked(text: str, span: Span) -> str:
    """The text with a part of it made spaces: all other places stay."""
    return text[: span[0]] + re.sub(r"[^\n]", " ", text[span[0] : span[1]]) + text[span[1] :]
