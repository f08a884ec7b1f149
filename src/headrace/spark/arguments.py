"""What callers give: the wrong kind is told in words, before anything is done with it."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Mapping

from headrace.errors import QueryError
from headrace.types import duration_us

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 100


def check_kind(what: str, value: object, kind: type | tuple[type, ...], like: str) -> None:
    """Raise QueryError unless `value` is of a kind; `like` says what is."""
    if not isinstance(value, kind):
        raise QueryError(f"{what} is {value!r}", choices=(like,))


def check_session(checkpoint: object, clock: object, trigger: str, concurrency: object) -> None:
    """Of `Session`."""
    check_kind("checkpoint", checkpoint, (str, os.PathLike, type(None)), "a folder, or None")
    if clock is not None and not callable(getattr(clock, "now", None)):
        raise QueryError(f"clock is {clock!r}", choices=("an object with now()", "None"))
    if concurrency is not None:
        check_kind("concurrency", concurrency, int, "a whole number, 1 or more")
    if duration_us(trigger) < 0:
        raise QueryError(f"trigger is {trigger!r}", choices=("'0 seconds'", "or longer"))


def check_stream_name(name: object) -> None:
    """A stream's name becomes that of a folder."""
    check_kind("a stream's name", name, str, "letters, digits and _")
    assert isinstance(name, str)
    if not _NAME.fullmatch(name):
        raise QueryError(f"{name!r} is not a stream name", choices=("letters, digits and _",))
    if len(name) > _LONGEST_NAME:
        raise QueryError(
            f"a stream's name has {len(name)} characters", choices=(f"at most {_LONGEST_NAME}",)
        )


def check_asked(text: object, name: object, options: object) -> None:
    """Of `Session.sql`."""
    check_kind("the text of a query", text, str, "SQL, as a str")
    if name is not None and (not isinstance(name, str) or not name):
        raise QueryError(f"the name of a query is {name!r}", choices=("a text", "None"))
    if options is not None:
        check_kind("options", options, Mapping, "a mapping of names and values")


def check_sink_function(function: Callable[..., object]) -> None:
    """A sink that is called must take what it is given, and do its work when it is called."""
    lazy = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(is_lazy(function) for is_lazy in lazy):
        raise QueryError(
            "a sink that is called must do its work: this one is async or a generator, and "
            "would only return something to be run",
            choices=("a plain function",),
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return  # some built-in functions do not tell
    for count in (1, 2):
        try:
            signature.bind(*range(count))
            return
        except TypeError:
            continue
    raise QueryError(
        f"a sink is called with a table, or with a table and a transaction; this one takes "
        f"{signature}",
        choices=("f(table)", "f(table, transaction)"),
    )
