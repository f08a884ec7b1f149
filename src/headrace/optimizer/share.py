"""`share`: the active queries of a pipeline to one plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.optimizer.choose_lane import choose_lane
from headrace.optimizer.cost import Candidate, Statistics
from headrace.optimizer.cut_sub_streams import cut_sub_streams
from headrace.optimizer.group_queries import group_queries
from headrace.query.needs import (
    column_name,
    expressions_of,
    is_sampled,
    partials_of,
    values_of,
)
from headrace.query.plan import (
    LAST_TIME,
    RANK,
    ROWS,
    Group,
    Member,
    Partial,
    Selector,
    SharedPlan,
    axis_of,
    derived_name,
)
from headrace.query.predicate import leaves, truths_of
from headrace.query.schema import StreamSchema
from headrace.query.window import TimeWindow, Window
from headrace.registry.changelog import ActiveQuery
from headrace.types import BEGINNING, Version


@dataclass(frozen=True, slots=True)
class Family:
    """What queries must have in common to share a group."""

    keys: tuple[str, ...]
    session: bool
    approximate: bool
    """These need finer slices and squares, so exact queries do not always pay for having them."""
    sampled: bool
    value: str | None = None
    sketch: int | None = None


def share(
    version: Version,
    stream: StreamSchema,
    queries: Sequence[ActiveQuery],
    *,
    rows_in_jvm: bool,
    reads_files: bool = False,
    statistics: Statistics | None = None,
) -> SharedPlan:
    """The plan under which these queries run together.

    With ``reads_files``, tasks can fetch the tuples by themselves as long as no query needs an
    expression that only Spark computes.
    """
    stats = statistics or Statistics()
    queries = sorted(queries, key=lambda q: q.uid)
    windowed = [q for q in queries if not q.logical.is_selection]
    derived, types = _columns(stream, queries)
    in_jvm = rows_in_jvm and not (reads_files and not derived)
    lane, why = choose_lane([q.logical for q in queries], rows_in_jvm=in_jvm)
    sub_stream_us = cut_sub_streams(q.logical for q in windowed)
    families: dict[Family, list[ActiveQuery]] = {}
    for query in windowed:
        for family in _families_of(query, rows_in_jvm=rows_in_jvm):
            families.setdefault(family, []).append(query)
    if sub_stream_us is not None:
        families = _together(families, sub_stream_us, stats)
    groups: list[Group] = []
    for family, members in families.items():
        for candidate in _grouped(family, members, stats):
            groups.append(_group(len(groups), family, candidate, members, sub_stream_us))
    return SharedPlan(
        stream=stream.name,
        version=version,
        lane=lane,
        groups=tuple(groups),
        selectors=tuple(
            Selector(
                q.uid,
                q.logical.where,
                tuple(column_name(e) for e in q.logical.selected),
                q.since_us,
            )
            for q in queries
            if q.logical.is_selection
        ),
        derived=derived,
        types=types,
        cuts=_cuts(windowed),
        sub_stream_us=sub_stream_us,
        why=why,
    )


def read_by_spark(plan: SharedPlan, queries: Sequence[ActiveQuery]) -> SharedPlan:
    """The same plan where tasks cannot fetch the tuples after all: only the lane may be another.

    Groups and layouts stay what they are, so sections of both lanes can be of one version.
    """
    lane, why = choose_lane([q.logical for q in queries], rows_in_jvm=True)
    return replace(plan, lane=lane, why=why)


def _families_of(query: ActiveQuery, *, rows_in_jvm: bool) -> list[Family]:
    logical = query.logical
    main = Family(
        tuple(column_name(k) for k in logical.keys),
        logical.is_session,
        logical.accuracy is not None,
        is_sampled(logical, rows_in_jvm=rows_in_jvm),
    )
    ordered = sorted(values_of(logical), key=repr)
    return [main, *(replace(main, value=value, sketch=sketch) for value, sketch in ordered)]


def _together(
    families: dict[Family, list[ActiveQuery]], sub_stream_us: int, statistics: Statistics
) -> dict[Family, list[ActiveQuery]]:
    """Families in which approximate queries share groups with exact ones, where that is cheaper
    than reading the tuples once more for groups of their own."""
    out = dict(families)
    for family, queries in families.items():
        exact = replace(family, approximate=False)
        if not family.approximate or family.sampled or exact not in out:
            continue
        apart = sum(c.cost for c in _grouped(exact, out[exact], statistics))
        apart += sum(c.cost for c in _grouped(family, queries, statistics))
        both = [*out[exact], *queries]
        asked = {q.uid for q in queries}
        slices = _finer(out[exact], sub_stream_us)
        together = sum(
            c.cost if asked.isdisjoint(m.uid for m in c.members) else c.cut_finer(slices)
            for c in _grouped(exact, both, statistics)
        )
        if together < apart:
            out[exact] = both
            del out[family]
    return out


def _finer(queries: Sequence[ActiveQuery], sub_stream_us: int) -> float:
    """How many slices there are in place of one when sub-streams cut them, too."""
    slides = [
        q.logical.window.slide_us for q in queries if isinstance(q.logical.window, TimeWindow)
    ]
    slide = min(slides, default=sub_stream_us)
    whole = slide % sub_stream_us == 0
    return max(slide / sub_stream_us, 1.0) if whole else 1.0 + slide / sub_stream_us


def _partials_of(family: Family, queries: Sequence[ActiveQuery]) -> tuple[Partial, ...]:
    if family.value is not None:
        found = [RANK] if family.sketch is not None else []
    else:
        wanted = {partial for q in queries for partial in partials_of(q.logical)}
        found = [ROWS, *sorted(wanted - {ROWS}, key=lambda p: (p.op, p.column or ""))]
    return (*found, LAST_TIME) if family.session else tuple(found)


def _grouped(
    family: Family, queries: Sequence[ActiveQuery], statistics: Statistics
) -> list[Candidate]:
    members = [
        Member(q.uid, q.position, q.logical.where, q.logical.window, q.since_us, q.logical.feeds)
        for q in queries
    ]
    partials = len(_partials_of(family, queries))
    # By uid, not by position: positions may be compacted, the class numbers of old cells may not.
    return group_queries(sorted(members, key=lambda m: m.uid), partials, statistics)


def _group(
    number: int,
    family: Family,
    candidate: Candidate,
    queries: Sequence[ActiveQuery],
    sub_stream_us: int | None,
) -> Group:
    inside = {m.uid for m in candidate.members}
    mine = [q for q in queries if q.uid in inside]
    windows: set[Window] = {q.logical.window for q in mine if q.logical.window is not None}
    if sub_stream_us is not None and any(q.logical.accuracy is not None for q in mine):
        windows.add(TimeWindow(sub_stream_us, sub_stream_us))
    representation = "cells" if family.session else candidate.representation
    return Group(
        number=number,
        keys=family.keys,
        value=family.value,
        sketch=family.sketch,
        sampled=family.sampled,
        partials=_partials_of(family, mine),
        members=candidate.members,
        axes=tuple(sorted(candidate.axes)),
        windows=tuple(sorted(windows, key=repr)),
        representation=representation,
        why=(
            f"cells {candidate.cost_of('cells') / 1e6:.1f} ms, "
            f"vectors {candidate.cost_of('vectors') / 1e6:.1f} ms per slice (estimated)"
        ),
    )


def _columns(
    stream: StreamSchema, queries: Sequence[ActiveQuery]
) -> tuple[dict[str, str], dict[str, str]]:
    """SQL of the derived columns, and the type of every column the kernels read."""
    derived: dict[str, str] = {}
    types: dict[str, str] = {}
    for query in queries:
        for expression in expressions_of(query.logical):
            name = column_name(expression)
            types[name] = expression.type
            if expression.column is None:
                derived[name] = expression.computed_sql
        for sql in truths_of(query.logical.where):
            name = derived_name(sql)
            derived[name], types[name] = sql, "boolean"
        for leaf in leaves(query.logical.where):
            name = axis_of(leaf)
            if name not in types:
                column = stream.find(name)
                assert column is not None
                types[name] = column.type
    return derived, types


def _cuts(queries: Sequence[ActiveQuery]) -> tuple[int, ...]:
    """Changelog times that are not window edges anyway: first partial windows, and sessions."""
    return tuple(
        sorted(
            {
                q.since_us
                for q in queries
                if (q.partial_first or q.logical.is_session) and q.since_us > BEGINNING
            }
        )
    )
