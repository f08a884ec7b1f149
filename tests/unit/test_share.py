"""optimizer/share.py: the active queries of a pipeline as one plan."""

from __future__ import annotations

import random

import pytest

from headrace.optimizer import Statistics, share
from headrace.query.needs import needs_of
from headrace.query.plan import LAST_TIME, RANK, ROWS, Group, SharedPlan, derived_name
from headrace.query.predicate import truths_of
from headrace.query.window import SessionWindow, TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.types import QueryUid, Version

from .analyzer import PURCHASES, read

TEN = "window(time, '10 seconds')"
FIVE = "window(time, '5 seconds')"
GAP = "session_window(time, '3 seconds')"


def query(
    uid: int, sql: str, *, position: int = 0, since: int = -(2**62), partial: bool = False
) -> ActiveQuery:
    logical = read(sql)
    return ActiveQuery(QueryUid(uid), f"q{uid}", position, logical, since, partial_first=partial)


def plan_of(*queries: ActiveQuery, rows_in_jvm: bool = False) -> SharedPlan:
    return share(Version(4), PURCHASES, queries, rows_in_jvm=rows_in_jvm)


def by_family(plan: SharedPlan) -> dict[tuple[object, ...], Group]:
    found = {(g.keys, g.value, g.sketch, g.is_session): g for g in plan.groups}
    assert len(found) == len(plan.groups)
    return found


def counted(where: str = "", keys: str = "", window: str = TEN, select: str = "COUNT(*)") -> str:
    return f"SELECT {select} FROM purchases {where} GROUP BY {window}{keys}"


HINT = "/*+ APPROX(error => 0.05) */"


@pytest.mark.parametrize(
    ("window", "tuples", "shared"),
    [
        # Reading all tuples once more costs more than slices of half a second instead of five.
        (FIVE, 1e6, True),
        # A window of a day has few slices; cut into sub-streams it would have 172,800.
        ("window(time, '1 day')", 1e6, False),
    ],
)
def test_approximate_queries_share_groups_with_exact_ones_where_that_is_cheaper(
    window: str, tuples: float, shared: bool
) -> None:
    asked = counted(keys=", user_id", window=FIVE, select=f"{HINT} SUM(price) AS total")
    queries = [
        query(1, counted(keys=", user_id", window=window, select="SUM(price)")),
        query(2, asked),
    ]
    plan = share(
        Version(4), PURCHASES, queries, rows_in_jvm=False, statistics=Statistics(tuples, 1_000.0)
    )
    assert [[m.uid for m in g.members] for g in plan.groups] == ([[1, 2]] if shared else [[1], [2]])
    last = plan.groups[-1]
    assert TimeWindow(500_000, 500_000) in last.windows
    assert {p.op for p in last.partials} == {"rows", "sum", "squares"}
    if not shared:
        assert {p.op for p in plan.groups[0].partials} == {"rows", "sum"}


def test_exact_queries_in_other_groups_do_not_pay_for_approximate_ones() -> None:
    plan = plan_of(
        query(1, counted(keys=", user_id", select="SUM(price)")),
        query(2, counted(keys=", gem_pack", select=f"{HINT} SUM(price) AS total")),
    )
    exact, approximate = plan.groups
    assert set(exact.windows) == {TimeWindow(10_000_000, 10_000_000)}
    assert len(approximate.windows) == 2


def test_queries_share_a_group_when_they_share_keys_whatever_their_windows() -> None:
    plan = plan_of(
        query(1, counted(keys=", gem_pack")),
        query(2, counted(where="WHERE price > 3", keys=", gem_pack", window=FIVE)),
        query(3, counted(keys=", user_id")),
    )
    groups = by_family(plan)
    assert set(groups) == {
        (("gem_pack",), None, None, False),
        (("user_id",), None, None, False),
    }
    packs = groups[(("gem_pack",), None, None, False)]
    assert [m.uid for m in packs.members] == [1, 2]
    assert set(packs.windows) == {
        TimeWindow(10_000_000, 10_000_000),
        TimeWindow(5_000_000, 5_000_000),
    }
    assert packs.axes == ("price",)


def test_sessions_stay_apart_from_windows_and_keep_their_last_time() -> None:
    plan = plan_of(query(1, counted()), query(2, counted(window=GAP)))
    groups = by_family(plan)
    session = groups[((), None, None, True)]
    assert session.is_session
    assert session.windows == (SessionWindow(3_000_000),)
    assert session.partials == (ROWS, LAST_TIME)
    assert session.representation == "cells"
    assert groups[((), None, None, False)].partials == (ROWS,)


def test_distinct_values_percentiles_and_sketches_get_groups_of_their_own() -> None:
    select = "COUNT(DISTINCT user_id), percentile_approx(price, 0.5), approx_count_distinct(day)"
    plan = plan_of(query(1, counted(select=select, keys=", gem_pack")))
    hashed = derived_name("CASE WHEN (`day`) IS NOT NULL THEN xxhash64(`day`) END")
    groups = by_family(plan)
    assert set(groups) == {
        (("gem_pack",), None, None, False),
        (("gem_pack",), "user_id", None, False),
        (("gem_pack",), "price", None, False),
        (("gem_pack",), hashed, 9, False),
    }
    assert groups[(("gem_pack",), hashed, 9, False)].partials == (RANK,)
    assert groups[(("gem_pack",), "user_id", None, False)].partials == ()
    assert plan.types[hashed] == "bigint"


