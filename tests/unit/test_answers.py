"""kernels/answers.py: what many queries are told together equals what each would say alone."""

from __future__ import annotations

import random
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from headrace.kernels.answers import Failure, answer, combined
from headrace.kernels.keys import KEY_GROUPS
from headrace.kernels.shapes import shape_of
from headrace.query.logical import LogicalQuery
from headrace.query.predicate import Predicate
from headrace.query.window import Span, TimeWindow
from headrace.registry.changelog import ActiveQuery
from tests.amounts import seeds

from .events import CALLS, MORE_CALLS, random_events
from .naive import discrete
from .purchases import (
    SETTING,
    Row,
    active,
    alone,
    asked,
    blocks_of,
    planned,
    random_purchases,
    told,
)
from .shared import all_due, compiled, group_of, obvious, random_predicate
from .shared import blocks_of as cells_of
from .shared import told as answered

SHAPES = [
    "SELECT gem_pack, COUNT(*), SUM(price), AVG(amount) FROM purchases {where} "
    "GROUP BY window(time, '{window}), gem_pack",
    "SELECT MIN(gem_pack), MAX(day), COUNT(paid), SUM(amount) FROM purchases {where} "
    "GROUP BY window(time, '{window})",
    "SELECT user_id, paid, FIRST(price), LAST(gem_pack) IGNORE NULLS, AVG(price) FROM purchases "
    "{where} GROUP BY user_id, window(time, '{window}), paid",
    "SELECT gem_pack, COUNT(DISTINCT user_id), percentile_approx(price, 0.5), "
    "percentile_approx(amount, array(0.25, 1.0)) FROM purchases {where} "
    "GROUP BY window(time, '{window}), gem_pack",
    "SELECT COUNT(DISTINCT gem_pack), COUNT(*), percentile_approx(day, 0.9) FROM purchases {where} "
    "GROUP BY window(time, '{window})",
    "SELECT percentile_approx(total, array(0.5, 0.9)), MIN(total), SUM(total), COUNT(DISTINCT "
    "total) FROM purchases {where} GROUP BY window(time, '{window})",
    "SELECT approx_count_distinct(user_id), approx_count_distinct(day, 0.2), gem_pack "
    "FROM purchases {where} GROUP BY window(time, '{window}), gem_pack",
    "SELECT stddev_pop(weight), variance(weight), MIN(weight), MAX(time) FROM purchases {where} "
    "GROUP BY window(time, '{window})",
]
WHERES = [
    "",
    "WHERE price > 3",
    "WHERE price BETWEEN 2 AND 8",
    "WHERE price <= 6 AND paid",
    "WHERE gem_pack IN ('a', 'ä')",
    "WHERE price > 3 OR price IS NULL",
    "WHERE price > 100",
]
SPANS = ["10 microseconds'", "20 microseconds', '10 microseconds'", "15 microseconds'"]


def random_queries(rng: random.Random, count: int) -> list[ActiveQuery]:
    texts = [
        rng.choice(SHAPES).format(where=rng.choice(WHERES), window=rng.choice(SPANS))
        for _ in range(count)
    ]
    return active(texts)


def windows_of(query: LogicalQuery, high: int = 80) -> list[Span]:
    window = query.time_window
    return [(s, s + window.size_us) for s in range(-20, high) if s % window.slide_us == 0]


def due_of(queries: list[ActiveQuery]) -> list[tuple[Span, list[Any]]]:
    due: dict[Span, list[Any]] = {}
    known = asked(queries)
    for query in queries:
        for span in windows_of(query.logical):
            due.setdefault(span, []).append(known[query.uid])
    return sorted(due.items())


def obvious_rows(queries: list[ActiveQuery], rows: list[Row]) -> dict[tuple[Any, ...], Any]:
    out = {}
    for query in queries:
        for start, end in windows_of(query.logical):
            inside = [r for r in rows if start <= discrete(r["time"]) < end]
            for key, values in alone(query.logical, inside).items():
                out[(int(query.uid), start, end, key)] = values
    return out


@pytest.mark.parametrize("seed", seeds(3, 8))
def test_tuples_of_too_many_classes_are_answered_alike(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 0)
    monkeypatch.setattr("headrace.kernels.ingest._PAIRS", 30)
    test_many_queries_are_told_what_each_would_say_alone(100 + seed, 2)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("seed", seeds(5, 16))
