"""runtime/gate.py: who is let in and when; nobody is left standing. Pipelines here are threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from headrace.progress.sweep import SweepEstimate
from headrace.runtime.gate import Gate
from headrace.scheduling import PipelineView, Snapshot, Stage, SweepView
from headrace.scheduling.order import Order
from headrace.scheduling.policies import policy_named
from headrace.scheduling.snapshot import Memory
from headrace.testing import ManualClock
from headrace.types import SystemClock
from tests.waiting import GUARD_S, until


@dataclass
class Runner:
    """A pipeline that wants `runs` turns of `takes_s` each."""

    name: str
    gate: Gate
    due_in_s: float = -1.0
    fixed_s: float = 0.0
    hurried: bool = False
    log: list[str] = field(default_factory=list)

    def view(self, now_s: float, waits_since_s: float) -> PipelineView:
        sweep = waits_since_s + self.due_in_s
        estimate = SweepEstimate(sweep, sweep, 0.0, sweep, sweep, 100)
        return PipelineView(
            name=self.name,
            stages=(Stage(100.0, 1e-6, 0.1),),
            sweeps=(SweepView(estimate),),
            waits_since_s=waits_since_s,
            last_turn_s=0.0,
            oldest_s=waits_since_s,
            deadline_s=sweep,
            fixed_s=self.fixed_s,
            hurried=self.hurried,
        )

    def turn(self, work: Callable[[], object] = lambda: None) -> threading.Thread:
        def run() -> None:
            turn = self.gate.enter(self, lambda: True)
            if turn is None:
                self.log.append(f"-{self.name}")
                return
            self.log.append(self.name)
            work()
            self.gate.leave()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread


def gate(policy: str = "klink", concurrency: int = 1, **more: object) -> Gate:
    clock = more.pop("clock", None) or SystemClock()
    return Gate(policy_named(policy), concurrency, clock, **more)  # type: ignore[arg-type]


def await_waiting(a_gate: Gate, count: int) -> None:
    until(lambda: a_gate.metrics().waiting >= count, lambda: "they never asked")


def await_held(a_gate: Gate, name: str) -> None:
    """Until a decision has looked at it, and held it."""

    def is_held() -> bool:
        return any(t.name == name and t.held for d in tuple(a_gate.decisions) for t in d.turns)

    until(is_held, lambda: list(a_gate.decisions))


def test_those_who_wait_are_let_in_by_the_policy_one_at_a_time() -> None:
    log: list[str] = []
    one = gate()
    go_on = threading.Event()
    threads = [Runner("first", one, log=log).turn(lambda: go_on.wait(GUARD_S))]
    until(lambda: bool(log))
    for name, due in (("late", 30.0), ("soon", 1.0), ("over", -5.0)):
        threads.append(Runner(name, one, due_in_s=due, log=log).turn())
    await_waiting(one, 3)
    assert log == ["first"], "there is room for one"
    go_on.set()
    for thread in threads:
        thread.join(GUARD_S)
    assert log == ["first", "over", "soon", "late"]
    assert one.metrics().running == 0
    assert one.metrics().decisions >= 4
    one.close()


def test_without_a_gate_everybody_is_let_in_at_once() -> None:
    log: list[str] = []
    none = gate("default")
    together = threading.Barrier(3, timeout=GUARD_S)
    threads = [Runner(n, none, log=log).turn(together.wait) for n in "abc"]
    for thread in threads:
        thread.join(GUARD_S)
    assert sorted(log) == ["a", "b", "c"]
    assert none.metrics().decisions == 0
    none.close()


def test_what_is_held_is_let_in_when_it_is_due_or_when_the_policy_changes() -> None:
    log: list[str] = []
    clock = ManualClock(1_000.0)
    one = gate(clock=clock)
    soon = Runner("soon", one, due_in_s=0.3, fixed_s=1.0, log=log).turn()
    await_held(one, "soon")
    assert log == [], "not before: the clock stands still"
    clock.advance(0.3)
    soon.join(GUARD_S)
    assert log == ["soon"]
    never = Runner("never", one, due_in_s=1e6, fixed_s=1.0, log=log).turn()
    await_held(one, "never")
    assert log == ["soon"]
    assert "not worth a run" in one.decisions[-1].turns[0].reason
    one.change(policy_named("default"), 1)
    never.join(GUARD_S)
    assert log == ["soon", "never"]
    one.close()


def test_those_that_are_held_sleep_and_decisions_leave_them_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headrace.runtime.gate._LOOK_S", 1e5)  # nobody is looked at just so
    log: list[str] = []
    one = gate(clock=ManualClock(1_000.0))
    asked: list[str] = []

    @dataclass
    class Asked(Runner):
        def view(self, now_s: float, waits_since_s: float) -> PipelineView:
            asked.append(self.name)
            return super().view(now_s, waits_since_s)

    sleeper = Asked("sleeper", one, due_in_s=1e6, fixed_s=1.0, log=log)
    sleeping = sleeper.turn()
    await_held(one, "sleeper")
    for _ in range(20):
        Runner("busy", one, log=log).turn().join(GUARD_S)
    assert log == ["busy"] * 20
    assert asked == ["sleeper"], "once, not for every decision"
    left_out = [d for d in one.decisions if "sleeper" not in {t.name for t in d.turns}]
    assert len(left_out) == 20
    assert left_out[0].snapshot.asleep_until_s > 1e5, "but when it is due is known"
    sleeper.hurried = True
    one.hurry()
    sleeping.join(GUARD_S)
    assert log[-1] == "sleeper", "somebody waits for it: nothing else would wake it"
    one.close()


def test_closing_and_dismissing_let_nobody_stand() -> None:
    log: list[str] = []
    one = gate()
    held = [Runner(n, one, due_in_s=1e6, fixed_s=1.0, log=log) for n in ("a", "b")]
    threads = [h.turn() for h in held]
    await_waiting(one, 2)
    one.dismiss(held[0])
    threads[0].join(GUARD_S)
    assert log == ["-a"]
    one.close()
    threads[1].join(GUARD_S)
    assert log == ["-a", "-b"]
    assert one.enter(held[0], lambda: True) is None, "a closed gate lets nobody in"


def test_a_pipeline_whose_stream_has_died_goes_home() -> None:
    one = gate()
    assert one.enter(Runner("x", one, due_in_s=1e6, fixed_s=1.0), lambda: False) is None
    one.close()


@dataclass(frozen=True)
class Broken:
    name = "broken"
    gated = True

    def order(self, snapshot: Snapshot) -> Order:
        raise ZeroDivisionError


def test_a_policy_that_fails_stops_nobody(caplog: pytest.LogCaptureFixture) -> None:
    log: list[str] = []
    one = Gate(Broken(), 1, SystemClock())
    Runner("a", one, log=log).turn().join(GUARD_S)
    assert log == ["a"]
    assert "broken" in caplog.text
    one.close()


class Silent(Runner):
    def view(self, now_s: float, waits_since_s: float) -> PipelineView:
        raise OSError("the source does not answer")


def test_a_pipeline_that_cannot_be_looked_at_hurts_nobody(caplog: pytest.LogCaptureFixture) -> None:
    log: list[str] = []
    one = gate()
    held = Runner("held", one, due_in_s=1e6, fixed_s=1.0, log=log)
    waiting = held.turn()
    await_waiting(one, 1)
    Silent("silent", one, log=log).turn().join(GUARD_S)
    assert log == ["silent"], "its batch will say what is wrong; the other is still held"
    assert "cannot tell" in caplog.text
    one.close()
    waiting.join(GUARD_S)


def test_memory_pressure_reaches_the_policy() -> None:
    used = [Memory(0.9, 1.0)]
    one = gate(used_memory=lambda: used[0])
    Runner("a", one).turn().join(GUARD_S)
    metrics = one.metrics()
    assert metrics.memory_mode
    assert metrics.memory_share == pytest.approx(0.9)
    used[0] = replace(used[0], used=0.1)
    Runner("a", one).turn().join(GUARD_S)
    assert not one.metrics().memory_mode
    one.close()
