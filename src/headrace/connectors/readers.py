"""All pipelines that read one Arrow source: what none of them needs any more."""

from __future__ import annotations

import threading

from headrace.connectors.arrivals import Arrivals
from headrace.connectors.offsets import Offsets
from headrace.connectors.sources import ArrowSource


class Readers:
    """Tells a source that keeps tuples when nobody will read them again."""

    def __init__(self, source: ArrowSource) -> None:
        self.arrivals = Arrivals(source)
        self._source = source
        self._tell = getattr(source, "commit", None)
        self._lock = threading.Lock()
        self._read: dict[str, Offsets] = {}
        self._told: Offsets | None = None

    def joins(self, name: str, offsets: Offsets | None) -> Offsets:
        """A pipeline will read from these offsets on, or from where a new stream begins.

        Under the lock, so that nobody lets go meanwhile of what it will read.
        """
        with self._lock:
            begins = self._source.initial_offsets() if offsets is None else offsets
            self._read[name] = begins
            self._told = self._needed()
            return begins

    def done(self, name: str, offsets: Offsets) -> None:
        """A pipeline will not read again what lies before these offsets."""
        with self._lock:
            self._read[name] = offsets
            self._tell_all()

    def leaves(self, name: str) -> None:
        """A pipeline will not read any more."""
        with self._lock:
            self._read.pop(name, None)
            self._tell_all()

    def _tell_all(self) -> None:
        if self._tell is not None and self._read and self._needed() != self._told:
            self._told = self._needed()
            self._tell(self._told)

    def _needed(self) -> Offsets:
        """The slowest of each partition counts."""
        return tuple(min(of_all) for of_all in zip(*self._read.values(), strict=True))
