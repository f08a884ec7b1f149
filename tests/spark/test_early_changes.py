"""Streams that change as they run, and streams that Spark reads: early answers hold, or say so."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.by_hand import move_by_hand
from tests.spark.helpers import DAY
from tests.spark.playing import LATENESS_S, SCHEMA, Events, Played, play, start_s

pytestmark = pytest.mark.spark

WINDOW_S, STEP_S, RATE = 2.0, 0.5, 1_500
SECONDS, CHANGES_S = 30.0, 14.0
BY_WINDOW = f"FROM s GROUP BY window(time, '{WINDOW_S:g} seconds', '1 second')"
ERROR = 0.05
QUESTIONS = {
    "held": f"SELECT /*+ APPROX(error => {ERROR}) */ window.start AS start, COUNT(*) AS n, "
    f"AVG(v) AS mean {BY_WINDOW}",
    "sampled": f"SELECT /*+ APPROX(error => {ERROR}, fallback => 'best_effort', sample => true) */ "
    f"window.start AS start, COUNT(*) AS n, AVG(v) AS mean {BY_WINDOW}",
}


def calms_down(events: Events) -> Events:
    """For eight seconds tuples take 150 ms, whatever they took before."""
    calm = (events.time_s >= CHANGES_S) & (events.time_s < CHANGES_S + 8.0)
    return replace(events, came_s=np.where(calm, events.time_s + 0.15, events.came_s))


def bursts(events: Events) -> Events:
    """But for three seconds a third of the tuples is all there is."""
    burst = (events.time_s >= CHANGES_S) & (events.time_s < CHANGES_S + 3.0)
    return events.where(burst | (np.arange(len(events.time_s)) % 3 == 0))


def stops(events: Events) -> Events:
    """Nothing happens for four seconds."""
    return events.where((events.time_s < CHANGES_S) | (events.time_s >= CHANGES_S + 4.0))


def check(played: Played, name: str, *, early: int) -> None:
    """What is stated holds, and every window is answered once."""
    rows = played.heard[name].rows
    starts = [start_s(r) for _, r in rows]
    assert len(starts) == len(set(starts)), "none twice"
    assert len(played.heard[name].early()) >= early
    broken = []
    for _, row in rows:
        values = played.events.of_window(start_s(row), WINDOW_S)
        for column, exact in (("n", float(len(values))), ("mean", float(values.mean()))):
            if row["exact"]:
                assert row[column] == pytest.approx(exact)
            elif row[f"{column}_met"]:
                broken.append(abs(row[column] / exact - 1.0) > ERROR)
    assert np.mean(broken) <= 0.05, f"{sum(broken)} of {len(broken)} answers are off by more"


@pytest.mark.parametrize("change", [calms_down, bursts, stops])
def test_what_is_stated_holds_while_the_stream_changes(
    spark: SparkSession, change: Callable[[Events], Events]
) -> None:
    rate = 3 * RATE if change is bursts else RATE
    events = change(Events.drawn(5, rate, SECONDS))
    played = play(spark, events, QUESTIONS, seconds=SECONDS, step_s=STEP_S)
    for name in QUESTIONS:
        check(played, name, early=8)
    if change is not calms_down:
        # So many more or fewer tuples than usual: what is usual says nothing of this window.
        (first,) = [r for _, r in played.heard["held"].rows if start_s(r) == CHANGES_S - 1.0]
        assert first["exact"]


def test_a_stream_that_spark_reads_is_answered_early_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    events = Events.drawn(6, RATE, 16.0)
    played = play(spark, events, QUESTIONS, seconds=16.0, step_s=STEP_S, files=tmp_path)
    check(played, "held", early=6)
    check(played, "sampled", early=6)
    after = [t - start_s(r) - WINDOW_S for t, r in played.heard["held"].early()]
    assert np.median(after) <= 2 * STEP_S
    sampled = [r for _, r in played.heard["sampled"].early()]
    values = [len(events.of_window(start_s(r), WINDOW_S)) for r in sampled]
    shares = [r["n_sample"] / n for r, n in zip(sampled, values, strict=True)]
    assert min(shares) > 0.8, "tuples without an offset are all kept"


def test_a_lull_in_which_a_sample_keeps_nothing_stops_nobody(spark: SparkSession) -> None:
    events = Events.drawn(5, RATE, 12.0)
    clock, memory = hr.testing.ManualClock(DAY), hr.testing.MemoryStream(SCHEMA)
    with pytest.MonkeyPatch.context() as patch, hr.Session(spark, clock=clock) as session:
        move_by_hand(patch)
        session.stream("s", memory, event_time="time", lateness=f"{LATENESS_S:g} seconds")
        query = session.sql(QUESTIONS["sampled"])
        session.start()
        for step in range(24):
            came = (events.came_s > step * STEP_S) & (events.came_s <= (step + 1) * STEP_S)
            clock.advance(STEP_S)
            memory.push(events.table(came))
            session.process_all_available()
        for tenth in range(20):
            clock.advance(0.1)
            stamp = DAY + dt.timedelta(seconds=12.0 + 0.1 * tenth)
            memory.push({"k": ["ash"], "v": [1.0], "time": [stamp]})
            session.process_all_available()
        assert query.status == "active"
