"""Results that Spark SQL must finish: HAVING, computed columns, ORDER BY and LIMIT per window.

One branch per result shape, all in one Spark job; rows of thousands of queries of the same shape
go through the same branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from headrace.connectors.store import Store
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery, Output
from headrace.runtime.messages import Message, as_batch, messages_of
from headrace.spark.fire.delivery import Delivery, TaskSink
from headrace.spark.rows import SCHEMA


@dataclass(frozen=True)
class Shape:
    """Files with combined rows of one shape, and a query that has that shape."""

    query: LogicalQuery
    files: tuple[str, ...]
    uids: tuple[int, ...] | None = None


@dataclass(frozen=True)
class FinishJob:
    """Finishes the staged rows of one transaction."""

    spark: SparkSession
    staging: Store
    txn: int
    prefix: str
    """How the names of its tasks begin, which no other job of the transaction may share."""
    sinks: dict[int, TaskSink]
    time_zone: str
    ntz: bool

    def run(self, staged: Sequence[Shape]) -> list[Message]:
        """All shapes in one job."""
        frames = [self.frame(s, number) for number, s in enumerate(staged)]
        return messages_of(reduce(DataFrame.union, frames).toArrow())

    def frame(self, staged: Shape, number: int) -> DataFrame:
        """One shape's branch: read, finish, deliver."""
        query = staged.query
        types = ["`_q` bigint", "`_start` bigint", "`_end` bigint"]
        types += [f"`k{n}` {k.type}" for n, k in enumerate(query.keys)]
        types += [f"`a{n}` {a.result_type}" for n, a in enumerate(query.aggregates)]
        types += [f"`_p{n}` {p.type}" for n, p in enumerate(query.parameters)]
        types.append("`_limit` bigint")
        files = self.spark.range(0, 1, 1, 1)
        rows = files.mapInArrow(ReadStaged(self.staging, staged.files), ", ".join(types))
        if staged.uids is not None:
            rows = rows.where(f"_q IN ({', '.join(str(u) for u in staged.uids)})")
        time = (
            "timestamp_micros({})"
            if not self.ntz
            else ("timestampadd(MICROSECOND, {}, TIMESTAMP_NTZ '1970-01-01 00:00:00')")
        )
        window = (
            f"named_struct('start', {time.format('_start')}, 'end', {time.format('_end')}) AS _w"
        )
        columns = ["_q", "_start", "_end", window]
        columns += [f"k{n} AS _k{n}" for n in range(len(query.keys))]
        columns += [f"a{n} AS _a{n}" for n in range(len(query.aggregates))]
        columns += [*(f"_p{n}" for n in range(len(query.parameters))), "_limit"]
        rows = rows.selectExpr(*columns)
        if query.having is not None:
            rows = rows.where(query.having)
        if query.order_by or query.limit is not None:
            order = ", ".join(o.sql for o in query.order_by) or "_q"
            rank = f"row_number() OVER (PARTITION BY _q, _start, _end ORDER BY {order}) AS _rank"
            rows = rows.selectExpr("*", rank)
            if query.limit is not None:
                rows = rows.where("_rank <= _limit")
        else:
            rows = rows.selectExpr("*", "0 AS _rank")
        shown = [f"{self._sql(o)} AS _o{n}" for n, o in enumerate(query.outputs)]
        rows = rows.selectExpr("_q", "_start", "_end", "_rank", *shown)
        deliver = DeliverRows(
            self.txn,
            f"{self.prefix}{number:03d}",
            self.sinks,
            self.time_zone,
            query.outputs,
            by_window=not query.is_session,
        )
        return rows.mapInArrow(deliver, SCHEMA)

    @staticmethod
    def _sql(output: Output) -> str:
        match output.kind:
            case "key":
                return f"_k{output.index}"
            case "aggregate":
                return f"_a{output.index}"
            case "window":
                return "_w"
            case "window_start":
                return "_w.start"
            case "window_end":
                return "_w.end"
            case _:
                return output.sql


@dataclass(frozen=True)
class ReadStaged:
    """Read staged files where the rows are finished."""

    staging: Store
    files: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            for name in self.files:
                yield from pa.ipc.open_stream(self.staging.read(name)).read_all().to_batches()


@dataclass(frozen=True)
class DeliverRows:
    """Split finished rows by query and window, and deliver them."""

    txn: int
    prefix: str
    sinks: dict[int, TaskSink]
    time_zone: str
    outputs: tuple[Output, ...]
    by_window: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [b for b in batches if b.num_rows]
        if not held:
            return
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        delivery = Delivery(self.txn, f"{self.prefix}-{number:04d}", self.sinks, self.time_zone)
        table = pa.Table.from_batches(held)
        order = np.lexsort([table.column(n).to_numpy() for n in ("_rank", "_end", "_start", "_q")])
        table = table.take(pa.array(order))
        spans = [table.column(n).to_numpy() for n in ("_q", "_start", "_end")]
        changes = np.zeros(len(order), dtype=bool)
        for values in spans if self.by_window else spans[:1]:
            changes[1:] |= values[1:] != values[:-1]
        bounds = [0, *np.flatnonzero(changes).tolist(), len(order)]
        names = [o.name for o in self.outputs]
        arrays = [
            table.column(f"_o{n}").cast(arrow_type(o.type, self.time_zone))
            for n, o in enumerate(self.outputs)
        ]
        shown = pa.Table.from_arrays(arrays, names=names)
        for begin, end in pairwise(bounds):
            rows = shown.slice(begin, end - begin)
            window = int(spans[1][begin:end].min()), int(spans[2][begin:end].max())
            for message in delivery.window_rows(int(spans[0][begin]), window, rows):
                yield as_batch([message])
