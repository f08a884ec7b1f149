"""Classes by their query-sets: each gets a number when it is first met, and keeps it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headrace.kernels.blocks import Layout
from headrace.kernels.columns import Bools, Ints
from headrace.query.plan import LARGEST_LAYOUT

Bytes = npt.NDArray[np.uint8]

NOBODY = -1
"""In the place of a class: no query wants the tuple."""


class Classes:
    """The classes of a group that one process has met.

    They are numbered as they come, those that come together by their bits: processes that see the
    same stream mostly agree. Numbers are never taken back, so what was numbered earlier fits a
    later layout: its columns are the first ones.
    """

    def __init__(self, uids: Sequence[int]) -> None:
        self._numbers: dict[bytes, int] = {}
        self._layout = Layout.of(uids, np.zeros((0, len(uids)), bool), ordered=False)
        self._room = LARGEST_LAYOUT // max(len(uids), 1)

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers_of(self, query_sets: Bools) -> Ints | None:
        """The number of each query-set, `NOBODY` for the empty one; None, and nothing learned, if
        there is no room for all of them."""
        distinct, inverse = _distinct(np.packbits(query_sets, axis=1))
        names = [row.tobytes() for row in distinct]
        nobody = bytes(distinct.shape[1])
        new = [name for name in names if name != nobody and name not in self._numbers]
        if len(self._numbers) + len(new) > self._room:
            return None
        for name in new:
            self._numbers[name] = len(self._numbers)
        numbers = [self._numbers.get(name, NOBODY) for name in names]
        return np.array(numbers, dtype=np.int64)[inverse]

    @property
    def layout(self) -> Layout:
        """What the numbers stand for so far; the same object until there is a new class."""
        known = self._layout
        if len(known.query_sets) < len(self._numbers):
            new = list(self._numbers)[len(known.query_sets) :]
            packed = np.frombuffer(b"".join(new), np.uint8).reshape(len(new), -1)
            sets = np.unpackbits(packed, axis=1, count=len(known.uids)).astype(bool)
            every = np.concatenate([known.query_sets, sets])
            self._layout = Layout.of(known.uids, every, ordered=False)
        return self._layout


def _distinct(packed: Bytes) -> tuple[Bytes, Ints]:
    """Distinct rows in the order of their bits, and which of them each row is."""
    place = np.zeros(len(packed), dtype=np.int64)
    padded = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    # Word by word: to sort rows of bytes takes ten times as long.
    for word in np.ascontiguousarray(padded).view(">u8").T:
        values, code = np.unique(word, return_inverse=True)
        place = place * max(len(values), 1) + code
        _, first, place = np.unique(place, return_index=True, return_inverse=True)
    return packed[first], place
