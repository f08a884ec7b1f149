"""Offsets of an Arrow source, per partition, and what lies between two of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Offsets = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Some tuples of one partition."""

    partition: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Came:
    """When the source had come to some offsets of a range, both rising."""

    offsets: tuple[int, ...] = ()
    times_s: tuple[float, ...] = ()


def between(start: Offsets, upto: Offsets) -> tuple[Range, ...]:
    """What lies between, of partitions that have anything there."""
    both = enumerate(zip(start, upto, strict=True))
    return tuple(Range(p, s, e) for p, (s, e) in both if e > s)


def after(start: Offsets, read: Sequence[Range]) -> Offsets:
    """Where the next batch begins."""
    ends = {r.partition: r.end for r in read}
    return tuple(ends.get(p, at) for p, at in enumerate(start))
