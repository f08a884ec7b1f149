"""Sinks as tasks see them: what is delivered where the rows are, and what goes to the driver."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headrace.kernels.answers import Result
from headrace.kernels.columns import values_of
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.window import Span
from headrace.spark.messages import Message
from headrace.spark.store import Store


@dataclass(frozen=True, slots=True)
class TaskSink:
    """Where one query's rows go.

    ``memory`` rows travel to the driver; ``parquet`` is written by the task; ``digest`` counts
    and sums rows where they are and keeps nothing.
    """

    kind: str
    path: str = ""
    partial_before_us: int | None = None


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
        digested: list[tuple[int, int, int]] = []
        for begin, end in pairwise(bounds):
            uid = int(uids[begin])
            sink = self.sinks.get(uid)
            if sink is None:
                continue
            if sink.kind == "digest" and sink.partial_before_us is None:
                digested.append((uid, begin, end))
                continue
            part = table.slice(begin, end - begin)
            span = int(starts[begin:end].min()), int(ends[begin:end].max())
            yield from self.window_rows(uid, span, part)
        if digested:
            yield from _digests(table, digested)

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
            yield from _digests(table, [(uid, 0, table.num_rows)])
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
        return Message.of("written", uid, {"rows": table.num_rows, "bytes": data.size})


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


def _digests(table: pa.Table, parts: list[tuple[int, int, int]]) -> Iterator[Message]:
    """Rows and a checksum per query: the sum of every numeric or time column, wrapping."""
    total = np.zeros(table.num_rows, dtype=np.float64)
    for column in table.columns:
        kind = column.type
        if pa.types.is_timestamp(kind):
            total += values_of(column).data // 1_000_000
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            total += values_of(column).data
    sums = np.concatenate([[0.0], np.cumsum(total)])
    counts: dict[str, list[float]] = {}
    for uid, begin, end in parts:
        so_far = counts.setdefault(str(uid), [0, 0.0])
        so_far[0] += end - begin
        so_far[1] += float(sums[end] - sums[begin])
    yield Message.of("written", -1, counts)


def project(table: pa.Table, query: LogicalQuery, time_zone: str) -> pa.Table:
    """Result columns as the query asks for them, when each is taken as it is."""
    arrays, names = [], []
    for output in query.outputs:
        kind = arrow_type(output.type, time_zone)
        if output.kind == "key":
            array = table.column(f"k{output.index}")
        elif output.kind == "aggregate":
            array = table.column(f"a{output.index}")
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
