"""Dataclasses as bytes and back: the one codec of messages and of records.

Messages travel once and are small (MessagePack, which knows infinities); records are read by people
too (JSON). Both are checked against the types of the class they are read as.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


def packed(value: object) -> bytes:
    """A message's payload."""
    return msgspec.msgpack.encode(value)


def unpacked(data: bytes, kind: type[T]) -> T:
    """A message's payload back."""
    found: T = _unpacker(kind).decode(data)  # type: ignore[arg-type] # classes are hashable
    return found


@cache
def _unpacker(kind: type[Any]) -> Any:
    return msgspec.msgpack.Decoder(kind)


def written(value: object) -> bytes:
    """A record's text."""
    return msgspec.json.encode(value)


def read(data: bytes, kind: type[T]) -> T:
    """A record back; raises ValueError where the text is not one of that kind."""
    return msgspec.json.decode(data, type=kind)