def test_a_group_keeps_each_partial_once() -> None:
    plan = plan_of(
        query(1, counted(select="SUM(price), AVG(price), COUNT(*)")),
        query(2, counted(select="SUM(price), MAX(weight)")),
    )
    (group,) = plan.groups
    assert [(p.op, p.column) for p in group.partials] == [
        ("rows", None),
        ("max", "weight"),
        ("sum", "price"),
    ]
    for q in (1, 2):
        needed = {n.partial for n in needs_of(query(q, counted(select="SUM(price)")).logical)}
        assert needed <= set(group.partials)


@pytest.mark.parametrize("seed", range(10))
def test_the_plan_does_not_depend_on_the_order_or_the_positions_of_queries(seed: int) -> None:
    rng = random.Random(seed)
    texts = [
        counted(
            where=rng.choice(["", f"WHERE price > {n}", f"WHERE weight > {n}", "WHERE paid"]),
            keys=rng.choice(["", ", gem_pack"]),
            window=rng.choice([TEN, FIVE, GAP]),
            select=rng.choice(["COUNT(*)", "SUM(price), COUNT(DISTINCT day)", "MIN(weight)"]),
        )
        for n in range(12)
    ]
    queries = [query(10 + n, sql, position=n) for n, sql in enumerate(texts)]
    shuffled = rng.sample(queries, len(queries))
    assert plan_of(*shuffled) == plan_of(*queries)
    moved = [query(10 + n, sql, position=11 - n) for n, sql in enumerate(texts)]
    for one, other in zip(plan_of(*queries).groups, plan_of(*moved).groups, strict=True):
        assert [m.uid for m in one.members] == [m.uid for m in other.members]
        assert (one.axes, one.partials, one.keys) == (other.axes, other.partials, other.keys)


def test_derived_columns_carry_what_only_spark_can_compute() -> None:
    first = query(1, counted(where="WHERE gem_pack LIKE 'a%'", keys=", upper(gem_pack)"))
    plan = plan_of(first, query(2, counted(select="SUM(price * 2)")))
    (like,) = truths_of(first.logical.where)
    assert plan.derived == {
        derived_name(like): like,
        derived_name("upper(gem_pack)"): "upper(gem_pack)",
        derived_name("(price * 2)"): "(price * 2)",
    }
    assert plan.types[derived_name(like)] == "boolean"
    assert set(plan.columns) == set(plan.derived)


def test_every_column_the_kernels_read_has_a_type() -> None:
    plan = plan_of(
        query(1, counted(where="WHERE amount > 1 AND paid", select="SUM(weight)", keys=", day")),
        query(2, "SELECT gem_pack FROM purchases WHERE price = 3"),
    )
    assert set(plan.columns) == {"amount", "paid", "weight", "day", "gem_pack", "price"}
    assert {c: plan.types[c] for c in plan.columns} == {
        c: PURCHASES.find(c).type  # type: ignore[union-attr]
        for c in plan.columns
    }


def test_a_selection_is_a_selector_and_no_group() -> None:
    plan = plan_of(query(7, "SELECT gem_pack, price FROM purchases WHERE price > 3", since=5))
    assert plan.groups == ()
    (selector,) = plan.selectors
    assert (selector.uid, selector.columns) == (7, ("gem_pack", "price"))


def test_slices_are_cut_where_a_life_begins_inside_a_window_or_session() -> None:
    plan = plan_of(
        query(1, counted(), since=10),
        query(2, counted(), since=20, partial=True),
        query(3, counted(window=GAP), since=30),
        query(4, counted(window=GAP)),
        query(5, "SELECT price FROM purchases", since=40),
    )
    assert plan.cuts == (20, 30)


def test_the_plan_says_who_reduces_the_tuples_and_why() -> None:
    alone = plan_of(query(1, counted()), rows_in_jvm=True)
    assert (alone.version, alone.lane) == (4, "catalyst")
    together = plan_of(query(1, counted()), query(2, counted()), rows_in_jvm=True)
    assert together.lane == "kernel"
    assert together.why
    assert all("per slice" in g.why for g in together.groups)


def test_nothing_is_planned_for_nobody() -> None:
    plan = plan_of()
    assert (plan.groups, plan.selectors, plan.columns, plan.cuts) == ((), (), (), ())


def test_statistics_change_only_how_not_what() -> None:
    queries = [query(n, counted(where=f"WHERE price > {n}")) for n in range(5)]
    few = share(Version(1), PURCHASES, queries, rows_in_jvm=False, statistics=Statistics(10.0, 1e6))
    many = share(Version(1), PURCHASES, queries, rows_in_jvm=False, statistics=Statistics(1e9, 1.0))
    for plan in (few, many):
        assert sorted(m.uid for g in plan.groups for m in g.members) == list(range(5))
