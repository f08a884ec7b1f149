"""progress/watermark.py: the lowest over partitions, idle ones released, never backwards."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.progress.watermark import Progress
from headrace.types import BEGINNING

LATENESS, IDLE = 2, 10.0


def started(*partitions: str) -> Progress:
    return Progress.start(LATENESS, IDLE, partitions, now_s=0.0)


def test_the_watermark_is_the_lowest_partition_less_the_lateness() -> None:
    #   a  ------------------- 100
    #   b  -------- 40                 watermark 40 - 2
    progress = started("a", "b").heard({"a": 100, "b": 40}, 1.0)
    assert progress.watermark_us == 38
    assert progress.highest_us == 100
    assert progress.heard({"b": 90}, 2.0).watermark_us == 88


def test_before_every_known_partition_has_spoken_there_is_no_watermark() -> None:
    progress = started("a", "b").heard({"a": 100}, 1.0)
    assert progress.watermark_us == BEGINNING
    assert progress.heard({"b": 60}, 2.0).watermark_us == 58


def test_a_partition_that_never_speaks_is_released_when_it_is_idle() -> None:
    progress = started("a", "b").heard({"a": 100}, 9.0)
    assert progress.at(9.9).watermark_us == BEGINNING
    assert progress.at(10.0).watermark_us == 98


def test_an_idle_partition_stops_holding_until_it_speaks_again() -> None:
    #   now    1      11.5         12            13
    #   a      100                 120           121
    #   b      40     (idle)                     60
    progress = started("a", "b").heard({"a": 100, "b": 40}, 1.0)
    progress = progress.heard({"a": 120}, 11.5)
    assert progress.watermark_us == 118
    progress = progress.heard({"a": 121, "b": 60}, 13.0)
    assert progress.watermark_us == 118, "b holds it again, but not back"
    assert progress.heard({"a": 500}, 14.0).watermark_us == 118
    assert progress.heard({"b": 480}, 14.0).watermark_us == 119


def test_when_all_partitions_are_idle_the_highest_time_counts() -> None:
    progress = started("a", "b").heard({"a": 100, "b": 40}, 1.0)
    assert progress.at(50.0).watermark_us == 98


def test_nothing_heard_is_no_progress_however_long_it_takes() -> None:
    assert started("a").at(1e9).watermark_us == BEGINNING
    assert started().at(1e9).watermark_us == BEGINNING


def test_a_partition_that_appears_later_holds_from_then_on() -> None:
    progress = started("a").heard({"a": 50}, 1.0)
    assert progress.watermark_us == 48
    progress = progress.heard({"new": 10, "a": 80}, 2.0)
    assert progress.watermark_us == 48
    assert progress.heard({"new": 70}, 3.0).watermark_us == 68


def test_a_partition_never_falls_behind_its_own_highest_time() -> None:
    progress = started("a").heard({"a": 100}, 1.0).heard({"a": 30}, 2.0)
    assert progress.partitions["a"].highest_us == 100
    assert progress.watermark_us == 98


@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abc"), st.integers(-100, 100)), st.floats(0, 30)
        ),
        max_size=15,
    )
)
def test_a_watermark_never_moves_backwards(batches: list[tuple[dict[str, int], float]]) -> None:
    progress, now = started("a", "b"), 0.0
    for heard, later in batches:
        now += later
        moved = progress.heard(heard, now) if heard else progress.at(now)
        assert moved.watermark_us >= progress.watermark_us
        assert moved.watermark_us <= max(moved.highest_us - LATENESS, BEGINNING)
        progress = moved


@pytest.mark.parametrize("seed", range(20))
def test_progress_equals_a_plain_bookkeeping_of_partitions(seed: int) -> None:
    rng = random.Random(seed)
    progress, now = started("a", "b"), 0.0
    highest: dict[str, int] = {"a": BEGINNING, "b": BEGINNING}
    spoke = {"a": 0.0, "b": 0.0}
    watermark = BEGINNING
    for _ in range(30):
        now += rng.choice([0.5, 3.0, 12.0])
        heard = {p: rng.randint(-50, 50) for p in "abc" if rng.random() < 0.4}
        progress = progress.heard(heard, now) if heard else progress.at(now)
        for name, time in heard.items():
            highest[name] = max(highest.get(name, BEGINNING), time)
            spoke[name] = now
        holding = [highest[p] for p in highest if now - spoke[p] < IDLE]
        lowest = min(holding) if holding else max(highest.values())
        if lowest > BEGINNING:
            watermark = max(watermark, lowest - LATENESS)
        assert progress.watermark_us == watermark
