"""query/window.py: where windows lie, which of them are due, and what they still need."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.query.window import SessionWindow, Span, TimeWindow
from headrace.types import BEGINNING, FOREVER


@st.composite
def windows(draw: st.DrawFn, *, gaps: bool = True) -> TimeWindow:
    slide = draw(st.integers(1, 12))
    size = draw(st.integers(1 if gaps else slide, 30))
    return TimeWindow(size, slide, draw(st.integers(0, slide - 1)))


def all_windows(window: TimeWindow, low: int, high: int) -> list[Span]:
    """The obvious twin: try every start."""
    return [
        (s, s + window.size_us)
        for s in range(low - window.size_us, high + 1)
        if (s - window.offset_us) % window.slide_us == 0
    ]


def holds(span: Span, time: int) -> bool:
    return span[0] <= time < span[1]


times = st.integers(-60, 60)


@given(windows(), times, st.integers(0, 50))
def test_edges_are_every_start_and_end_between_two_times(
    window: TimeWindow, low: int, width: int
) -> None:
    every = {edge for span in all_windows(window, low, low + width) for edge in span}
    expected = sorted(e for e in every if low <= e <= low + width)
    assert window.edges(low, low + width).tolist() == expected


@given(windows())
def test_residues_are_where_edges_lie_modulo_the_slide(window: TimeWindow) -> None:
    edges = window.edges(-100, 100)
    assert {int(e) % window.slide_us for e in edges} == set(window.residues)


@given(windows(), st.lists(times, min_size=1, max_size=20))
def test_first_end_after_is_the_earliest_end_of_the_windows_around_a_time(
    window: TimeWindow, moments: list[int]
) -> None:
    found = window.first_end_after(np.array(moments, dtype=np.int64))
    for moment, end in zip(moments, found.tolist(), strict=True):
        around = [s for s in all_windows(window, moment - 60, moment + 60) if holds(s, moment)]
        if around:
            assert end == min(e for _, e in around)
        else:
            assert end <= moment  # between two windows: an end that no longer matters


def test_a_time_between_two_windows_has_no_end_ahead() -> None:
    #  0    4         10   14        20
    #  |____|  . . .  |____|  . . .  |      size 4, slide 10
    #  ^  ^ ^      ^  ^
    #  0  3 4      9  10
    ends = TimeWindow(4, 10).first_end_after(np.array([0, 3, 4, 9, 10], dtype=np.int64))
    assert ends.tolist() == [4, 4, 4, 4, 14]


@given(
    windows(),
    st.lists(times, max_size=8),
    times,
    st.integers(0, 60),
    st.one_of(st.just(BEGINNING), times),
    st.one_of(st.just(FOREVER), times),
    st.booleans(),
)
def test_due_windows_are_those_that_hold_a_slice_end_in_time_and_lie_inside_the_life(
    window: TimeWindow,
    slices: list[int],
    after: int,
    ahead: int,
    since: int,
    until: int,
    partial_first: bool,
) -> None:
    upto = after + ahead
    expected = [
        (s, e)
        for s, e in all_windows(window, -100, 100)
        if any(holds((s, e), t) for t in slices)
        and after < e <= upto
        and e <= until
        and (e > since if partial_first else s >= since)
    ]
    found = window.due(
        np.array(sorted(slices), dtype=np.int64),
        after,
        upto,
        (since, until),
        partial_first=partial_first,
    )
    assert found == expected


def test_sliding_windows_around_one_slice_are_all_due() -> None:
    #        0   4   8   12  16
    #        |_______|
    #            |_______|          size 8, slide 4; one tuple in the slice at 4
    #            x
    window = TimeWindow(8, 4)
    assert window.due(np.array([4]), 0, 100, (BEGINNING, FOREVER)) == [(0, 8), (4, 12)]


def test_a_window_is_due_once_as_the_watermark_moves() -> None:
    window, slices, life = TimeWindow(8, 4), np.arange(0, 40, 4), (BEGINNING, FOREVER)
    in_steps = [
        span
        for after, upto in [(-100, 9), (9, 9), (9, 23), (23, 100)]
        for span in window.due(slices, after, upto, life)
    ]
    assert in_steps == window.due(slices, -100, 100, life)


def test_only_windows_wholly_inside_a_life_are_due_unless_the_first_may_be_partial() -> None:
    #   0       10      20      30      40
    #   |_______|_______|_______|_______|
    #        [5 ------------------- 35)      the life
    window, slices = TimeWindow(10, 10), np.array([0, 5, 10, 20, 30])
    assert window.due(slices, -1, 100, (5, 35)) == [(10, 20), (20, 30)]
    partial = window.due(slices, -1, 100, (5, 35), partial_first=True)
    assert partial == [(0, 10), (10, 20), (20, 30)]


def test_a_jump_of_years_in_event_time_names_only_windows_that_hold_data() -> None:
    year = 365 * 86_400_000_000
    window = TimeWindow(10, 5)
    found = window.due(np.array([0, 40 * year]), -1, 50 * year, (BEGINNING, FOREVER))
    assert len(found) == 4


def test_naming_the_next_window_of_many_overlapping_ones_costs_little() -> None:
    # An hour every second, an hour of slices, and the watermark moves on by a second.
    second = 1_000_000
    window, slices = TimeWindow(3600 * second, second), np.arange(3600) * second
    tracemalloc.start()
    try:
        found = window.due(slices, 3599 * second, 3600 * second, (BEGINNING, FOREVER))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [(0, 3600 * second)]
    assert peak < 16 * 2**20, f"{peak / 2**20:.0f} MiB for one window"


def test_without_slices_nothing_is_due() -> None:
    assert TimeWindow(10, 5).due(np.empty(0, np.int64), 0, 100, (BEGINNING, FOREVER)) == []


@given(windows(), times)
def test_nothing_before_needed_from_lies_in_a_window_still_to_end(
    window: TimeWindow, watermark: int
) -> None:
    open_ = [s for s, e in all_windows(window, watermark - 60, watermark + 60) if e > watermark]
    assert window.needed_from(watermark) == min(open_)


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (TimeWindow(10_000_000, 10_000_000), "10 s"),
        (TimeWindow(8_000_000, 4_000_000), "8 s every 4 s"),
        (TimeWindow(8_000_000, 4_000_000, 1_500_000), "8 s every 4 s from 1.5 s"),
        (SessionWindow(2_500_000), "session gap 2.5 s"),
    ],
)
def test_a_window_says_itself_in_seconds(window: TimeWindow | SessionWindow, text: str) -> None:
    assert str(window) == text
