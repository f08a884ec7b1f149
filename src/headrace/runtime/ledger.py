"""The ledger: which queries an outbox file still names, and how far each query is settled.

Rows are settled when they were delivered or given up. No lock of its own: `Deliveries` guards it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping


class Ledger:
    """Knows when a file is superfluous: when commits have noted all its queries as settled."""

    def __init__(self) -> None:
        self._settled: dict[int, int] = {}
        self._files: dict[int, tuple[frozenset[int], set[int]]] = {}
        """By transaction: the queries its file names, and those of them not noted yet."""
        self._named: Counter[int] = Counter()
        """In how many files a query is named."""

    def open(self, txn: int, uids: Iterable[int]) -> bool:
        """A file waits; False when it is known already."""
        if txn in self._files:
            return False
        named = frozenset(uids)
        self._files[txn] = named, set(named)
        self._named.update(named)
        return True

    def settle(self, uid: int, txn: int) -> None:
        """All rows of a query up to this transaction are delivered or given up."""
        self._settled[uid] = max(self._settled.get(uid, -1), txn)

    def forget(self, uid: int, last_txn: int) -> None:
        """A query is gone. Up to its last rows it is settled, for as long as a file names it."""
        if uid in self._named:
            self.settle(uid, last_txn)
        else:
            self._settled.pop(uid, None)

    def is_settled(self, uid: int, txn: int) -> bool:
        """Whether rows of this transaction need no delivery."""
        return self._settled.get(uid, -1) >= txn

    def snapshot(self) -> dict[int, int]:
        """By query: up to which transaction it is settled."""
        return dict(self._settled)

    def note(self, settled: Mapping[int, int], alive: Collection[int]) -> list[int]:
        """A commit holds this snapshot; returns the transactions whose files it sets free.

        Of queries that are not `alive`, those that no file names any more are forgotten. Costs as
        much as there are queries that files still wait for.
        """
        free = []
        for txn, (named, owed) in list(self._files.items()):
            owed -= {uid for uid in owed if settled.get(uid, -1) >= txn}
            if not owed:
                free.append(txn)
                del self._files[txn]
                self._named -= Counter(named)
        if free:
            kept = self._named.keys() | set(alive)
            self._settled = {u: t for u, t in self._settled.items() if u in kept}
        return free
