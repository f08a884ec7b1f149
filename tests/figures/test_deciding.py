"""How fast decisions are made and plans are: figures of this machine."""

from __future__ import annotations

import random
import statistics
import time

from headrace.query.predicate import Predicate
from headrace.scheduling import POLICIES
from tests.unit.test_group_queries import above, grouped, wide
from tests.unit.test_policies import at, view


def test_a_thousand_pipelines_are_ordered_fifty_times_a_second() -> None:
    rng = random.Random(3)
    pipelines = tuple(
        view(f"p{n}", rng.uniform(99, 103), queued=rng.uniform(0, 1e5)) for n in range(1_000)
    )
    took = []
    for n in range(11):
        begun = time.perf_counter()
        POLICIES["klink"].order(at(100.0 + n / 10, *pipelines))
        took.append(time.perf_counter() - begun)
    assert 1 / statistics.median(took) >= 50


def test_planning_does_not_take_longer_for_a_query_of_very_many_columns() -> None:
    ordinary: list[Predicate] = [above(c, n) for n in range(20) for c in "abcde"]

    def seconds(predicates: list[Predicate]) -> float:
        begun = time.perf_counter()
        grouped(predicates)
        return time.perf_counter() - begun

    alone = min(seconds(ordinary) for _ in range(5))
    both = min(seconds([*ordinary, wide(14), wide(40, 100)]) for _ in range(5))
    # Two more sets of axes make 21 pairs of what were ten.
    assert both < 5 * alone + 0.01
