"""The one exception tree of the project.

HeadraceError
├── QueryError          the caller's SQL or arguments are wrong; carries the place and the choices
│   └── UnsupportedQuery    valid Spark SQL that is not run here; carries what is supported
├── CapacityError       a stated limit would be exceeded
├── ExecutionError      a query, sink or source failed while running
└── InternalError       a broken promise inside the project: please report it
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class HeadraceError(Exception):
    """Root of every error that Headrace raises on purpose: catch it to catch all of them."""


class QueryError(HeadraceError):
    """The caller's SQL or arguments are wrong; raised by the call that was given them.

    ``message`` says what is wrong; it is kept as the attribute ``reason``. ``query`` is the name of
    the query, ``construct`` the part of SQL that is meant. ``line`` and ``column`` are its place in
    the text, counted from 1, where it has one. ``choices`` are what would be valid instead. All are
    attributes, and part of the text of the error.
    """

    def __init__(
        self,
        message: str,
        *,
        query: str | None = None,
        line: int | None = None,
        column: int | None = None,
        construct: str | None = None,
        choices: Iterable[str] = (),
    ) -> None:
        self.reason = message
        self.query = query
        self.line = line
        self.column = column
        self.construct = construct
        self.choices = tuple(choices)
        super().__init__(self._text())

    def _text(self) -> str:
        where = f" at line {self.line}, column {self.column}" if self.line is not None else ""
        who = f"query {self.query!r}: " if self.query else ""
        choices = f" ({'; '.join(self.choices)})" if self.choices else ""
        return f"{who}{self.reason}{where}{choices}"

    def named(self, query: str) -> QueryError:
        """The same error, naming the query it belongs to."""
        return type(self)(
            self.reason,
            query=query,
            line=self.line,
            column=self.column,
            construct=self.construct,
            choices=self.choices,
        )


class UnsupportedQuery(QueryError):
    """Valid Spark SQL that Headrace does not run; the choices say what it runs instead."""


class CapacityError(HeadraceError):
    """A stated limit would be exceeded."""


class ExecutionError(HeadraceError):
    """A query, a sink, a source or a session failed while running.

    The cause, where there is one, is chained (``__cause__``).
    """


class InternalError(HeadraceError):
    """A mistake inside Headrace, not the caller's: please report it."""


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """A hint with the known names nearest to a misspelt one, or all of them when few."""
    names = sorted(known)
    if not names:
        return ("nothing is declared yet",)
    by_folded = {n.lower(): n for n in names}
    close = difflib.get_close_matches(word.lower(), by_folded, n=3, cutoff=0.5)
    hint = (f"did you mean {' or '.join(repr(by_folded[c]) for c in close)}?",) if close else ()
    return (*hint, f"known: {', '.join(names[:20])}{', …' if len(names) > 20 else ''}")
