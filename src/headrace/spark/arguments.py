"""What callers give: the wrong kind is told in words, before anything is done with it."""

from __future__ import annotations

import inspect
import os
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

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
    if checkpoint is not None:
        check_storable("the checkpoint", str(checkpoint))
        if not str(checkpoint) or "\0" in str(checkpoint):
            raise QueryError(f"checkpoint is {checkpoint!r}", choices=("a folder, or None",))
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
    assert isinstance(text, str)
    check_storable("the text of a query", text)
    if name is not None:
        if not isinstance(name, str) or not name:
            raise QueryError(f"the name of a query is {name!r}", choices=("a text", "None"))
        check_storable("the name of a query", name)
    if options is not None:
        check_kind("options", options, Mapping, "a mapping of names and values")
        assert isinstance(options, Mapping)
        for key, value in options.items():
            check_storable("an option of a sink", f"{key}{value}")


def check_storable(what: str, text: str) -> None:
    """Half a pair of surrogates is no character: no file and no other process takes it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryError(
            f"{what} has {text[error.start]!a} at character {error.start + 1}, which is no "
            "character of Unicode",
            choices=("a text that can be encoded as UTF-8",),
        ) from None


def check_timeout(timeout_s: Any) -> None:
    """Of what waits: None for ever, else a number of seconds."""
    if timeout_s is None:
        return
    is_number = isinstance(timeout_s, (int, float)) and not isinstance(timeout_s, bool)
    if is_number and 0 <= timeout_s <= threading.TIMEOUT_MAX:  # NaN is not
        return
    raise QueryError(
        f"timeout_s is {timeout_s!r}", choices=("a number of seconds, 0 or more", "None")
    )


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
