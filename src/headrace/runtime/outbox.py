"""The outbox: rows that a transaction owes to sinks on the driver, kept until they are delivered.

One file per transaction, written before it commits:

    Arrow IPC stream, Arrow IPC stream, …, index (JSON), length of the index, CRC-32 of all before
                                                         8 bytes              4 bytes

The index carries a CRC-32 of every stream too, so that one stream can be checked without reading
the others.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.query.window import Span

_SUFFIX = ".arrow"
_TAIL = struct.Struct("<QI")


@dataclass(frozen=True, slots=True)
class Parcel:
    """Rows of one query and one window, to be handed to its sink."""

    uid: int
    span: Span
    table: pa.Table


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where a parcel is in the outbox: a reference, without its rows."""

    txn: int
    uid: int
    span: Span
    rows: int
    offset: int
    length: int
    crc: int


class Outbox:
    """The files of one folder. It has one writer; parcels may be read from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._written: dict[int, tuple[Waiting, ...]] = {}

    def write(self, txn: int, parcels: Iterable[Parcel]) -> int:
        """Write the parcels of a transaction, whole or not at all; returns the bytes written.

        Without parcels nothing is written. A second attempt of a transaction replaces what the
        first one wrote, also when it has no parcels.
        """
        parts: list[pa.Buffer | bytes] = []
        index: list[Waiting] = []
        offset = 0
        for parcel in parcels:
            part = _stream(parcel.table)
            place = parcel.table.num_rows, offset, part.size, zlib.crc32(part)
            index.append(Waiting(txn, parcel.uid, parcel.span, *place))
            parts.append(part)
            offset += part.size
        if not parts:
            if txn in self._written:
                self.drop(txn)
            return 0
        listed = _index_bytes(index)
        parts += [listed, struct.pack("<Q", len(listed))]
        data = b"".join([*parts, struct.pack("<I", _crc_of(parts))])
        self._store.make()
        self._store.write(_name(txn), data)
        self._written[txn] = tuple(index)
        return len(data)

    def contents(self, txn: int) -> tuple[Waiting, ...]:
        """The parcels of a transaction, in the order they were written; none without a file.

        What this process wrote itself is remembered until it is dropped: no file is read for it.
        A file of an earlier process is read once as a whole, to check it: ExecutionError names one
        that is damaged.
        """
        known = self._written.get(txn)
        if known is not None:
            return known
        try:
            data = self._store.read(_name(txn))
        except FileNotFoundError:
            return ()
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(txn, "cannot be read") from error
        if data.size < _TAIL.size:
            raise self._damaged(txn, "is damaged: it has no end")
        body = memoryview(data)
        length, crc = _TAIL.unpack(body[-_TAIL.size :])
        if zlib.crc32(body[:-4]) != crc:
            raise self._damaged(txn, "is damaged: its checksum is wrong")
        end = data.size - _TAIL.size
        rows = json.loads(bytes(body[end - length : end]))
        return tuple(Waiting(txn, uid, (start, to), *rest) for uid, start, to, *rest in rows)

    def read(self, waiting: Waiting) -> pa.Table:
        """The rows of one parcel; mapped, not copied, on a local disk.

        They stay readable after their file is dropped, which then keeps its place on the disk
        until the table is gone. ExecutionError names a file that is damaged or gone.
        """
        try:
            data = self._store.read_range(_name(waiting.txn), waiting.offset, waiting.length)
        except (OSError, pa.ArrowException) as error:
            raise self._damaged(waiting.txn, "cannot be read") from error
        if data.size != waiting.length or zlib.crc32(data) != waiting.crc:
            raise self._damaged(waiting.txn, "is damaged: its checksum is wrong")
        return pa.ipc.open_stream(data).read_all()

    def drop(self, txn: int) -> None:
        """Remove the file of a transaction, if there is one."""
        self._written.pop(txn, None)
        self._store.delete(_name(txn))

    def drop_after(self, txn: int) -> None:
        """Remove the files of later transactions: they never committed."""
        for later in self.txns():
            if later > txn:
                self.drop(later)

    def txns(self) -> list[int]:
        """The transactions that have a file, in order."""
        names = (n.removesuffix(_SUFFIX) for n in self._store.names() if n.endswith(_SUFFIX))
        return sorted(int(n) for n in names if n.isdecimal())

    def _damaged(self, txn: int, how: str) -> ExecutionError:
        return ExecutionError(f"outbox file {self._store.path(_name(txn))!r} {how}")


def _name(txn: int) -> str:
    return f"{txn:010d}{_SUFFIX}"


def _stream(table: pa.Table) -> pa.Buffer:
    """A table as an Arrow IPC stream; of a slice, its own rows only."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _index_bytes(index: list[Waiting]) -> bytes:
    rows = [(w.uid, *w.span, w.rows, w.offset, w.length, w.crc) for w in index]
    return json.dumps(rows, separators=(",", ":")).encode()


def _crc_of(parts: Iterable[pa.Buffer | bytes]) -> int:
    """The checksum of all parts, as if they were one."""
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return crc
