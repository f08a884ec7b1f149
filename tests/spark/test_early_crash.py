"""Killed while windows are answered early: what was committed stays, nothing comes twice.

An early answer is part of a transaction. Of one that was committed all rows stay as they are. Of
one that was not they are taken back, and the window is answered when the watermark passes it: what
was counted before a crash, and with it the bounds of an early answer, is not kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.spark.by_hand import EndsByHand, move_by_hand
from tests.spark.playing import GROUPS, Events
from tests.spark.stepped import Images, Life, rows_in

pytestmark = pytest.mark.spark

EVENTS = Events.drawn(3, 3_000, 24.0)
_TOTAL = "window.start AS start, k, SUM(v) AS total FROM s GROUP BY window(time, '1 second'), k"
QUESTIONS = {
    "held": f"SELECT /*+ APPROX(error => 0.05) */ {_TOTAL}",
    "refined": f"SELECT /*+ APPROX(error => 0.05, refine => true) */ {_TOTAL}",
    "sampled": "SELECT /*+ APPROX(error => 0.05, fallback => 'best_effort', sample => true) */ "
    + _TOTAL,
}
CRASH_S = 10
"""The second by which the clock closes the window [9, 10); the crash is then, or in the batch
before, which answers the sampled query's [8, 9)."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Crashed:
    """A life that was seen at every point of two transactions, and how to go on from each."""

    spark: SparkSession
    images: Images
    clocks: list[EndsByHand]

    def rows(self, image: str, query: str) -> list[Row]:
        """What is on disk at the crash."""
        return rows_in(self.images.kept / image / query)

    def lives_on(self, image: str, until: int) -> dict[str, list[Row]]:
        """Started again from an image, the stream goes on for some seconds."""
        self.images.restore(image)
        live = self.images.live
        pushed_s = CRASH_S - 0.01
        now_s = pushed_s if image.startswith("batch") else float(CRASH_S)
        life = Life(self.spark, live, EVENTS, QUESTIONS, self.clocks, now_s, pushed_s)
        with life.session:
            life.end(CRASH_S)
            for second in range(CRASH_S, until):
                life.second(second)
        return {name: rows_in(live / name) for name in QUESTIONS}


@pytest.fixture(scope="module")
def crashed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashed]:
    root = tmp_path_factory.mktemp("early")
    images = Images(root / "live", root / "images")
    with pytest.MonkeyPatch.context() as patch:
        clocks = move_by_hand(patch)
        life = Life(spark, images.live, EVENTS, QUESTIONS, clocks)
        with life.session, pytest.MonkeyPatch.context() as looked_at:
            images.install(looked_at)
            for second in range(CRASH_S - 1):
                life.second(second)
            life.batch(CRASH_S - 0.51)
            images.name = "batch"
            life.batch(CRASH_S - 0.01)
            images.name = "end"
            life.end(CRASH_S)
            images.name = None
        yield Crashed(spark, images, clocks)


def place(row: Row) -> tuple[float, str]:
    return row["start"], row["k"]


def early(rows: list[Row], since_s: float = 0.0) -> list[Row]:
    return [r for r in rows if not r["exact"] and r["start"] >= since_s]


def check(rows: dict[str, list[Row]], until: int) -> None:
    """Every row of a window that the watermark has passed is there once, and right."""
    group = {name: number for number, name in enumerate(GROUPS.tolist())}
    # The newest tuple is a little older than the clock, and the watermark two seconds more.
    due = {(float(s), k) for s in range(until - 3) for k in group}
    for name, found in rows.items():
        # A refinement is one more row of its place.
        once = [r for r in found if r["exact"]] if name == "refined" else found
        places = [place(r) for r in once]
        assert len(places) == len(set(places)), f"{name}: none twice"
        assert due <= set(places), f"{name}: none missing"
        answered = [place(r) for r in early(found)]
        assert len(answered) == len(set(answered)), f"{name}: none early twice"
        for row in found:
            mine = (EVENTS.time_s // 1.0 == row["start"]) & (EVENTS.group == group[row["k"]])
            truth = EVENTS.value[mine].sum()
            if row["exact"]:
                assert row["total"] == pytest.approx(truth), (name, place(row))
            elif row["total_met"]:
                assert row["total"] == pytest.approx(truth, rel=0.06), (name, place(row))


def test_every_point_of_both_transactions_was_seen(crashed: Crashed) -> None:
    points = ("begun", "delivered", "committed")
    assert crashed.images.taken == [f"{n}-{p}" for n in ("batch", "end") for p in points]
    answered = {p: early(crashed.rows(f"end-{p}", "held"), 9.0) for p in points}
    assert {p: len(rows) for p, rows in answered.items()} == {
        "begun": 0, "delivered": 2, "committed": 2,
    }  # fmt: skip
    sampled = {p: early(crashed.rows(f"batch-{p}", "sampled"), 8.0) for p in points}
    assert {p: len(rows) for p, rows in sampled.items()} == {
        "begun": 0, "delivered": 3, "committed": 3,
    }  # fmt: skip


def test_what_was_committed_stays_as_it_is(crashed: Crashed) -> None:
    rows = crashed.lives_on("end-committed", until=14)
    check(rows, 14)
    for name in QUESTIONS:
        before = early(crashed.rows("end-committed", name))
        assert before
        assert early(rows[name]) == before, f"{name}: the same ones, and none is new yet"
    assert {r["start"] for r in early(rows["held"])} >= {7.0, 8.0, 9.0}
    # Of the window that was answered at the crash, the group that waited comes when it is exact.
    assert [r["k"] for r in rows["held"] if r["start"] == 9.0 and r["exact"]] == ["tiny"]


@pytest.mark.parametrize("point", ["begun", "delivered"])
def test_what_was_not_committed_is_taken_back_and_answered_exactly(
    crashed: Crashed, point: str
) -> None:
    committed = early(crashed.rows("batch-committed", "held"))
    rows = crashed.lives_on(f"end-{point}", until=13)
    check(rows, 13)
    assert early(rows["held"]) == committed, "those of the transactions before"
    for name in ("held", "refined"):
        assert all(r["exact"] for r in rows[name] if r["start"] >= 9.0)


def test_a_batch_that_answers_early_is_done_again_and_windows_are_early_again_later(
    crashed: Crashed,
) -> None:
    committed = early(crashed.rows("batch-begun", "sampled"))
    rows = crashed.lives_on("batch-delivered", until=21)
    check(rows, 21)
    sampled = early(rows["sampled"])
    assert [r for r in sampled if r["start"] < 8.0] == committed
    assert all(r["exact"] for r in rows["held"] if 9.0 <= r["start"] < 12.0), "open at the crash"
    assert len(early(rows["held"], since_s=12.0)) >= 2, "after the restart, too"
