"""runtime/joining.py: which windows of joins are due, and which sections belong to them."""

from __future__ import annotations

from headrace.query.join import Join, JoinSide, Meeting, Place, Variable
from headrace.query.logical import LogicalQuery
from headrace.query.plan import Group, Member, SharedPlan
from headrace.query.predicate import Always
from headrace.query.sides import sides_of, uid_of_side
from headrace.query.window import TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.compaction import MANY_SECTIONS, plan_compaction
from headrace.runtime.firing import plan_firing, still_needed
from headrace.runtime.joining import Source, plan_joining
from headrace.runtime.messages import SectionRef
from headrace.types import BEGINNING, QueryUid, Version

WINDOW = TimeWindow(10, 5)
MEETING = Meeting("inner", 2, (Variable((Place(0, 0), Place(1, 0))),))
JOIN = LogicalQuery(
    "SELECT 1", "s", window=WINDOW, join=Join((JoinSide("s", "s"), JoinSide("t", "t")), MEETING)
)
UID = 7


def query(since_us: int = BEGINNING) -> ActiveQuery:
    return ActiveQuery(QueryUid(UID), "q", 0, JOIN, since_us)


def side(number: int, since_us: int = BEGINNING) -> ActiveQuery:
    uid = QueryUid(uid_of_side(UID, number))
    return ActiveQuery(uid, "q", 0, sides_of(JOIN)[number], since_us)


def plan(stream: str, number: int) -> SharedPlan:
    member = Member(side(number).uid, 0, Always(), WINDOW)
    group = Group(0, ("k",), None, (), (member,), (), (WINDOW,))
    return SharedPlan(Version(1), "kernel", (group,), stream=stream)


def section(stream: str, slices: tuple[int, ...], watermark_us: int, name: str = "f") -> SectionRef:
    return SectionRef(
        stream, "cells", name, 0, 10, 0, 1, watermark_us, 1, 0, ("k",), None, None, slices, 3, False
    )


def source(stream: str, *sections: SectionRef) -> Source:
    return Source(sections, {1: plan(stream, "st".index(stream))})


def test_windows_are_due_up_to_the_frontier_within_the_life_of_the_join() -> None:
    sources = {"s": source("s", section("s", (0, 5, 10), 0)), "t": source("t")}
    joining = plan_joining([query()], sources, BEGINNING, 15)
    assert [span for span, _ in joining.due] == [(-5, 5), (0, 10), (5, 15)]
    joining = plan_joining([query(since_us=3)], sources, 5, 15)
    assert [span for span, _ in joining.due] == [(5, 15)]
    assert not plan_joining([query()], sources, 15, 15).is_needed


def test_what_came_too_late_for_a_window_is_read_for_those_after_it_only() -> None:
    early, late = section("s", (5,), 0, "early"), section("s", (5,), 12, "late")
    sources = {"s": source("s", early, late), "t": source("t", section("t", (5,), 0))}
    joining = plan_joining([query()], sources, BEGINNING, 20)
    read = {
        span: [r.file for r in part.refs["s"]] for part in joining.parts for span, _ in part.due
    }
    # Its stream had passed 10, but not 15, when the second section came.
    assert read == {(0, 10): ["early"], (5, 15): ["early", "late"]}


def test_sections_stay_until_the_join_has_read_them_whatever_their_own_stream_has_passed() -> None:
    sections = [section("s", (5,), 0), section("s", (20,), 0)]
    plans = {1: plan("s", 0)}
    uid = uid_of_side(UID, 0)
    for upto, kept in ((BEGINNING, 2), (10, 2), (15, 1), (30, 0)):
        needed = still_needed([side(0)], sections, plans, 1000, BEGINNING, {uid: upto})
        assert len(needed) == kept, upto
    assert not plan_firing([side(0)], sections, plans, BEGINNING, 1000).due


def test_late_sections_are_not_merged_with_others_until_the_join_has_passed() -> None:
    early = [section("s", (5,), 0, f"e{n}") for n in range(MANY_SECTIONS)]
    late = section("s", (5,), 12, "late")
    uid = uid_of_side(UID, 0)

    def merged(upto_us: int) -> set[str]:
        units = plan_compaction(
            [side(0)],
            [*early, late],
            {1: plan("s", 0)},
            1,
            purge=False,
            read_upto_us={uid: upto_us},
        )
        assert all(unit.upto_us == upto_us for unit in units)
        return {ref.file for unit in units for ref in unit.refs}

    assert merged(5) == {ref.file for ref in early}
    assert merged(10) == {*(ref.file for ref in early), "late"}
