"""Sections that a worker process has read, kept for the next firing.

A window that slides reads most of its slices again and again. A section never changes once it is
written, so what a process has decoded of it stays right for as long as it is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.kernels import sections
from headrace.kernels.cells import Cells
from headrace.kernels.compiled import Reader
from headrace.kernels.dense import laid_together
from headrace.runtime.messages import SectionRef

Place = tuple[str, tuple[tuple[str, int, int], ...], int, int]
"""Of sections: their store, file, offset and checksum, by which a folder that was deleted and begun
anew is told from the one before; and key groups."""

_LONG = 16
"""After so many transactions without a reader, what was read is taken to be out of use."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """What was read, the transaction that read it last, and what its columns were numbered by."""

    txn: int
    numbering: object
    blocks: list[Cells]


class SectionCache:
    """Keeps at most `capacity` bytes.

    What the present firing has read stays longest: a round over more than there is room for would
    otherwise push out everything just before it is asked for.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._kept: dict[Place, _Kept] = {}

    def read(
        self,
        store: Store,
        refs: Sequence[SectionRef],
        key_groups: tuple[int, int],
        txn: int,
        reader: Reader,
    ) -> list[Cells]:
        """The cells of sections of one group and the same slices, aligned by its reader, and laid
        together where they can be."""
        place = (store.address, tuple((r.file, r.offset, r.crc32) for r in refs), *key_groups)
        kept = self._kept.pop(place, None)
        if kept is None or kept.numbering is not reader.numbering:
            read = [sections.decode(section_bytes(store, r), key_groups) for r in refs]
            blocks = laid_together(reader.aligned([c for c in read if c.keys.num_rows]))
            kept = _Kept(txn, reader.numbering, blocks)
        self._kept[place] = replace(kept, txn=txn)
        return kept.blocks

    def trim(self, store: Store, txn: int) -> None:
        """Make room after transaction `txn` of a store: its running sums have been made by now."""

        def age(place: Place) -> int:
            """In transactions, if it is known."""
            return txn - self._kept[place].txn if place[0] == store.address else 1

        for place in [p for p in self._kept if age(p) > _LONG]:
            del self._kept[place]
        spare = self.nbytes - self.capacity
        before = [p for p in self._kept if age(p)]
        present = [p for p in self._kept if not age(p)]
        for place in (*before, *reversed(present)):
            if spare <= 0:
                break
            spare -= sum(c.nbytes for c in self._kept.pop(place).blocks)

    @property
    def nbytes(self) -> int:
        """How much is kept."""
        return sum(c.nbytes for kept in self._kept.values() for c in kept.blocks)


def section_bytes(store: Store, ref: SectionRef) -> pa.Buffer:
    """The bytes of a section, as they were written; raises ExecutionError where they are not."""
    what = f"section at {ref.offset} of {store.path(ref.file)}"
    advice = "restore the file from a copy, or begin with a new checkpoint"
    try:
        data = store.read_range(ref.file, ref.offset, ref.length)
    except FileNotFoundError:
        raise ExecutionError(f"{what} is missing: there is no such file; {advice}") from None
    if len(data) != ref.length:
        found = f"{ref.length} bytes were written, {len(data)} are there"
        raise ExecutionError(f"{what} is damaged: {found}; {advice}")
    if zlib.crc32(data) != ref.crc32:
        raise ExecutionError(f"{what} is damaged: its checksum differs; {advice}")
    return data


CACHE = SectionCache(256 << 20)
"""Of this process."""
