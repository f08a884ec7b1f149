"""Who owns a checkpoint: one session at a time, by a lease that it renews while it lives.

Every owner has a token, one higher than the last, and a file named by it; the file with the highest
token is the lease. Two that want to follow the same dead owner both try to create the next file,
which only one can. An owner that was thought dead, and was only slow, finds the higher token and
stops: it is fenced.

Between a look at the tokens and the write that follows it an owner may still be overtaken, so a
session looks before every commit and its time to live is much longer than a commit takes. The
clocks of hosts that share a checkpoint have to agree within a fraction of that time. Where files
cannot be created exclusively (see `Store.create`), two claims within the same moment both succeed.
"""

from __future__ import annotations

import logging
import threading
import uuid
from contextlib import suppress
from dataclasses import replace

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.runtime.lease_files import (
    Lease,
    create_lease,
    lease_name,
    read_lease,
    tokens,
    write_lease,
)
from headrace.runtime.process import Alive, Process, alive
from headrace.runtime.records import Damaged, Missing, RecordError, disk_errors
from headrace.types import to_datetime

__all__ = ["CheckpointInUse", "Fenced", "Holder", "Lease", "Process", "TTL_S", "alive", "claim"]

log = logging.getLogger("headrace")

TTL_S = 30.0
"""How long after its last sign of life an owner that cannot be seen is taken for dead."""

_held: set[str] = set()
"""Owners in this process that have not let go."""
_TURNS = 100
"""Each turn of a claim but the first means that another claimant got further meanwhile."""


class CheckpointInUse(ExecutionError):
    """Another session owns the checkpoint and lives, as far as can be told."""


class Fenced(ExecutionError):
    """This session does not own the checkpoint any more and must not write to it."""


def claim(
    store: Store, now_s: float, me: Process, ttl_s: float = TTL_S, *, alive: Alive = alive
) -> Lease:
    """Become the owner of a checkpoint that is new, was let go, or whose owner is dead.

    An owner is dead at once if its process is gone from this host, and otherwise when it has shown
    no sign of life for its time to live. Raises CheckpointInUse if it lives.
    """
    with disk_errors(store.address):
        store.make()
    for _ in range(_TURNS):
        last = max(tokens(store), default=0)
        try:
            if last:
                _refuse_living(store, last, now_s, me, ttl_s, alive)
        except Missing:
            continue
        mine = Lease(
            owner=uuid.uuid4().hex,
            token=last + 1,
            host=me.host,
            pid=me.pid,
            process_started=me.started,
            namespace=me.namespace,
            since_s=now_s,
            beat_s=now_s,
            ttl_s=ttl_s,
        )
        if not create_lease(store, mine):
            continue
        there = tokens(store)
        if max(there, default=0) > mine.token:
            # Others came and went since the first look, and with them the file of this token.
            with suppress(OSError):  # it is not the lease, whether it stays or not
                store.delete(mine.name)
            continue
        for token in (t for t in there if t < mine.token):
            with suppress(OSError):  # the next claim tries again
                store.delete(lease_name(token))
        _held.add(mine.owner)
        return mine
    raise CheckpointInUse(
        f"checkpoint {store.address} is claimed by many sessions at once, or a name like "
        f"{lease_name(1)} in it is not a file; try again when the others are gone"
    )


def _refuse_living(
    store: Store, token: int, now_s: float, me: Process, ttl_s: float, alive: Alive
) -> None:
    """Return if the owner of a token let go of it or is dead."""
    try:
        lease = read_lease(store, token)
    except Damaged as error:
        _refuse_young(store, token, now_s, ttl_s, error)
        return
    if lease.released or alive(lease.process, me) is False:
        return
    if lease.process == me and lease.owner not in _held:
        return
    silent_s = max(now_s - lease.beat_s, 0.0)
    if silent_s > lease.ttl_s:
        return
    this = " (this one)" if lease.process == me else ""
    raise CheckpointInUse(
        f"checkpoint {store.address} is used by another session: {lease.process}{this}, since "
        f"{_utc(lease.since_s)}, last seen {silent_s:.0f} s ago; close that session, or wait until "
        f"it is gone (it is taken over {lease.ttl_s:g} s after its last sign of life)"
    )


def _refuse_young(store: Store, token: int, now_s: float, ttl_s: float, why: Damaged) -> None:
    """Return if a damaged lease has not been renewed for so long that its owner is dead."""
    written_s = store.modified_s(lease_name(token))
    if written_s is None:
        raise Missing(str(why)) from why
    age_s = max(now_s - written_s, 0.0)
    if age_s <= ttl_s:
        raise CheckpointInUse(
            f"checkpoint {store.address} may be used by another session: {why}, or try again "
            f"{ttl_s:g} s after it was last written ({age_s:.0f} s ago)"
        ) from why
    log.warning(
        "checkpoint %s: its lease %s is damaged and was not renewed for %.0f s; taking it over",
        *(store.address, lease_name(token), age_s),
    )


class Holder:
    """Keeps the lease of one session; may be used by several threads."""

    def __init__(self, store: Store, lease: Lease) -> None:
        self.lease = lease
        self._store = store
        self._lock = threading.Lock()

    def check(self) -> None:
        """Raise Fenced if the session does not own the checkpoint any more. One listing."""
        with self._lock:
            self._check()

    def renew(self, now_s: float) -> None:
        """Show a sign of life; raises Fenced as `check`. Nothing once the lease was let go."""
        with self._lock:
            if not self.lease.released:
                self._check()
                self._check_owner()
                self._write(replace(self.lease, beat_s=now_s))

    def release(self, now_s: float) -> None:
        """Let go of the lease, for the next to take at once; quiet if it was lost before. Where a
        full disk takes no note of it, a session of this process may take it all the same."""
        _held.discard(self.lease.owner)
        with self._lock:
            if self.lease.released:
                return
            try:
                self._check()
                self._check_owner()
            except Fenced:
                self.lease = replace(self.lease, released=True)
            else:
                self._write(replace(self.lease, beat_s=now_s, released=True))

    def _check(self) -> None:
        if self.lease.released:
            raise self._fenced("it let go of it")
        there = tokens(self._store)
        last = max(there, default=0)
        if last > self.lease.token:
            raise self._fenced(self._successor(last))
        # A listing may miss a file that is replaced while it runs; a look at the name does not.
        if last < self.lease.token and self._store.modified_s(self.lease.name) is None:
            raise self._fenced("its lease was deleted")

    def _check_owner(self) -> None:
        """A checkpoint deleted and begun anew has low tokens again, perhaps this very one."""
        try:
            found = read_lease(self._store, self.lease.token)
        except Damaged:
            return  # about to be written anew
        except Missing:
            raise self._fenced("its lease was deleted") from None
        if found.owner != self.lease.owner:
            raise self._fenced(_took_over(found))

    def _write(self, lease: Lease) -> None:
        write_lease(self._store, lease)
        self.lease = lease

    def _successor(self, token: int) -> str:
        try:
            return _took_over(read_lease(self._store, token))
        except RecordError:
            return "another session took it over"

    def _fenced(self, why: str) -> Fenced:
        return Fenced(
            f"this session no longer owns checkpoint {self._store.address}: {why}; nothing more "
            "is written by this one"
        )


def _took_over(lease: Lease) -> str:
    return f"{lease.process} took it over at {_utc(lease.since_s)}"


def _utc(time_s: float) -> str:
    return f"{to_datetime(int(time_s * 1e6)):%Y-%m-%d %H:%M:%S} UTC"
