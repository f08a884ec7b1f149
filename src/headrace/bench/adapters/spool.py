"""The driver's queues as files that Spark reads by itself, as from a broker beside it.

A source written in Python would take a process per query and carry every tuple through it. So one
thread pulls each tuple once and writes parquet files to memory; any number of streaming queries
read them in the JVM, each only the columns it needs. How many rows a query has read says how far
it has come: that is what the driver is told.
"""

from __future__ import annotations

import threading
import uuid
from bisect import bisect_right
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.bench.driver.protocol import Driver, StreamInfo

READER = "spool"
_SOON_S, _LATEST_S = 0.1, 1.0
"""A step is taken when some query has read all there is, or after the longer time: a file costs
each query some milliseconds, so there should be few."""
_FILES = 2
"""Files per step: one for each core that reads them."""
_GRACE = 20
"""So many steps that all have read stay: a listing may still name them."""


class Spool:
    """Copies one stream into a folder, and knows which rows lie at which offsets."""

    def __init__(self, driver: Driver, info: StreamInfo, folder: Path) -> None:
        self.info = info
        self.folder = folder / info.name
        self.folder.mkdir(parents=True)
        self._driver = driver
        self._lock = threading.Lock()
        self._rows = 0
        self._steps: list[tuple[int, tuple[int, ...], list[Path]]] = []
        """After each step: rows so far, offsets so far, its files."""
        self._dropped = 0
        self._readers: dict[str, int] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="spool", daemon=True)
        self._failure: Exception | None = None

    def start(self) -> None:
        """Begin to copy."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def check(self) -> None:
        """Raise when copying has failed."""
        if self._failure is not None:
            raise self._failure

    def open(self, query: str) -> None:
        """A query begins with the oldest files that are here."""
        with self._lock:
            first = self._steps[self._dropped][0] if self._dropped < len(self._steps) else 0
            self._readers[query] = first if self._dropped else 0
        self._driver.open(self.info.name, query, at_end=bool(self._steps))

    def close(self, query: str) -> None:
        """A query has ended."""
        with self._lock:
            self._readers.pop(query, None)
        self._driver.close(self.info.name, query)

    def advanced(self, query: str, rows: int) -> None:
        """A query has read so many rows more."""
        with self._lock:
            if query not in self._readers or not rows:
                return
            self._readers[query] += rows
            step = bisect_right(self._steps, self._readers[query], key=lambda s: s[0])
            offsets = self._steps[step - 1][1] if step else None
            self._drop()
        if offsets is not None:
            self._driver.commit(self.info.name, query, offsets)

    def _drop(self) -> None:
        """Delete files that all queries have read long ago."""
        slowest = min(self._readers.values(), default=0)
        while (
            self._dropped + _GRACE < len(self._steps) and self._steps[self._dropped][0] <= slowest
        ):
            for path in self._steps[self._dropped][2]:
                path.unlink(missing_ok=True)
            self._dropped += 1

    def _run(self) -> None:
        at = (0,) * self.info.partitions
        try:
            waited = 0.0
            while not self._stop.wait(_SOON_S):
                waited += _SOON_S
                if waited < _LATEST_S and max(self._readers.values(), default=0) < self._rows:
                    continue
                latest = self._driver.latest(self.info.name)
                if latest != at:
                    self._copy(at, latest)
                    at, waited = latest, 0.0
        except Exception as error:  # told by `check`
            if not self._stop.is_set():
                self._failure = error

    def _copy(self, start: tuple[int, ...], end: tuple[int, ...]) -> None:
        name = self.info.name
        batches = [
            batch
            for partition, (first, last) in enumerate(zip(start, end, strict=True))
            for batch in self._driver.read(name, partition, first, last, consumer=READER)
        ]
        table = pa.Table.from_batches(batches, self.info.schema)
        size = -(-table.num_rows // _FILES)
        paths = []
        for number in range(_FILES if table.num_rows else 0):
            part = table.slice(number * size, size)
            if part.num_rows:
                paths.append(self._write(part))
        with self._lock:
            self._rows += table.num_rows
            self._steps.append((self._rows, end, paths))

    def _write(self, table: pa.Table) -> Path:
        path = self.folder / f"{len(self._steps):08d}-{uuid.uuid4().hex[:8]}.parquet"
        hidden = path.with_name(f"_{path.name}")
        pq.write_table(table, hidden, compression="none", use_dictionary=False)
        hidden.rename(path)
        return path
