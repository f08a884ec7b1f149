"""The ingest stage: tuples in, section files and small messages out. Runs inside executors."""

from __future__ import annotations

import time
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from headrace.approximate.usual import EDGES_S
from headrace.connectors.offsets import Came, Range
from headrace.connectors.source import Source
from headrace.kernels import sections
from headrace.kernels.cells import Cells
from headrace.kernels.columns import Ints, flat
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.delays import DelaySample, SubStreamCounts
from headrace.kernels.ingest import ingest
from headrace.kernels.sampling import Schedule, luck, sampled
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.plan import Group, SharedPlan
from headrace.runtime.messages import Ingested, Message, SectionKind, SectionRef, as_batch
from headrace.spark.fire.delivery import Delivery
from headrace.spark.ingest.batch_tasks import numbers_of
from headrace.spark.premises import Premises
from headrace.spark.worker.plans import PlanHandle

CHUNK_ROWS = 1 << 20
"""Tuples reduced at a time: enough to fill dense blocks, small enough for memory."""

TIME = "__hr_t"
PARTITION = "__hr_p"
"""Names of ours begin like this; no column of a stream may."""


@dataclass(frozen=True)
class BatchFrame:
    """What every task of one batch must know beside the plan."""

    at: Premises
    watermark_us: int
    joined_upto_us: int
    """What belongs to windows of joins that end up to here comes too late."""
    now_us: int
    highest_us: int | None
    max_ahead_us: int | None
    sampling: Schedule = ()
    """Rates of the sample by event time."""
    since_us: int | None = None
    """Since when its tuples may have come, if that is known."""
    keep_late: bool = False
    counts_tuples: bool = True
    """False when another part of the same job counts the same tuples."""

    def passed_us(self, *, feeds: bool) -> int:
        """Windows that end up to here get no more tuples; what feeds joins may be further."""
        return max(self.watermark_us, self.joined_upto_us) if feeds else self.watermark_us


def accepted(times: Ints, frame: BatchFrame) -> tuple[np.ndarray, int]:
    """Which tuples are not from the far future, and how many are.

    The bound counts from the wall clock or the stream's own progress, whichever is later; a stream
    that has no progress yet may live in any year, so its first tuples set the scale.
    """
    if frame.max_ahead_us is None or not len(times):
        return np.ones(len(times), dtype=bool), 0
    progress = int(times.min()) if frame.highest_us is None else frame.highest_us
    bound = max(frame.now_us, progress) + frame.max_ahead_us
    ok = times <= bound
    return ok, int(len(times) - np.count_nonzero(ok))


class SectionWriter:
    """Collects the sections of one task and writes them as one file."""

    def __init__(self, frame: BatchFrame) -> None:
        self._frame = frame
        self._blobs: list[bytes] = []
        self._refs: list[SectionRef] = []
        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        self.task = f"{number:04d}"
        self._file = f"{frame.at.txn:010d}-{self.task}-{uuid.uuid4().hex[:12]}.bucket"
        self._offset = 0

    def add(self, plan: SharedPlan, group: Group, cells: Cells) -> None:
        """One more section."""
        if not len(cells.slices):
            return  # a sample may keep nothing of a chunk
        blob = sections.encode(cells)
        slices = cells.slices.tolist()
        kind: SectionKind = "sessions" if group.is_session else "cells"
        if group.is_session:
            states = {s.partial.column: s for s in cells.states}
            slices = [int(cells.slices.min()), int(states["__hr_time"].parts["v"].max())]
        self._refs.append(
            SectionRef(
                stream=plan.stream,
                kind=kind,
                file=self._file,
                offset=self._offset,
                length=len(blob),
                crc32=zlib.crc32(blob),
                txn=self._frame.at.txn,
                watermark_us=self._frame.passed_us(feeds=not group.is_session),
                version=int(plan.version),
                group=group.number,
                keys=group.keys,
                value=group.value,
                sketch=group.sketch,
                slices=tuple(slices),
                cells=len(cells.rows),
                dense=cells.is_dense,
                classes=cells.classes,
            )
        )
        self._blobs.append(blob)
        self._offset += len(blob)

    def close(self) -> tuple[SectionRef, ...]:
        """Write the file, if there is anything to write."""
        if self._blobs:
            self._frame.at.buckets.write(self._file, b"".join(self._blobs))
        return tuple(self._refs)


