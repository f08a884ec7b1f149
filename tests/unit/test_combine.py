"""kernels/combine.py: slices to windows and classes to queries; fast and obvious ways agree."""

from __future__ import annotations

import random
from typing import Any

import pytest

from headrace.kernels.blocks import Layout
from headrace.kernels.combine import combine, combine_sparse, merge_answers
from headrace.kernels.dense import can_be_dense, combine_dense, dense_pays, laid_together
from headrace.query.needs import need_of
from headrace.query.plan import Representation
from headrace.query.predicate import Always, Ranges
from headrace.query.window import TimeWindow
from tests.amounts import seeds

from .events import CALLS, MORE_CALLS, events_of, random_events
from .shared import WINDOWS, all_due, blocks_of, compiled, group_of, obvious, random_predicate, told


def random_members(rng: random.Random, count: int, axes: tuple[str, ...] = ("p",)) -> list[Any]:
    return [
        (7 * u + 1, random_predicate(rng, axes=axes), rng.choice(WINDOWS)) for u in range(count)
    ]


@pytest.mark.parametrize("representation", ["cells", "vectors"])
@pytest.mark.parametrize("seed", seeds(4, 12))
def test_shared_answers_equal_each_query_by_itself(
    representation: Representation, seed: int
) -> None:
    rng = random.Random(seed)
    axes = rng.choice([("p",), ("p", "q")])
    group = group_of(random_members(rng, 5, axes), MORE_CALLS, representation=representation)
    batches = [random_events(rng, rng.choice([2, 30])) for _ in range(3)]
    due = all_due(group.members)
    rows = [r for b in batches for r in b.rows]
    found = told(combine(blocks_of(compiled(group), batches), due), MORE_CALLS)
    wanted = obvious(rows, group.members, due, MORE_CALLS)
    assert found.keys() == wanted.keys()
    for place, values in wanted.items():
        assert found[place] == pytest.approx(values), place


@pytest.mark.parametrize("seed", seeds(4, 14))
def test_the_dense_way_the_sparse_way_and_each_query_by_itself_agree(seed: int) -> None:
    rng = random.Random(100 + seed)
    group = group_of(random_members(rng, 8), CALLS)
    batches = [random_events(rng, 900, low=rng.choice([0, 20])) for _ in range(2)]
    blocks = blocks_of(compiled(group), batches)
    assert can_be_dense(blocks)
    due = all_due(group.members)
    dense = told(combine_dense(blocks, due), CALLS)
    assert dense == told(combine_sparse(blocks, due), CALLS)
    assert dense == obvious([r for b in batches for r in b.rows], group.members, due, CALLS)


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_only_what_is_asked_for_is_combined(seed: int) -> None:
    rng = random.Random(300 + seed)
    group = group_of(random_members(rng, 6), CALLS)
    batches = [random_events(rng, 900) for _ in range(2)]
    blocks, due = blocks_of(compiled(group), batches), all_due(group.members)
    calls = rng.sample(CALLS, 2)
    partials = {p for c in calls if (p := need_of(c).partial) is not None}
    wanted = obvious([r for b in batches for r in b.rows], group.members, due, calls)
    for way in (combine, combine_dense, combine_sparse):
        answers = list(way(blocks, due, partials))
        assert all({s.partial for s in a.states} == partials for a in answers)
        assert told(answers, calls) == wanted


def test_overlapping_windows_of_one_end_are_combined_backwards_from_it() -> None:
    #   0        10        20        30
    #   |         |_________|              size 10
    #   |_________:_________|              size 20, one more slice
    members = [(1, Always(), TimeWindow(10, 10)), (2, Always(), TimeWindow(20, 10))]
    group = group_of(members, CALLS)
    events = random_events(random.Random(3), 600, low=0, high=19)
    blocks = blocks_of(compiled(group), [events])
    assert can_be_dense(blocks)
    answers = list(combine_dense(blocks, [((10, 20), (1,)), ((0, 20), (2,))]))
    counted = {a.window: int(a.rows.sum()) for a in answers}
    assert counted == {
        (10, 20): sum(r["time"] >= 10 for r in events.rows),
        (0, 20): 600,
    }


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_keys_that_differ_between_blocks_are_brought_together(seed: int) -> None:
    rng = random.Random(seed)
    group = group_of(random_members(rng, 4), CALLS)
    batches = [
        events_of([r for r in random_events(rng, 900).rows if r["k"] in some])
        for some in (["a", "b"], ["c", "b"])
    ]
    due = all_due(group.members)
    found = told(combine(blocks_of(compiled(group), batches), due), CALLS)
    rows = [r for b in batches for r in b.rows]
    assert found == obvious(rows, group.members, due, CALLS)


