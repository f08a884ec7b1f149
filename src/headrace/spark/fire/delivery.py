"""Sinks as tasks see them: what is delivered where the rows are, and what goes to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.connectors.store import Store
from headrace.kernels.answers import Result
from headrace.kernels.columns import values_of
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.runtime.messages import Message
from headrace.types import BEGINNING


@dataclass(frozen=True, slots=True)
class TaskSink:
    """Where one query's rows go.

    ``memory`` rows travel to the driver; ``parquet`` is written by the task; ``digest`` counts
    and sums rows where they are and keeps nothing but the largest value of ``event_time``.
    """

    kind: str
    path: str = ""
    partial_before_us: int | None = None
    event_time: str = ""


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
        digested: dict[str, list[Part]] = {}
        for begin, end in pairwise(bounds):
            uid = int(uids[begin])
            sink = self.sinks.get(uid)
            if sink is None:
                continue
            span = int(starts[begin:end].min()), int(ends[begin:end].max())
            if sink.kind == "digest" and sink.partial_before_us is None:
                digested.setdefault(sink.event_time, []).append((uid, span, begin, end))
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
        if sink.kind == "digest":
            part = uid, span_of(table), 0, table.num_rows
            yield _digest(table, [part], sink.event_time)
        elif sink.kind == "parquet":
            yield self._write_parquet(uid, sink, table)
        else:
            yield Message.table("rows", uid, table)

    def _write_parquet(self, uid: int, sink: TaskSink, table: pa.Table) -> Message:
        try:
            store = Store(sink.path)
            store.make()
            # The same name in every attempt of the task: a second one replaces the first.
            count = self.files[uid] = self.files.get(uid, -1) + 1
            name = f"{part_prefix(self.txn, uid, self.task)}-{count:04d}.parquet"
            out = pa.BufferOutputStream()
            pq.write_table(table, out)
            data = out.getvalue()
            store.write(name, data)
        except Exception as error:
            return Message.of("failed", uid, f"sink parquet at {sink.path!r}: {error}")
        return Message.of("written", uid, [(uid, *span_of(table), table.num_rows, 0.0, None)])


def part_prefix(txn: int, uid: int, task: str) -> str:
    """How the files begin that one task writes for one query."""
    return f"part-{txn:010d}-{uid}-{task}"


_SPAN = b"headrace.span"


def stamped(table: pa.Table, span: Span) -> pa.Table:
    """The table with its window noted, for whoever puts the pieces of a window together."""
    return table.replace_schema_metadata({_SPAN: f"{span[0]},{span[1]}".encode()})


def span_of(table: pa.Table) -> Span:
    """The window of a table; empty for a selection."""
    noted = (table.schema.metadata or {}).get(_SPAN)
    if noted is None:
        return 0, 0
    start, end = noted.decode().split(",")
    return int(start), int(end)


Part = tuple[int, Span, int, int]
"""A query's rows of one window inside a table: from this row to before that one."""


def _digest(table: pa.Table, parts: list[Part], event_time: str) -> Message:
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
    written = [
        (uid, *span, count, checksum, time)
        for (uid, span, _, _), count, checksum, time in zip(
            parts, rows, checksums, latest, strict=True
        )
    ]
    return Message.of("written", -1, written)


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
