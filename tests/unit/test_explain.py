"""runtime/explain.py and counters.py: plans in words and numbers, without making any class."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.query.predicate import And, Or, Predicate, Ranges
from headrace.query.window import TimeWindow
from headrace.runtime.counters import classes_of
from headrace.runtime.explain import explain_plan
from headrace.runtime.messages import SectionRef

from .events import CALLS
from .shared import compiled, group_of

SECTION = SectionRef(
    stream="s",
    kind="cells",
    crc32=0,
    file="a",
    offset=0,
    length=10,
    txn=1,
    watermark_us=0,
    version=1,
    group=0,
    keys=("k",),
    value=None,
    sketch=None,
    slices=(0,),
    cells=3,
    dense=False,
)
TEN = TimeWindow(10, 10)


def above(column: str, constant: int) -> Predicate:
    return Ranges(column, ((constant, None),))


def explained(predicates: list[Predicate], *classes: int | None) -> str:
    group = group_of([(n, p, TEN) for n, p in enumerate(predicates)], CALLS)
    sections = [replace(SECTION, classes=c) for c in classes]
    return explain_plan("s", compiled(group).plan, [], sections, 1, "tasks")


def test_on_one_column_the_plan_tells_the_classes() -> None:
    assert "a (3 cuts); classes: 3" in explained([above("a", n) for n in range(3)])


def test_on_several_columns_the_state_tells_those_that_occur() -> None:
    predicates = [And((above("a", n), above("b", n))) for n in range(3)]
    assert "a (3 cuts), b (3 cuts); classes: 0 found so far" in explained(predicates)
    assert "classes: 5 found so far" in explained(predicates, 3, 5, None)


def test_a_query_of_two_hundred_columns_is_explained_at_once() -> None:
    wide = Or(tuple(above(f"c{n:03}", 1) for n in range(200)))
    told = explained([wide], None)
    assert "c199 (1 cuts); classes: not kept, but one result per query" in told


@pytest.mark.parametrize("columns", [2, 14, 40])
def test_classes_of_several_columns_are_counted_where_they_were_found(columns: int) -> None:
    wide = And(tuple(above(f"c{n:03}", 1) for n in range(columns)))
    group = group_of([(0, wide, TEN), (1, above("c000", 2), TEN)], CALLS)
    assert classes_of(group, []) == 0
    assert classes_of(group, [replace(SECTION, classes=c) for c in (2, 7, None)]) == 7
