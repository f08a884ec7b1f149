"""approximate/early_clock.py: who wakes a pipeline before a window ends."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from headrace.approximate.early_clock import EarlyClock
from headrace.testing import ManualClock
from tests.waiting import GUARD_S, until

S = 1_000_000


@dataclass
class Watched:
    """Windows of one second on a clock that stands still."""

    clock: ManualClock = field(default_factory=ManualClock)
    ends: queue.Queue[int] = field(default_factory=queue.Queue)
    go_on: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.go_on.set()
        self.early = EarlyClock(self.clock, lambda after: (after // S + 1) * S, self._close)
        self.early.look()

        until(lambda: self.early._next_us is not None)  # its thread has looked

    def _close(self, end_us: int) -> None:
        self.ends.put(end_us)
        assert self.go_on.wait(GUARD_S)

    def at(self, now_s: float) -> None:
        self.clock.advance(now_s - self.clock.now())
        self.early.look()


@pytest.fixture
def watched() -> Iterator[Watched]:
    one = Watched()
    yield one
    one.go_on.set()
    one.early.close()


def test_a_window_is_looked_at_a_moment_before_its_end_and_once(watched: Watched) -> None:
    watched.at(0.9)
    with pytest.raises(queue.Empty):
        watched.ends.get(timeout=0.05)
    watched.at(0.998)
    assert watched.ends.get(timeout=GUARD_S) == 1 * S
    watched.at(1.5)
    with pytest.raises(queue.Empty):
        watched.ends.get(timeout=0.05)
    watched.at(2.0)
    assert watched.ends.get(timeout=GUARD_S) == 2 * S


def test_a_batch_that_would_be_in_the_way_waits_until_the_window_is_answered(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.approximate.early_clock._PATIENCE_S", GUARD_S)
    watched.go_on.clear()
    watched.at(0.95)
    held = threading.Thread(target=watched.early.hold, args=(0.2,))
    held.start()
    held.join(0.1)
    assert held.is_alive()
    watched.at(1.0)
    assert watched.ends.get(timeout=GUARD_S) == 1 * S
    watched.go_on.set()
    held.join(GUARD_S)
    assert not held.is_alive()


@pytest.mark.parametrize(("now_s", "batch_s"), [(0.5, 0.2), (0.95, 0.01)])
def test_a_batch_that_is_over_in_time_does_not_wait(
    watched: Watched, now_s: float, batch_s: float
) -> None:
    watched.go_on.clear()
    watched.at(now_s)
    watched.early.hold(batch_s)
    assert watched.ends.empty()
