"""Which windows of joins are due, and which sections of their streams they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headrace.query.plan import SharedPlan
from headrace.query.sides import uid_of_side
from headrace.query.window import Span
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.firing import starts_of, time_refs
from headrace.runtime.messages import SectionRef


@dataclass(frozen=True)
class Source:
    """A stream as joins read it, as of one of its commits."""

    sections: tuple[SectionRef, ...]
    plans: Mapping[int, SharedPlan]


@dataclass(frozen=True)
class Joining:
    """The work of one firing of joins."""

    due: tuple[tuple[Span, tuple[int, ...]], ...]
    refs: Mapping[str, tuple[SectionRef, ...]]
    """By stream."""

    @property
    def is_needed(self) -> bool:
        """Whether anything can come out of it."""
        return bool(self.due) and any(self.refs.values())

    @property
    def parts(self) -> tuple[Joining, ...]:
        """The same work, cut where windows read other sections than the rest.

        A tuple belongs to a window if it came before its stream's watermark had passed the window's
        end. Sections tell the watermark that they were written under, so a replay reads the same,
        however much has come since.
        """
        cut: dict[frozenset[tuple[str, str, int]], list[tuple[Span, tuple[int, ...]]]] = {}
        for span, uids in self.due:
            late = frozenset(
                (stream, ref.file, ref.offset)
                for stream, refs in self.refs.items()
                for ref in refs
                if ref.watermark_us >= span[1] and any(span[0] <= s < span[1] for s in ref.slices)
            )
            cut.setdefault(late, []).append((span, uids))
        return tuple(
            Joining(
                tuple(due),
                {
                    stream: tuple(r for r in refs if (stream, r.file, r.offset) not in late)
                    for stream, refs in self.refs.items()
                },
            )
            for late, due in cut.items()
        )


def plan_joining(
    queries: Iterable[ActiveQuery],
    sources: Mapping[str, Source],
    answered_upto_us: int,
    frontier_us: int,
) -> Joining:
    """Windows with an end in (answered_upto, frontier], and where the slices of all sides are."""
    slices = {stream: starts_of(source.sections) for stream, source in sources.items()}
    due: dict[Span, list[int]] = {}
    asked: dict[str, dict[Span, list[int]]] = {stream: {} for stream in sources}
    for query in queries:
        join, uid = query.logical.join, int(query.uid)
        assert join is not None
        spans = {
            span
            for side in join.sides
            for span in query.logical.time_window.due(
                slices[side.stream], answered_upto_us, frontier_us, query.life
            )
        }
        for span in spans:
            due.setdefault(span, []).append(uid)
            for number, side in enumerate(join.sides):
                asked[side.stream].setdefault(span, []).append(uid_of_side(uid, number))
    refs = {
        stream: tuple(time_refs(source.sections, source.plans, asked[stream]))
        for stream, source in sources.items()
    }
    return Joining(tuple((s, tuple(u)) for s, u in sorted(due.items())), refs)
