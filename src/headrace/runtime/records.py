"""Records of a checkpoint: small files that tell when they are damaged or of another version.

A record is one line of JSON, the header, and then the payload, whatever bytes it is:

    {"headrace":2,"kind":"commit","crc32":907060870,"bytes":5}
    hello

The header says how long the payload is and what its checksum is, so a record that was cut short or
changed on the disk is refused rather than believed. Earlier versions wrote bare JSON, format 1.
"""

from __future__ import annotations

import errno
import json
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headrace.connectors.store import Store
from headrace.errors import ExecutionError

FORMAT = 2
"""The format that is written, and the only one that is read."""

RESTORE = "restore the file from a copy, or begin with a new checkpoint"
"""What to do about a damaged record, unless the reader knows better."""

_FIELDS = ("headrace", "kind", "crc32", "bytes")
_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_FULL_TEXT = re.compile(
    rf"\[errno ({errno.ENOSPC}|{errno.EDQUOT})\]|no space left on device|disk quota exceeded",
    re.IGNORECASE,
)


class RecordError(ExecutionError):
    """A record of the checkpoint cannot be used; the message names the file and the way out."""


class Missing(RecordError):
    """There is no such file."""


class Damaged(RecordError):
    """The file is not what was written, or not the kind of record that belongs there."""


class OtherFormat(RecordError):
    """The file was written by a version of Headrace with an older or newer format."""


def encode(kind: str, payload: bytes) -> bytes:
    """The bytes of a record.

    >>> encode("commit", b"hello")
    b'{"headrace":2,"kind":"commit","crc32":907060870,"bytes":5}\\nhello'
    """
    header = {
        "headrace": FORMAT,
        "kind": kind,
        "crc32": zlib.crc32(payload),
        "bytes": len(payload),
    }
    return _line(header) + b"\n" + payload


def decode(data: bytes, kind: str, address: str, advice: str = RESTORE) -> bytes:
    """The payload of a record of this kind.

    Raises Damaged or OtherFormat, which name the address and end with the advice. Every change of
    a single bit and every cut is noticed.
    """

    def damaged(found: str) -> Damaged:
        return Damaged(f"checkpoint record {address} is damaged: {found}; {advice}")

    line, newline, payload = data.partition(b"\n")
    fields = _object(line)
    if not data:
        raise damaged("a header was expected, the file is empty")
    if fields is None:
        raise damaged("a header was expected, its first line is something else")
    found = fields.get("headrace", None if newline else 1)
    if type(found) is not int:
        raise damaged("a header was expected, its first line is something else")
    if found != FORMAT:
        raise OtherFormat(f"checkpoint record {address} {_written_by(found)}")
    if not newline:
        raise damaged("the file ends within its header")
    # Byte for byte, so that a header is what was written and does not merely mean the same.
    if tuple(fields) != _FIELDS or _line(fields) != line:
        raise damaged("its header is not one that Headrace writes")
    _, written_as, crc32, length = fields.values()
    if written_as != kind:
        raise damaged(f"a record of kind {kind!r} was expected, one of {written_as!r} is there")
    if length != len(payload):
        raise damaged(f"{length} bytes were announced, {len(payload)} are there")
    if crc32 != (is_now := zlib.crc32(payload)):
        raise damaged(f"the checksum {crc32} was announced, {is_now} is there")
    return payload


def _line(header: dict[str, Any]) -> bytes:
    return json.dumps(header, separators=(",", ":")).encode()


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _written_by(found: int) -> str:
    version = "a newer" if found > FORMAT else "an earlier"
    return (
        f"was written by {version} version of Headrace (format {found}; this one reads {FORMAT}): "
        "use that version, or begin with a new checkpoint"
    )


# -- files ------------------------------------------------------------------------------------


def write_record(store: Store, name: str, kind: str, payload: bytes) -> None:
    """Write a record in the place of an earlier one; raises ExecutionError if the disk refuses."""
    with disk_errors(store.address):
        store.write(name, encode(kind, payload))


def create_record(store: Store, name: str, kind: str, payload: bytes) -> bool:
    """Write a record unless there is a file by that name, as `Store.create`; whether it was."""
    with disk_errors(store.address):
        return store.create(name, encode(kind, payload))


def read_record(store: Store, name: str, kind: str, advice: str = RESTORE) -> bytes:
    """The payload of a record; raises Missing, Damaged, OtherFormat, or ExecutionError if the disk
    refuses. `advice` says what to do about a missing or damaged one."""
    address = store.path(name)
    try:
        data = store.read(name).to_pybytes()
    except FileNotFoundError as error:
        raise Missing(f"checkpoint record {address} is missing; {advice}") from error
    except OSError as error:
        raise read_error(error, address) from error
    return decode(data, kind, address, advice)


# -- errors of the disk -----------------------------------------------------------------------


@contextmanager
def disk_errors(address: str) -> Iterator[None]:
    """Tell an OSError of what is done inside as an ExecutionError about this checkpoint."""
    try:
        yield
    except OSError as error:
        raise ExecutionError(_write_sentence(error, address)) from error


def read_error(error: OSError, address: str) -> ExecutionError:
    """What to raise when the disk refuses to give what is at this address."""
    return ExecutionError(f"the checkpoint cannot be read: {address}: {_reason(error)}")


def disk_sentence(error: BaseException, address: str) -> str | None:
    """What an error says about the disk of the checkpoint at this address, and what to do.

    An OSError always says something. Any other error does if it, or an error it came from, tells
    of a full disk, be it only in its text, as errors of Spark's tasks do; otherwise None.
    """
    if any(_tells_full(e) for e in _chain(error)):
        return _full_sentence(address)
    return _write_sentence(error, address) if isinstance(error, OSError) else None


def _tells_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return _FULL_TEXT.search(str(error)) is not None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and all that led to it, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            waiting += [one.__context__, one.__cause__]
            yield one


def _full_sentence(address: str) -> str:
    return (
        f"the disk of the checkpoint is full ({address}): free some space and start the session "
        "again; what was committed is safe"
    )


def _write_sentence(error: OSError, address: str) -> str:
    if _tells_full(error):
        return _full_sentence(address)
    refused = f"the checkpoint {address} cannot be written"
    if error.errno in _DENIED:
        why = " (the file system is read-only)" if error.errno == errno.EROFS else ""
        return (
            f"{refused}: permission denied{why}; let this process write there, or use another "
            "folder"
        )
    return f"{refused}: {_reason(error)}"


def _reason(error: OSError) -> str:
    """The system's own words; pyarrow's are longer and say the same."""
    return os.strerror(error.errno) if error.errno is not None else str(error)
