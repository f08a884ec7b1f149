"""types.py: durations as Spark writes them, and event time as people read it."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import QueryError
from headrace.types import BEGINNING, FOREVER, duration_us, to_datetime

SECOND = 1_000_000
UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": SECOND,
    "minute": 60 * SECOND,
    "hour": 3_600 * SECOND,
    "day": 86_400 * SECOND,
    "week": 7 * 86_400 * SECOND,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("8 seconds", 8 * SECOND),
        ("1 second", SECOND),
        ("1 minute 30 seconds", 90 * SECOND),
        ("1 hour 1 minute 1 second 1 millisecond 1 microsecond", 3_661_001_001),
        ("  5   MINUTES ", 300 * SECOND),
        ("5minutes", 300 * SECOND),
        ("interval 2 days", 172_800 * SECOND),
        ("INTERVAL 2 days", 172_800 * SECOND),
        ("1.5 seconds", 1_500_000),
        ("-3 seconds", -3 * SECOND),
        ("1 hour -1 minute", 59 * 60 * SECOND),
        ("0 seconds", 0),
    ],
)
def test_durations_are_read_as_spark_writes_intervals(text: str, expected: int) -> None:
    assert duration_us(text) == expected


@given(st.lists(st.tuples(st.integers(-999, 999), st.sampled_from(sorted(UNITS))), min_size=1))
def test_a_duration_is_the_sum_of_its_parts(parts: list[tuple[int, str]]) -> None:
    text = " ".join(f"{number} {unit}{'s' if number != 1 else ''}" for number, unit in parts)
    assert duration_us(text) == sum(number * UNITS[unit] for number, unit in parts)


@pytest.mark.parametrize(
    "text", ["", "soon", "8", "seconds", "8 seconds ago", "x 8 seconds", "8,5 s"]
)
def test_what_is_not_a_duration_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QueryError, match=r"8 seconds|units"):
        duration_us(text)


def test_an_unknown_unit_is_named_with_the_known_ones() -> None:
    with pytest.raises(QueryError, match="'fortnights'") as caught:
        duration_us("2 fortnights")
    assert all(unit in str(caught.value) for unit in UNITS)


def test_event_time_becomes_utc_and_the_ends_of_time_become_datetimes_own() -> None:
    assert to_datetime(0) == dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert to_datetime(1_500_000).isoformat() == "1970-01-01T00:00:01.500000+00:00"
    assert to_datetime(-1).isoformat() == "1969-12-31T23:59:59.999999+00:00"
    assert to_datetime(BEGINNING).year == 1
    assert to_datetime(FOREVER).year == 9999
