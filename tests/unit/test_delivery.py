"""runtime/delivery.py: sinks get what was committed, in order, and hurt nobody but themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.connectors.store import Store
from headrace.errors import ExecutionError, InternalError
from headrace.query.window import Span
from headrace.runtime.delivery import Deliveries
from headrace.runtime.ledger import Ledger
from headrace.runtime.outbox import Outbox, Parcel, Waiting

GUARD_S = 30.0
TIMEOUT_S = 60.0


def rows(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64())})


def values(table: pa.Table) -> list[int]:
    found: list[int] = table.column("v").to_pylist()
    return found


class Desk:
    """Deliveries with what was told about them."""

    def __init__(self, store: Store, **options: Any) -> None:
        self.outbox = Outbox(store)
        self.told: list[tuple[int, int, Span, list[int]]] = []
        self.failed: dict[int, str] = {}
        self.deliveries = Deliveries(
            self.outbox,
            on_delivered=self._delivered,
            on_failed=self._failed,
            timeout_s=TIMEOUT_S,
            **options,
        )
        self.then: Callable[[int], object] = ignore

    def _delivered(self, uid: int, txn: int, span: Span, table: pa.Table) -> None:
        self.told.append((uid, txn, span, values(table)))
        self.then(uid)

    def _failed(self, uid: int, reason: str) -> None:
        assert uid not in self.failed
        self.failed[uid] = reason
        self.then(uid)

    def commit(self, txn: int, *parcels: tuple[int, pa.Table]) -> None:
        self.outbox.write(txn, [Parcel(u, (txn, txn + n), t) for n, (u, t) in enumerate(parcels)])
        self.deliveries.post(txn)

    def drained(self) -> bool:
        return self.deliveries.drain(GUARD_S)

    def note(self) -> None:
        self.deliveries.noted(self.deliveries.delivered())


class Gate:
    """A sink that waits to be let through, call by call."""

    def __init__(self) -> None:
        self.entered = threading.Semaphore(0)
        self.open = threading.Semaphore(0)
        self.left = threading.Semaphore(0)
        self.took: list[tuple[int, list[int]]] = []

    def __call__(self, table: pa.Table, txn: int) -> None:
        self.entered.release()
        self.open.acquire(timeout=GUARD_S)
        self.took.append((txn, values(table)))
        self.left.release()

    def await_entered(self) -> None:
        assert self.entered.acquire(timeout=GUARD_S)


def nothing(table: pa.Table, txn: int) -> None:
    """A sink that is content."""


def ignore(uid: int) -> None:
    """A callback that does nothing more."""


def raising(error: BaseException) -> Callable[[pa.Table, int], object]:
    def sink(table: pa.Table, txn: int) -> None:
        raise error

    return sink


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "outbox"))


@pytest.fixture
def desk(store: Store) -> Iterator[Desk]:
    desk = Desk(store)
    yield desk
    desk.then = ignore
    desk.deliveries.close(0.0)


# -- handing over ---------------------------------------------------------------------------------


def test_rows_reach_their_sinks_in_order_and_callbacks_are_told(desk: Desk) -> None:
    took: list[tuple[int, list[int]]] = []
    desk.deliveries.add(1, "one", lambda table, txn: took.append((txn, values(table))))
    desk.deliveries.add(2, "two", nothing)
    desk.commit(5, (1, rows(1)), (2, rows(2, 3)), (1, rows(4)))
    desk.commit(6)
    desk.commit(7, (1, rows(5)))
    assert desk.drained()
    assert took == [(5, [1]), (5, [4]), (7, [5])]
    assert [t for t in desk.told if t[0] == 1] == [
        (1, 5, (5, 5), [1]),
        (1, 5, (5, 7), [4]),
        (1, 7, (7, 7), [5]),
    ]
    assert (2, 5, (5, 6), [2, 3]) in desk.told
    assert desk.deliveries.delivered() == {1: 7, 2: 5}


def test_a_transaction_is_delivered_when_the_last_of_its_parcels_is(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1)), (1, rows(2, 3)))
    gate.await_entered()
    assert desk.deliveries.waiting(1)[0] == 3
    gate.open.release()
    gate.await_entered()
    assert desk.deliveries.delivered() == {}
    assert desk.deliveries.waiting(1) == (2, desk.outbox.contents(1)[1].length)
    gate.open.release()
    assert desk.drained()
    assert desk.deliveries.delivered() == {1: 1}
    assert desk.deliveries.waiting(1) == (0, 0)


def test_a_sink_that_blocks_stops_nobody_else(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.deliveries.add(2, "two", nothing)
    desk.commit(1, (1, rows(1)), (2, rows(1)))
    gate.await_entered()
    desk.commit(2, (2, rows(2)))
    assert desk.deliveries.drain(GUARD_S, uid=2)
    assert desk.deliveries.delivered() == {2: 2}
    assert not desk.deliveries.drain(0.0)
    assert not desk.deliveries.drain(0.0, uid=1)
    gate.open.release()
    assert desk.drained()


def test_an_idle_query_has_no_thread_and_gets_another_when_rows_come(desk: Desk) -> None:
    threads: list[threading.Thread] = []
    desk.deliveries.add(1, "one", lambda *_: threads.append(threading.current_thread()))
    for txn in (1, 2):
        desk.commit(txn, (1, rows(1)))
        assert desk.drained()
    for thread in threads:
        thread.join(GUARD_S)
        assert not thread.is_alive()
        assert thread.daemon
        assert thread.name == "headrace sink of one"
    assert len(set(threads)) == 2


def test_posting_twice_delivers_once(desk: Desk) -> None:
    desk.deliveries.add(1, "one", nothing)
    desk.commit(1, (1, rows(1)))
    desk.deliveries.post(1)
    assert desk.drained()
    assert len(desk.told) == 1


def test_a_query_has_one_sink(desk: Desk) -> None:
    desk.deliveries.add(1, "one", nothing)
    with pytest.raises(InternalError):
        desk.deliveries.add(1, "again", nothing)


def test_draining_with_nothing_to_do_is_done(desk: Desk) -> None:
    assert desk.deliveries.drain(0.0)
    assert desk.deliveries.waiting(99) == (0, 0)


# -- files ----------------------------------------------------------------------------------------


def test_a_file_is_dropped_once_a_commit_notes_all_of_it(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.deliveries.add(2, "two", nothing)
    desk.commit(1, (1, rows(1)), (2, rows(1)))
    desk.commit(2, (2, rows(2)))
    assert desk.deliveries.drain(GUARD_S, uid=2)
    before = desk.deliveries.delivered()
    gate.open.release()
    assert desk.drained()
    assert desk.outbox.txns() == [1, 2]
    desk.deliveries.noted(before)
    assert desk.outbox.txns() == [1]
    desk.note()
    assert desk.outbox.txns() == []
    assert desk.deliveries.delivered() == {1: 1, 2: 2}


def test_a_file_that_cannot_be_removed_now_is_left_for_the_next_start(
    desk: Desk, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(txn: int) -> None:
        raise PermissionError("no")

    desk.deliveries.add(1, "one", nothing)
    desk.commit(1, (1, rows(1)))
    assert desk.drained()
    monkeypatch.setattr(desk.outbox, "drop", refuse)
    desk.note()
    assert desk.outbox.txns() == [1]
    later = Desk(store)
    later.deliveries.add(1, "one", nothing)
    later.deliveries.restore(1, {1: 1})
    assert (later.told, later.outbox.txns()) == ([], [])


# -- queries that go ------------------------------------------------------------------------------


def test_rows_of_an_unknown_query_are_given_up_with_the_next_commit(desk: Desk) -> None:
    desk.deliveries.add(1, "one", nothing)
    desk.commit(1, (9, rows(1)), (9, rows(2)), (1, rows(1)))
    assert desk.drained()
    assert desk.deliveries.delivered() == {1: 1, 9: 1}
    desk.note()
    assert desk.outbox.txns() == []
    assert desk.deliveries.delivered() == {1: 1}


def test_a_removed_query_is_settled_and_its_running_call_counts_for_nothing(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1)))
    desk.commit(2, (1, rows(2)))
    gate.await_entered()
    desk.deliveries.remove(1)
    desk.deliveries.remove(1)
    assert desk.deliveries.drain(0.0)
    assert desk.deliveries.delivered() == {1: 2}
    gate.open.release()
    assert gate.left.acquire(timeout=GUARD_S)
    desk.deliveries.add(1, "one again", nothing)
    desk.commit(3, (1, rows(3)))
    assert desk.drained()
    assert desk.told == [(1, 3, (3, 3), [3])]
    desk.note()
    assert desk.outbox.txns() == []


def test_a_query_removed_while_its_rows_are_read_is_not_called(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, read = Gate(), desk.outbox.read
    threads: list[threading.Thread] = []
    removed = threading.Event()

    def read_and_remove(waiting: Waiting) -> pa.Table:
        threads.append(threading.current_thread())
        desk.deliveries.remove(1)
        removed.set()
        return read(waiting)

    monkeypatch.setattr(desk.outbox, "read", read_and_remove)
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1)))
    assert removed.wait(GUARD_S)
    threads[0].join(GUARD_S)
    assert not threads[0].is_alive()
    assert not gate.entered.acquire(blocking=False)
    assert desk.told == []


def test_a_removed_query_without_files_is_forgotten(desk: Desk) -> None:
    desk.deliveries.add(1, "one", nothing)
    desk.commit(1, (1, rows(1)))
    assert desk.drained()
    desk.note()
    assert desk.deliveries.delivered() == {1: 1}
    desk.deliveries.remove(1)
    assert desk.deliveries.delivered() == {}


# -- sinks that fail ------------------------------------------------------------------------------


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("cannot say")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("text"), "ValueError: text"),
        (ValueError(), "ValueError"),
        (Mute(), "Mute"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
    ],
)
def test_a_sink_that_raises_fails_its_query_alone(
    desk: Desk, error: BaseException, said: str
) -> None:
    desk.deliveries.add(1, "one", raising(error))
    desk.deliveries.add(2, "two", nothing)
    desk.outbox.write(1, [Parcel(1, (0, 1), rows(1, 2)), Parcel(2, (0, 1), rows(1))])
    desk.outbox.write(2, [Parcel(1, (0, 1), rows(3))])
    desk.deliveries.post(1)
    assert desk.drained()
    assert desk.failed == {1: f"its sink raised {said}; 2 rows were not delivered"}
    desk.deliveries.post(2)
    assert desk.drained()
    assert [t[0] for t in desk.told] == [2]
    desk.note()
    assert desk.outbox.txns() == []


def test_the_reason_counts_all_rows_that_were_left(desk: Desk) -> None:
    entered, go = threading.Event(), threading.Event()

    def sink(table: pa.Table, txn: int) -> None:
        entered.set()
        go.wait(GUARD_S)
        raise OSError("full")

    desk.deliveries.add(1, "one", sink)
    desk.commit(1, (1, rows(1, 2)))
    assert entered.wait(GUARD_S)
    desk.commit(2, (1, rows(3, 4, 5)))
    go.set()
    assert desk.drained()
    assert desk.failed[1] == "its sink raised OSError: full; 5 rows were not delivered"


def test_rows_that_cannot_be_read_back_fail_their_query(desk: Desk, store: Store) -> None:
    desk.deliveries.add(1, "one", nothing)
    desk.outbox.write(1, [Parcel(1, (0, 1), rows(1))])
    Path(store.path("0000000001.arrow")).write_bytes(b"x" * 1000)
    desk.deliveries.post(1)
    assert desk.drained()
    assert desk.failed[1].startswith("its rows cannot be read back: ExecutionError: outbox file")


def test_a_query_without_a_thread_fails(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    desk.deliveries.add(1, "one", nothing)
    monkeypatch.setattr(threading.Thread, "start", start)
    desk.commit(1, (1, rows(1)))
    why = "its sink got no thread: can't start new thread; 1 rows were not delivered"
    assert desk.failed == {1: why}
    assert desk.deliveries.drain(0.0)


def test_rows_of_a_failing_query_are_kept_until_its_failure_was_told(desk: Desk) -> None:
    telling, go = threading.Event(), threading.Event()

    def hold(uid: int) -> None:
        telling.set()
        go.wait(GUARD_S)

    desk.then = hold
    desk.deliveries.add(1, "one", raising(ValueError()))
    desk.commit(1, (1, rows(1)))
    assert telling.wait(GUARD_S)
    desk.commit(2, (1, rows(2)))
    desk.note()
    assert desk.outbox.txns() == [1, 2]
    assert desk.deliveries.delivered() == {}
    assert not desk.deliveries.drain(0.0)
    go.set()
    assert desk.drained()
    assert desk.deliveries.delivered() == {1: 2}
    desk.note()
    assert desk.outbox.txns() == []


def test_a_drain_wakes_when_the_query_fails(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1)))
    gate.await_entered()
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(desk.deliveries.drain(None)), daemon=True)
    thread.start()
    desk.deliveries.watch(0.0)
    desk.deliveries.watch(TIMEOUT_S)
    thread.join(GUARD_S)
    assert done == [True]
    gate.open.release()


def test_a_callback_that_raises_is_logged(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(uid: int) -> None:
        raise SystemExit

    desk.then = refuse
    desk.deliveries.add(1, "one", nothing)
    desk.deliveries.add(2, "two", raising(ValueError()))
    desk.commit(1, (1, rows(1)), (2, rows(1)))
    assert desk.drained()
    assert desk.deliveries.delivered() == {1: 1, 2: 1}
    assert caplog.text.count("a callback of a delivery failed") == 2


# -- watching -------------------------------------------------------------------------------------


def test_a_call_that_does_not_return_in_time_fails_its_query(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1, 2)))
    desk.commit(2, (1, rows(3)))
    gate.await_entered()
    desk.deliveries.watch(1000.0)
    desk.deliveries.watch(1000.0 + TIMEOUT_S - 0.1)
    assert desk.failed == {}
    desk.deliveries.watch(1000.0 + TIMEOUT_S)
    desk.deliveries.watch(1000.0 + TIMEOUT_S * 3)
    why = "its sink did not return within 60 s; 3 rows were not delivered"
    assert desk.failed == {1: why}
    assert desk.deliveries.drain(0.0)
    assert desk.deliveries.delivered() == {1: 2}
    gate.open.release()
    assert gate.left.acquire(timeout=GUARD_S)
    assert desk.deliveries.close(GUARD_S)
    assert (desk.told, gate.took) == ([], [(1, [1, 2])])


def test_an_abandoned_call_that_raises_later_is_ignored(desk: Desk) -> None:
    entered, go, threads = threading.Event(), threading.Event(), []

    def sink(table: pa.Table, txn: int) -> None:
        threads.append(threading.current_thread())
        entered.set()
        go.wait(GUARD_S)
        raise ValueError("late")

    desk.deliveries.add(1, "one", sink)
    desk.commit(1, (1, rows(1)))
    assert entered.wait(GUARD_S)
    desk.deliveries.watch(0.0)
    desk.deliveries.watch(TIMEOUT_S)
    go.set()
    threads[0].join(GUARD_S)
    assert desk.failed == {1: "its sink did not return within 60 s; 1 rows were not delivered"}


def test_every_call_has_its_own_time(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    for txn in range(1, 4):
        desk.commit(txn, (1, rows(txn)))
    for number in range(3):
        gate.await_entered()
        desk.deliveries.watch(number * TIMEOUT_S)
        desk.deliveries.watch((number + 0.9) * TIMEOUT_S)
        gate.open.release()
    assert desk.drained()
    desk.deliveries.watch(1e9)
    assert desk.failed == {}


def test_a_query_that_is_no_longer_calling_is_not_timed(desk: Desk) -> None:
    telling, go = threading.Event(), threading.Event()

    def hold(uid: int) -> None:
        telling.set()
        go.wait(GUARD_S)

    desk.then = hold
    desk.deliveries.add(1, "one", nothing)
    desk.commit(1, (1, rows(1)))
    assert telling.wait(GUARD_S)
    desk.deliveries.watch(0.0)
    desk.deliveries.watch(1e9)
    go.set()
    assert desk.drained()
    assert desk.failed == {}


def test_a_sink_slower_than_the_stream_fails_its_query(store: Store) -> None:
    desk, gate = Desk(store, limit_bytes=1_000_000), Gate()
    large = rows(*range(100_000))
    desk.deliveries.add(1, "one", gate)
    desk.deliveries.add(2, "two", nothing)
    desk.commit(1, (1, large), (1, large), (2, rows(1)))
    gate.await_entered()
    desk.commit(2, (1, large))
    desk.deliveries.watch(0.0)
    assert desk.failed == {}  # the oldest transaction alone is no lag
    desk.commit(3, (1, large))
    desk.deliveries.watch(0.0)
    why = "its sink is slower than the stream: 3.2 MB wait; 400000 rows were not delivered"
    assert desk.failed == {1: why}
    assert desk.drained()
    gate.open.release()


# -- calling back ---------------------------------------------------------------------------------


def test_a_sink_may_call_everything_from_inside(desk: Desk) -> None:
    inside: list[Any] = []

    def sink(table: pa.Table, txn: int) -> None:
        if txn == 1:
            desk.deliveries.add(2, "two", nothing)
            desk.commit(2, (1, rows(2)), (2, rows(2)))
            inside.append(desk.deliveries.drain(GUARD_S, uid=2))
            inside.append(desk.deliveries.drain(GUARD_S))
            inside.append(desk.deliveries.waiting(1)[0])
            inside.append(desk.deliveries.delivered())
            desk.deliveries.watch(0.0)
            desk.note()
        else:
            desk.deliveries.remove(1)

    desk.deliveries.add(1, "one", sink)
    desk.commit(1, (1, rows(1)))
    assert desk.drained()
    assert inside == [True, True, 2, {2: 2}]
    assert sorted(desk.told) == [(1, 1, (1, 1), [1]), (2, 2, (2, 3), [2])]
    assert desk.deliveries.delivered() == {1: 2, 2: 2}


def test_callbacks_may_call_everything(desk: Desk) -> None:
    inside: list[Any] = []

    def call(uid: int) -> None:
        inside.append(desk.deliveries.drain(GUARD_S))
        inside.append(desk.deliveries.waiting(uid))
        desk.deliveries.remove(uid)
        desk.deliveries.add(uid, "again", nothing)

    desk.then = call
    desk.deliveries.add(1, "one", nothing)
    desk.commit(1, (1, rows(1)))
    assert desk.drained()
    desk.deliveries.add(2, "two", raising(ValueError()))
    desk.commit(2, (2, rows(1)))
    assert desk.drained()
    assert inside == [True, (0, 0)] * 2
    desk.then = ignore
    desk.commit(3, (1, rows(3)), (2, rows(3)))
    assert desk.drained()
    assert sorted(t[:2] for t in desk.told) == [(1, 1), (1, 3), (2, 3)]


def test_telling_of_two_failures_at_once_waits_for_neither(desk: Desk) -> None:
    gates, inside = {1: Gate(), 2: Gate()}, []
    desk.then = lambda _: inside.append(desk.deliveries.drain(GUARD_S))
    for uid, gate in gates.items():
        desk.deliveries.add(uid, str(uid), gate)
    desk.commit(1, (1, rows(1)), (2, rows(1)))
    for gate in gates.values():
        gate.await_entered()
    desk.deliveries.watch(0.0)
    desk.deliveries.watch(TIMEOUT_S)
    assert inside == [True, True]
    for gate in gates.values():
        gate.open.release()


# -- closing --------------------------------------------------------------------------------------


def test_closing_lets_running_calls_end_and_keeps_the_rest_in_the_outbox(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1)))
    desk.commit(2, (1, rows(2)))
    gate.await_entered()
    done: list[bool] = []
    thread = threading.Thread(target=lambda: done.append(desk.deliveries.close(GUARD_S)))
    thread.start()
    assert not desk.deliveries.drain(GUARD_S)  # returns because it is closing
    gate.open.release()
    thread.join(GUARD_S)
    assert done == [True]
    assert gate.took == [(1, [1])]
    assert desk.deliveries.delivered() == {1: 1}
    assert desk.deliveries.waiting(1)[0] == 1
    assert not desk.deliveries.drain(GUARD_S)
    desk.commit(3, (1, rows(3)))
    desk.note()
    assert desk.outbox.txns() == [2, 3]


def test_closing_does_not_wait_for_a_call_that_hangs(desk: Desk) -> None:
    gate = Gate()
    desk.deliveries.add(1, "one", gate)
    desk.commit(1, (1, rows(1)))
    gate.await_entered()
    assert not desk.deliveries.close(0.0)
    gate.open.release()
    assert gate.left.acquire(timeout=GUARD_S)
    assert desk.deliveries.delivered() == {}
    assert desk.told == []
    assert desk.outbox.txns() == [1]


def test_a_sink_may_close(desk: Desk) -> None:
    closed: list[bool] = []
    over = threading.Event()

    def sink(table: pa.Table, txn: int) -> None:
        closed.append(desk.deliveries.close(GUARD_S))
        over.set()

    desk.deliveries.add(1, "one", sink)
    desk.commit(1, (1, rows(1)))
    assert over.wait(GUARD_S)
    assert closed == [True]


# -- after a restart ------------------------------------------------------------------------------


def test_what_was_not_noted_is_delivered_again_and_what_never_committed_is_not(
    store: Store,
) -> None:
    before = Outbox(store)
    before.write(1, [Parcel(1, (0, 1), rows(1)), Parcel(2, (0, 1), rows(1))])
    before.write(2, [Parcel(1, (0, 1), rows(2)), Parcel(8, (0, 1), rows(2))])
    before.write(3, [Parcel(1, (0, 1), rows(3)), Parcel(2, (0, 1), rows(3))])
    before.write(4, [Parcel(1, (0, 1), rows(4))])
    desk = Desk(store)
    desk.deliveries.add(1, "one", nothing)
    desk.deliveries.add(2, "two", nothing)
    desk.deliveries.restore(3, {1: 1, 2: 1, 7: 1})
    assert desk.drained()
    assert sorted((uid, txn) for uid, txn, _, _ in desk.told) == [(1, 2), (1, 3), (2, 3)]
    assert desk.outbox.txns() == [2, 3]
    assert desk.deliveries.delivered() == {1: 3, 2: 3, 8: 2}
    desk.note()
    assert desk.outbox.txns() == []
    assert desk.deliveries.delivered() == {1: 3, 2: 3}


def test_a_damaged_file_is_told_at_the_restart_and_nothing_is_queued(store: Store) -> None:
    Outbox(store).write(1, [Parcel(1, (0, 1), rows(1))])
    store.write("0000000002.arrow", b"?" * 50)
    desk = Desk(store)
    desk.deliveries.add(1, "one", nothing)
    with pytest.raises(ExecutionError, match=r"0000000002\.arrow"):
        desk.deliveries.restore(2, {})
    assert desk.deliveries.drain(0.0)
    assert desk.told == []


# -- the ledger -----------------------------------------------------------------------------------


def test_the_ledger_keeps_what_files_name() -> None:
    ledger = Ledger()
    assert ledger.open(1, [1, 2])
    assert ledger.open(2, [1])
    assert not ledger.open(2, [1])
    ledger.settle(1, 2)
    ledger.settle(1, 1)
    ledger.forget(2, 1)
    ledger.forget(3, 1)
    assert ledger.snapshot() == {1: 2, 2: 1}
    assert ledger.is_settled(1, 2)
    assert not ledger.is_settled(2, 2)
    assert ledger.note({1: 2}, alive=[]) == [2]
    assert ledger.snapshot() == {1: 2, 2: 1}
    assert ledger.note({2: 1}, alive=[2]) == [1]
    assert ledger.snapshot() == {2: 1}
