"""optimizer/group_queries.py and cost.py: queries share classes where that is cheaper."""

from __future__ import annotations

import random

import pytest

from headrace.kernels.axes import axes_of
from headrace.optimizer.cost import Candidate, Statistics
from headrace.optimizer.group_queries import group_queries
from headrace.query.plan import LARGEST_GRID, LARGEST_LAYOUT, Member, axis_of
from headrace.query.predicate import Always, And, IsNull, Not, Or, Predicate, Ranges, Truth, leaves
from headrace.types import QueryUid


def members_of(predicates: list[Predicate]) -> list[Member]:
    return [Member(QueryUid(n), n, p) for n, p in enumerate(predicates)]


def above(column: str, constant: int) -> Predicate:
    return Ranges(column, ((constant, None),))


def grouped(predicates: list[Predicate], **statistics: float) -> list[Candidate]:
    return group_queries(members_of(predicates), 2, Statistics(**statistics))


def axes(groups: list[Candidate]) -> list[set[str]]:
    return sorted((set(g.axes) for g in groups), key=sorted)


def test_families_with_many_constants_on_unrelated_columns_stay_apart() -> None:
    predicates = [above(column, n) for n in range(200) for column in "abcde"]
    groups = grouped(predicates)
    assert axes(groups) == [{"a"}, {"b"}, {"c"}, {"d"}, {"e"}]
    assert [len(g.members) for g in groups] == [200] * 5


def test_small_groups_share_one_scan_of_the_tuples() -> None:
    groups = grouped([above("a", 1), above("b", 2), Always(), Truth("f(c)")])
    assert len(groups) == 1
    assert len(groups[0].members) == 4


def test_queries_over_the_same_columns_are_always_one_class_space() -> None:
    predicates = [And((above("a", n), above("b", 50 - n))) for n in range(50)]
    assert axes(grouped(predicates)) == [{"a", "b"}]


def test_queries_without_a_predicate_join_whoever_is_cheapest() -> None:
    groups = grouped([Always(), *(above("a", n) for n in range(100))])
    assert len(groups) == 1


@pytest.mark.parametrize("seed", range(15))
def test_every_query_is_in_exactly_one_group_and_finds_its_columns_there(seed: int) -> None:
    rng = random.Random(seed)
    predicates: list[Predicate] = [
        And(tuple(above(c, rng.randrange(30)) for c in rng.sample("abcdef", rng.randrange(3))))
        for _ in range(60)
    ]
    groups = grouped(predicates, tuples_per_slice=rng.choice([100, 1e5, 1e7]))
    uids = [int(m.uid) for g in groups for m in g.members]
    assert sorted(uids) == list(range(60))
    for group in groups:
        assert {axis_of(leaf) for m in group.members for leaf in leaves(m.where)} <= group.axes


@pytest.mark.parametrize("seed", range(10))
def test_grouping_never_costs_more_than_staying_apart(seed: int) -> None:
    rng = random.Random(seed)
    predicates = [above(rng.choice("abcd"), rng.randrange(40)) for _ in range(40)]
    apart = sum(
        Candidate(frozenset({c}), tuple(some), 2, Statistics()).cost
        for c in "abcd"
        if (some := [m for m in members_of(predicates) if m.where.column == c])  # type: ignore[union-attr]
    )
    assert sum(g.cost for g in grouped(predicates)) <= apart


def test_very_many_sets_of_columns_are_grouped_too() -> None:
    predicates = [above(f"c{n:02}", 1) for n in range(60)]
    groups = grouped(predicates)
    assert sorted(int(m.uid) for g in groups for m in g.members) == list(range(60))
    assert 1 < len(groups) < 60


# -- the bound on classes -------------------------------------------------------------------------


def wide(columns: int, first: int = 0) -> Predicate:
    """A predicate over so many columns, in AND and OR."""
    atoms = [above(f"w{first + n}", 5) for n in range(columns)]
    return Or((And(tuple(atoms[::2])), And(tuple(atoms[1::2]))))


@pytest.mark.parametrize("tuples", [10, 1e5, 1e9])
@pytest.mark.parametrize("columns", [14, 40, 400])
def test_a_query_of_very_many_columns_gets_a_group_of_its_own(columns: int, tuples: float) -> None:
    ordinary: list[Predicate] = [above(c, n) for n in range(20) for c in "abcde"]
    alone = grouped(ordinary, tuples_per_slice=tuples)
    both = grouped([*ordinary, wide(columns), wide(columns, 1000)], tuples_per_slice=tuples)
    assert [g.members for g in both if len(g.axes) < 10] == [g.members for g in alone]
    assert [len(g.members) for g in both if len(g.axes) >= 10] == [1, 1]


