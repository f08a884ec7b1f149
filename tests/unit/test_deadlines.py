"""query/deadlines.py: the next end of any window that somebody waits for."""

from __future__ import annotations

from headrace.query.deadlines import Deadlines
from headrace.query.window import SessionWindow, TimeWindow
from headrace.types import BEGINNING

TEN = TimeWindow(10, 10)
SLIDING = TimeWindow(8, 4, 1)


def test_the_next_end_is_the_first_after_what_is_out() -> None:
    #  ten      |0 ------- 10|10 ------ 20|
    #  sliding  ends at 1, 5, 9, 13 …
    both = Deadlines.of([(TEN, BEGINNING, False), (SLIDING, BEGINNING, False)])
    assert [both.after(t) for t in (4, 5, 9, 10, 13)] == [5, 9, 10, 13, 17]


def test_a_query_waits_for_its_first_whole_window() -> None:
    late = Deadlines.of([(TEN, 12, False)])
    assert late.after(5) == 30, "[10, 20) began before it"
    assert Deadlines.of([(TEN, 12, True)]).after(12) == 20, "unless it wants that one, too"


def test_there_is_no_deadline_without_windows_or_progress() -> None:
    assert Deadlines.of([]).after(5) is None
    assert Deadlines.of([(TEN, 0, False)]).after(BEGINNING) is None
    assert Deadlines.of([(TEN, 0, False), (SessionWindow(3), 0, False)]).after(5) is None
    assert Deadlines.of([(None, 0, False)]).after(5) is None
