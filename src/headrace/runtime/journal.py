"""The journal of a pipeline: changelogs, and a begin and a commit record for every transaction.

A transaction is a micro-batch or a firing without one. Its begin record fixes the plan version and
the clock before any work, so a replay does the same work; its commit record is the whole state
after it. A commit is written once: whoever finds it there already is no longer the owner.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.runtime import codec
from headrace.runtime.entries import Begin, Change
from headrace.runtime.records import (
    Damaged,
    create_record,
    disk_errors,
    read_record,
    write_record,
)
from headrace.runtime.state import PipelineState

log = logging.getLogger("headrace")
T = TypeVar("T")

_KEPT = 5


@dataclass(frozen=True, slots=True)
class Found:
    """What an earlier run has left."""

    state: PipelineState | None
    """The last commit that can be read; None in a new checkpoint."""
    before: PipelineState | None
    """The commit before it, which can still be gone back to."""
    begun: Begin | None
    """The transaction that came after it, if it was begun."""
    changes: tuple[Change, ...]
    lost: tuple[str, ...] = ()
    """Records that cannot be read and that the others make up for, in words."""


class Journal:
    """Records in the checkpoint. `owned` is asked before every write, and raises where the
    checkpoint belongs to somebody else by now."""

    def __init__(self, store: Store, owned: Callable[[], None] = lambda: None) -> None:
        self.store = store
        self._owned = owned
        self._log = store.sub("log")
        self._changes = store.sub("changelog")
        self.buckets = store.sub("buckets")
        self.staging = store.sub("staging")
        self.outbox = store.sub("outbox")

    def make(self) -> None:
        """Create the folders."""
        with disk_errors(self.store.address):
            folders = (self._log, self._changes, self.buckets, self.staging, self.outbox)
            for folder in folders:
                folder.make()
            for folder in folders:
                folder.tidy()

    # -- transactions -------------------------------------------------------------------------

    def begin(self, begin: Begin) -> None:
        """Fix a transaction before it runs."""
        self._owned()
        write_record(self._log, _begin(begin.txn), "begin", codec.written(begin))

    def commit(self, state: PipelineState) -> None:
        """The state after a transaction; older records are dropped."""
        self._owned()
        if not create_record(self._log, _commit(state.txn), "commit", codec.written(state)):
            raise ExecutionError(
                f"transaction {state.txn} of {self.store.address} was committed by another "
                "session; this one stops, and nothing of it counts"
            )
        old = state.txn - _KEPT
        if old >= 0:
            self._log.delete(_commit(old))
            self._log.delete(_begin(old))

    # -- changelogs ---------------------------------------------------------------------------

    def change(self, change: Change) -> None:
        """Write one changelog."""
        self._owned()
        if not create_record(
            self._changes, _change(change.version), "change", codec.written(change)
        ):
            raise ExecutionError(
                f"changelog {change.version} of {self.store.address} was written by another "
                "session; this one stops, and nothing of it counts"
            )

    def replace_changes(self, snapshot: Change) -> None:
        """One changelog instead of all up to it. It counts once it is written; those before it may
        go at any time."""
        self._owned()
        name = _change(snapshot.version)
        write_record(self._changes, name, "change", codec.written(snapshot))
        for other in self._changes.names():
            if other < name:
                self._changes.delete(other)

    # -- what is there ------------------------------------------------------------------------

    def found(self) -> Found:
        """Read all that an earlier run has left; raises ExecutionError, with a sentence for what
        does not fit together."""
        commits = [n for n in self._log.names() if n.endswith(".commit.json")]
        state, before, lost = None, None, list[str]()
        for name in reversed(commits):
            try:
                read = self._read(self._log, name, "commit", PipelineState)
            except Damaged as error:
                if state is None:
                    lost.append(str(error))
                continue
            if state is None:
                state = read
            else:
                before = read
                break
        if state is None and (lost or self._is_used()):
            raise ExecutionError(self._nothing_to_go_on_with(lost))
        begun = self._begun(0 if state is None else state.txn, lost)
        changes = self._read_changes(state, begun, lost)
        for name in self._log.names():
            # What comes after was lost with the commit: it is done again, and perhaps otherwise.
            if name > _begin(1 if state is None else state.txn + 1):
                self._log.delete(name)
        return Found(state, before, begun, changes, tuple(lost))

    def _is_used(self) -> bool:
        """Whether there is anything that a commit must have led to."""
        spark = self.store.sub("spark", "commits")
        return bool(self.buckets.names() or spark.names())

    def _nothing_to_go_on_with(self, lost: list[str]) -> str:
        where = self._log.address
        what = f"no commit in {where} can be read ({lost[0]})" if lost else f"{where} has no commit"
        return (
            f"{what}, though other folders of the checkpoint are in use: it cannot be told what "
            "was emitted already; restore the folder from a copy, or begin with a new checkpoint"
        )

    def _begun(self, txn: int, lost: list[str]) -> Begin | None:
        name = _begin(txn + 1)
        if name not in self._log.names():
            return None
        try:
            return self._read(self._log, name, "begin", Begin)
        except Damaged as error:
            # Its work was not committed. The next one begins under another clock.
            lost.append(str(error))
            self._log.delete(name)
            return None

    def _read_changes(
        self, state: PipelineState | None, begun: Begin | None, lost: list[str]
    ) -> tuple[Change, ...]:
        needed = max(0 if state is None else state.version, 0 if begun is None else begun.version)
        names = self._changes.names()
        changes: list[Change] = []
        for name in names:
            try:
                change = self._read(self._changes, name, "change", Change)
                if change.is_snapshot:
                    changes = []
                changes.append(change)
            except Damaged as error:
                version = int(name.split(".")[0])
                if name != names[-1] or version <= needed:
                    raise
                # Power was lost while it was written: nobody was told of it yet.
                lost.append(str(error))
                self._changes.delete(name)
        steps = pairwise(change.version for change in changes)
        lacks = [one + 1 for one, other in steps if other > one + 1]
        if changes and changes[0].version > 1 and not changes[0].is_snapshot:
            lacks.insert(0, changes[0].version - 1)
        if lacks:
            raise ExecutionError(
                f"{self._changes.address} lacks changelog {lacks[0]}: without it, it cannot be "
                "told which queries run; restore the file from a copy, or begin with a new "
                "checkpoint"
            )
        if needed > (changes[-1].version if changes else 0):
            raise ExecutionError(
                f"{self._changes.address} lacks changelog {needed}, which a transaction ran under; "
                "restore the folder from a copy, or begin with a new checkpoint"
            )
        return tuple(c for change in changes for c in (*change.earlier, change))

    def _read(self, store: Store, name: str, kind: str, cls: type[T]) -> T:
        data = read_record(store, name, kind)
        try:
            return codec.read(data, cls)
        except ValueError as error:
            raise Damaged(f"checkpoint record {store.path(name)} is damaged: {error}") from error

    def call_again(self, batch_id: int) -> None:
        """Let Spark call for a batch again that it takes for done: its commit was lost here. Spark
        does the last batch of its offsets that its own commits do not have."""
        for folder, first in (("commits", batch_id), ("offsets", batch_id + 1)):
            log = self.store.sub("spark", folder)
            for name in log.names():
                if name.isdigit() and int(name) >= first:
                    log.delete(name)
                    log.delete(f".{name}.crc")

    # -- buckets ------------------------------------------------------------------------------

    def delete(self, names: Iterable[str]) -> None:
        """Delete bucket files."""
        for name in names:
            self.buckets.delete(name)

    def drop_orphans(self, used: frozenset[str]) -> None:
        """Delete bucket files that no commit names, and all staged ones."""
        self.delete(n for n in self.buckets.names() if n not in used)
        for name in self.staging.names():
            self.staging.delete(name)


def _begin(txn: int) -> str:
    return f"{txn:010d}.begin.json"


def _commit(txn: int) -> str:
    return f"{txn:010d}.commit.json"


def _change(version: int) -> str:
    return f"{version:010d}.json"
