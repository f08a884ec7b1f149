"""The port through which SQL text is typed and constants are folded by the engine that runs it."""

from __future__ import annotations

from typing import Protocol

from headrace.query.predicate import Bound
from headrace.query.schema import Column, StreamSchema


class Analyzer(Protocol):
    """Spark's analysis, as far as parsing needs it."""

    @property
    def ansi(self) -> bool:
        """Whether expressions may raise (ANSI mode)."""
        ...

    def columns(self, stream: StreamSchema, sql: str) -> tuple[Column, ...]:
        """Result columns of a SELECT over the stream; raises QueryError with Spark's reason."""
        ...

    def constant(self, sql: str, type_: str) -> Bound:
        """A constant cast to a type, in that type's discrete order (days, microseconds, …)."""
        ...
