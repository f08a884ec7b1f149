"""The hint ``/*+ APPROX(error => 0.05, confidence => 0.95, …) */`` to an `Accuracy`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import Token, TokenType

from headrace.errors import UnsupportedQuery, near
from headrace.query.accuracy import CLOSINGS, FALLBACKS, Accuracy
from headrace.query.logical import AggregateCall, Function, Output
from headrace.query.window import TimeWindow, Window
from headrace.sql.text import Piece, tokenize

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


def read_accuracy(source: str, hint: Token) -> Accuracy:
    """What a hint asks for; its places are those of the whole text."""
    body = source[hint.start + len("/*+") : hint.end + 1].removesuffix("*/")
    piece = Piece(source, tokenize(" " * (hint.start + len("/*+")) + body))
    if not piece.tokens or piece.tokens[0].text.lower() != "approx":
        what = piece if piece.tokens else Piece(source, (hint,))
        raise what.error("the only hint is APPROX", _FORM, kind=UnsupportedQuery)
    opens = len(piece.tokens) > 1 and piece.tokens[1].token_type == TokenType.L_PAREN
    if not opens or piece.close_of(1) != len(piece.tokens) - 1:
        raise piece.error("APPROX is followed by its options in brackets", _FORM)
    inside = piece.part(2, -1)
    if not inside.tokens:
        raise piece.error("APPROX needs the error that is accepted", _FORM)
    options: dict[str, Any] = {}
    for option in inside.split(TokenType.COMMA):
        name, value = _option(option, inside)
        if name in options:
            raise option.error(f"{name} is given twice")
        options[name] = value
    if "error" not in options:
        raise piece.error("APPROX needs the error that is accepted", _FORM)
    try:
        return Accuracy(**{_FIELDS.get(n, n): v for n, v in options.items()})
    except ValueError as error:
        raise piece.error(str(error), _FORM) from None


def _option(option: Piece, inside: Piece) -> tuple[str, object]:
    tokens = option.tokens
    if len(tokens) < 3 or tokens[1].token_type != TokenType.FARROW:
        raise (option if tokens else inside).error("an option is written name => value", _FORM)
    name = tokens[0].text.lower()
    if name not in _OPTIONS:
        raise option.error(f"APPROX has no option {tokens[0].text!r}", *near(name, _OPTIONS))
    read, choices = _OPTIONS[name]
    try:
        return name, read(option.part(2).text)
    except ValueError:
        raise option.part(2).error(f"{name} is {option.part(2).text}", choices) from None


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


def check_bounded(
    hint: Piece, window: Window | None, calls: Iterable[AggregateCall], outputs: Iterable[Output]
) -> None:
    """Refuse what has no bounds."""
    if not isinstance(window, TimeWindow):
        what = "a selection has no window" if window is None else "a session has no deadline"
        raise hint.error(f"{what}: nothing can be approximated", kind=UnsupportedQuery)
    for call in calls:
        if call.function not in _BOUNDED or not call.single_percentage:
            raise hint.error(
                f"{call.function} has no bounds before all tuples have come",
                f"with bounds: {_WORDS}",
                kind=UnsupportedQuery,
            )
    for output in outputs:
        if output.kind == "computed":
            raise hint.error(
                f"{output.name} is computed from results, and has no bounds",
                "select keys, the window and aggregates as they are",
                kind=UnsupportedQuery,
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
