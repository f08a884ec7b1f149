"""Group queries of one family: share classes where that is cheaper than staying apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.optimizer.cost import Candidate, Statistics
from headrace.query.plan import Member, axis_of
from headrace.query.predicate import leaves

_MANY = 48
"""Beyond so many distinct axis sets only neighbours in size order are compared."""


def group_queries(
    members: Sequence[Member], partials: int, statistics: Statistics
) -> list[Candidate]:
    """Start with one group per set of axes; merge the pair that saves most, until none saves."""
    by_axes: dict[frozenset[str], list[Member]] = {}
    for member in members:
        axes = frozenset(axis_of(leaf) for leaf in leaves(member.where))
        by_axes.setdefault(axes, []).append(member)
    groups = [
        part
        for axes, found in sorted(by_axes.items(), key=lambda i: (len(i[0]), sorted(i[0])))
        for part in _fitting(Candidate(axes, tuple(found), partials, statistics))
    ]
    while len(groups) > 1:
        best: tuple[float, int, int, Candidate] | None = None
        for left in range(len(groups)):
            last = len(groups) if len(groups) <= _MANY else min(left + 2, len(groups))
            for right in range(left + 1, last):
                merged = groups[left].with_(groups[right])
                if not merged.is_shareable:
                    continue
                saved = groups[left].cost + groups[right].cost - merged.cost
                if saved > 0 and (best is None or saved > best[0]):
                    best = (saved, left, right, merged)
        if best is None:
            break
        _, left, right, merged = best
        groups[left] = merged
        del groups[right]
    return groups


def _fitting(group: Candidate) -> list[Candidate]:
    """The group, halved until the classes of every part are few enough. Of one query they are."""
    if group.fits or len(group.members) == 1:
        return [group]
    half = len(group.members) // 2
    return [
        part
        for some in (group.members[:half], group.members[half:])
        for part in _fitting(replace(group, members=some))
    ]
