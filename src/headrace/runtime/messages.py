"""What tasks tell the driver: small typed values, and tables of rows.

A message is a row of Spark: its kind, the query it is about (-1 where it is about none or several),
and a payload.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import pyarrow as pa

from headrace.kernels.delays import SubStreamsFound
from headrace.runtime.codec import packed, unpacked

ARROW_SCHEMA = pa.schema(
    [pa.field("kind", pa.string()), pa.field("uid", pa.int64()), pa.field("payload", pa.binary())]
)

SectionKind = Literal["cells", "sessions", "tuples"]


@dataclass(frozen=True, slots=True)
class SectionRef:
    """Where a section is and what it holds. One section is one group's cells of one task.

    ``uids`` is set when its columns are queries (compacted state); otherwise they are what the
    group of that plan version has: classes that the plan tells, its queries, or as many ``classes``
    as the section tells itself. ``slices`` are slice starts; for sessions, first and last event
    time. ``crc32`` is of its bytes.
    """

    stream: str
    kind: SectionKind
    file: str
    offset: int
    length: int
    crc32: int
    txn: int
    watermark_us: int
    version: int
    group: int
    keys: tuple[str, ...]
    value: str | None
    sketch: int | None
    slices: tuple[int, ...]
    cells: int
    dense: bool
    uids: tuple[int, ...] | None = None
    classes: int | None = None

    @property
    def session(self) -> bool:
        """Whether it holds pieces of sessions."""
        return self.kind == "sessions"

    @property
    def family(self) -> tuple[tuple[str, ...], str | None, int | None]:
        """What it keeps: keys, value column, sketch precision."""
        return self.keys, self.value, self.sketch

    @property
    def columns_of(self) -> tuple[str, int, int, tuple[int, ...] | None]:
        """Who knows what its columns stand for, and which queries they can answer."""
        return self.stream, self.version, self.group, self.uids


# -- what is told -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one ingest task has read and written."""

    sections: tuple[SectionRef, ...] = ()
    highest_us: Mapping[str, int] = field(default_factory=dict)
    """By partition."""
    tuples: int = 0
    without_time: int = 0
    from_future: int = 0
    late: Mapping[int, int] = field(default_factory=dict)
    """By query: tuples that came too late for one of its windows."""
    delays: tuple[int, float, float] | None = None
    """How many, their mean and the mean of their squares in seconds, where it is known."""
    keys: int = 0
    sub_streams: SubStreamsFound | None = None
    statistics_s: float = 0.0
    """Spent on counting and sampling for approximate queries."""


@dataclass(frozen=True, slots=True)
class Part:
    """What was delivered of one query and window."""

    uid: int
    start_us: int
    end_us: int
    rows: int
    checksum: float = 0.0
    event_time_us: int | None = None


@dataclass(frozen=True, slots=True)
class Delivered:
    """Rows that the task has delivered itself."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Staged:
    """Rows that Spark SQL must finish are in this file."""

    file: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A query cannot go on."""

    reason: str


@dataclass(frozen=True, slots=True)
class OpenSessions:
    """The first event time of the oldest session that is still open."""

    first_us: int


@dataclass(frozen=True, slots=True)
class Compacted:
    """Sections, as file and offset, that another one replaces; or none."""

    old: tuple[tuple[str, int], ...]
    new: SectionRef | None


@dataclass(frozen=True, slots=True)
class FilesUnreadable:
    """Tasks cannot read a file: Spark has to."""

    reason: str


@dataclass(frozen=True, slots=True)
class EarlyAnswers:
    """What a fire task tells of approximate queries."""

    strengths: Mapping[int, tuple[float, float]]
    """By query: how strong the weaker groups are, and those in the middle."""
    met: tuple[tuple[int, int, int, int, int], ...]
    """Query, window, rows and those of them whose guarantee is met."""
    files: tuple[tuple[str, int], ...]
    """With the groups that were answered, and the end of their window."""
    pending: tuple[tuple[int, int, int], ...]
    """Queries and windows of which some groups wait."""


Told = (
    Ingested
    | Delivered
    | Staged
    | Failed
    | OpenSessions
    | Compacted
    | FilesUnreadable
    | EarlyAnswers
)
_KINDS: dict[str, type[Told]] = {
    kind.__name__: kind
    for kind in (
        Ingested,
        Delivered,
        Staged,
        Failed,
        OpenSessions,
        Compacted,
        FilesUnreadable,
        EarlyAnswers,
    )
}


# -- how it travels -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Message:
    """One row from a task. ``rows`` and ``late`` carry Arrow IPC; other kinds are named for what
    they tell."""

    kind: str
    uid: int
    payload: bytes

    @classmethod
    def of(cls, told: Told, uid: int = -1) -> Message:
        """A message that tells something."""
        return cls(type(told).__name__, uid, packed(told))

    @classmethod
    def table(cls, kind: Literal["rows", "late"], uid: int, table: pa.Table) -> Message:
        """A message that carries a table."""
        return cls(kind, uid, ipc_bytes(table))

    @property
    def told(self) -> Told | None:
        """What it tells, None where it carries rows."""
        kind = _KINDS.get(self.kind)
        return None if kind is None else unpacked(self.payload, kind)

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


def as_batch(messages: Iterable[Message]) -> pa.RecordBatch:
    """Messages as rows for Spark."""
    rows = list(messages)
    return pa.RecordBatch.from_arrays(
        [
            pa.array([m.kind for m in rows], pa.string()),
            pa.array([m.uid for m in rows], pa.int64()),
            pa.array([m.payload for m in rows], pa.binary()),
        ],
        schema=ARROW_SCHEMA,
    )
