"""sql/windows.py: window(...) and session_window(...) over the stream's event time."""

from __future__ import annotations

import pytest

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.window import SessionWindow, TimeWindow, Window

from .live import read

S = 1_000_000


@pytest.mark.parametrize(
    ("call", "window"),
    [
        ("window(time, '10 seconds')", TimeWindow(10 * S, 10 * S)),
        ("window(time, '8 seconds', '4 seconds')", TimeWindow(8 * S, 4 * S)),
        ("window(time, '8 seconds', '4 seconds', '1 second')", TimeWindow(8 * S, 4 * S, S)),
        ("window(time, '8 seconds', '4 seconds', '-1 second')", TimeWindow(8 * S, 4 * S, 3 * S)),
        ("window(time, '8 seconds', '8 seconds', '0 seconds')", TimeWindow(8 * S, 8 * S)),
        ("window(time, '1 minute 30 seconds')", TimeWindow(90 * S, 90 * S)),
        ("WINDOW(`time`, INTERVAL 8 SECONDS)", TimeWindow(8 * S, 8 * S)),
        ("window(Time, INTERVAL '8' SECOND)", TimeWindow(8 * S, 8 * S)),
        ("window(p.time, INTERVAL '8 seconds')", TimeWindow(8 * S, 8 * S)),
        ("window(time, 8000000)", TimeWindow(8 * S, 8 * S)),
        ("window(p.time, '1 day')", TimeWindow(86_400 * S, 86_400 * S)),
        ("session_window(time, '5 seconds')", SessionWindow(5 * S)),
        ("session_window(p.time, INTERVAL 5 SECONDS)", SessionWindow(5 * S)),
    ],
)
def test_windows_are_written_as_spark_writes_them(call: str, window: Window) -> None:
    assert read(f"SELECT COUNT(*) FROM purchases p GROUP BY {call}").window == window


REFUSED = [
    ("window(^local, '10 seconds')", UnsupportedQuery, "not the event time"),
    ("window(^day, '10 seconds')", UnsupportedQuery, "the event time is 'time'"),
    ("session_window(^local, '10 seconds')", UnsupportedQuery, "not the event time"),
    ("window(time, ^'10 parsecs')", QueryError, "the unit 'parsecs'"),
    ("window(time, ^'soon')", QueryError, "not a duration"),
    ("window(^time + INTERVAL 1 HOUR, '10 seconds')", UnsupportedQuery, "over an expression"),
    ("window(time, ^INTERVAL 1 MONTH)", UnsupportedQuery, "constant durations"),
    ("window(time, ^price)", UnsupportedQuery, "constant durations"),
    ("window(time, ^'0 seconds')", QueryError, "longer than nothing"),
    ("window(time, ^'-1 second')", QueryError, "longer than nothing"),
    ("window(time, '8 seconds', ^'0 seconds')", QueryError, "longer than nothing"),
    ("window(time, '4 seconds', ^'8 seconds')", QueryError, "may not be longer"),
    ("window(time, '8 seconds', '4 seconds', ^'4 seconds')", QueryError, "shorter than the slide"),
    ("^window(time)", QueryError, "needs the event time and a duration"),
    ("^window()", QueryError, "needs the event time and a duration"),
    ("^session_window(time)", QueryError, "needs the event time and a duration"),
    ("window(time, ^'1 month')", QueryError, "the unit 'month'"),
    ("^session_window(time, '1 second', '1 second')", QueryError, "one gap"),
    ("session_window(time, ^CASE WHEN paid THEN '1 second' END)", UnsupportedQuery, "constant"),
    ("window(time, '1 second'), ^window(time, '2 seconds')", UnsupportedQuery, "one window"),
    ("window(time, '1 second'), ^session_window(time, '2 seconds')", UnsupportedQuery, "one"),
]


@pytest.mark.parametrize(("marked", "kind", "reason"), REFUSED, ids=[r[0] for r in REFUSED])
def test_a_window_that_cannot_be_run_is_refused_with_its_place(
    marked: str, kind: type[QueryError], reason: str
) -> None:
    before = "SELECT COUNT(*) FROM purchases GROUP BY "
    with pytest.raises(kind, match=reason) as caught:
        read(before + marked.replace("^", ""))
    assert (caught.value.line, caught.value.column) == (1, len(before) + marked.index("^") + 1)
