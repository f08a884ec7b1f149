"""Which windows are due, which sections they need, and which sections nobody needs any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headrace.approximate.early import EarlyDue, is_finished
from headrace.kernels.columns import Ints
from headrace.query.plan import SharedPlan
from headrace.query.window import SessionWindow, Span, TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.messages import SectionRef
from headrace.types import BEGINNING


@dataclass(frozen=True)
class Firing:
    """The work of one firing."""

    due: tuple[tuple[Span, tuple[int, ...]], ...]
    session_lives: dict[int, Span]
    refs: tuple[SectionRef, ...]
    early: tuple[EarlyDue, ...] = ()
    emitted_upto_us: int = BEGINNING
    watermark_us: int = BEGINNING
    """Windows that end between the two are due."""

    @property
    def is_needed(self) -> bool:
        """Whether anything can come out of it."""
        return bool(self.refs) and bool(self.due or self.session_lives or self.early)


def starts_of(sections: Iterable[SectionRef]) -> Ints:
    """Where the slices of some sections start, in order."""
    starts = {s for ref in sections if not ref.session for s in ref.slices}
    return np.array(sorted(starts), dtype=np.int64)


def plan_firing(
    queries: Iterable[ActiveQuery],
    sections: Sequence[SectionRef],
    plans: Mapping[int, SharedPlan],
    emitted_upto_us: int,
    watermark_us: int,
    early: Sequence[EarlyDue] = (),
    closed_upto_us: Mapping[int, int] | None = None,
    sampled: frozenset[int] = frozenset(),
) -> Firing:
    """Windows with an end in (emitted_upto, watermark], and where their slices are; and those of
    windows that are answered early, or of a sample."""
    slices = starts_of(sections)
    closed = closed_upto_us or {}
    alike: dict[tuple[TimeWindow, Span, bool], list[int]] = {}
    lives: dict[int, Span] = {}
    gaps: list[int] = []
    due: dict[Span, list[int]] = {}
    for query in queries:
        window, uid = query.logical.window, int(query.uid)
        if uid in sampled or query.logical.feeds:
            continue
        if isinstance(window, TimeWindow) and uid in closed and is_finished(query.logical):
            after = max(emitted_upto_us, closed[uid])
            for span in window.due(slices, after, watermark_us, query.life):
                due.setdefault(span, []).append(uid)
        elif isinstance(window, TimeWindow):
            alike.setdefault((window, query.life, query.partial_first), []).append(uid)
        elif isinstance(window, SessionWindow):
            lives[uid] = query.life
            gaps.append(window.gap_us)
    for (window, life, partial_first), uids in alike.items():
        for span in window.due(
            slices, emitted_upto_us, watermark_us, life, partial_first=partial_first
        ):
            due.setdefault(span, []).extend(uids)
    asked: dict[Span, list[int]] = {span: list(uids) for span, uids in due.items()}
    for one in early:
        asked.setdefault(one.span, []).extend(one.uids)
    needed = time_refs(sections, plans, asked)
    session_refs = [r for r in sections if r.session]
    may_close = gaps and any(r.slices[0] + min(gaps) <= watermark_us for r in session_refs)
    return Firing(
        due=tuple((span, tuple(uids)) for span, uids in sorted(due.items())),
        session_lives=lives if may_close else {},
        refs=(*needed, *(session_refs if may_close else ())),
        early=tuple(early),
        emitted_upto_us=emitted_upto_us,
        watermark_us=watermark_us,
    )


def members_of(ref: SectionRef, plans: Mapping[int, SharedPlan]) -> frozenset[int]:
    """The queries a section can answer."""
    if ref.uids is not None:
        return frozenset(ref.uids)
    group = plans[ref.version].groups[ref.group]
    return frozenset(int(m.uid) for m in group.members)


def time_refs(
    sections: Sequence[SectionRef],
    plans: Mapping[int, SharedPlan],
    due: Mapping[Span, Sequence[int]],
) -> list[SectionRef]:
    """Sections with slices of some windows, and with what answers their queries."""
    if not due:
        return []
    asked = {uid for uids in due.values() for uid in uids}
    low, high = min(s for s, _ in due), max(e for _, e in due)
    wanted: dict[object, bool] = {}
    for ref in sections:
        if ref.columns_of not in wanted:
            wanted[ref.columns_of] = not asked.isdisjoint(members_of(ref, plans))
    return [
        ref
        for ref in sections
        if not ref.session and wanted[ref.columns_of] and any(low <= s < high for s in ref.slices)
    ]


def still_needed(
    queries: Iterable[ActiveQuery],
    sections: Sequence[SectionRef],
    plans: Mapping[int, SharedPlan],
    watermark_us: int,
    held_from_us: int | None,
    read_upto_us: Mapping[int, int] | None = None,
) -> list[SectionRef]:
    """Sections that some future window of an active query may read.

    ``held_from`` is the first event time of the oldest session still open, if any was reported.
    ``read_upto`` tells, by query that feeds a join, up to where the join has answered.
    """
    joined = read_upto_us or {}
    horizon: dict[int, int] = {}
    gaps: dict[int, int] = {}
    for query in queries:
        uid, window = int(query.uid), query.logical.window
        if isinstance(window, TimeWindow):
            upto = joined.get(uid, BEGINNING) if query.logical.feeds else watermark_us
            needed = BEGINNING if upto <= BEGINNING else window.needed_from(upto)
            since = BEGINNING if query.partial_first else query.since_us
            horizon[uid] = max(needed, since)
        elif isinstance(window, SessionWindow):
            gaps[uid] = window.gap_us
    longest: dict[object, int | None] = {}
    earliest: dict[object, int | None] = {}
    for ref in sections:
        if ref.columns_of not in earliest:
            members = members_of(ref, plans)
            longest[ref.columns_of] = max((gaps[u] for u in members if u in gaps), default=None)
            earliest[ref.columns_of] = min(
                (horizon[u] for u in members if u in horizon), default=None
            )
    kept = []
    for ref in sections:
        if ref.session:
            gap = longest[ref.columns_of]
            if gap is None:
                continue
            last = ref.slices[1]
            closed = last + gap <= watermark_us
            if not closed or (held_from_us is not None and last >= held_from_us):
                kept.append(ref)
        else:
            needed_from = earliest[ref.columns_of]
            if needed_from is not None and max(ref.slices) >= needed_from:
                kept.append(ref)
    return kept