def test_planning_looks_at_no_more_pairs_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ordinary: list[Predicate] = [above(c, n) for n in range(20) for c in "abcde"]
    pairs, with_ = [0], Candidate.with_

    def counted(one: Candidate, other: Candidate) -> Candidate:
        pairs[0] += 1
        return with_(one, other)

    monkeypatch.setattr(Candidate, "with_", counted)
    grouped(ordinary)
    alone, pairs[0] = pairs[0], 0
    grouped([*ordinary, wide(14), wide(40, 100)])
    # Two more sets of axes make 21 pairs of what were ten. How long that takes: tests/figures.
    assert pairs[0] <= 2.1 * alone


def test_queries_of_very_many_columns_share_a_group_if_the_columns_are_the_same() -> None:
    assert len(grouped([wide(40), Not(wide(40)), wide(40)])) == 1


def test_merging_respects_the_largest_grid() -> None:
    # With so many tuples one scan for all would be cheapest, were it not for the grid.
    predicates = [above(column, n) for n in range(120) for column in "abcdef"]
    groups = grouped(predicates, tuples_per_slice=1e12, keys=1.0)
    assert len(groups) > 1
    assert all(g.grid <= LARGEST_GRID for g in groups)
    assert all(g.classes * len(g.members) <= LARGEST_LAYOUT for g in groups)


@pytest.mark.parametrize("tuples", [1e5, 1e12])
def test_queries_over_the_same_many_columns_have_no_more_classes_than_pays(tuples: float) -> None:
    # 200 cuts on each of three columns: eight million combinations for a hundred queries.
    predicates: list[Predicate] = [
        And(tuple(Ranges(c, ((7 * n, 7 * n + 400),)) for c in "abc")) for n in range(100)
    ]
    groups = grouped(predicates, tuples_per_slice=tuples)
    assert sorted(int(m.uid) for g in groups for m in g.members) == list(range(100))
    assert all(g.classes * len(g.members) <= LARGEST_LAYOUT for g in groups)


@pytest.mark.parametrize("seed", range(15))
def test_the_estimated_grid_is_at_least_that_of_the_axes(seed: int) -> None:
    rng = random.Random(seed)
    atoms: list[Predicate] = [above("a", 3), above("b", 1), IsNull("a"), Truth("f(c)"), Always()]
    members = members_of([And(tuple(rng.sample(atoms, rng.randrange(4)))) for _ in range(5)])
    names = sorted({axis_of(leaf) for m in members for leaf in leaves(m.where)})
    candidate = Candidate(frozenset(names), tuple(members), 1, Statistics())
    compiled = 1
    for axis in axes_of(members, names):
        compiled *= axis.size
    assert candidate.grid >= compiled
    assert candidate.classes <= 2 ** len(members)


def test_there_are_no_more_classes_than_tuples() -> None:
    members = members_of([And((above("a", n), above("b", n))) for n in range(50)])
    few = Candidate(frozenset("ab"), tuple(members), 1, Statistics(tuples_per_slice=30.0))
    assert few.classes == 30.0


# -- cost -----------------------------------------------------------------------------------------


def candidate(queries: int, **statistics: float) -> Candidate:
    members = tuple(members_of([above("a", n) for n in range(queries)]))
    return Candidate(frozenset({"a"}), members, 3, Statistics(**statistics))


def test_cells_win_when_tuples_are_many_and_vectors_when_classes_are_more_than_queries() -> None:
    assert candidate(100).representation == "cells"
    points = tuple(members_of([And((above("a", 1), above("b", 1), above("c", 1)))]))
    few = Candidate(frozenset("abc"), points, 1, Statistics())
    assert few.classes > len(points)
    assert few.representation == "vectors"


def test_columns_are_not_crossed_where_firing_their_classes_costs_more_than_reading_twice() -> None:
    one, other = (
        Candidate(
            frozenset(axis), tuple(members_of([above(axis, n) for n in range(20)])), 2, Statistics()
        )
        for axis in "ab"
    )
    assert one.with_(other).cost > one.cost + other.cost


def test_a_thousand_queries_cost_little_more_than_one_in_cells() -> None:
    one, many = candidate(1, keys=100), candidate(1000, keys=100)
    assert many.cost_of("cells") < 20 * one.cost_of("cells")
    assert many.cost_of("vectors") > 100 * one.cost_of("vectors")


@pytest.mark.parametrize("representation", ["cells", "vectors"])
def test_more_tuples_keys_or_queries_never_cost_less(representation: str) -> None:
    base = candidate(10, tuples_per_slice=1000, keys=100).cost_of(representation)  # type: ignore[arg-type]
    for more in (
        candidate(20, tuples_per_slice=1000, keys=100),
        candidate(10, tuples_per_slice=2000, keys=100),
        candidate(10, tuples_per_slice=1000, keys=200),
    ):
        assert more.cost_of(representation) >= base  # type: ignore[arg-type]
