"""runtime/delivery.py: a crash anywhere loses nothing and repeats nothing that was noted."""

from __future__ import annotations

import tempfile
import threading
from functools import partial

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from headrace.connectors.store import Store
from headrace.query.window import Span
from headrace.runtime.delivery import Deliveries
from headrace.runtime.outbox import Outbox, Parcel

GUARD_S = 30.0
UIDS = (1, 2, 3)
Item = tuple[int, int]
"""Transaction and number of a parcel."""


class Life:
    """One process: its sinks take a parcel when they are let, or raise, until it is dead."""

    def __init__(self, store: Store, gone: set[int]) -> None:
        self.outbox = Outbox(store)
        self.gone = gone
        self.dead = False
        self.raising: set[int] = set()
        self.go = {uid: threading.Semaphore(0) for uid in UIDS}
        self.done = {uid: threading.Semaphore(0) for uid in UIDS}
        self.took: dict[int, list[Item]] = {uid: [] for uid in UIDS}
        self.deliveries = Deliveries(
            self.outbox, on_delivered=self._delivered, on_failed=self._failed
        )
        for uid in UIDS:
            if uid not in gone:
                self.deliveries.add(uid, str(uid), partial(self._sink, uid))

    def _sink(self, uid: int, table: pa.Table, txn: int) -> None:
        self.go[uid].acquire(timeout=GUARD_S)
        if self.dead:
            return
        if uid in self.raising:
            raise ValueError("enough")
        self.took[uid].append((txn, table.column("n")[0].as_py()))

    def _delivered(self, uid: int, txn: int, span: Span, table: pa.Table) -> None:
        self.done[uid].release()

    def _failed(self, uid: int, reason: str) -> None:
        if not self.dead:
            self.gone.add(uid)  # what is recorded outlives the process

    def step(self, uid: int) -> None:
        self.go[uid].release()
        assert self.done[uid].acquire(timeout=GUARD_S)

    def die(self) -> None:
        self.dead = True
        for semaphore in self.go.values():
            semaphore.release(1000)
        self.deliveries.close(0.0)


class Crashes(RuleBasedStateMachine):
    """Commits, deliveries and crashes between any two steps, against lists of what is owed."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="headrace-outbox-")
        self.store = Store(self.folder.name)
        self.committed: dict[int, list[Item]] = {uid: [] for uid in UIDS}
        self.ever: dict[int, set[Item]] = {uid: set() for uid in UIDS}
        self.gone: set[int] = set()
        self.txn = 0
        self.noted: dict[int, int] = {}
        self.life = Life(self.store, self.gone)
        self.owed: dict[int, list[Item]] = {uid: [] for uid in UIDS}

    @rule(
        uids=st.lists(st.sampled_from(UIDS), max_size=5),
        crash=st.sampled_from(["written", "committed", "posted", "noted", None, None, None]),
    )
    def commit(self, uids: list[int], crash: str | None) -> None:
        """One transaction; what was delivered until then is noted with it."""
        txn = self.txn + 1
        delivered = self.life.deliveries.delivered()
        parcels = [Parcel(u, (n, n + 1), pa.table({"n": [n]})) for n, u in enumerate(uids)]
        self.life.outbox.write(txn, parcels)
        if crash == "written":
            return self.crash()
        self.txn, self.noted = txn, delivered
        for number, uid in enumerate(uids):
            self.committed[uid].append((txn, number))
            if uid not in self.gone:
                self.owed[uid].append((txn, number))
        if crash == "committed":
            return self.crash()
        self.life.deliveries.post(txn)
        if crash == "posted":
            return self.crash()
        self.life.deliveries.noted(delivered)
        if crash == "noted":
            self.crash()
        return None

    @rule(uid=st.sampled_from(UIDS))
    def deliver(self, uid: int) -> None:
        """The sink takes the parcel whose turn it is, and no other."""
        if self.owed[uid]:
            self.life.step(uid)
            took = self.life.took[uid][-1]
            assert took == self.owed[uid].pop(0)
            self.ever[uid].add(took)

    @precondition(lambda self: len(self.gone) < 2)
    @rule(uid=st.sampled_from(UIDS))
    def fail(self, uid: int) -> None:
        """The sink raises; its query is gone for good."""
        if self.owed[uid]:
            self.life.raising.add(uid)
            self.life.go[uid].release()
            assert self.life.deliveries.drain(GUARD_S, uid=uid)
            assert uid in self.gone
            self.owed[uid].clear()

    @rule()
    def crash(self) -> None:
        """A new process finds the last commit and the outbox."""
        self.life.die()
        self.life = Life(self.store, self.gone)
        for uid in set(UIDS) - self.gone:
            after = self.noted.get(uid, -1)
            self.owed[uid] = [item for item in self.committed[uid] if item[0] > after]
        self.life.deliveries.restore(self.txn, self.noted)

    @invariant()
    def what_waits_is_what_is_owed(self) -> None:
        for uid in UIDS:
            rows, _ = self.life.deliveries.waiting(uid)
            assert rows == len(self.owed[uid])

    def teardown(self) -> None:
        """After one more crash all that is owed comes, and the outbox can be emptied."""
        try:
            self.crash()
            self.what_waits_is_what_is_owed()
            for uid in UIDS:
                while self.owed[uid]:
                    self.deliver(uid)
                assert uid in self.gone or self.ever[uid] == set(self.committed[uid])
            assert self.life.deliveries.drain(GUARD_S)
            self.life.deliveries.noted(self.life.deliveries.delivered())
            assert self.life.outbox.txns() == []
        finally:
            self.life.die()
            self.folder.cleanup()


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(max_examples=60, stateful_step_count=25)