def test_many_queries_are_told_what_each_would_say_alone(seed: int, tasks: int) -> None:
    rng = random.Random(seed)
    queries = random_queries(rng, rng.randint(1, 8))
    batches = [random_purchases(rng, rng.choice([5, 60])) for _ in range(3)]
    plan, results = planned(queries), []
    for keys in pairwise(KEY_GROUPS * n // tasks for n in range(tasks + 1)):
        results += answer(blocks_of(plan, batches, keys), due_of(queries), SETTING)
    found = told(results, queries)
    wanted = obvious_rows(queries, [r for b in batches for r in b])
    assert found.keys() == wanted.keys()
    for place, values in wanted.items():
        for one, other in zip(found[place], values, strict=True):
            same = one == (pytest.approx(other) if isinstance(other, float) else other)
            assert same, (place, found[place], values)


def test_a_query_whose_values_are_all_null_still_answers() -> None:
    queries = active(
        [
            "SELECT COUNT(DISTINCT user_id), percentile_approx(price, 0.5), "
            "percentile_approx(price, array(0.5)), COUNT(*), MIN(gem_pack) FROM purchases "
            "GROUP BY window(time, '100 microseconds')"
        ]
    )
    rows = [r | {"user_id": None, "price": None, "gem_pack": None}
            for r in random_purchases(random.Random(1), 5)]  # fmt: skip
    due = [((0, 100), list(asked(queries).values()))]
    found = told(answer(blocks_of(planned(queries), [rows]), due, SETTING), queries)
    assert list(found.values()) == [(0, None, None, 5, None)]


def test_a_query_without_values_answers_beside_one_that_has_some() -> None:
    text = "SELECT percentile_approx(total, array(0.5)){} FROM purchases WHERE price {} " + (
        "GROUP BY window(time, '100 microseconds')"
    )
    queries = active([text.format("", "= 1"), text.format(", COUNT(*)", "= 2")])
    rows = [
        r | {"price": price, "total": None if price == 1 else Decimal("7.00")}
        for price, r in zip([1, 2], random_purchases(random.Random(1), 2), strict=True)
    ]
    due = [((0, 100), list(asked(queries).values()))]
    found = told(answer(blocks_of(planned(queries), [rows]), due, SETTING), queries)
    assert sorted(found.items()) == [
        ((3, 0, 100, ()), (None,)),
        ((13, 0, 100, ()), ([Decimal("7.00")], 1)),
    ]


def test_a_sum_that_overflows_fails_its_query_and_no_other() -> None:
    text = "SELECT SUM(user_id) FROM purchases WHERE price {} GROUP BY window(time, '1 second')"
    queries = active([text.format("> 5"), text.format("<= 5"), text.format("= 0")])
    rows = [
        r | {"user_id": 2**62 if price > 5 else price, "price": price}
        for price, r in enumerate(random_purchases(random.Random(2), 9))
    ]
    due = [((0, 1_000_000), list(asked(queries).values()))]
    results = list(answer(blocks_of(planned(queries), [rows]), due, SETTING))
    failures = [r for r in results if isinstance(r, Failure)]
    assert [(f.uid, "bigint" in f.reason) for f in failures] == [(int(queries[0].uid), True)]
    rest = told([r for r in results if not isinstance(r, Failure)], queries)
    assert {place[0]: v for place, v in rest.items()} == {
        int(queries[1].uid): (15,),
        int(queries[2].uid): (0,),
    }


def test_queries_of_one_shape_are_finished_in_one_table() -> None:
    texts = [SHAPES[0].format(where=w, window=SPANS[0]) for w in WHERES[:3]]
    queries = active(texts)
    assert len({shape_of(q.logical) for q in queries}) == 1
    blocks = blocks_of(planned(queries), [random_purchases(random.Random(3), 40, high=10)])
    (result,) = answer(blocks, [((0, 10), list(asked(queries).values()))], SETTING)
    assert set(result.table.column("_q").to_pylist()) == {int(q.uid) for q in queries}
    assert result.table.schema.field("k0").type == pa.string()
    assert result.table.schema.field("a2").type == pa.decimal128(14, 6)


def test_windows_of_one_shape_are_finished_in_one_table_each_with_its_span() -> None:
    queries = active([SHAPES[0].format(where="", window="10 microseconds'")])
    rows = random_purchases(random.Random(3), 40, high=19)
    everyone = list(asked(queries).values())
    blocks = blocks_of(planned(queries), [rows])
    (result,) = answer(blocks, [((0, 10), everyone), ((10, 20), everyone)], SETTING)
    spans = zip(
        result.table.column("_start").to_pylist(),
        result.table.column("_end").to_pylist(),
        strict=True,
    )
    assert list(dict.fromkeys(spans)) == [(0, 10), (10, 20)]


def test_a_query_that_overflows_in_one_of_its_windows_fails_once() -> None:
    text = "SELECT SUM(user_id) FROM purchases WHERE price {} GROUP BY window(time, '1 second')"
    queries = active([text.format("> 5"), text.format("<= 5")])
    rows = [
        r | {"user_id": 2**62 if price > 5 else price, "price": price}
        for price, r in enumerate(random_purchases(random.Random(2), 9))
    ]
    later = [r | {"time": r["time"] + timedelta(seconds=1)} for r in rows]
    everyone = list(asked(queries).values())
    due = [((0, 1_000_000), everyone), ((1_000_000, 2_000_000), everyone)]
    results = list(answer(blocks_of(planned(queries), [rows, later]), due, SETTING))
    assert [r.uid for r in results if isinstance(r, Failure)] == [int(queries[0].uid)]
    rest = told([r for r in results if not isinstance(r, Failure)], queries)
    assert list(rest.values()) == [(15,), (15,)]


# -- blocks that were made under different plans --------------------------------------------------


def test_windows_from_one_plan_and_from_two_are_told_side_by_side() -> None:
    #   plan A: two queries, so four partials    plan B: the first alone, with its own two
    #   tuples  0 … 9                            10 … 19
    #   windows [-10, 10) from A, [0, 20) from both, [10, 30) from B
    text = "SELECT gem_pack, {} FROM purchases GROUP BY window(time, {}), gem_pack"
    window = "'20 microseconds', '10 microseconds'"
    queries = active([text.format("SUM(price), COUNT(*)", window),
                      text.format("MAX(price), MIN(price)", window)])  # fmt: skip
    rows = random_purchases(random.Random(5), 300, high=9)
    later = [r | {"time": r["time"] + timedelta(microseconds=10)} for r in rows]
    before, after = planned(queries), planned(queries[:1])
    blocks = blocks_of(before, [rows])
    for place, more in blocks_of(after, [later]).items():
        blocks.setdefault(place, []).extend(more)
    alone = list(asked(queries[:1]).values())
    due = [((start, start + 20), alone) for start in (-10, 0, 10)]
    found = told(answer(blocks, due, SETTING), queries[:1])
    sizes = dict.fromkeys((-10, 0, 10), 0)
    for (_, start, _, _), (_, count) in found.items():
        sizes[start] += count
    assert sizes == {-10: 300, 0: 600, 10: 300}


@pytest.mark.parametrize("seed", seeds(6, 15))
def test_answers_over_several_plans_meet_in_the_queries_they_share(seed: int) -> None:
    #   batch 1, plan A: queries 1 2 3        batch 2, plan B: queries 2 3 4
    #   batch 3, plan C: query 3 alone, with fewer partial results than before
    rng = random.Random(seed)
    where: dict[int, Predicate] = {u: random_predicate(rng, axes=("p", "q")) for u in range(1, 5)}
    window = TimeWindow(20, 10)
    plans = [
        ([1, 2, 3], MORE_CALLS, "cells"),
        ([2, 3, 4], MORE_CALLS, rng.choice(["cells", "vectors"])),
        ([3], CALLS, "cells"),
    ]
    blocks, seen = [], []
    for uids, calls, kind in plans:
        group = group_of([(u, where[u], window) for u in uids], calls, representation=kind)
        events = random_events(rng, rng.choice([8, 300]))
        blocks += cells_of(compiled(group), [events])
        seen.append((uids, events.rows))
    everyone = group_of([(u, where[u], window) for u in where], CALLS).members
    wanted: dict[Any, Any] = {}
    for uid, member in zip(where, everyone, strict=True):
        rows = [r for uids, some in seen if uid in uids for r in some]
        wanted |= obvious(rows, [member], all_due([member]), CALLS)
    assert answered(combined(blocks, all_due(everyone)), CALLS) == wanted


def test_nothing_ingested_is_nothing_told() -> None:
    queries = random_queries(random.Random(1), 3)
    assert list(answer({}, due_of(queries), SETTING)) == []


def test_queries_that_keep_a_value_under_different_plans_do_not_hide_each_other() -> None:
    """The second query came later: tuples of before are kept for the first one alone."""
    text = "SELECT COUNT(DISTINCT user_id), percentile_approx(price, 0.5) FROM purchases {} " + (
        "GROUP BY window(time, '100 microseconds')"
    )
    queries = active([text.format(""), text.format("WHERE paid")])
    before, after = (random_purchases(random.Random(seed), 40) for seed in (1, 2))
    blocks = blocks_of(planned(queries[:1]), [before])
    for place, more in blocks_of(planned(queries), [after]).items():
        blocks.setdefault(place, []).extend(more)
    due = [((0, 100), list(asked(queries).values()))]
    found = told(answer(blocks, due, SETTING), queries)
    first, second = (int(q.uid) for q in queries)
    wanted = {
        (first, 0, 100, ()): alone(queries[0].logical, [*before, *after])[()],
        (second, 0, 100, ()): alone(queries[1].logical, after)[()],
    }
    assert found == wanted
