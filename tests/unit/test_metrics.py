"""Counters of a session: attributes, a mapping, and sums."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from headrace.runtime.counters import Counters, Delivered, ScheduleMetrics
from headrace.spark.metrics import session_metrics

IDLE = ScheduleMetrics("default", 2, 0, 0, 0, 0.0, 0.0, False)


@dataclass(frozen=True)
class _Pair(Counters):
    one: int
    parts: tuple[int, ...]


def test_counters_are_a_mapping_too() -> None:
    pair = _Pair(1, (2, 3))
    assert dict(pair) == {"one": 1, "parts": (2, 3)}
    assert pair["one"] == pair.one
    with pytest.raises(KeyError):
        pair["keys"]


def test_a_session_without_streams_has_served_nothing() -> None:
    metrics = session_metrics([], [], Delivered(), IDLE, 0)
    assert metrics.queries == metrics.tuples == metrics.rows == 0
    assert metrics.tuples_per_s is None
    assert metrics.queries_per_scan == 0.0


def test_what_forgotten_queries_were_given_still_counts() -> None:
    past = Delivered().plus(rows=3, windows=1).plus(rows=4, windows=2)
    metrics = session_metrics([], [], past, IDLE, 2)
    assert (metrics.rows, metrics.windows) == (7, 3)
