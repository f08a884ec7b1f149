"""What tasks and driver say to each other: plain records, small enough for the driver."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

ARROW_SCHEMA = pa.schema(
    [pa.field("kind", pa.string()), pa.field("uid", pa.int64()), pa.field("payload", pa.binary())]
)

Kind = Literal[
    "info",
    "rows",
    "written",
    "staged",
    "late",
    "failed",
    "held",
    "compacted",
    "unreadable",
    "early",
]


@dataclass(frozen=True, slots=True)
class Message:
    """One row from a task. ``rows`` and ``late`` carry Arrow IPC, the others JSON."""

    kind: str
    uid: int
    payload: bytes

    @classmethod
    def of(cls, kind: Kind, uid: int, value: Any) -> Message:
        """A message with a JSON payload."""
        return cls(kind, uid, json.dumps(value).encode())

    @classmethod
    def table(cls, kind: Kind, uid: int, table: pa.Table) -> Message:
        """A message that carries a table."""
        return cls(kind, uid, ipc_bytes(table))

    @property
    def value(self) -> Any:
        """The JSON payload."""
        return json.loads(self.payload)

    @property
    def rows(self) -> pa.Table:
        """The table."""
        return pa.ipc.open_stream(self.payload).read_all()


def ipc_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow IPC stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def messages_of(table: pa.Table) -> list[Message]:
    """Messages back from the rows that Spark collected."""
    columns = (table.column(n).to_pylist() for n in ("kind", "uid", "payload"))
    return [Message(*row) for row in zip(*columns, strict=True)]


def as_batch(messages: list[Message]) -> pa.RecordBatch:
    """Messages as rows for Spark."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([m.kind for m in messages], pa.string()),
            pa.array([m.uid for m in messages], pa.int64()),
            pa.array([m.payload for m in messages], pa.binary()),
        ],
        schema=ARROW_SCHEMA,
    )


@dataclass(frozen=True, slots=True)
class SectionRef:
    """Where a section is and what it holds. One section is one group's cells of one task.

    ``uids`` is set when its columns are queries (compacted state); otherwise they are what the
    group of that plan version has: classes that the plan tells, its queries, or as many ``classes``
    as the section tells itself. ``slices`` are slice starts; for sessions, first and last event
    time.
    """

    file: str
    offset: int
    length: int
    txn: int
    watermark_us: int
    version: int
    group: int
    keys: tuple[str, ...]
    value: str | None
    sketch: int | None
    session: bool
    slices: tuple[int, ...]
    cells: int
    dense: bool
    uids: tuple[int, ...] | None = None
    classes: int | None = None

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> SectionRef:
        """Back from a record."""
        uids = value.pop("uids")
        return cls(
            **{
                **value,
                "keys": tuple(value["keys"]),
                "slices": tuple(value["slices"]),
                "uids": None if uids is None else tuple(uids),
            }
        )

    def to_json(self) -> dict[str, Any]:
        """As a record."""
        return {name: getattr(self, name) for name in self.__slots__}

    @property
    def family(self) -> tuple[tuple[str, ...], str | None, int | None]:
        """What it keeps: keys, value column, sketch precision."""
        return self.keys, self.value, self.sketch

    @property
    def columns_of(self) -> tuple[int, int, tuple[int, ...] | None]:
        """Who knows what its columns stand for, and which queries they can answer."""
        return self.version, self.group, self.uids
