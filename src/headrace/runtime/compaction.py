"""Which sections to compact: many small ones, ones of old versions, ones of deleted queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from headrace.kernels.sampling import Schedule
from headrace.query.plan import SharedPlan
from headrace.query.window import Span, TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.firing import members_of
from headrace.runtime.messages import SectionRef
from headrace.types import BEGINNING

MANY_SECTIONS = 16
"""So many small sections of one kind are merged into one."""
MANY_LARGE_SECTIONS = 48
"""Large ones are left alone longer: where windows are short, they are gone before it pays."""
LARGE_BYTES = 1 << 16
MANY_VERSIONS = 6
"""So many plan versions in the state, and the old ones are turned into one column per query."""
MANY_ARRIVALS = 8
"""So many batches of session pieces are joined into open sessions."""


@dataclass(frozen=True)
class CompactUnit:
    """One piece of compaction work: sections in, one section out.

    ``merge`` keeps the columns; ``convert`` makes one column per query in ``uids``; ``sessions``
    joins pieces into open sessions of those queries.
    """

    kind: Literal["merge", "convert", "sessions"]
    refs: tuple[SectionRef, ...]
    windows: tuple[TimeWindow, ...]
    cuts: tuple[int, ...]
    uids: tuple[int, ...]
    lives: dict[int, Span]
    upto_us: int | None = None
    """Windows that end up to here have been read by all; by default, up to the watermark."""


def plan_compaction(
    queries: Iterable[ActiveQuery],
    sections: Sequence[SectionRef],
    plans: Mapping[int, SharedPlan],
    version: int,
    *,
    purge: bool,
    sampling: Schedule = (),
    read_upto_us: Mapping[int, int] | None = None,
) -> list[CompactUnit]:
    """The work that pays now. With `purge`, sections that serve deleted queries are rewritten.

    ``read_upto`` tells, by query that feeds a join, up to where the join has answered.
    """
    active = {int(q.uid): q for q in queries}
    fed = {u: (read_upto_us or {}).get(u, BEGINNING) for u, q in active.items() if q.logical.feeds}
    strata = _Strata(plans[version].sub_stream_us, sampling)
    kinds: dict[tuple[int, int, tuple[int, ...] | None], list[SectionRef]] = {}
    for ref in sections:
        kinds.setdefault((ref.version, ref.group, ref.uids), []).append(ref)
    old_versions = {r.version for r in sections if r.uids is None and r.version != version}
    units: list[CompactUnit] = []
    for refs in kinds.values():
        first = refs[0]
        if first.session:
            continue
        members = members_of(first, plans)
        alive = tuple(sorted(u for u in members if u in active))
        stale = first.uids is None and first.version != version
        has_gone = len(alive) < len(members)
        feeding = [active[u] for u in alive if u in fed]
        refs = [r for r in refs if not _is_late(r, feeding, fed)]
        if not refs:
            continue
        if (has_gone and purge) or (stale and len(old_versions) >= MANY_VERSIONS):
            units.append(_unit("convert", refs, alive, active, strata))
        else:
            alike: dict[tuple[object, int], list[SectionRef]] = {}
            for ref in refs:
                alike.setdefault((ref.family, _tier(ref)), []).append(ref)
            units += [
                _unit("merge", some, alive, active, strata)
                for (_, tier), some in alike.items()
                if len(some) >= (MANY_LARGE_SECTIONS if tier else MANY_SECTIONS)
            ]
    units += _session_units(active, sections, plans, purge=purge)
    return [_read_by_all(unit, fed) for unit in units]


def _is_late(ref: SectionRef, feeding: Sequence[ActiveQuery], fed: Mapping[int, int]) -> bool:
    """Whether it has tuples that came too late for a window that a join has not read yet. When they
    came is told by section: until then it stays apart."""
    starts = np.array(ref.slices, dtype=np.int64)
    for query in feeding:
        end = query.logical.time_window.first_end_after(starts)
        missed = (end > starts) & (end <= ref.watermark_us) & (end > fed[int(query.uid)])
        if missed.any():
            return True
    return False


def _read_by_all(unit: CompactUnit, fed: Mapping[int, int]) -> CompactUnit:
    """Slices are joined behind the last reader."""
    upto = [fed[u] for u in unit.uids if u in fed]
    return replace(unit, upto_us=min(upto)) if upto else unit


def _tier(ref: SectionRef) -> int:
    """Sections are merged with others of their size, so that a byte is seldom written again."""
    return 0 if ref.length < LARGE_BYTES else 1 + (ref.length // LARGE_BYTES).bit_length() // 3


def _session_units(
    active: Mapping[int, ActiveQuery],
    sections: Sequence[SectionRef],
    plans: Mapping[int, SharedPlan],
    *,
    purge: bool,
) -> list[CompactUnit]:
    """Pieces of the main session groups; their arrival order matters, so a family goes together."""
    by_group: dict[tuple[tuple[str, ...], frozenset[int]], list[SectionRef]] = {}
    for ref in sections:
        if ref.session and ref.value is None:
            alive = frozenset(u for u in members_of(ref, plans) if u in active)
            by_group.setdefault((ref.keys, alive), []).append(ref)
    units = []
    for (keys, alive), refs in by_group.items():
        others = [a for k, a in by_group if k == keys and a != alive and a & alive]
        gone = any(members_of(r, plans) - alive for r in refs)
        if not others and (len(refs) >= MANY_ARRIVALS or (purge and gone)):
            units.append(_unit("sessions", refs, tuple(sorted(alive)), active))
    return units


@dataclass(frozen=True)
class _Strata:
    """Where parts of a window have to stay apart, because different shares of them are there."""

    length_us: int | None = None
    """Of sub-streams."""
    sampling: Schedule = ()

    def windows(self, members: Sequence[ActiveQuery]) -> set[TimeWindow]:
        """Pieces of event time that are needed one by one, as if they were windows. What has passed
        the watermark is all there, and may be joined; but not a sample of it, which stays in
        sub-streams as long as a window does."""
        approximate = [m.logical for m in members if m.logical.accuracy is not None]
        if self.length_us is None or not approximate:
            return set()
        sampled = [q.time_window.size_us for q in approximate if q.accuracy and q.accuracy.sample]
        return {TimeWindow(max([self.length_us, *sampled]), self.length_us)}

    def cuts(self, members: Sequence[ActiveQuery]) -> set[int]:
        """Where the rate of a sample changes."""
        sampled = any(m.logical.accuracy and m.logical.accuracy.sample for m in members)
        return {start for start, _ in self.sampling} if sampled else set()


_NO_STRATA = _Strata()


def _unit(
    kind: Literal["merge", "convert", "sessions"],
    refs: Sequence[SectionRef],
    uids: tuple[int, ...],
    active: Mapping[int, ActiveQuery],
    strata: _Strata = _NO_STRATA,
) -> CompactUnit:
    members = [active[u] for u in uids]
    windows = {m.logical.window for m in members} | strata.windows(members)
    cuts = {m.since_us for m in members if m.partial_first} | strata.cuts(members)
    return CompactUnit(
        kind=kind,
        refs=tuple(refs),
        windows=tuple(sorted((w for w in windows if isinstance(w, TimeWindow)), key=repr)),
        cuts=tuple(sorted(cuts)),
        uids=uids,
        lives={u: active[u].life for u in uids},
    )
