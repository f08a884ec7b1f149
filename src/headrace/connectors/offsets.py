"""Offsets of a source, by the name of a partition, and what lies between two of them.

What an offset means is the source's business: here they are only told apart and kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Offset = int | str
Offsets = Mapping[str, Offset]
"""By partition."""


@dataclass(frozen=True, slots=True)
class Range:
    """Some tuples of one partition."""

    partition: str
    start: Offset
    end: Offset


@dataclass(frozen=True, slots=True)
class Came:
    """When the source had come to some offsets of a range, both rising."""

    offsets: tuple[int, ...] = ()
    times_s: tuple[float, ...] = ()


def between(start: Offsets, upto: Offsets) -> tuple[Range, ...]:
    """What lies between, of partitions that have moved on.

    >>> between({"a": 3, "b": 7}, {"a": 5, "b": 7})
    (Range(partition='a', start=3, end=5),)
    """
    return tuple(Range(p, start[p], end) for p, end in upto.items() if end != start[p])


def after(start: Offsets, read: Sequence[Range]) -> dict[str, Offset]:
    """Where the next batch begins."""
    return {**start, **{r.partition: r.end for r in read}}