def test_a_query_that_no_tuple_matches_has_no_rows() -> None:
    window = TimeWindow(100, 100)
    group = group_of([(1, Ranges("p", ((50, None),)), window), (2, Always(), window)], CALLS)
    blocks = blocks_of(compiled(group), [random_events(random.Random(1), 500)])
    for way in (combine_dense, combine_sparse):
        (answer,) = way(blocks, [((0, 100), (1, 2))])
        assert {answer.uids[q] for q in answer.query.tolist()} == {2}


def test_a_window_without_slices_gives_no_rows() -> None:
    group = group_of([(1, Always(), TimeWindow(10, 10))], CALLS)
    blocks = blocks_of(compiled(group), [random_events(random.Random(1), 500)])
    for way in (combine_dense, combine_sparse):
        assert told(way(blocks, [((1000, 1010), (1,))]), CALLS) == {}


def test_when_nothing_is_due_nothing_is_told() -> None:
    group = group_of([(1, Always(), TimeWindow(10, 10))], CALLS)
    assert (
        list(combine(blocks_of(compiled(group), [random_events(random.Random(1), 500)]), [])) == []
    )


def test_queries_a_layout_does_not_know_are_left_out() -> None:
    group = group_of([(1, Always(), TimeWindow(100, 100))], CALLS)
    blocks = blocks_of(compiled(group), [random_events(random.Random(1), 500)])
    for way in (combine_dense, combine_sparse):
        found = told(way(blocks, [((0, 100), (99, 1))]), CALLS)
        assert {uid for _, uid, _ in found} == {1}


# -- when the dense way may be taken --------------------------------------------------------------


def test_only_aggregates_that_add_up_are_combined_densely() -> None:
    rng = random.Random(5)
    window = TimeWindow(10, 10)
    ordered = [(n, Ranges("p", ((n, None),)), window) for n in range(1, 8)]
    events = random_events(rng, 900, high=19)

    def can(calls: Any) -> bool:
        return can_be_dense(blocks_of(compiled(group_of(ordered, calls)), [events]))

    assert can(CALLS)
    assert not can(MORE_CALLS[-2:])
    assert not can_be_dense([])


def test_the_dense_way_pays_where_cells_meet_many_queries() -> None:
    rng = random.Random(5)
    window = TimeWindow(10, 10)

    def pays(ranges: list[Any], count: int, keys: int = 4) -> bool:
        members = [(n, Ranges("p", (r,)), window) for n, r in enumerate(ranges)]
        blocks = blocks_of(compiled(group_of(members, CALLS)), [random_events(rng, count, high=9)])
        return dense_pays(blocks, [((0, 10), (1,))], keys)

    assert pays([(n, None) for n in range(8)], 900)
    assert not pays([(n, None) for n in range(8)], 900, 10_000), "blocks have few keys in common"
    assert not pays([(n, n + 1) for n in range(0, 1000, 2)], 2)


@pytest.mark.parametrize("seed", seeds(3, 8))
def test_dense_and_sparse_blocks_meet_in_sums_over_classes(seed: int) -> None:
    rng = random.Random(500 + seed)
    group = group_of(random_members(rng, 6), CALLS)
    batches = [random_events(rng, n, high=60) for n in (6, 900, 5, 900, 40)]
    blocks = blocks_of(compiled(group), batches)
    assert blocks[0][1].ordered
    assert len({cells.is_dense for cells, _ in blocks}) == 2
    due = all_due(group.members)
    rows = [r for b in batches for r in b.rows]
    assert told(combine_dense(blocks, due), CALLS) == obvious(rows, group.members, due, CALLS)


