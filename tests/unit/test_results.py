"""runtime/results.py: a log within its limits, and a reader that knows what it missed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.errors import QueryError
from headrace.runtime.results import Budget, Count, Limits, Results, ResultsLog

GUARD_S = 30.0
MANY = Limits(rows=10**9, bytes=10**12, age_s=10.0**9)


def rows(count: int, first: int = 0) -> pa.Table:
    return pa.table({"v": pa.array(range(first, first + count), pa.int64())})


def filled(limits: Limits, *counts: int, budget: Budget | None = None) -> ResultsLog:
    log = ResultsLog(limits, budget)
    for number, count in enumerate(counts):
        log.append(number, (number, number + 1), rows(count), float(number))
    return log


def kept(log: ResultsLog) -> list[int]:
    return [e.txn for e in log.since(Count())[0]]


# -- limits ---------------------------------------------------------------------------------------


def test_defaults_keep_a_million_rows_64_mib_and_a_day() -> None:
    assert Limits() == Limits(1_000_000, 64 * 2**20, 86_400.0)


@pytest.mark.parametrize("name", ["rows", "bytes", "age_s"])
def test_a_limit_must_be_above_zero(name: str) -> None:
    with pytest.raises(QueryError, match=name):
        Limits(**{name: 0})
    with pytest.raises(QueryError, match="budget"):
        Budget(0)


def test_entries_fall_out_oldest_first_when_rows_pass_the_limit() -> None:
    log = filled(Limits(rows=10), 4, 4, 4, 2)
    assert kept(log) == [1, 2, 3]
    assert (log.rows, log.dropped_rows, log.dropped_windows, len(log)) == (10, 4, 1, 3)


def test_entries_fall_out_when_bytes_pass_the_limit() -> None:
    log = filled(Limits(bytes=100), 5, 5, 5)
    assert kept(log) == [1, 2]
    assert log.bytes == 80


def test_entries_fall_out_when_they_are_too_old_but_the_newest_stays() -> None:
    log = filled(Limits(age_s=10.0), 1, 1, 1)
    log.expire(10.0)
    assert kept(log) == [0, 1, 2]
    log.expire(11.5)
    assert kept(log) == [2]
    log.expire(1e9)
    assert kept(log) == [2]
    log.append(3, (0, 1), rows(1), 2e9)
    assert kept(log) == [3]


def test_an_entry_above_every_limit_stays_while_it_is_the_newest() -> None:
    log = filled(Limits(rows=3, bytes=8), 1, 100)
    assert (kept(log), log.rows, log.bytes) == ([1], 100, 800)
    log.append(2, (0, 1), rows(1), 2.0)
    assert (kept(log), log.rows, log.bytes) == ([2], 1, 8)


def test_tables_are_those_kept_and_are_not_copied() -> None:
    log, table = ResultsLog(MANY), rows(3)
    log.append(5, (1, 2), table, 7.0)
    assert log.tables() == [table]
    (entry,) = log.since(Count())[0]
    assert (entry.txn, entry.span, entry.at_s, entry.bytes) == (5, (1, 2), 7.0, 24)
    assert entry.table is table


def test_a_slice_of_a_large_table_is_copied_so_that_the_large_one_can_go() -> None:
    large = rows(100_000)
    log = ResultsLog(MANY)
    log.append(0, (0, 1), large.slice(5, 3), 0.0)
    assert log.tables() == [large.slice(5, 3)]
    assert log.bytes < 200
    allocated = pa.total_allocated_bytes()
    del large
    assert pa.total_allocated_bytes() <= allocated - 700_000


def test_a_slice_that_is_most_of_its_table_is_counted_whole() -> None:
    log = ResultsLog(MANY)
    log.append(0, (0, 1), rows(10_000).slice(0, 6_000), 0.0)
    assert log.bytes == 80_000


# -- budget ---------------------------------------------------------------------------------------


def test_an_append_over_the_budget_costs_the_appending_log_only() -> None:
    budget = Budget(100)
    one, other = filled(MANY, 5, budget=budget), filled(MANY, 2, 2, budget=budget)
    assert budget.used == 72
    other.append(2, (0, 1), rows(4), 2.0)
    assert (kept(one), kept(other), budget.used) == ([0], [1, 2], 88)
    other.append(3, (0, 1), rows(20), 3.0)
    assert (kept(one), kept(other)) == ([0], [3])
    assert budget.exceeded  # by newest entries alone
    other.clear()
    assert (budget.used, budget.exceeded) == (40, False)
    assert (len(other), other.rows, other.bytes, other.dropped_windows) == (0, 0, 0, 4)


# -- cursors --------------------------------------------------------------------------------------


def test_a_cursor_gives_what_came_after_it() -> None:
    log = filled(MANY, 1, 2, 3)
    entries, cursor, dropped = log.since(Count())
    assert [e.txn for e in entries] == [0, 1, 2]
    assert (cursor, dropped) == (Count(3, 6), Count())
    assert log.since(cursor) == ((), cursor, Count())
    log.append(3, (0, 1), rows(4), 3.0)
    entries, cursor, dropped = log.since(cursor)
    assert [e.txn for e in entries] == [3]
    assert (cursor, dropped) == (Count(4, 10), Count())


def test_a_cursor_tells_what_fell_out_before_the_reader_came() -> None:
    log = filled(Limits(rows=5), 1, 2, 3)
    _, _, dropped = log.since(Count())
    assert dropped == Count(1, 1)
    log.append(3, (0, 1), rows(5), 3.0)
    entries, cursor, dropped = log.since(Count(1, 1))
    assert [e.txn for e in entries] == [3]
    assert (cursor, dropped) == (Count(4, 11), Count(2, 5))
    entry, cursor, dropped = log.next(Count(2, 3))
    assert entry is not None
    assert (entry.txn, cursor, dropped) == (3, Count(4, 11), Count(1, 3))
    assert log.next(cursor) == (None, cursor, Count())


class Kept(RuleBasedStateMachine):
    """A log against a list of everything that ever came."""

    def __init__(self) -> None:
        super().__init__()
        self.limits = Limits(rows=12, bytes=80, age_s=5.0)
        self.budget = Budget(150)
        self.logs = [ResultsLog(self.limits, self.budget) for _ in range(2)]
        self.came: list[list[tuple[int, float]]] = [[], []]
        self.cursors = [Count(), Count()]
        self.read = [0, 0]
        self.missed = [Count(), Count()]
        self.now_s = 0.0

    @rule(which=st.integers(0, 1), count=st.integers(0, 15), passed_s=st.floats(0, 3))
    def append(self, which: int, count: int, passed_s: float) -> None:
        self.now_s += passed_s
        log = self.logs[which]
        log.append(len(self.came[which]), (0, 1), rows(count), self.now_s)
        self.came[which].append((count, self.now_s))
        assert kept(log)[-1] == len(self.came[which]) - 1
        assert len(log) == 1 or self.within(log, which)
        assert len(log) == 1 or not self.budget.exceeded

    @rule(which=st.integers(0, 1), passed_s=st.floats(0, 9))
    def expire(self, which: int, passed_s: float) -> None:
        self.now_s += passed_s
        self.logs[which].expire(self.now_s)
        assert len(self.logs[which]) <= 1 or self.within(self.logs[which], which)

    @rule(which=st.integers(0, 1))
    def clear(self, which: int) -> None:
        self.logs[which].clear()

    @rule(which=st.integers(0, 1), one=st.booleans())
    def look(self, which: int, one: bool) -> None:
        log, cursor = self.logs[which], self.cursors[which]
        if one:
            entry, cursor, missed = log.next(cursor)
            entries = () if entry is None else (entry,)
        else:
            entries, cursor, missed = log.since(cursor)
        after = self.cursors[which].windows + missed.windows
        assert [e.txn for e in entries] == list(range(after, after + len(entries)))
        self.cursors[which] = cursor
        self.read[which] += sum(e.table.num_rows for e in entries)
        had = self.missed[which]
        self.missed[which] = Count(had.windows + missed.windows, had.rows + missed.rows)
        assert cursor.rows == self.read[which] + self.missed[which].rows
        assert cursor.rows == sum(c for c, _ in self.came[which][: cursor.windows])

    def within(self, log: ResultsLog, which: int) -> bool:
        oldest_s = self.came[which][kept(log)[0]][1]
        limits = self.limits
        return (
            log.rows <= limits.rows
            and log.bytes <= limits.bytes
            and self.now_s - oldest_s <= limits.age_s
        )

    @invariant()
    def counters_agree(self) -> None:
        for log, came in zip(self.logs, self.came, strict=True):
            numbers = kept(log)
            assert numbers == list(range(len(came) - len(log), len(came)))
            assert log.rows == sum(came[n][0] for n in numbers)
            assert log.dropped_windows == len(came) - len(log)
            assert log.dropped_rows == sum(c for c, _ in came) - log.rows
            assert log.bytes == 8 * log.rows
        assert self.budget.used == sum(log.bytes for log in self.logs)


TestKept = Kept.TestCase


# -- the iterator ---------------------------------------------------------------------------------


class Announced(threading.Condition):
    """A condition that tells when somebody begins to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Semaphore(0)

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.release()
        return super().wait(timeout)


