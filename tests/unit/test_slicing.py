"""kernels/slicing.py: slices are cut at every window start and end, and at changelog times."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headrace.kernels import slicing
from headrace.kernels.slicing import slice_times
from headrace.query.window import TimeWindow
from headrace.types import BEGINNING


def obvious(times: list[int], windows: list[TimeWindow], cuts: list[int]) -> list[int]:
    """The last edge at or before each time, by walking back from it."""

    def is_edge(time: int) -> bool:
        return time in cuts or any(time % w.slide_us in w.residues for w in windows)

    starts = []
    for time in times:
        start = time
        while not is_edge(start):
            start -= 1
        starts.append(start)
    return starts


def random_windows(rng: random.Random) -> list[TimeWindow]:
    found = []
    for _ in range(rng.randint(1, 3)):
        slide = rng.randint(2, 12)
        found.append(TimeWindow(rng.randint(1, 25), slide, rng.randrange(slide)))
    return found


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("listed", [True, False], ids=["edges listed", "huge range"])
def test_each_time_lies_in_the_slice_that_begins_at_the_last_edge(
    seed: int, listed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not listed:
        monkeypatch.setattr(slicing, "_MANY", -1)
    rng = random.Random(seed)
    windows = random_windows(rng)
    times = [rng.randint(-100, 100) for _ in range(rng.randint(1, 30))]
    cuts = [rng.randint(-120, 120) for _ in range(rng.randrange(4))]
    numbers, starts = slice_times(np.array(times, dtype=np.int64), windows, cuts)
    assert starts[numbers].tolist() == obvious(times, windows, cuts)
    assert starts.tolist() == sorted(set(starts.tolist()))
    assert set(numbers.tolist()) == set(range(len(starts))), "a slice without tuples"


@pytest.mark.parametrize("seed", range(30))
def test_every_slice_lies_wholly_inside_or_outside_every_window(seed: int) -> None:
    rng = random.Random(500 + seed)
    windows = random_windows(rng)
    times = np.array([rng.randint(0, 80) for _ in range(60)], dtype=np.int64)
    numbers, starts = slice_times(times, windows)
    for window in windows:
        begins = range(-40, 120)
        for begin in (b for b in begins if (b - window.offset_us) % window.slide_us == 0):
            inside = (times >= begin) & (times < begin + window.size_us)
            for number in range(len(starts)):
                assert len(set(inside[numbers == number].tolist())) <= 1


def test_slices_of_overlapping_windows_are_drawn() -> None:
    #   0   2   4   6   8   10  12
    #   |_______|_______|_______|         size 4
    #   |___________|___________|         size 6
    #   |       |   |   |       |         slices: 0 4 6 8 (12)
    times = np.array([0, 3, 4, 5, 6, 7, 8, 11])
    numbers, starts = slice_times(times, [TimeWindow(4, 4), TimeWindow(6, 6)])
    assert starts.tolist() == [0, 4, 6, 8]
    assert numbers.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]


def test_a_cut_divides_a_slice_and_tuples_never_cross_it() -> None:
    #   0           5 (a query begins)         10
    #   |___________:__________________________|
    numbers, starts = slice_times(np.array([0, 4, 5, 9]), [TimeWindow(10, 10)], [5, 700])
    assert starts.tolist() == [0, 5]
    assert numbers.tolist() == [0, 0, 1, 1]


def test_a_jump_of_years_does_not_list_the_edges_between() -> None:
    year = 365 * 86_400_000_000
    times = np.array([5, 50 * year + 7, 5], dtype=np.int64)
    numbers, starts = slice_times(times, [TimeWindow(10, 10), TimeWindow(8, 4)], [3])
    assert numbers.tolist() == [0, 1, 0]
    assert starts.tolist() == [4, 50 * year + 4]


def test_without_windows_and_cuts_there_is_one_slice_from_the_beginning() -> None:
    numbers, starts = slice_times(np.array([7, -3]), [])
    assert numbers.tolist() == [0, 0]
    assert starts.tolist() == [BEGINNING]


def test_no_times_make_no_slices() -> None:
    numbers, starts = slice_times(np.empty(0, np.int64), [TimeWindow(10, 10)], [5])
    assert len(numbers) == 0
    assert len(starts) == 0
