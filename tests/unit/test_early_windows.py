"""approximate/early.py: which windows of approximate queries may be answered, without Spark."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.approximate.early import EarlyDue, EarlyWindows, lightest_first
from headrace.approximate.usual import EDGES_S
from headrace.kernels.delays import SubStreamCounts, SubStreamsFound
from headrace.optimizer.cut_sub_streams import cut_sub_streams
from headrace.registry.changelog import ActiveQuery
from headrace.types import BEGINNING, QueryUid

from .analyzer import read

S = 1_000_000
LATENESS_S = 2.0


def query(hint: str, uid: int = 1, size: str = "3 seconds", what: str = "COUNT(*)") -> ActiveQuery:
    text = (
        f"SELECT /*+ APPROX(error => 0.05{hint}) */ {what} AS n FROM purchases "
        f"GROUP BY window(time, '{size}')"
    )
    return ActiveQuery(QueryUid(uid), f"q{uid}", uid - 1, read(text), since_us=0)


class Play:
    """A stream of 2,000 tuples a second that take 240 ms on average, in steps of 0.2 s."""

    def __init__(
        self, *queries: ActiveQuery, stops_s: float = np.inf, strength: float = 5e3
    ) -> None:
        rng = np.random.default_rng(5)
        self.time_s = np.arange(0.0, 40.0, 1 / 2_000)
        self.time_s = self.time_s[self.time_s < stops_s]
        self.came_s = self.time_s + np.minimum(rng.exponential(0.24, len(self.time_s)), 1.9)
        order = np.argsort(self.came_s)
        self.time_s, self.came_s = self.time_s[order], self.came_s[order]
        self.early = EarlyWindows()
        length = cut_sub_streams(q.logical for q in queries)
        assert length is not None
        self.length_us = length
        self.early.serves(queries, length, BEGINNING)
        self.early.answered({int(q.uid): (strength, strength) for q in queries}, (), 0.0)
        self.now_s, self.highest_us, self.schedule = 0.0, BEGINNING, ()
        self.closed: dict[int, int] = {}
        self.sampling: tuple[tuple[int, float], ...] = ()

    @property
    def watermark_us(self) -> int:
        return self.highest_us - int(LATENESS_S * S)

    def step(self, seconds: float = 0.2) -> None:
        came = (self.came_s > self.now_s) & (self.came_s <= self.now_s + seconds)
        self.now_s += seconds
        told: list[SubStreamsFound] = []
        if came.any():
            counts = SubStreamCounts(self.length_us, EDGES_S, None, round(self.now_s * S))
            stamps = (self.time_s[came] * S).astype(np.int64)
            first = int(np.flatnonzero(came)[0])
            delays = (self.came_s - self.time_s)[came][-first % 16 :: 16]
            counts.add(stamps, first, delays)
            told = [counts.found]
            self.highest_us = max(self.highest_us, int(stamps.max()))
        self.early.heard(told, 0.0, self.now_s, self.watermark_us)

    def upto(self, now_s: float) -> None:
        while self.now_s < now_s - 1e-9:
            self.step()

    def due(self) -> tuple[EarlyDue, ...]:
        starts = np.arange(0, self.highest_us, self.length_us)
        upto = self.watermark_us
        found = self.early.due(starts, upto, self.highest_us, self.closed, self.now_s)
        for one in found:
            self.closed |= dict.fromkeys(one.uids, one.span[1])
        return found


def test_a_window_is_due_once_at_its_end() -> None:
    play = Play(query(""))
    play.upto(11.8)
    play.due()
    assert play.due() == ()
    play.upto(12.0)
    (one,) = play.due()
    assert one.span == (9 * S, 12 * S)
    assert one.uids == (1,)
    assert one.strata is not None
    assert sum(s.size.arrived for s in one.strata) < 6_000
    assert sum(s.size.expected for s in one.strata) == pytest.approx(6_000, rel=0.01)
    assert play.due() == ()


def test_nothing_is_due_before_a_window_has_told_what_to_expect() -> None:
    play = Play(query(""))
    play.early = EarlyWindows()
    play.early.serves([query("")], play.length_us, BEGINNING)
    play.upto(12.0)
    assert play.due() == ()
    play.early.answered({1: (5e3, 5e3)}, (), 0.0)
    assert [d.span for d in play.due()] == [(9 * S, 12 * S)]


def test_a_stream_that_catches_up_answers_only_what_is_complete() -> None:
    sample = ", fallback => 'best_effort', sample => true"
    play = Play(query(""), query(sample, uid=2))
    play.upto(14.0)
    starts = np.arange(0, play.highest_us, play.length_us)
    where = (starts, play.watermark_us, play.highest_us, {2: 6 * S}, play.now_s)
    late = play.early.due(*where, complete=True)
    assert [(d.span, d.uids, d.complete) for d in late] == [((6 * S, 9 * S), (2,), True)]
    assert {u for d in play.early.due(*where) for u in d.uids} == {1, 2}


def test_how_strong_groups_are_is_looked_at_now_and_then() -> None:
    play = Play(query(""), query(", progress => 'k-slack'", uid=2))
    assert play.early.learners(0.5) == {1}, "K-slack states no bounds"
    for _ in range(10):
        play.early.answered({1: (5e3, 5e3)}, (), 10.0)
    assert play.early.learners(10.1) == frozenset()
    assert play.early.learners(20.0) == {1}


def test_small_groups_wait_for_more() -> None:
    weak, strong = Play(query(""), strength=40.0), Play(query(""))
    for play in (weak, strong):
        play.upto(11.8)
        play.due()
        play.upto(12.0)
    assert strong.due()
    assert not weak.due()
    for _ in range(5):
        weak.step()
    assert weak.due(), "a second later nearly all have come"


def test_groups_that_wait_are_tried_again_when_more_has_come() -> None:
    play = Play(query(""))
    play.upto(12.0)
    (one,) = [d for d in play.due() if d.span[1] == 12 * S]
    play.early.answered({}, [(1, one.span)], 0.0, [one])
    assert play.due() == (), "nothing more has come"
    play.step(0.4)
    (again,) = play.due()
    assert again.span == one.span
    assert again.share > one.share
    play.early.answered({}, (), 0.0, [again])
    play.step(0.4)
    assert play.due() == (), "none waits any more"


def test_who_asks_for_little_does_not_wait_for_who_asks_for_much() -> None:
    sample = ", fallback => 'best_effort', sample => true"
    play = Play(
        query("", 1, what="STDDEV(weight)"),
        query("", 2),
        query(sample, 3, what="STDDEV(weight)"),
    )
    play.upto(12.0)
    due = [d for d in play.due() if d.span[1] == 12 * S]
    light, heavy = lightest_first(due)
    assert {u for d in light for u in d.uids} == {2, 3}
    assert {u for d in heavy for u in d.uids} == {1}
    assert lightest_first(light) == [light]
    # Answered one after the other, what waits of the second is not forgotten.
    play.early.answered({}, (), 0.0, light)
    play.early.answered({}, [(1, heavy[0].span)], 0.0, heavy)
    play.step(0.4)
    (again,) = play.due()
    assert (again.uids, again.heavy) == ((1,), True)


def test_a_source_that_stops_is_not_taken_for_one_that_goes_on() -> None:
    play = Play(query(""), stops_s=10.0)
    play.upto(11.9)
    play.due()
    play.step(0.1)
    assert play.due() == ()
    silent = Play(query(""), stops_s=11.5)
    silent.upto(11.7)
    silent.due()
    silent.now_s = 12.0
    silent.early.silent(12.0)
    assert silent.due() == (), "the source was asked, and had nothing more"


def test_what_was_read_long_ago_answers_nothing() -> None:
    play = Play(query(""))
    play.upto(11.8)
    play.due()
    play.now_s = 12.4
    assert play.due() == ()


@pytest.mark.parametrize(("read_s", "is_answered"), [(19.2, True), (18.8, False)])
def test_long_ago_is_a_tenth_of_a_long_window(read_s: float, is_answered: bool) -> None:
    play = Play(query("", size="10 seconds"))
    play.upto(read_s)
    play.due()
    play.now_s = 20.0
    assert [d.span for d in play.due()] == ([(10 * S, 20 * S)] if is_answered else [])


def test_rivals_go_by_the_highest_event_time() -> None:
    play = Play(
        query(", progress => 'k-slack'", 1),
        query(", progress => 'aq-k-slack'", 2),
        query(", progress => 'lateness'", 3),
        query("", 4),
    )
    out: dict[int, list[float]] = {1: [], 2: [], 3: [], 4: []}
    play.upto(11.8)
    play.due()
    while play.now_s < 26.0:
        play.step()
        for one in play.due():
            for uid in one.uids:
                out[uid].append(play.now_s - one.span[1] / S)
                assert (one.strata is None) == (uid != 4)
    assert out[3] == [], "it waits for the watermark"
    assert np.mean(out[4]) < np.mean(out[2]) < np.mean(out[1]) < LATENESS_S + 0.3


def test_a_query_that_does_not_say_how_is_closed_as_its_stream_says() -> None:
    play = Play(query(""))
    play.early = EarlyWindows("k-slack")
    play.early.serves([query("")], play.length_us, BEGINNING)
    assert play.early.next_end_us(0) is None, "nothing is closed by the clock"
    waited = []
    while play.now_s < 20.0:
        play.step()
        waited += [play.now_s - one.span[1] / S for one in play.due()]
    assert len(waited) >= 4
    assert min(waited) > 0.9


def test_after_a_long_pause_it_is_not_known_when_tuples_came() -> None:
    play = Play(query(""))
    assert play.early.since_us(1.0) is None, "nothing was read yet"
    play.upto(4.0)
    assert play.early.since_us(4.3) == 4 * S
    assert play.early.since_us(7.0) is None


def test_a_longer_window_that_comes_later_is_remembered_for() -> None:
    play = Play(query(""))
    play.early.serves([query(""), query("", 2, "36 seconds")], play.length_us, play.highest_us)
    play.early.answered({2: (5e4, 5e4)}, (), 0.0)
    play.upto(35.8)
    play.due()
    play.upto(36.0)
    assert (0, 36 * S) not in [d.span for d in play.due()], "its beginning was not heard whole"
    longer = Play(query(""), query("", 2, "33 seconds"))
    longer.upto(33.0)
    assert longer.early._streams is not None
    assert longer.early._streams.strata(600_000, 33 * S, 33 * S) is not None


def test_a_window_without_tuples_is_not_due() -> None:
    play = Play(query(""))
    play.upto(12.0)
    assert play.early.due(np.array([0]), play.watermark_us, play.highest_us, {}, play.now_s) == ()


def test_a_new_length_of_sub_streams_begins_anew() -> None:
    play = Play(query(""))
    play.upto(11.8)
    play.due()
    play.early.serves([query(""), query("", 2, "2 seconds")], 500_000, play.highest_us)
    play.length_us = 500_000
    play.upto(12.0)
    assert play.due() == (), "it was counted otherwise"
    play.upto(18.0)
    assert (12 * S, 15 * S) not in [d.span for d in play.due()]
    play.upto(21.0)
    assert [d.span for d in play.due() if 1 in d.uids] == [(18 * S, 21 * S)]


def test_a_sample_is_as_large_as_the_error_needs() -> None:
    sample = ", fallback => 'best_effort', sample => true"
    play = Play(query(sample))
    assert play.early.sampled == {1}
    play.upto(10.0)
    schedule = play.early.schedule((), play.highest_us, play.watermark_us)
    ((start, rate),) = schedule
    assert start % play.length_us == 0
    assert start > play.highest_us
    # 1.2 (z / error)² / 5,000 of what has come at the end, about 0.9.
    assert rate == pytest.approx(0.36, abs=0.04)
    again = play.early.schedule(schedule, play.highest_us, play.watermark_us)
    assert again == schedule, "a rate stays while it is about right"
    play.early.answered({1: (50_000.0, 50_000.0)}, (), 0.0)
    for _ in range(12):
        play.early.answered({1: (50_000.0, 50_000.0)}, (), 0.0)
    changed = play.early.schedule(schedule, play.highest_us, play.watermark_us)
    assert changed[-1][1] < 0.1
    later = play.early.schedule(changed, changed[-1][0] + 20 * S, changed[-1][0] + 18 * S)
    assert later == changed[-1:], "nobody needs the rates before"


def test_a_sampled_window_is_answered_at_the_watermark_at_the_latest() -> None:
    sample = ", fallback => 'best_effort', sample => true"
    play = Play(query(sample), strength=10.0)
    play.upto(5.2)
    assert [d.span for d in play.due()] == [(0, 3 * S)], "not before the watermark"
    (one,) = EarlyWindows.due(
        _restored(query(sample)),
        np.arange(0, 8 * S, 600_000),
        6 * S,
        8 * S,
        {1: 3 * S},
        8.0,
        ((4 * S, 0.5),),
    )
    assert one.strata is not None
    assert [(s.start_us, s.kept / s.size.arrived) for s in one.strata] == [
        (3 * S, 1.0),
        (4 * S, 0.5),
    ]


def _restored(of: ActiveQuery) -> EarlyWindows:
    """After a restart nothing was counted, but rates are known."""
    early = EarlyWindows()
    early.serves([of], 600_000, 7 * S)
    return early
