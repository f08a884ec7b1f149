"""What `parse` asks of Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from headrace.query.schema import StreamSchema
from headrace.sql.tree import Operator, Statement, Writer


class Analyzer(Protocol):
    """Spark's parser and analyzer; a text that either refuses is a QueryError with its place."""

    @property
    def ansi(self) -> bool:
        """Whether Spark raises on overflow and bad casts."""
        ...

    def parsed(self, text: str) -> Operator:
        """The plan of a text before any name is looked up; nothing is run."""
        ...

    def analyzed(
        self,
        text: str,
        streams: Sequence[StreamSchema],
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Statement, Writer]:
        """A SELECT over streams with all names and types settled; nothing is run. Plainly:
        functions that stand for other expressions are told as those.

        With ``windows``, calls and names that begin at these places stand for the window of the
        stream with that number, in the order of the text.
        """
        ...
