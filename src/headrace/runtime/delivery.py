"""Delivery: what the outbox holds is handed to sinks on the driver, by one thread per query."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from headrace.errors import InternalError
from headrace.query.window import Span
from headrace.runtime.ledger import Ledger
from headrace.runtime.line import Deliver, Line
from headrace.runtime.outbox import Outbox, Waiting

log = logging.getLogger("headrace")


OnDelivered = Callable[[int, int, Span, pa.Table], object]
"""Told after a sink took rows: query, transaction, window, rows."""
OnFailed = Callable[[int, str], object]
"""Told when its sink failed a query, and why."""


class Deliveries:
    """Hands committed rows to the sinks of one pipeline: at least once, in order per query.

    A sink fails its query by raising, by not returning for `timeout_s`, or by letting more than
    `limit_bytes` pile up. What it was still owed is then given up; once `on_failed` has returned,
    which is where the failure is to be recorded, those rows count as delivered.

    A file of the outbox is dropped when the commits say (`noted`) that all in it was delivered or
    given up, so a crash at any point loses nothing.

    Safe to use from any thread, also from callbacks and from inside a sink: no lock is held while
    one is called. Callbacks have no time limit; one that raises is logged.
    """

    def __init__(
        self,
        outbox: Outbox,
        *,
        on_delivered: OnDelivered,
        on_failed: OnFailed,
        timeout_s: float = 60.0,
        limit_bytes: int = 256 * 2**20,
    ) -> None:
        self._outbox = outbox
        self._on_delivered = on_delivered
        self._on_failed = on_failed
        self._timeout_s = timeout_s
        self._limit_bytes = limit_bytes
        self._changed = threading.Condition()
        self._lines: dict[int, Line] = {}
        self._busy: set[Line] = set()
        """Lines that a thread works on, or whose failure is being told."""
        self._ledger = Ledger()
        self._closing = False

    # -- queries ------------------------------------------------------------------------------

    def add(self, uid: int, name: str, deliver: Deliver) -> None:
        """From now on, rows of this query go to `deliver(table, txn)`."""
        with self._changed:
            if uid in self._lines:
                raise InternalError(f"query {uid} has a sink already")
            self._lines[uid] = Line(uid, name, deliver)

    def remove(self, uid: int) -> None:
        """Forget a query, once its end is recorded: what it was still owed is given up.

        A call into its sink that is under way may end; it counts for nothing.
        """
        with self._changed:
            line = self._lines.get(uid)
            if line is not None:
                line.end()
                self._give_up(line)

    # -- commits ------------------------------------------------------------------------------

    def post(self, txn: int) -> None:
        """After a commit: queue what the outbox has of it. Waits for no sink, reads no rows.

        Rows of a query that is unknown are given up. After `close` nothing is taken: the next
        process delivers it.
        """
        self._take(txn, self._outbox.contents(txn))

    def restore(self, state_txn: int, delivered: Mapping[int, int]) -> None:
        """After a restart, when the queries are added and before the first `post`.

        `state_txn` is the last transaction that committed, `delivered` what that commit notes.
        Raises ExecutionError when a file is damaged; then nothing is queued.
        """
        self._outbox.drop_after(state_txn)
        found = [(txn, self._outbox.contents(txn)) for txn in self._outbox.txns()]
        named = {w.uid for _, contents in found for w in contents}
        with self._changed:
            for uid in delivered.keys() & (named | self._lines.keys()):
                self._ledger.settle(uid, delivered[uid])
        for txn, contents in found:
            self._take(txn, contents)
        self.noted(delivered)

    def delivered(self) -> dict[int, int]:
        """By query: up to which transaction all its rows were delivered or given up.

        A snapshot, to be written with the next commit. A query that nothing was delivered to yet is
        not in it; one that is gone stays in it for as long as a file names it.
        """
        with self._changed:
            return self._ledger.snapshot()

    def noted(self, delivered: Mapping[int, int]) -> None:
        """After a commit that holds this snapshot: drop the files that it makes superfluous."""
        with self._changed:
            free = self._ledger.note(delivered, self._lines.keys())
        for txn in free:
            try:
                self._outbox.drop(txn)
            except OSError:  # it stays until the next start, which knows that it is superfluous
                log.warning("outbox file of transaction %d is not removed", txn, exc_info=True)

    # -- waiting ------------------------------------------------------------------------------

    def waiting(self, uid: int) -> tuple[int, int]:
        """Rows and bytes that a query's sink has not taken yet."""
        with self._changed:
            line = self._lines.get(uid)
            return (line.rows, line.bytes) if line is not None else (0, 0)

    def drain(self, timeout_s: float | None = None, uid: int | None = None) -> bool:
        """Wait until nothing waits, of one query or of all; whether that is so.

        Callbacks have returned then, also those that tell of a failure. A sink or callback that
        calls this does not wait for its own query.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closing or not self._others(uid), timeout_s)
            left = self._closing and any(
                x.queue for x in self._lines.values() if uid in (None, x.uid)
            )
            return not left and not self._others(uid)

    def watch(self, now_s: float) -> None:
        """Fail the queries whose sink hangs or lags; to be called about once a second.

        `now_s` is of a clock that only moves forward. A call is timed from the first look at it,
        so a sink has up to one look more than `timeout_s`. The oldest transaction that waits does
        not count as lag, however large it is: handing it over may be all the sink does.
        """
        failed: list[tuple[Line, str, int]] = []
        with self._changed:
            for line in [x for x in self._busy if not x.over]:
                why = line.trouble(now_s, self._timeout_s, self._limit_bytes)
                if why is not None:
                    failed.append((line, why, self._end(line)))
        for line, why, rows in failed:
            log.warning("query %r fails: %s", line.name, why)
            self._tell_failed(line, why, rows)

    def close(self, timeout_s: float = 5.0) -> bool:
        """Take nothing more and start no call; whether the running calls ended in time.

        What was not delivered stays in the outbox. A call that returns later counts for nothing.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            ended = self._changed.wait_for(lambda: not self._others(None), timeout_s)
            for line in self._lines.values():
                line.over = True
            self._busy.clear()
            return ended

    # -- inside -------------------------------------------------------------------------------

    def _take(self, txn: int, contents: Sequence[Waiting]) -> None:
        idle = []
        with self._changed:
            if self._closing or not contents:
                return
            if not self._ledger.open(txn, (w.uid for w in contents)):
                return  # posted before
            for waiting in contents:
                if self._ledger.is_settled(waiting.uid, txn):
                    continue
                line = self._lines.get(waiting.uid)
                if line is None:
                    self._ledger.settle(waiting.uid, txn)
                elif line.put(waiting) and line not in self._busy:
                    self._busy.add(line)
                    idle.append(line)
        for line in idle:
            self._start(line)

    def _start(self, line: Line) -> None:
        name = f"headrace sink of {line.name}"
        try:
            threading.Thread(target=self._work, args=(line,), name=name, daemon=True).start()
        except RuntimeError as error:  # no more threads, or the process is ending
            self._fail(line, f"its sink got no thread: {error}")

    def _work(self, line: Line) -> None:
        """The life of a query's thread: until nothing waits or the query is over."""
        while (waiting := self._next(line)) is not None:
            self._hand_over(line, waiting)

    def _next(self, line: Line) -> Waiting | None:
        with self._changed:
            if line.over:
                return None
            if line.queue and not self._closing:
                line.worker = threading.get_ident()
                return line.queue[0]
            line.worker = None  # the number may be given to another thread
            self._busy.discard(line)
            self._changed.notify_all()
            return None

    def _hand_over(self, line: Line, waiting: Waiting) -> None:
        try:
            table = self._outbox.read(waiting)
        except BaseException as error:
            self._fail(line, f"its rows cannot be read back: {_said(error)}", error)
            return
        with self._changed:
            if not line.begin_call():
                return
        try:
            line.deliver(table, waiting.txn)
        except BaseException as error:  # SystemExit too: it must not end the thread unseen
            self._fail(line, f"its sink raised {_said(error)}", error)
            return
        with self._changed:
            if line.over:
                return
            if line.end_call():
                self._ledger.settle(line.uid, waiting.txn)
        _call(lambda: self._on_delivered(line.uid, waiting.txn, waiting.span, table))

    def _fail(self, line: Line, why: str, error: BaseException | None = None) -> None:
        with self._changed:
            if line.over:
                return
            rows = self._end(line)
        log.warning("query %r fails: %s", line.name, why, exc_info=error)
        self._tell_failed(line, why, rows)

    def _end(self, line: Line) -> int:
        line.worker = threading.get_ident()  # whoever tells of it must not wait for it
        return line.end()

    def _tell_failed(self, line: Line, why: str, rows: int) -> None:
        _call(lambda: self._on_failed(line.uid, f"{why}; {rows} rows were not delivered"))
        with self._changed:
            self._give_up(line)

    def _give_up(self, line: Line) -> None:
        if self._lines.get(line.uid) is line:
            del self._lines[line.uid]
            self._ledger.forget(line.uid, line.last_txn)
        self._busy.discard(line)
        self._changed.notify_all()

    def _others(self, uid: int | None) -> bool:
        """Whether a thread other than this one is busy with a query, or with any."""
        me = threading.get_ident()
        return any(x.worker != me and uid in (None, x.uid) for x in self._busy)


def _call(callback: Callable[[], object]) -> None:
    try:
        callback()
    except BaseException:
        log.warning("a callback of a delivery failed", exc_info=True)


def _said(error: BaseException) -> str:
    """An exception in words, also one that cannot say what it is."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
