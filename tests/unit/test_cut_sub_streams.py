"""optimizer/cut_sub_streams.py: how long sub-streams are."""

from __future__ import annotations

import pytest

from headrace.optimizer.cut_sub_streams import USUAL_US, cut_sub_streams
from headrace.query.logical import LogicalQuery

from .analyzer import read


def over(window: str, hint: str = "/*+ APPROX(error => 0.05) */") -> LogicalQuery:
    return read(f"SELECT {hint} COUNT(*) AS n FROM purchases GROUP BY window(time, {window})")


@pytest.mark.parametrize(
    ("windows", "length_ms"),
    [
        (["'3 seconds'"], 600),
        (["'3 seconds'", "'6 seconds'"], 600),
        (["'2 seconds', '1 second'"], 500),
        (["'3 seconds', '1 second'"], 1_000),
        (["'6 seconds', '2 seconds'", "'7 seconds', '3 seconds'"], 1_000),
        (["'6 seconds', '2 seconds'"], 500),
        (["'10 seconds', '10 seconds', '250 milliseconds'"], 250),
        (["'1 minute'"], 3_000),
        (["'1 hour'"], 180_000),
        (["'1 hour'", "'3 seconds'"], 600),
        (["'100 milliseconds'"], 100),
    ],
)
def test_every_window_is_made_of_whole_sub_streams(windows: list[str], length_ms: int) -> None:
    queries = [over(w) for w in windows]
    length = cut_sub_streams(queries)
    assert length == length_ms * 1_000
    for query in queries:
        window = query.time_window
        assert window.size_us % length == window.slide_us % length == window.offset_us % length == 0


def test_windows_without_a_common_measure_are_cut_as_usual() -> None:
    assert cut_sub_streams([over("'3 seconds'"), over("'3001 milliseconds'")]) == USUAL_US


def test_without_an_approximate_query_nothing_is_cut() -> None:
    assert cut_sub_streams([]) is None
    assert cut_sub_streams([over("'3 seconds'", "")]) is None
