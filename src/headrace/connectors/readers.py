"""All pipelines that read one source: what none of them needs any more."""

from __future__ import annotations

import threading

from headrace.connectors.arrivals import Arrivals
from headrace.connectors.offsets import Offsets
from headrace.connectors.source import Source


class Readers:
    """Tells a source that keeps tuples when nobody will read them again."""

    def __init__(self, source: Source) -> None:
        self.arrivals = Arrivals(source)
        self._source = source
        self._lock = threading.Lock()
        self._read: dict[str, Offsets] = {}
        self._told: Offsets | None = None

    def enters(self, name: str, offsets: Offsets | None) -> Offsets:
        """A pipeline will read from these offsets on, or from where a new stream begins; so does a
        partition that it does not know yet.

        Under the lock, so that nobody lets go meanwhile of what it will read.
        """
        with self._lock:
            begins = {**self._source.initial(), **(offsets or {})}
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
        if not self._source.abilities.releases or not self._read:
            return
        needed = self._needed()
        if needed != self._told:
            self._told = needed
            self._source.release(needed)

    def _needed(self) -> Offsets:
        """The slowest of each partition counts."""
        read = list(self._read.values())
        return {p: self._source.first([o[p] for o in read]) for p in read[0]}
