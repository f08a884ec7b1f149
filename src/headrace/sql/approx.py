"""The hint ``/*+ APPROX(error => 0.05, confidence => 0.95, …) */`` to an `Accuracy`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from headrace.errors import QueryError, UnsupportedQuery, near
from headrace.query.accuracy import CLOSINGS, FALLBACKS, Accuracy
from headrace.query.logical import Function, LogicalQuery, Output
from headrace.query.window import TimeWindow
from headrace.sql.text import Span, Token, blanked, error_at, tokens

_FORM = "APPROX(error => 0.05, confidence => 0.95, fallback => 'exact')"
_BOUNDED = {
    Function.COUNT,
    Function.SUM,
    Function.AVG,
    Function.VAR_SAMP,
    Function.VAR_POP,
    Function.STDDEV_SAMP,
    Function.STDDEV_POP,
    Function.PERCENTILE_APPROX,
    Function.KMEANS,
    Function.KMEANS_COST,
}
_WORDS = "COUNT, SUM, AVG, STDDEV, VARIANCE, PERCENTILE_APPROX of one percentage, KMEANS"


@dataclass(frozen=True, slots=True)
class Hint:
    """Where the hint of a text stands; Spark's own parser does not know its options."""

    span: Span

    def without(self, text: str) -> str:
        """The text as Spark shall see it."""
        return blanked(text, self.span)

    def accuracy(self, text: str) -> Accuracy:
        """What it asks for; its places are those of the whole text."""
        start, end = self.span[0] + len("/*+"), self.span[1] - len("*/")
        words = [Token(t.kind, t.text, t.start + start) for t in tokens(text[start:end])]
        whole = (words[0].start, words[-1].end) if words else self.span
        if not words or words[0].text.lower() != "approx":
            raise error_at(text, whole, "the only hint is APPROX", _FORM, kind=UnsupportedQuery)
        brackets = [n for n, word in enumerate(words) if word.text in "()"]
        if brackets != [1, len(words) - 1]:
            raise error_at(text, whole, "APPROX is followed by its options in brackets", _FORM)
        options: dict[str, Any] = {}
        for option in _split(words[2:-1]):
            name, value = _option(text, option, whole)
            if name in options:
                raise error_at(text, _span(option), f"{name} is given twice")
            options[name] = value
        if "error" not in options:
            raise error_at(text, whole, "APPROX needs the error that is accepted", _FORM)
        try:
            return Accuracy(**{_FIELDS.get(n, n): v for n, v in options.items()})
        except ValueError as error:
            raise error_at(text, whole, str(error), _FORM) from None


def find_hint(text: str) -> Hint | None:
    """The hint after the first SELECT, if there is one."""
    found = tokens(text)
    first, second = next(found, None), next(found, None)
    if first is None or second is None or second.kind != "hint":
        return None
    if first.text.lower() != "select":
        return None
    return Hint((second.start, second.end))


def _split(words: list[Token]) -> list[list[Token]]:
    """Options between commas; none where there is nothing at all."""
    if not words:
        return []
    parts: list[list[Token]] = [[]]
    for word in words:
        if word.text == ",":
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _span(words: list[Token]) -> Span:
    return words[0].start, words[-1].end


def _option(text: str, words: list[Token], whole: Span) -> tuple[str, object]:
    span = _span(words) if words else whole
    written = re.fullmatch(r"\s*(\w+)\s*=>\s*(.+?)\s*", text[slice(*span)], re.DOTALL)
    if written is None:
        raise error_at(text, span, "an option is written name => value", _FORM)
    name = written.group(1).lower()
    if name not in _OPTIONS:
        known = near(name, _OPTIONS)
        raise error_at(text, span, f"APPROX has no option {written.group(1)!r}", *known)
    read, choices = _OPTIONS[name]
    value = written.group(2)
    try:
        return name, read(value)
    except ValueError:
        at = (span[0] + written.start(2), span[0] + written.end(2))
        raise error_at(text, at, f"{name} is {value}", choices) from None


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


def _one_of(names: Iterable[str]) -> tuple[Callable[[str], object], str]:
    known = tuple(names)

    def read(text: str) -> str:
        if text[:1] != "'" or text[1:-1] not in known:
            raise ValueError(text)
        return text[1:-1]

    return read, " or ".join(f"'{n}'" for n in known)


_FIELDS = {"progress": "closing"}
_OPTIONS: dict[str, tuple[Callable[[str], object], str]] = {
    "error": (float, "a number between 0 and 1"),
    "confidence": (float, "a number from 0.5 to below 1"),
    "fallback": _one_of(FALLBACKS),
    "refine": (_truth, "true or false"),
    "sample": (_truth, "true or false"),
    "progress": _one_of(CLOSINGS),
}


def check_bounded(text: str, hint: Hint, query: LogicalQuery) -> None:
    """Refuse what has no bounds."""

    def refused(reason: str, *choices: str) -> QueryError:
        return error_at(text, hint.span, reason, *choices, kind=UnsupportedQuery)

    if not isinstance(query.window, TimeWindow):
        session = query.window is not None
        what = "a session has no deadline" if session else "a selection has no window"
        raise refused(f"{what}: nothing can be approximated")
    for call in query.aggregates:
        if call.function not in _BOUNDED or not call.single_percentage:
            raise refused(
                f"{call.function} has no bounds before all tuples have come",
                f"with bounds: {_WORDS}",
            )
    for output in query.outputs:
        if output.kind == "computed":
            raise refused(
                f"{output.name} is computed from results, and has no bounds",
                "select keys, the window and aggregates as they are",
            )


def with_bounds(outputs: tuple[Output, ...]) -> tuple[Output, ...]:
    """The result columns of an approximate query: its own, then what can be said of each
    aggregate, and whether the row is exact."""
    extra: list[Output] = []
    for output in outputs:
        if output.kind == "aggregate":
            at, name = output.index, output.name
            extra += [
                Output(f"{name}_lower", "double", "lower", at),
                Output(f"{name}_upper", "double", "upper", at),
                Output(f"{name}_sample", "bigint", "sample", at),
                Output(f"{name}_input", "double", "input", at),
                Output(f"{name}_met", "boolean", "met", at),
            ]
    return (*outputs, *extra, Output("exact", "boolean", "exact"))
