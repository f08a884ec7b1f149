"""Reads ``window(time, size[, slide[, start]])`` and ``session_window(time, gap)``."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import TokenType

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.schema import StreamSchema
from headrace.query.window import SessionWindow, TimeWindow, Window
from headrace.sql.text import Piece
from headrace.types import duration_us

WINDOW_FUNCTIONS = {"window", "session_window"}
_FORMS = "window(time, size[, slide[, start]]) or session_window(time, gap)"


def is_window_call(piece: Piece) -> bool:
    """Whether the piece begins with a call of a window function."""
    return (
        len(piece.tokens) > 1
        and piece.tokens[0].text.lower() in WINDOW_FUNCTIONS
        and piece.tokens[1].token_type == TokenType.L_PAREN
    )


def read_window(call: Piece, stream: StreamSchema, sql_of: Callable[[Piece], str]) -> Window:
    """The window of a call over the stream's event time; anything else is refused."""
    name = call.tokens[0].text.lower()
    arguments = call.part(2, call.close_of(1)).split(TokenType.COMMA)
    if not arguments[0].tokens:
        raise call.error(f"{name} needs the event-time column and a duration", _FORMS)
    column = arguments[0]
    if sql_of(column).strip("`").lower() != stream.event_time.lower():
        raise column.error(
            f"{name} is over {column.text!r}, which is not the event time of {stream.name!r}",
            f"the event time is {stream.event_time!r}",
            kind=UnsupportedQuery,
        )
    durations = [_duration(a, name) for a in arguments[1:]]
    if name == "session_window":
        if len(durations) != 1:
            raise call.error("session_window takes the event time and one gap", _FORMS)
        _positive(durations[0], arguments[1], "the gap")
        return SessionWindow(durations[0])
    if not 1 <= len(durations) <= 3:
        raise call.error("window takes the event time and one to three durations", _FORMS)
    size = durations[0]
    slide = durations[1] if len(durations) > 1 else size
    offset = durations[2] if len(durations) > 2 else 0
    _positive(size, arguments[1], "the window's size")
    if len(durations) > 1:
        _positive(slide, arguments[2], "the slide")
        if slide > size:
            raise arguments[2].error("the slide may not be longer than the window")
    if abs(offset) >= slide:
        raise arguments[3].error("the start offset must be shorter than the slide")
    return TimeWindow(size, slide, offset % slide)


def _positive(value: int, argument: Piece, what: str) -> None:
    if value <= 0:
        raise argument.error(f"{what} must be longer than nothing")


def _duration(argument: Piece, name: str) -> int:
    """A duration written as a string or as an INTERVAL literal."""
    tokens = argument.tokens
    if not tokens:
        raise argument.error(f"an argument of {name} is empty", _FORMS)
    if tokens[0].token_type == TokenType.INTERVAL:
        text = " ".join(t.text for t in tokens[1:])
    elif len(tokens) == 1 and tokens[0].token_type == TokenType.STRING:
        text = tokens[0].text
    else:
        raise argument.error(
            f"{name} takes constant durations, not {argument.text!r}",
            "write '8 seconds' or INTERVAL 8 SECONDS",
            kind=UnsupportedQuery,
        )
    try:
        return duration_us(text)
    except QueryError as error:
        raise argument.error(error.reason, *error.choices) from error
