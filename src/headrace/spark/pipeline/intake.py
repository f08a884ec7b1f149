"""How a pipeline gets its batches.

Spark calls for a batch. Where Spark reads the tuples, it has settled which ones before. Of an Arrow
source the call says nothing: how far a batch reads is settled only when it is about to run, so one
that had to wait, for tuples or for its turn, takes all that has come by then. Its offsets are
written down with the transaction, before it reads.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.connectors.offsets import Offsets, Range, between
from headrace.connectors.readers import Readers
from headrace.connectors.source import Source
from headrace.spark.ingest.file_scan import Batch, FileScan
from headrace.spark.streams import Stream

_LOOK_AGAIN_S = 0.01
_ALIVE_S = 1.0
"""Whether anybody still waits for a batch is asked so often."""
_QUEUED_S = 0.5
"""For a decision, how much waits is known well enough as of so long ago."""
_LOOK_SELDOM_S = 0.05
"""A source that stays silent is asked no more often than this."""


class Intake(Protocol):
    """One pipeline's way to its tuples."""

    @property
    def may_skip(self) -> bool:
        """Whether a call for a batch can be left unanswered without losing anything."""
        ...

    def frame(self, spark: SparkSession) -> DataFrame:
        """The streaming DataFrame whose batches are the calls."""
        ...

    def begin(self, offsets: Offsets | None) -> Offsets | None:
        """Where the next batch begins, if that is ours to remember: at the offsets that were
        reached, or where a new stream begins."""
        ...

    def await_tuples(self, start: Offsets | None, alive: Callable[[], bool]) -> bool:
        """Wait until there is something to read; False when closed, or no longer `alive`."""
        ...

    def ranges(self, start: Offsets | None, until_s: float | None = None) -> tuple[Range, ...]:
        """What a batch reads that begins now: all, or what had come by a time, if that is known
        and is anything."""
        ...

    def batch(
        self, given: DataFrame, ranges: tuple[Range, ...], streaming: StreamingQuery | None
    ) -> Batch:
        """The tuples that were called for."""
        ...

    def queued(
        self, start: Offsets | None, streaming: StreamingQuery | None
    ) -> tuple[float, float | None]:
        """How many tuples wait, and when the first of them came, as far as the source tells."""
        ...

    def empty_for_s(self) -> float | None:
        """How long ago the source was last found to have nothing more, if that is known."""
        ...

    def done(self, offsets: Offsets | None) -> None:
        """Nothing before these offsets will be read again."""
        ...

    def await_all(self, streaming: StreamingQuery) -> None:
        """Wait until all that is there now was read."""
        ...

    def give_up_files(self, reason: str) -> None:
        """Tasks could not read files by themselves."""
        ...

    def close(self, *, for_good: bool) -> None:
        """Nobody waits any longer; `for_good` where nobody will go on later either."""
        ...


def intake_of(name: str, stream: Stream, files_given_up: Callable[[str], object]) -> Intake:
    """The way of a pipeline that fits the source of its stream. Where tasks were to read files and
    Spark has to after all, `files_given_up` hears why."""
    if stream.frame is not None:
        scan = FileScan(name, reads_files=stream.reads_files, given_up=files_given_up)
        return FromSpark(stream.frame, scan)
    assert stream.source is not None
    return FromSource(name, stream.source, stream.readers)


class FromSpark:
    """Spark reads the tuples and keeps the offsets."""

    may_skip = False

    def __init__(self, source: DataFrame, scan: FileScan) -> None:
        self._source = source
        self._scan = scan

    def frame(self, spark: SparkSession) -> DataFrame:
        return self._source

    def begin(self, offsets: Offsets | None) -> Offsets | None:
        return None

    def await_tuples(self, start: Offsets | None, alive: Callable[[], bool]) -> bool:
        return True

    def ranges(self, start: Offsets | None, until_s: float | None = None) -> tuple[Range, ...]:
        return ()

    def batch(
        self, given: DataFrame, ranges: tuple[Range, ...], streaming: StreamingQuery | None
    ) -> Batch:
        return self._scan.of(given, streaming)

    def queued(
        self, start: Offsets | None, streaming: StreamingQuery | None
    ) -> tuple[float, float | None]:
        """The batch that was called for is about as large as the last one; what the source says
        to be behind it comes on top."""
        last = streaming.lastProgress if streaming is not None else None
        if last is None:
            return 0.0, None
        behind = sum(
            float(source.metrics.get("avgOffsetsBehindLatest", 0.0) or 0.0)
            for source in last.sources
        )
        return float(last.numInputRows) + behind, None

    def empty_for_s(self) -> float | None:
        return None

    def done(self, offsets: Offsets | None) -> None:
        pass

    def await_all(self, streaming: StreamingQuery) -> None:
        streaming.processAllAvailable()

    def give_up_files(self, reason: str) -> None:
        self._scan.give_up_files(reason)

    def close(self, *, for_good: bool) -> None:
        pass


