"""Which sections to compact: many small ones, ones of old versions, ones of deleted queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.query.plan import SharedPlan
from headrace.query.window import Span, TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.spark.firing import members_of
from headrace.spark.messages import SectionRef

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


def plan_compaction(
    queries: Iterable[ActiveQuery],
    sections: Sequence[SectionRef],
    plans: Mapping[int, SharedPlan],
    version: int,
    *,
    purge: bool,
) -> list[CompactUnit]:
    """The work that pays now. With `purge`, sections that serve deleted queries are rewritten."""
    active = {int(q.uid): q for q in queries}
    cut_us = plans[version].sub_stream_us
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
        if (has_gone and purge) or (stale and len(old_versions) >= MANY_VERSIONS):
            units.append(_unit("convert", refs, alive, active, cut_us))
        else:
            alike: dict[tuple[object, int], list[SectionRef]] = {}
            for ref in refs:
                alike.setdefault((ref.family, _tier(ref)), []).append(ref)
            units += [
                _unit("merge", some, alive, active, cut_us)
                for (_, tier), some in alike.items()
                if len(some) >= (MANY_LARGE_SECTIONS if tier else MANY_SECTIONS)
            ]
    units += _session_units(active, sections, plans, purge=purge)
    return units


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


def _unit(
    kind: Literal["merge", "convert", "sessions"],
    refs: Sequence[SectionRef],
    uids: tuple[int, ...],
    active: Mapping[int, ActiveQuery],
    cut_us: int | None = None,
) -> CompactUnit:
    members = [active[u] for u in uids]
    windows = {m.logical.window for m in members}
    if cut_us is not None and any(m.logical.accuracy is not None for m in members):
        windows.add(TimeWindow(cut_us, cut_us))
    return CompactUnit(
        kind=kind,
        refs=tuple(refs),
        windows=tuple(sorted((w for w in windows if isinstance(w, TimeWindow)), key=repr)),
        cuts=tuple(sorted({m.since_us for m in members if m.partial_first})),
        uids=uids,
        lives={u: active[u].life for u in uids},
    )
