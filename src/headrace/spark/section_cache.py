"""Sections that a worker process has read, kept for the next firing.

A window that slides reads most of its slices again and again. A section never changes once it is
written, so what a process has decoded of it stays right for as long as it is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.kernels import sections
from headrace.kernels.cells import Cells
from headrace.kernels.dense import laid_together
from headrace.spark.messages import SectionRef
from headrace.spark.store import Store

Place = tuple[str, tuple[tuple[str, int], ...], int, int]

_LONG = 16
"""After so many transactions without a reader, what was read is taken to be out of use."""


class SectionCache:
    """Keeps at most `capacity` bytes.

    What the present firing has read stays longest: a round over more than there is room for would
    otherwise push out everything just before it is asked for.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._kept: dict[Place, tuple[int, list[Cells]]] = {}

    def read(
        self, store: Store, refs: Sequence[SectionRef], key_groups: tuple[int, int], txn: int
    ) -> list[Cells]:
        """The cells of sections of the same columns and slices, laid together where they can be."""
        place = (store.address, tuple((r.file, r.offset) for r in refs), *key_groups)
        _, blocks = self._kept.pop(place, (txn, None))
        if blocks is None:
            read = [
                sections.decode(store.read_range(r.file, r.offset, r.length), key_groups)
                for r in refs
            ]
            blocks = laid_together([c for c in read if c.keys.num_rows])
        self._kept[place] = txn, blocks
        return blocks

    def trim(self, store: Store, txn: int) -> None:
        """Make room after transaction `txn` of a store: its running sums have been made by now."""

        def age(place: Place) -> int:
            """In transactions, if it is known."""
            return txn - self._kept[place][0] if place[0] == store.address else 1

        for place in [p for p in self._kept if age(p) > _LONG]:
            del self._kept[place]
        spare = self.nbytes - self.capacity
        before = [p for p in self._kept if age(p)]
        present = [p for p in self._kept if not age(p)]
        for place in (*before, *reversed(present)):
            if spare <= 0:
                break
            spare -= sum(c.nbytes for c in self._kept.pop(place)[1])

    @property
    def nbytes(self) -> int:
        """How much is kept."""
        return sum(c.nbytes for _, blocks in self._kept.values() for c in blocks)


CACHE = SectionCache(256 << 20)
"""Of this process."""
