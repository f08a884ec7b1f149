"""registry/changelog.py: versions of the set of active queries, bit positions and their reuse."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InternalError
from headrace.query.logical import LogicalQuery
from headrace.query.predicate import Always
from headrace.registry.changelog import ActiveQuery, Registry
from headrace.types import FOREVER, QueryUid, Version

ANY = LogicalQuery("SELECT 1", "s", where=Always())


def change(registry: Registry, created: list[int], deleted: list[int]) -> Registry:
    come = [ActiveQuery(QueryUid(u), f"q{u}", 0, ANY) for u in created]
    return registry.changed(come, [QueryUid(u) for u in deleted])


def positions(registry: Registry) -> dict[int, int]:
    return {int(u): q.position for u, q in registry.active.items()}


def test_the_end_to_end_example_of_the_paper() -> None:
    #        T1   T2     T3     T4     T5        T6
    #   0    Q1 ------------------------------------
    #   1         Q2 --|      Q4 ------------------
    #   2         Q3 -----------------| Q6 ------|
    #   3                     Q5 ------------------
    #   4                               Q7 ------|
    registry = Registry()
    for created, deleted in [([1], []), ([2, 3], []), ([], [2]), ([4, 5], []), ([6, 7], [3])]:
        registry = change(registry, created, deleted)
    # "AStream allocates the index of the deleted query to Q6 and provides a new one for Q7."
    assert positions(registry) == {1: 0, 4: 1, 6: 2, 5: 3, 7: 4}
    assert positions(change(registry, [], [6, 7])) == {1: 0, 4: 1, 5: 3}


def test_a_change_leaves_the_version_before_as_it_was() -> None:
    before = change(Registry(), [1, 2], [])
    after = change(before, [3], [1])
    assert positions(before) == {1: 0, 2: 1}
    assert positions(after) == {3: 0, 2: 1}


def test_positions_of_deleted_queries_are_reused_lowest_first() -> None:
    registry = change(change(Registry(), [0, 1, 2, 3, 4], []), [], [3, 1])
    registry = change(registry, [10, 11, 12], [])
    assert positions(registry) == {0: 0, 2: 2, 4: 4, 10: 1, 11: 3, 12: 5}
    assert registry.width == 6


def test_versions_count_the_changes_unless_a_replay_names_them() -> None:
    registry = Registry()
    assert registry.version == 0
    registry = change(registry, [1], [])
    assert registry.version == 1
    assert registry.changed([], [QueryUid(1)], Version(7)).version == 7


def test_a_query_that_is_not_active_cannot_be_deleted() -> None:
    with pytest.raises(InternalError, match="uid 9"):
        change(Registry(), [], [9])


def test_a_created_query_lives_from_its_effective_start() -> None:
    late = ActiveQuery(QueryUid(5), "late", 0, ANY, 1234, partial_first=True)
    query = Registry().changed([late], []).active[QueryUid(5)]
    assert query.life == (1234, FOREVER)
    assert query.partial_first
    assert query.name == "late"


def test_positions_are_numbered_anew_when_over_half_stand_empty() -> None:
    registry = change(change(Registry(), list(range(10)), []), [], [0, 2, 4, 6, 8])
    assert positions(registry) == {1: 1, 3: 3, 5: 5, 7: 7, 9: 9}, "exactly half is not over half"
    registry = change(registry, [], [1])
    assert positions(registry) == {3: 0, 5: 1, 7: 2, 9: 3}
    assert registry.width == 4
    assert positions(change(registry, [20], []))[20] == 4


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=20))
def test_positions_are_one_each_and_at_most_twice_as_many_as_queries(
    changes: list[tuple[int, int]],
) -> None:
    versions, fresh = [Registry()], 0
    for come, go in changes:
        alive = list(positions(versions[-1]))
        versions.append(change(versions[-1], list(range(fresh, fresh + come)), alive[:go]))
        fresh += come
    for before, after in pairwise(versions):
        assert after.version == before.version + 1
        assert len(set(positions(after).values())) == len(after.active)
        assert after.width <= 2 * len(after.active)
