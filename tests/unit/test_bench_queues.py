"""bench/driver/queues.py: bounded, replayed until committed, given up between runs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import headrace as hr
from headrace.lab.bench.driver.queues import Pull, Queue, QueueFull, pulled_at


def batch(first: int, count: int) -> pa.RecordBatch:
    numbers = np.arange(first, first + count)
    return pa.RecordBatch.from_pydict(
        {
            "n": pa.array(numbers),
            "time": pa.array(numbers * 1000).view(pa.timestamp("us", "UTC")),
        }
    )


def filled(*sizes: int, capacity: int = 1000) -> Queue:
    queue, at = Queue(capacity), 0
    for size in sizes:
        queue.append(batch(at, size))
        at += size
    return queue


def numbers(batches: list[pa.RecordBatch]) -> list[int]:
    return [n for b in batches for n in b.column("n").to_pylist()]


def test_any_range_can_be_pulled_again_until_it_is_committed() -> None:
    queue = filled(10, 10, 10)
    queue.open("a", at_end=False)
    assert numbers(queue.read("a", 5, 25, (), 0.0)) == list(range(5, 25))
    assert numbers(queue.read("a", 5, 25, (), 0.0)) == list(range(5, 25))
    queue.commit("a", 20, 0.0)
    assert numbers(queue.read("a", 20, 30, (), 0.0)) == list(range(20, 30))
    with pytest.raises(hr.HeadraceError, match="offset 5 was committed and is gone"):
        queue.read("a", 5, 25, (), 0.0)


def test_tuples_stay_until_the_slowest_consumer_has_committed_them() -> None:
    queue = filled(10, 10)
    queue.open("fast", at_end=False)
    queue.open("slow", at_end=False)
    queue.commit("fast", 20, 0.0)
    assert numbers(queue.read("slow", 0, 20, (), 0.0)) == list(range(20))
    queue.close("slow")
    with pytest.raises(hr.HeadraceError, match="is gone"):
        queue.read("fast", 0, 20, (), 0.0)


def test_a_full_queue_says_so_and_keeps_what_it_has() -> None:
    queue = filled(900)
    queue.open("a", at_end=False)
    with pytest.raises(QueueFull, match="1,000 events"):
        queue.append(batch(900, 101))
    queue.commit("a", 500, 0.0)
    queue.append(batch(900, 101))
    assert queue.end == 1001


def test_only_the_columns_asked_for_are_given() -> None:
    queue = filled(3)
    queue.open("a", at_end=False)
    assert queue.read("a", 0, 3, ["time"], 0.0)[0].schema.names == ["time"]


def test_an_offset_that_is_not_there_yet_is_refused() -> None:
    queue = filled(3)
    queue.open("a", at_end=False)
    with pytest.raises(hr.HeadraceError, match="offset 4 is not there yet; the newest is 3"):
        queue.read("a", 0, 4, (), 0.0)


def test_a_later_consumer_begins_with_what_comes_next() -> None:
    queue = filled(10)
    assert queue.open("late", at_end=True) == 10
    assert queue.waiting() == 0
    queue.append(batch(10, 5))
    assert queue.waiting() == 5
    assert queue.open("late", at_end=True) == 10, "asking twice does not move it"


def test_what_was_given_up_leaves_its_offsets_without_tuples() -> None:
    queue = filled(10, 10, 10)
    queue.open("a", at_end=False)
    queue.read("a", 0, 10, (), 0.0)
    queue.discard()
    queue.append(batch(30, 10))
    assert numbers(queue.read("a", 0, 40, (), 0.0)) == [*range(10), *range(30, 40)]


def test_when_a_tuple_was_taken_is_known_from_its_event_time() -> None:
    queue = filled(10, 10)
    queue.open("a", at_end=False)
    queue.read("a", 0, 10, (), 100.0)
    queue.read("a", 10, 20, (), 107.0)
    queue.read("a", 0, 10, (), 200.0)  # a replay is not the first time
    pulls = queue.pulls()["a"]
    assert pulls == [Pull(100.0, 10, 9_000), Pull(107.0, 20, 19_000)]
    at = pulled_at(pulls, np.array([0, 9_000, 9_001, 19_000, 19_001]))
    np.testing.assert_array_equal(at, [100.0, 100.0, 107.0, 107.0, np.nan])


def test_one_that_reads_for_others_takes_nothing_away_until_they_commit() -> None:
    queue = filled(10)
    queue.open("query", at_end=False)
    assert len(numbers(queue.read("spool", 0, 10, (), 5.0))) == 10
    assert queue.waiting() == 10
    assert queue.pulls() == {"spool": [Pull(5.0, 10, 9_000)]}
    queue.commit("query", 10, 0.0)
    assert queue.waiting() == 0
    assert queue.taken() == {"query": 10}


def test_the_time_between_commits_tells_how_long_batches_take() -> None:
    queue = filled(100)
    queue.open("a", at_end=False)
    queue.open("b", at_end=False)
    for at, offset in ((1.0, 10), (3.0, 20), (3.5, 20), (6.0, 30)):
        queue.commit("a", offset, at)
    assert queue.between_commits() == [2.0, 3.0]


def test_with_backpressure_a_full_queue_has_no_room_and_refuses_nothing() -> None:
    queue = Queue(10, backpressure=True)
    queue.open("a", at_end=False)
    assert queue.has_room
    queue.append(batch(0, 8))
    assert queue.has_room
    queue.append(batch(8, 8))
    assert (queue.held, queue.has_room) == (16, False)
    queue.commit("a", 16, 0.0)
    assert queue.held == 0
    assert queue.has_room
