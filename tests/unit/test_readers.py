"""connectors/readers.py: a source that keeps tuples lets go only of what all have read."""

from __future__ import annotations

from headrace.connectors.readers import Readers
from headrace.connectors.source import Numbered
from headrace.connectors.sources import Generator


class Keeping(Generator):
    """Notes what it was told."""

    def commit(self, offsets: tuple[int, ...]) -> None:
        TOLD.append(offsets)


TOLD: list[tuple[int, ...]] = []


def test_the_slowest_of_each_partition_counts() -> None:
    TOLD.clear()
    readers = Readers(Numbered(Keeping()))
    readers.enters("a", {"0": 0, "1": 0})
    readers.enters("b", {"0": 0, "1": 0})
    readers.done("a", {"0": 5, "1": 3})
    readers.done("b", {"0": 2, "1": 7})
    readers.done("b", {"0": 2, "1": 9})
    assert TOLD == [(2, 3)], "told only where it changed"


def test_who_leaves_holds_nothing_back() -> None:
    TOLD.clear()
    readers = Readers(Numbered(Keeping(partitions=1)))
    readers.enters("a", {"0": 0})
    readers.enters("b", {"0": 0})
    readers.done("a", {"0": 5})
    readers.leaves("b")
    assert TOLD == [(5,)]
    readers.leaves("a")
    assert TOLD == [(5,)], "with nobody left nothing is known to be needless"