class Reader:
    """Reads everything in a thread."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.read: list[int] = []
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.read += [table.num_rows for table in self.results]

    def finish(self) -> list[int]:
        self.thread.join(GUARD_S)
        assert not self.thread.is_alive()
        return self.read


def ended(value: bool) -> Callable[[], bool]:
    return lambda: value


def test_results_of_a_query_that_is_over_are_read_to_the_end() -> None:
    results = Results(filled(MANY, 1, 2), threading.Condition(), ended(True))
    assert iter(results) is results
    assert [t.num_rows for t in results] == [1, 2]
    assert results.dropped == Count()


def test_results_end_when_nothing_comes_in_time_and_stay_ended() -> None:
    log = filled(MANY, 1)
    results = Results(log, threading.Condition(), ended(False), timeout_s=0.001)
    assert [t.num_rows for t in results] == [1]
    log.append(1, (0, 1), rows(2), 1.0)
    assert list(results) == []


def test_results_wait_for_more_until_the_query_is_over() -> None:
    log, changed, over = ResultsLog(MANY), Announced(), threading.Event()
    reader = Reader(Results(log, changed, over.is_set))
    for count in (3, 4):
        assert changed.waits.acquire(timeout=GUARD_S)
        with changed:
            log.append(0, (0, 1), rows(count), 0.0)
            changed.notify_all()
    assert changed.waits.acquire(timeout=GUARD_S)
    with changed:
        over.set()
        changed.notify_all()
    assert reader.finish() == [3, 4]


def test_results_know_what_they_missed_while_reading_slowly() -> None:
    log = filled(Limits(rows=5), 3, 3)
    results = Results(log, threading.Condition(), ended(True))
    assert next(results).num_rows == 3
    assert results.dropped == Count(1, 3)
    for txn, count in ((2, 4), (3, 4), (4, 1)):
        log.append(txn, (0, 1), rows(count), 0.0)
    assert [t.num_rows for t in results] == [4, 1]
    assert results.dropped == Count(2, 7)


def test_a_cleared_log_ends_nobodys_results_before_the_query_is_over() -> None:
    log, changed, over = filled(MANY, 2), Announced(), threading.Event()
    log.clear()
    reader = Reader(Results(log, changed, over.is_set))
    assert changed.waits.acquire(timeout=GUARD_S)
    with changed:
        over.set()
        changed.notify_all()
    assert reader.finish() == []
    assert reader.results.dropped == Count(1, 2)
