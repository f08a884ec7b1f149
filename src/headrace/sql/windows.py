"""Reads ``window(time, size[, slide[, start]])`` and ``session_window(time, gap)``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.window import SessionWindow, TimeWindow, Window
from headrace.sql.text import Span, error_at
from headrace.sql.tree import Node, Operator
from headrace.types import duration_us

_NAMES = {"window", "session_window"}
_FORMS = "window(time, size[, slide[, start]]) or session_window(time, gap)"
_LONGEST_US = 10_000 * 366 * 86_400_000_000
MOST_AT_ONCE = 20_000
"""So many windows of one query may a tuple lie in; a week by the minute are 10,080."""
_ANY = "'1 day'"
"""A duration that is as short as any that can be written."""


@dataclass(frozen=True, slots=True)
class Duration:
    """A constant duration, and where it stands."""

    span: Span
    us: int


@dataclass(frozen=True, slots=True)
class WindowCall:
    """A call of a window function: its durations, and where they stand."""

    name: str
    span: Span
    over: Span | None
    """Where the time stands that it is over."""
    durations: tuple[Duration, ...]

    def window(self, text: str) -> Window:
        """What it asks for; what it may not is refused."""
        durations = [d.us for d in self.durations]
        if self.name == "session_window":
            if len(durations) != 1:
                raise error_at(text, self.span, "session_window takes a time and one gap", _FORMS)
            self._positive(text, 0, durations[0], "the gap")
            return SessionWindow(durations[0])
        if not 1 <= len(durations) <= 3:
            raise error_at(
                text, self.span, "window takes a time and one to three durations", _FORMS
            )
        size = durations[0]
        slide = durations[1] if len(durations) > 1 else size
        offset = durations[2] if len(durations) > 2 else 0
        self._positive(text, 0, size, "the window's size")
        if len(durations) > 1:
            self._positive(text, 1, slide, "the slide")
            if slide > size:
                raise error_at(
                    text, self.durations[1].span, "the slide may not be longer than the window"
                )
            if size > MOST_AT_ONCE * slide:
                raise error_at(
                    text,
                    self.durations[1].span,
                    f"every tuple would lie in {-(-size // slide):,} windows",
                    f"at most {MOST_AT_ONCE:,}: a longer slide, or a shorter window",
                    kind=UnsupportedQuery,
                )
        if abs(offset) >= slide:
            raise error_at(
                text, self.durations[2].span, "the start offset must be shorter than the slide"
            )
        return TimeWindow(size, slide, offset % slide)

    def _positive(self, text: str, at: int, value: int, what: str) -> None:
        start, end = self.durations[at].span
        if max(value, _as_written_us(text[start:end])) > _LONGEST_US:
            raise error_at(text, (start, end), f"{what} is longer than 10,000 years")
        if value <= 0:
            raise error_at(text, self.durations[at].span, f"{what} must be longer than nothing")

    def neutral(self, text: str) -> str:
        """The text with any duration in the place of these: Spark would write out a window that
        slides by little as thousands of expressions, and types do not depend on it."""
        start, end = self.durations[0].span[0], self.durations[-1].span[1]
        return text[:start] + _ANY.ljust(end - start) + text[end:]


def window_calls(text: str, plan: Operator) -> list[WindowCall]:
    """The calls of window functions in a parsed text, as often as they stand there."""
    return [_call(text, node) for node in _called(plan)]


def _called(plan: Operator) -> Iterator[Node]:
    for operator in plan.walk():
        for node in operator.nodes:
            if node.kind == "UnresolvedFunction" and node.names[-1].lower() in _NAMES:
                yield node


def _call(text: str, node: Node) -> WindowCall:
    name = node.names[-1].lower()
    assert node.span is not None, "a call stands in the text"
    if len(node.children) < 2:
        raise error_at(text, node.span, f"{name} needs the event time and a duration", _FORMS)
    time, *durations = node.children
    if time.kind != "UnresolvedAttribute":
        raise error_at(
            text,
            time.span or node.span,
            f"{name} is over an expression, not over the event time",
            "write the event-time column itself",
            kind=UnsupportedQuery,
        )
    return WindowCall(
        name, node.span, time.span, tuple(_duration(text, d, name) for d in durations)
    )


def _as_written_us(text: str) -> int:
    """A duration that may be longer than Spark can count; 0 where only Spark can read it."""
    try:
        return duration_us(text.strip("'\""))
    except QueryError:
        return 0


def _duration(text: str, node: Node, name: str) -> Duration:
    """A duration written as a string or as an INTERVAL literal."""
    span = node.span
    if node.kind == "Literal" and span is not None:
        if node.micros is not None:
            return Duration(span, node.micros)
        fixed = node.type.startswith("interval ") and not re.search("year|month", node.type)
        if fixed and str(node.value).lstrip("-").isdigit():
            return Duration(span, int(node.value))
        if node.type in ("int", "bigint"):
            return Duration(span, int(node.value))  # microseconds, as Spark takes it
        if node.type == "string":
            _refuse_text(text, span, str(node.value))
    written = text[slice(*span)] if span is not None else name
    raise error_at(
        text,
        span,
        f"{name} takes constant durations, not {written!r}",
        "write '8 seconds' or INTERVAL 8 SECONDS",
        kind=UnsupportedQuery,
    )


def _refuse_text(text: str, span: Span, duration: str) -> NoReturn:
    """Say what is wrong with a text that Spark does not take for a duration of fixed length."""
    try:
        duration_us(duration)
    except QueryError as error:
        raise error_at(text, span, error.reason, *error.choices) from error
    raise error_at(text, span, f"{duration!r} is not a duration", "write it like '8 seconds'")


def one_window(text: str, calls: Sequence[WindowCall]) -> Window | None:
    """The window of a query: all its calls ask for the same one."""
    if not calls:
        return None
    first = calls[0].window(text)
    for call in calls[1:]:
        if call.window(text) != first:
            raise error_at(text, call.span, "a query has one window", kind=UnsupportedQuery)
    return first
