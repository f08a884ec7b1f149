"""Queries run together by the kernels, and the same queries asked one by one of plain rows."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from headrace.kernels.blocks import Answer, Block, Due
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.ingest import ingest
from headrace.query.logical import AggregateCall
from headrace.query.plan import Group, Member, Representation, SharedPlan, axis_of
from headrace.query.predicate import Always, And, IsNull, Not, Or, Predicate, Ranges, leaves
from headrace.query.window import Span, TimeWindow
from headrace.types import BEGINNING, Version

from .aggregation import expected
from .events import Events, Row, finished, partials_of
from .naive import truth

WINDOWS = (TimeWindow(20, 10), TimeWindow(15, 15), TimeWindow(12, 4, 2))


def random_predicate(rng: random.Random, *, axes: Sequence[str] = ("p",)) -> Predicate:
    """Runs on a column, sometimes several, sometimes with null or nothing at all."""
    column = rng.choice(axes)

    def bound() -> float | int:
        return rng.choice([-1.0, 0.25, 1.0]) if column == "q" else rng.randrange(11)

    match rng.randrange(7):
        case 0:
            return Always()
        case 1:
            return Ranges(column, ((None, bound()),))
        case 2:
            return Ranges(column, ((bound(), None),))
        case 3:
            return Not(Ranges(column, ((bound(), bound()),)))
        case 4:
            return Or((Ranges(column, ((bound(), None),)), IsNull(column)))
        case 5:
            return Ranges(column, tuple((bound(), bound()) for _ in range(3)))
        case _:
            return And(tuple(random_predicate(rng, axes=axes) for _ in range(2)))


def group_of(
    members: Iterable[tuple[int, Predicate, TimeWindow]],
    calls: tuple[AggregateCall, ...],
    *,
    representation: Representation = "cells",
    keys: tuple[str, ...] = ("k",),
) -> Group:
    made = tuple(Member(u, n, p, w) for n, (u, p, w) in enumerate(members))  # type: ignore[arg-type]
    axes = sorted({axis_of(leaf) for m in made for leaf in leaves(m.where)})
    windows = tuple(sorted({m.window for m in made if m.window is not None}, key=repr))
    return Group(
        0, keys, None, partials_of(calls), made, tuple(axes), windows, None, representation
    )


def compiled(group: Group) -> CompiledPlan:
    return CompiledPlan(SharedPlan(Version(1), "kernel", (group,)))


def blocks_of(plan: CompiledPlan, batches: Iterable[Events]) -> list[Block]:
    """What ingest makes of some batches, with the layout they share."""
    made = [ingest(plan, events.table, events.times, BEGINNING).cells for events in batches]
    return plan.groups[0].blocks([cells[0] for cells in made if 0 in cells])


def all_due(members: Sequence[Member], low: int = -20, high: int = 80) -> list[Due]:
    """Every window of every query, by window."""
    by_window: dict[Span, list[int]] = {}
    for member in members:
        window = member.window
        assert isinstance(window, TimeWindow)
        for start in range(low, high):
            if (start - window.offset_us) % window.slide_us == 0:
                span = (start, start + window.size_us)
                by_window.setdefault(span, []).append(int(member.uid))
    return [(w, tuple(u)) for w, u in sorted(by_window.items())]


Told = dict[tuple[Any, ...], tuple[Any, ...]]


def told(answers: Iterable[Answer], calls: tuple[AggregateCall, ...]) -> Told:
    """Rows of answers by window, query and key."""
    out: Told = {}
    for answer in answers:
        keys = [tuple(r.values()) for r in answer.keys.to_pylist()]
        values = finished(calls, answer.states, answer.rows)
        for query, key, row in zip(answer.query.tolist(), answer.key.tolist(), values, strict=True):
            place = (answer.window, answer.uids[query], keys[key])
            assert place not in out, "the same row twice"
            out[place] = row
    return out


def obvious(
    rows: Sequence[Row],
    members: Sequence[Member],
    due: Sequence[Due],
    calls: tuple[AggregateCall, ...],
    keys: tuple[str, ...] = ("k",),
) -> Told:
    """Every query by itself: filter, group, aggregate."""
    where = {int(m.uid): m.where for m in members}
    out: Told = {}
    for (start, end), uids in due:
        inside = [r for r in rows if start <= r["time"] < end]
        for uid in uids:
            by_key: dict[tuple[Any, ...], list[Row]] = {}
            for row in inside:
                if truth(where[uid], row) is True:
                    by_key.setdefault(tuple(row[k] for k in keys), []).append(row)
            for key, some in by_key.items():
                values = [(r["time"], r["x"]) for r in some]
                out[((start, end), uid, key)] = tuple(
                    len(some) if c.argument is None else expected(c, values) for c in calls
                )
    return out
