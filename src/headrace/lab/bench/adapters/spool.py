"""The driver's queues as files that Spark reads by itself, as from a broker beside it.

A source written in Python would take a process per query and carry every tuple through it. So one
thread pulls each tuple once and writes parquet files to memory; any number of streaming queries
read them in the JVM, each only the columns it needs. Which files a query has read says how far it
has come: that is what the driver is told.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.lab.bench.driver.protocol import Driver, StreamInfo

READER = "spool"
_SOONEST_S, _LATEST_S = 0.1, 5.0
_FILES_PER_BATCH = 4
"""A file costs each query some milliseconds, so there are few: by how long batches take."""
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
        self._steps: list[tuple[tuple[int, ...], Path | None]] = []
        """Of each step: the offsets it goes up to, and its file."""
        self._step_s = _SOONEST_S
        self._advanced_s: dict[str, float] = {}
        self._dropped = 0
        self._readers: dict[str, int] = {}
        """The step that each query reads next."""
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
            self._readers[query] = self._dropped
        self._driver.open(self.info.name, query, at_end=bool(self._steps))

    def close(self, query: str) -> None:
        """A query has ended."""
        with self._lock:
            self._readers.pop(query, None)
        self._driver.close(self.info.name, query)

    def read_by(self, query: str, sources: Path) -> None:
        """A query's batch is done; Spark's own log of its sources names the files it has read.

        Asking Spark by a listener would cost a tenth of a second of processor time per batch.
        """
        newest = max(_named_in(sources, str(self.folder)), default=None)
        if newest is None:
            return
        with self._lock:
            if query not in self._readers or newest < self._readers[query]:
                return
            self._readers[query] = newest + 1
            self._pace(query)
        self._advance(query)

    def _advance(self, query: str) -> None:
        """Tell how far a query has come: up to the next step that has a file."""
        with self._lock:
            step = self._readers.get(query, 0)
            while step < len(self._steps) and self._steps[step][1] is None:
                step += 1
            if query not in self._readers or step == 0:
                return
            self._readers[query] = step
            offsets = self._steps[step - 1][0]
            self._drop()
        self._driver.commit(self.info.name, query, offsets)

    def _pace(self, query: str) -> None:
        """Steps as long as a share of a batch, going by the batches so far."""
        now = time.monotonic()
        before = self._advanced_s.get(query, now)
        self._advanced_s[query] = now
        wanted = min(max((now - before) / _FILES_PER_BATCH, _SOONEST_S), _LATEST_S)
        self._step_s += 0.2 * (wanted - self._step_s)

    def _drop(self) -> None:
        """Delete files that all queries have read long ago."""
        slowest = min(self._readers.values(), default=0)
        while self._dropped + _GRACE < slowest:
            path = self._steps[self._dropped][1]
            if path is not None:
                path.unlink(missing_ok=True)
            self._dropped += 1

    def _run(self) -> None:
        at = (0,) * self.info.partitions
        try:
            while not self._stop.wait(self._step_s):
                latest = self._driver.latest(self.info.name)
                if latest != at:
                    self._copy(at, latest)
                    at = latest
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
        with self._lock:  # a query may read the file as soon as it is there
            path = self._write(table) if table.num_rows else None
            self._steps.append((end, path))
        if path is None:  # given up by the driver: no file will tell of it
            for query in list(self._readers):
                self._advance(query)

    def _write(self, table: pa.Table) -> Path:
        path = self.folder / f"{len(self._steps):08d}-{uuid.uuid4().hex[:8]}.parquet"
        hidden = path.with_name(f"_{path.name}")
        pq.write_table(table, hidden, compression="none", use_dictionary=False)
        hidden.rename(path)
        return path


_FILE = re.compile(r"/(\d{8})-[0-9a-f]{8}\.parquet")


def _named_in(sources: Path, folder: str) -> Iterator[int]:
    """The steps of a folder whose files the newest entry of Spark's source logs names."""
    for log in sources.iterdir() if sources.is_dir() else ():
        entries = {int(p.name.split(".")[0]): p for p in log.iterdir() if p.name[0].isdigit()}
        if entries:
            text = entries[max(entries)].read_text(encoding="utf-8")
            if folder in text:
                yield from (int(n) for n in _FILE.findall(text))
