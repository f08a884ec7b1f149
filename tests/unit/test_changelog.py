"""registry/changelog.py: bit positions, their reuse, and what is unchanged between two versions."""

from __future__ import annotations

import random

import pytest

from headrace.errors import InternalError
from headrace.query.logical import LogicalQuery
from headrace.query.predicate import Always
from headrace.registry.changelog import Registry
from headrace.types import BEGINNING, FOREVER, QueryUid, Version

ANY = LogicalQuery("SELECT 1", "s", where=Always())


def change(registry: Registry, created: list[int], deleted: list[int]) -> str:
    """Apply a change; its changelog-set as the paper prints it, the first position leftmost."""
    changelog = registry.apply(
        [(QueryUid(u), f"q{u}", ANY, BEGINNING, False) for u in created],
        [QueryUid(u) for u in deleted],
    )
    return printed(changelog.unchanged, registry.width)


def printed(bits: int, width: int) -> str:
    return "".join("1" if bits >> n & 1 else "0" for n in range(width))


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
    assert change(registry, [1], []) == "0"
    assert change(registry, [2, 3], []) == "100"
    assert change(registry, [], [2]) == "101"
    assert change(registry, [4, 5], []) == "1010"
    # "AStream allocates the index of the deleted query to Q6 and provides a new one for Q7."
    assert change(registry, [6, 7], [3]) == "11010"
    assert positions(registry) == {1: 0, 4: 1, 6: 2, 5: 3, 7: 4}
    assert change(registry, [], [6, 7]) == "11010"

    def between(older: int, newer: int) -> str:
        return printed(registry.unchanged_between(Version(older), Version(newer)), 5)

    assert between(4, 5) == "11010"
    assert between(3, 5) == "10000"
    assert between(4, 6) == "11010"
    assert between(2, 4) == "10100"
    assert between(6, 6) == "11111"


@pytest.mark.parametrize("seed", range(30))
def test_a_changelog_set_has_a_one_where_the_query_stayed_the_same(seed: int) -> None:
    rng = random.Random(seed)
    registry, alive, fresh = Registry(), [], 0
    history: list[list[int | None]] = [[]]
    for _ in range(12):
        gone = rng.sample(alive, rng.randint(0, min(2, len(alive))))
        come = list(range(fresh, fresh + rng.randrange(3)))
        fresh += len(come)
        alive = [u for u in alive if u not in gone] + come
        change(registry, come, gone)
        now: list[int | None] = [None] * registry.width
        for uid, position in positions(registry).items():
            now[position] = uid
        history.append(now)
    for older in range(1, len(history)):
        for newer in range(older + 1, len(history)):
            bits = registry.unchanged_between(Version(older), Version(newer))
            for position in range(registry.width):
                held = [h[position : position + 1] for h in history[older : newer + 1]]
                same = held[0] != [] and all(h == held[0] for h in held)
                assert bool(bits >> position & 1) == same, (older, newer, position)


def test_changelog_sets_compose_by_and() -> None:
    rng = random.Random(7)
    registry = Registry()
    for n in range(10):
        active = list(positions(registry))
        change(registry, [10 * n, 10 * n + 1], rng.sample(active, min(1, len(active))))
    for i, j, k in [(1, 4, 9), (2, 3, 10), (1, 9, 10)]:
        left = registry.unchanged_between(Version(i), Version(j))
        right = registry.unchanged_between(Version(j), Version(k))
        assert registry.unchanged_between(Version(i), Version(k)) == left & right


def test_positions_of_deleted_queries_are_reused_lowest_first() -> None:
    registry = Registry()
    change(registry, [0, 1, 2, 3, 4], [])
    change(registry, [], [3, 1])
    change(registry, [10, 11, 12], [])
    assert positions(registry) == {0: 0, 2: 2, 4: 4, 10: 1, 11: 3, 12: 5}
    assert registry.width == 6


def test_a_position_freed_and_taken_in_one_change_is_changed() -> None:
    registry = Registry()
    change(registry, [1, 2], [])
    assert change(registry, [3], [2]) == "10"
    assert positions(registry) == {1: 0, 3: 1}


def test_versions_count_the_changes_unless_a_replay_names_them() -> None:
    registry = Registry()
    assert registry.version == 0
    change(registry, [1], [])
    assert registry.version == 1
    registry.apply([], [QueryUid(1)], Version(7))
    assert registry.version == 7


def test_a_query_that_is_not_active_cannot_be_deleted() -> None:
    with pytest.raises(InternalError, match="uid 9"):
        change(Registry(), [], [9])


def test_a_created_query_lives_from_its_effective_start() -> None:
    registry = Registry()
    registry.apply([(QueryUid(5), "late", ANY, 1234, True)], [])
    query = registry.active[QueryUid(5)]
    assert query.life == (1234, FOREVER)
    assert query.partial_first
    assert query.name == "late"


# -- compaction -----------------------------------------------------------------------------------


def test_positions_are_compacted_when_over_half_stand_empty() -> None:
    registry = Registry()
    change(registry, list(range(10)), [])
    change(registry, [], [0, 2, 4, 6, 8])
    assert not registry.compact(), "exactly half is not over half"
    change(registry, [], [1])
    assert registry.compact()
    assert positions(registry) == {3: 0, 5: 1, 7: 2, 9: 3}
    assert registry.width == 4
    change(registry, [20], [])
    assert positions(registry)[20] == 4, "freed positions are gone"


def test_empty_positions_at_the_end_are_dropped_and_given_out_again() -> None:
    registry = Registry()
    change(registry, [0, 1, 2, 3, 4], [])
    change(registry, [], [1, 3, 4])
    assert not registry.compact()
    assert positions(registry) == {0: 0, 2: 2}
    assert registry.width == 3
    change(registry, [5, 6], [])
    assert positions(registry) == {0: 0, 5: 1, 2: 2, 6: 3}


def test_compaction_keeps_changelog_sets_true_to_their_queries() -> None:
    #   version 1: 0 … 8      version 2: 9 comes      version 3: 1 … 6 go, then compaction:
    #   0 7 8 9 stand at 0 1 2 3, and of these only 9 was not there in version 1
    registry = Registry()
    change(registry, list(range(9)), [])
    change(registry, [9], [])
    change(registry, [], [1, 2, 3, 4, 5, 6])
    assert registry.compact()
    for newer in (2, 3):
        since_first = registry.unchanged_between(Version(1), Version(newer))
        assert printed(since_first, 4)[positions(registry)[9]] == "0"


def test_forgetting_keeps_what_live_slices_may_ask_for() -> None:
    registry = Registry()
    for n in range(5):
        change(registry, [n], [])
    before = registry.unchanged_between(Version(3), Version(5))
    registry.forget_before(Version(4))
    assert [c.version for c in registry.changelogs] == [4, 5]
    assert registry.unchanged_between(Version(3), Version(5)) == before
    registry.forget_before(Version(99))
    assert registry.version == 5