class Reducer:
    """Reduces the tuples of one task chunk by chunk."""

    def __init__(
        self, compiled: CompiledPlan, queries: dict[int, LogicalQuery], frame: BatchFrame
    ) -> None:
        self.compiled = compiled
        self.queries = queries
        self.frame = frame
        self.writer = SectionWriter(frame)
        self.delivery = Delivery(
            frame.at.txn, self.writer.task, frame.at.sinks, frame.at.setting.time_zone
        )
        self.highest: dict[str, int] = {}
        self.late: dict[int, int] = {}
        self.delays: DelaySample | None = None
        """Set where it is known when tuples came."""
        length_us = compiled.plan.sub_stream_us
        self.sub_streams = (
            SubStreamCounts(length_us, EDGES_S, frame.since_us, frame.now_us)
            if length_us is not None and frame.counts_tuples
            else None
        )
        self.tuples = self.without_time = self.from_future = self.keys = 0
        self.statistics_s = 0.0
        """Spent on counting and sampling for approximate queries."""

    def reduce(
        self,
        table: pa.Table,
        times: pa.ChunkedArray,
        partitions: Ints | str,
        place: tuple[int, int] | None = None,
    ) -> Iterator[Message]:
        """One chunk; rows of selections are delivered as they come. `place` is the partition and
        offset of its first tuple, where tuples have such an identity."""
        first, hashes = self.tuples if place is None else place[1], None
        if place is not None and self.frame.sampling:
            begun = time.perf_counter()
            hashes = luck(*place, table.num_rows)
            self.statistics_s += time.perf_counter() - begun
        self.tuples += table.num_rows
        array = flat(times)
        if array.null_count:
            self.without_time += array.null_count
            known = array.is_valid()
            table, array = table.filter(known), array.filter(known)
            if hashes is not None:
                hashes = hashes[known.to_numpy(zero_copy_only=False)]
            if not isinstance(partitions, str):
                partitions = partitions[known.to_numpy(zero_copy_only=False)]
        stamps: Ints = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
        delays = None
        if self.delays is not None and not self.without_time:
            delays = self.delays.add(stamps)
        ok, ahead = accepted(stamps, self.frame)
        if ahead:
            self.from_future += ahead
            table, stamps = table.filter(pa.array(ok)), stamps[ok]
            hashes = None if hashes is None else hashes[ok]
            if not isinstance(partitions, str):
                partitions = partitions[ok]
        if not len(stamps):
            return
        begun = time.perf_counter()
        sample = None if hashes is None else sampled(stamps, hashes, self.frame.sampling)
        if self.sub_streams is not None:
            kept = None if sample is None else sample.kept
            self.sub_streams.add(stamps, first, None if ahead else delays, kept)
            self.statistics_s += time.perf_counter() - begun
        self._note_progress(stamps, partitions)
        made = ingest(
            self.compiled, table, stamps, self.frame.watermark_us, sample, self.frame.joined_upto_us
        )
        for number, cells in made.cells.items():
            group = self.compiled.groups[number].group
            self.writer.add(self.compiled.plan, group, cells)
            if group.value is None:
                self.keys = max(self.keys, cells.keys.num_rows)
        for uid, count in made.late.items():
            self.late[uid] = self.late.get(uid, 0) + count
        for uid, rows in made.selected.items():
            yield from self.delivery.rows(uid, self._named(uid, rows))
        if self.frame.keep_late and made.late_rows is not None and made.late_rows.any():
            yield Message.table("late", -1, table.filter(pa.array(made.late_rows)))

    def _note_progress(self, stamps: Ints, partitions: Ints | str) -> None:
        if isinstance(partitions, str):
            found = {partitions: int(stamps.max())}
        else:
            found = {
                str(p): int(stamps[partitions == p].max()) for p in np.unique(partitions).tolist()
            }
        for name, time_us in found.items():
            self.highest[name] = max(self.highest.get(name, time_us), time_us)

    def _named(self, uid: int, rows: pa.Table) -> pa.Table:
        outputs = self.queries[uid].outputs
        arrays = [
            column.cast(arrow_type(output.type, self.frame.at.setting.time_zone))
            for column, output in zip(rows.columns, outputs, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=[o.name for o in outputs])

    def info(self) -> Message:
        """What was seen, once all chunks are done."""
        counts = self.frame.counts_tuples
        return Message.of(
            Ingested(
                sections=self.writer.close(),
                highest_us=self.highest,
                tuples=self.tuples if counts else 0,
                without_time=self.without_time if counts else 0,
                from_future=self.from_future if counts else 0,
                late=self.late,
                delays=None if self.delays is None else self.delays.moments,
                keys=self.keys,
                sub_streams=None if self.sub_streams is None else self.sub_streams.found,
                statistics_s=self.statistics_s,
            )
        )


@dataclass(frozen=True)
class ReduceRows:
    """Reduce tuples that come from the JVM as Arrow batches, with these columns."""

    handle: PlanHandle
    frame: BatchFrame
    columns: tuple[str, ...]
    plan: SharedPlan | None = None
    partitions: tuple[str, ...] = ()
    """By number, where the tuples say the number of their partition."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = self.handle.get()
        reducer = Reducer(task.compiled.part(self.plan), task.queries, self.frame)
        for numbered in chunks(batches):
            chunk = numbered.rename_columns(list(self.columns))
            partitions: Ints | str = "0"
            if PARTITION in self.columns:
                partitions = chunk.column(PARTITION).to_numpy()
            yield from _rows(reducer.reduce(chunk, chunk.column(TIME), partitions))
        if self.partitions:
            highest = reducer.highest.items()
            reducer.highest = {self.partitions[int(n)]: time_us for n, time_us in highest}
        yield as_batch([reducer.info()])


@dataclass(frozen=True)
class ReduceRanges:
    """Fetch the tuples of offset ranges here and reduce them: nothing crosses the JVM."""

    handle: PlanHandle
    frame: BatchFrame
    source: Source
    ranges: tuple[Range, ...]
    came: tuple[Came, ...]
    event_time: str
    columns: tuple[str, ...]
    plan: SharedPlan | None = None

    @property
    def count(self) -> int:
        """One for each range."""
        return len(self.ranges)

    def run(self, number: int) -> Iterator[Message]:
        """Reduce one range."""
        task = self.handle.get()
        reducer = Reducer(task.compiled.part(self.plan), task.queries, self.frame)
        columns = list(dict.fromkeys([*self.columns, self.event_time]))
        mine, came = self.ranges[number], self.came[number]
        first = int(mine.start) if self.source.abilities.counts else 0
        reducer.delays = DelaySample(first, came.offsets, came.times_s)
        place = _number(mine)
        for chunk in chunks(self.source.read(mine, columns)):
            times = stamps_of(chunk.column(self.event_time))
            at = place, first + reducer.tuples
            yield from reducer.reduce(chunk, times, mine.partition, at)
        yield reducer.info()


@dataclass(frozen=True)
class FetchRanges:
    """Fetch the tuples of offset ranges into the JVM, for expressions that only Spark computes."""

    source: Source
    ranges: tuple[Range, ...]
    columns: Sequence[str]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers_of(batches):
            mine = self.ranges[number]
            for batch in self.source.read(mine, list(self.columns)):
                named = [batch.column(n) for n in self.columns]
                places = pa.array(np.full(batch.num_rows, number, dtype=np.int32))
                yield pa.RecordBatch.from_arrays([*named, places], names=[*self.columns, PARTITION])


def _number(some: Range) -> int:
    """A number that identifies where the tuples of a range are, the same in every replay."""
    if some.partition.isdigit():
        return int(some.partition)
    return zlib.crc32(f"{some.partition}\0{some.start}".encode())


def stamps_of(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Event times as microseconds."""
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    return column.cast(pa.timestamp("us", zone)).cast(pa.int64())


def chunks(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Batches put together until there are enough tuples to reduce at a time."""
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= CHUNK_ROWS:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def _rows(messages: Iterator[Message]) -> Iterator[pa.RecordBatch]:
    for message in messages:
        yield as_batch([message])
