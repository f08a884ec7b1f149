"""The journal of a pipeline: changelogs, and a begin and a commit record for every transaction.

A transaction is a micro-batch or a firing without one. Its begin record fixes the plan version and
the clock before any work, so a replay does the same work; its commit record is the whole state
after it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from headrace.connectors.offsets import Range
from headrace.connectors.store import Store

_KEPT = 5


@dataclass(frozen=True, slots=True)
class Begin:
    """What was fixed before a transaction ran."""

    txn: int
    kind: Literal["batch", "tick"]
    batch_id: int
    version: int
    now_s: float
    ranges: tuple[Range, ...] = ()
    """What a batch of an Arrow source reads."""

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Begin:
        """Back from the journal."""
        return cls(**{**record, "ranges": tuple(Range(**r) for r in record.get("ranges", ()))})


class Journal:
    """Records in the checkpoint."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._log = store.sub("log")
        self._changes = store.sub("changelog")
        self.buckets = store.sub("buckets")
        self.staging = store.sub("staging")
        for folder in (self._log, self._changes, self.buckets, self.staging):
            folder.make()

    # -- transactions -------------------------------------------------------------------------

    def begin(self, begin: Begin) -> None:
        """Fix a transaction before it runs."""
        self._log.write_json(
            f"{begin.txn:010d}.begin.json",
            asdict(begin),
        )

    def begun(self, txn: int) -> Begin | None:
        """The begin record of a transaction, if it was begun."""
        name = f"{txn:010d}.begin.json"
        found = name in self._log.names()
        return Begin.from_record(self._log.read_json(name)) if found else None

    def commit(self, txn: int, state: dict[str, Any]) -> None:
        """The state after a transaction; older records are dropped."""
        self._log.write_json(f"{txn:010d}.commit.json", state)
        old = txn - _KEPT
        if old > 0:
            self._log.delete(f"{old:010d}.commit.json")
            self._log.delete(f"{old:010d}.begin.json")

    def last_commit(self) -> dict[str, Any] | None:
        """The newest state, or None in a new checkpoint."""
        commits = [n for n in self._log.names() if n.endswith(".commit.json")]
        return self._log.read_json(commits[-1]) if commits else None

    # -- changelogs ---------------------------------------------------------------------------

    def change(self, version: int, entry: dict[str, Any]) -> None:
        """Write one changelog."""
        self._changes.write_json(f"{version:010d}.json", entry)

    def changes(self) -> list[dict[str, Any]]:
        """All changelogs kept, oldest first; the first may be a snapshot."""
        return [self._changes.read_json(n) for n in self._changes.names()]

    def forget_changes(self, before: int, snapshot: dict[str, Any]) -> None:
        """Replace all changelogs before a version by what they led to."""
        self._changes.write_json(f"{before:010d}.json", snapshot)
        for name in self._changes.names():
            if int(name.split(".")[0]) < before:
                self._changes.delete(name)

    # -- buckets ------------------------------------------------------------------------------

    def drop_orphans(self, used: set[str]) -> None:
        """Delete bucket and staging files that no committed section names."""
        for name in self.buckets.names():
            if name not in used:
                self.buckets.delete(name)
        for name in self.staging.names():
            self.staging.delete(name)