@pytest.mark.parametrize("representation", ["cells", "vectors"])
@pytest.mark.parametrize("seed", seeds(4, 10))
def test_the_dense_way_takes_any_layout_and_sparse_blocks_too(
    seed: int, representation: str
) -> None:
    rng = random.Random(300 + seed)
    window = TimeWindow(10, 10)
    members = [
        *random_members(rng, 6),
        (90, Ranges("q", ((0.0, None),)), window),
        (91, Ranges("p", ((1, 2), (4, 5))), window),
    ]
    group = group_of(members, CALLS, representation=representation)
    batches = [random_events(rng, n, high=60) for n in (900, 5, 40)]
    blocks = blocks_of(compiled(group), batches)
    assert can_be_dense(blocks)
    due = all_due(group.members)
    rows = [r for b in batches for r in b.rows]
    found = told(combine_dense(blocks, due), CALLS)
    assert found == told(combine_sparse(blocks, due), CALLS)
    assert found == obvious(rows, group.members, due, CALLS)


@pytest.mark.parametrize("seed", seeds(3, 8))
def test_blocks_of_the_same_slices_and_keys_can_be_laid_together_first(seed: int) -> None:
    rng = random.Random(400 + seed)
    group = group_of(random_members(rng, 6), CALLS)
    many, few = (random_events(rng, n, high=20) for n in (900, 3))
    batches = [many, events_of(rng.sample(many.rows, 900)), few, many]
    blocks = blocks_of(compiled(group), batches)
    layout = blocks[0][1]
    together = laid_together([cells for cells, _ in blocks])
    assert len(together) < len(blocks)
    assert sum(int(c.rows.sum()) for c in together) == sum(int(c.rows.sum()) for c, _ in blocks)
    due = all_due(group.members)
    assert told(combine_dense([(c, layout) for c in together], due), CALLS) == told(
        combine_sparse(blocks, due), CALLS
    )


@pytest.mark.parametrize("ends", [1, 12])
def test_few_and_many_window_ends_are_combined_alike(ends: int) -> None:
    window = TimeWindow(30, 5)
    members = [(u, Ranges("p", ((u - 4, None),)), window) for u in range(8)]
    group = group_of(members, CALLS)
    events = random_events(random.Random(7), 2000, high=89)
    blocks = blocks_of(compiled(group), [events])
    uids = tuple(range(8))
    due = [((s, s + 30), uids) for s in range(0, 5 * ends, 5)]
    found = told(combine_dense(blocks, due), CALLS)
    assert found
    assert found == told(combine_sparse(blocks, due), CALLS)


# -- answers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(3, 6))
def test_an_answer_can_be_cut_to_some_queries_and_put_together_again(seed: int) -> None:
    rng = random.Random(seed)
    group = group_of([(u, random_predicate(rng), WINDOWS[0]) for u in (3, 5, 8)], CALLS)
    blocks = blocks_of(compiled(group), [random_events(rng, 200)])
    (answer,) = combine(blocks, [((10, 30), (3, 5, 8))])
    whole = told([answer], CALLS)
    some = answer.of_queries([8, 3])
    assert told([some], CALLS) == {p: v for p, v in whole.items() if p[1] != 5}
    assert told([merge_answers([some, answer.of_queries([5])])], CALLS) == whole


def test_merging_answers_adds_rows_of_the_same_query_and_key() -> None:
    group = group_of([(1, Always(), WINDOWS[0])], CALLS)
    batches = [random_events(random.Random(n), 200) for n in range(3)]
    due = [((0, 20), (1,))]
    answers = [a for b in batches for a in combine(blocks_of(compiled(group), [b]), due)]
    rows = [r for b in batches for r in b.rows]
    assert told([merge_answers(answers)], CALLS) == obvious(rows, group.members, due, CALLS)


def test_a_layout_of_vectors_has_one_column_for_each_query() -> None:
    layout = Layout.vectors([4, 9])
    assert layout.query_sets.tolist() == [[True, False], [False, True]]
    assert layout.place == {4: 0, 9: 1}