class FromSource:
    """Tasks fetch the tuples of an Arrow source; the pipeline keeps the offsets."""

    may_skip = True

    def __init__(self, name: str, source: Source, readers: Readers) -> None:
        self._name = name
        self._source = source
        self._readers = readers
        self._arrivals = readers.arrivals
        self._oldest: tuple[Offsets, float] | None = None
        """Since when the first tuple after some offsets waits."""
        self._changed = threading.Condition()
        self._closed = False
        self._silent_at = -math.inf

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()

    def begin(self, offsets: Offsets | None) -> Offsets | None:
        return self._readers.enters(self._name, offsets)

    def await_tuples(self, start: Offsets | None, alive: Callable[[], bool]) -> bool:
        pause = _LOOK_AGAIN_S
        asked_at = time.monotonic()
        while not self._closed:
            looked_at = time.monotonic()
            if self.ranges(start):
                return True
            if looked_at - asked_at > _ALIVE_S:
                if not alive():
                    return False
                asked_at = looked_at
            with self._changed:
                self._silent_at = looked_at
                self._changed.notify_all()
                if not self._closed:
                    self._changed.wait(pause)
            pause = min(2.0 * pause, _LOOK_SELDOM_S)
        return False

    def ranges(self, start: Offsets | None, until_s: float | None = None) -> tuple[Range, ...]:
        assert start is not None, "offsets of an Arrow source are kept from the start"
        latest = self._source.latest(start)
        by_then = None if until_s is None else self._arrivals.upto(until_s)
        if by_then is not None:
            limited = {p: self._source.first([end, by_then[p]]) for p, end in latest.items()}
            limited = {p: e for p, e in limited.items() if self._source.first([start[p], e]) != e}
            if ranges := between(start, limited):
                return ranges
        return between(start, latest)

    def batch(
        self, given: DataFrame, ranges: tuple[Range, ...], streaming: StreamingQuery | None
    ) -> Batch:
        if self._arrivals.known:
            # When the last tuples of the batch came lies between this answer and the one before.
            self._arrivals.newest()
        return Batch(given, ranges=ranges, came=tuple(self._arrivals.of(r) for r in ranges))

    def queued(
        self, start: Offsets | None, streaming: StreamingQuery | None
    ) -> tuple[float, float | None]:
        assert start is not None
        if not self._source.abilities.counts:
            return 0.0, None
        if not self._arrivals.known:
            ranges = self.ranges(start)
            return float(sum(int(r.end) - int(r.start) for r in ranges)), None
        newest = self._arrivals.newest(within_s=_QUEUED_S)
        waiting = sum(max(int(newest[p]) - int(s), 0) for p, s in start.items())
        oldest = self._oldest  # several threads look
        if oldest is None or oldest[0] != start:
            came_s = self._arrivals.came_at(start)
            if came_s is None:
                return float(waiting), None
            self._oldest = oldest = (start, came_s)
        return float(waiting), oldest[1]

    def empty_for_s(self) -> float | None:
        silent_at = self._silent_at
        return None if silent_at == -math.inf else time.monotonic() - silent_at

    def done(self, offsets: Offsets | None) -> None:
        assert offsets is not None
        self._readers.done(self._name, offsets)

    def await_all(self, streaming: StreamingQuery) -> None:
        asked_at = time.monotonic()
        with self._changed:
            while self._silent_at < asked_at and not self._closed and streaming.isActive:
                self._changed.wait(_LOOK_SELDOM_S)

    def give_up_files(self, reason: str) -> None:
        raise AssertionError(f"an Arrow source has no files: {reason}")

    def close(self, *, for_good: bool) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if for_good:
            self._readers.leaves(self._name)
