"""Sinks as tasks see them: what is delivered where the rows are, and what goes to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa

from headrace.connectors.sinks import DigestSink, Sink
from headrace.kernels.answers import Result
from headrace.kernels.columns import values_of
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.runtime.emitted import span_of, stamped
from headrace.runtime.messages import Delivered, Failed, Message, Part
from headrace.types import BEGINNING


@dataclass(frozen=True, slots=True)
class TaskSink:
    """A query's sink as tasks see it: None where its rows travel to the driver."""

    staging: Sink | None = None
    partial_before_us: int | None = None
    """Where a query shows its first window in part: windows that start before are."""

    @classmethod
    def of(cls, sink: Sink, partial_before_us: int | None) -> TaskSink:
        """The part of it that tasks need."""
        return cls(sink if sink.place == "tasks" else None, partial_before_us)


@dataclass(frozen=True)
class Delivery:
    """Delivers rows of one transaction from one task."""

    txn: int
    task: str
    sinks: dict[int, TaskSink]
    time_zone: str
    files: dict[int, int] = field(default_factory=dict)

    def results(self, result: Result) -> Iterator[Message]:
        """Finished rows of one shape: projected together, then split by query and window."""
        query = result.shape.query
        table = project(result.table, query, self.time_zone)
        uids, starts, ends = (result.table.column(n).to_numpy() for n in ("_q", "_start", "_end"))
        new = np.diff(uids) != 0
        if not query.is_session:
            new |= np.diff(ends) != 0
        bounds = [0, *(np.flatnonzero(new) + 1).tolist(), len(uids)]
        digested: dict[str, list[Stretch]] = {}
        for begin, end in pairwise(bounds):
            uid = int(uids[begin])
            sink = self.sinks.get(uid)
            if sink is None:
                continue
            span = int(starts[begin:end].min()), int(ends[begin:end].max())
            digest = sink.staging if isinstance(sink.staging, DigestSink) else None
            if digest is not None and sink.partial_before_us is None:
                digested.setdefault(digest.event_time, []).append((uid, span, begin, end))
            else:
                yield from self.window_rows(uid, span, table.slice(begin, end - begin))
        for event_time, parts in digested.items():
            yield _digest(table, parts, event_time)

    def window_rows(self, uid: int, span: Span, table: pa.Table) -> Iterator[Message]:
        """Rows of one query and one window."""
        sink = self.sinks.get(uid)
        if sink is not None and sink.partial_before_us is not None:
            early = pa.array(np.full(table.num_rows, span[0] < sink.partial_before_us))
            table = table.append_column("partial", early)
        yield from self.rows(uid, stamped(table, span))

    def rows(self, uid: int, table: pa.Table) -> Iterator[Message]:
        """Rows of one query, already as it asked for them."""
        sink = self.sinks.get(uid)
        if sink is None or not table.num_rows:
            return
        match sink.staging:
            case None:
                yield Message.table("rows", uid, table)
            case DigestSink() as digest:
                stretch = uid, span_of(table), 0, table.num_rows
                yield _digest(table, [stretch], digest.event_time)
            case other:
                yield self._stage(uid, other, table)

    def _stage(self, uid: int, sink: Sink, table: pa.Table) -> Message:
        try:
            # The same name in every attempt of the task: a second one replaces the first.
            number = self.files[uid] = self.files.get(uid, -1) + 1
            sink.stage(self.txn, uid, self.task, number, table)
        except Exception as error:
            return Message.of(
                Failed(f"sink {sink.kind} at {sink.options.get('path')!r}: {error}"), uid
            )
        return Message.of(Delivered((Part(uid, *span_of(table), table.num_rows),)))


Stretch = tuple[int, Span, int, int]
"""A query's rows of one window inside a table: from this row to before that one."""


def _digest(table: pa.Table, parts: list[Stretch], event_time: str) -> Message:
    """Rows of each part, the sum of every numeric or time column, the largest event time."""
    total = np.zeros(table.num_rows, dtype=np.float64)
    for column in table.columns:
        kind = column.type
        if pa.types.is_timestamp(kind):
            total += values_of(column).data // 1_000_000
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            total += values_of(column).data
    sums = np.concatenate([[0.0], np.cumsum(total)])
    begins, ends = np.array([p[2] for p in parts]), np.array([p[3] for p in parts])
    checksums = (sums[ends] - sums[begins]).tolist()
    latest: list[int | None] = [None] * len(parts)
    if event_time:
        # Every second stretch of the reduction lies between two parts; the last needs an end.
        times = np.append(values_of(table.column(event_time)).data, BEGINNING)
        pairs = np.stack([begins, ends], axis=1).ravel()
        latest = np.maximum.reduceat(times, pairs)[::2].tolist()
    rows = (ends - begins).tolist()
    written = tuple(
        Part(uid, *span, count, checksum, time)
        for (uid, span, _, _), count, checksum, time in zip(
            parts, rows, checksums, latest, strict=True
        )
    )
    return Message.of(Delivered(written))


def project(table: pa.Table, query: LogicalQuery, time_zone: str) -> pa.Table:
    """Result columns as the query asks for them, when each is taken as it is."""
    arrays, names = [], []
    for output in query.outputs:
        kind = arrow_type(output.type, time_zone)
        if output.kind == "key":
            array = table.column(f"k{output.index}")
        elif output.kind == "aggregate":
            array = table.column(f"a{output.index}")
        elif output.kind in ("lower", "upper", "sample", "input", "met"):
            array = table.column(f"a{output.index}_{output.kind}")
        elif output.kind == "exact":
            array = table.column("_exact")
        elif output.kind == "window":
            array = window_struct(table, kind)
        else:
            source = "_start" if output.kind == "window_start" else "_end"
            array = _times(table, source, kind)
        arrays.append(array)
        names.append(output.name)
    return pa.Table.from_arrays(arrays, names=names)


def window_struct(table: pa.Table, kind: pa.DataType) -> pa.Array:
    """The window column as Spark has it."""
    fields = [kind.field(0), kind.field(1)]
    ends = [_times(table, n, f.type) for n, f in zip(("_start", "_end"), fields, strict=True)]
    return pa.StructArray.from_arrays([e.combine_chunks() for e in ends], fields=fields)


def _times(table: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    column = table.column(name)
    return pa.chunked_array([c.view(kind) for c in column.chunks], type=kind)
