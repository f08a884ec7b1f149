"""`Expression`: a value that is made of a tuple."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expression:
    """A scalar expression over the stream: a bare column, or SQL that Spark computes.

    ``guard`` is SQL that must be TRUE before the expression may be evaluated at all: under ANSI an
    expression may raise, and it may raise only for tuples that its own query keeps.
    """

    sql: str
    type: str
    column: str | None = None
    guard: str | None = None

    @property
    def computed_sql(self) -> str:
        """The SQL of the derived column that carries it."""
        return f"CASE WHEN {self.guard} THEN {self.sql} END" if self.guard else self.sql
