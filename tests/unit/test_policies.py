"""scheduling/policies: who goes first, and why; the starvation bound; memory mode in and out."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import headrace as hr
from headrace.progress.sweep import SweepEstimate
from headrace.scheduling import POLICIES, Memory, PipelineView, Snapshot, Stage, SweepView
from headrace.scheduling.patience import with_patience
from headrace.scheduling.policies import policy_named
from headrace.scheduling.policies.klink import Klink, freed_by

GATED = [name for name, policy in POLICIES.items() if policy.gated]


def view(
    name: str, sweep_s: float = 100.0, *, queued: float = 1_000.0, **more: object
) -> PipelineView:
    estimate = SweepEstimate(sweep_s, sweep_s, 0.1, sweep_s - 0.2, sweep_s + 0.2, 400)
    base = PipelineView(
        name=name,
        stages=(Stage(queued, 1e-5, 0.01),),
        sweeps=(SweepView(estimate),),
        waits_since_s=0.0,
        last_turn_s=0.0,
        oldest_s=0.0,
        deadline_s=sweep_s,
    )
    return replace(base, **more)  # type: ignore[arg-type]


def at(now: float, *pipelines: PipelineView, memory: Memory | None = None) -> Snapshot:
    return Snapshot(now, 0.12, pipelines, memory or Memory())


def names(policy: str, snapshot: Snapshot) -> list[str]:
    return [turn.name for turn in POLICIES[policy].order(snapshot).ready]


def test_klink_runs_first_what_is_due_first() -> None:
    snapshot = at(10.0, view("late", 14.0), view("soon", 10.5), view("now", 9.0))
    assert names("klink", snapshot) == ["now", "soon", "late"]


def test_klink_counts_what_is_queued() -> None:
    # Both are due in 2 s; the second has 1.5 s of work to do until then.
    snapshot = at(10.0, view("little", 12.0), view("much", 12.0, queued=150_000))
    assert names("klink", snapshot) == ["much", "little"]


def test_of_two_overdue_pipelines_the_one_that_waits_longer_goes_first() -> None:
    snapshot = at(10.0, view("b", 9.0), view("a", 4.0))
    assert names("klink", snapshot) == ["a", "b"]


def test_klink_holds_what_is_not_due_and_not_worth_a_run() -> None:
    # 1,000 events are 10 ms of work, a run takes 200 ms: better wait for the sweep.
    small = view("small", 14.0, fixed_s=0.2)
    large = view("large", 14.5, fixed_s=0.2, queued=100_000)
    order = Klink().order(at(10.0, small, large))
    assert [(t.name, t.held) for t in order.turns] == [("large", False), ("small", True)]
    assert "not worth a run" in order.turns[1].reason
    assert names("klink", at(14.3, small)) == ["small"], "once its sweep must have come, it runs"
    assert names("klink", at(10.0, replace(small, hurried=True))) == ["small"], "somebody waits"


def test_a_run_before_the_sweep_must_not_be_in_the_way_of_one_that_is_due() -> None:
    # "early" has 1 s of work that could be done before; "next" is due in 0.5 s, or only in 3 s.
    early = view("early", 14.0, fixed_s=0.2, queued=100_000)
    (held,) = [t for t in Klink().order(at(10.0, early, view("next", 10.3))).turns if t.held]
    assert held.name == "early"
    assert "in the way" in held.reason
    assert held.held_until_s == pytest.approx(14.2)
    assert names("klink", at(10.0, early, view("next", 12.8))) == ["next", "early"]
    assert names("klink", at(10.0, early)) == ["early"], "it is in nobody's way"


def test_a_pipeline_that_is_due_does_not_drag_in_what_came_after_its_sweep() -> None:
    # 40 s of events wait, 400 ms of work; the sweep came after 10 s of them.
    behind = view("p", 70.0, queued=40_000, oldest_s=60.0, fixed_s=0.1)
    (turn,) = Klink().order(at(100.0, behind)).turns
    assert turn.until_s == pytest.approx(70.2), "300 ms of work that can wait are left out"
    (turn,) = Klink().order(at(100.0, replace(behind, fixed_s=0.5))).turns
    assert turn.until_s is None, "a run of its own would cost more"
    (turn,) = Klink().order(at(100.0, replace(behind, oldest_s=80.0))).turns
    assert turn.until_s is None, "what had come by then is read already"


def test_a_pipeline_without_known_windows_goes_by_how_long_it_waits() -> None:
    unknown = view("unknown", waits_since_s=4.0, sweeps=())
    order = Klink().order(at(10.0, view("soon", 12.0), view("over", 1.0), unknown))
    assert [t.name for t in order.turns] == ["over", "unknown", "soon"]


def test_rivals_go_by_their_own_lights() -> None:
    first = view("first", 30.0, oldest_s=1.0, last_turn_s=5.0)
    second = view("second", 20.0, oldest_s=2.0, last_turn_s=3.0, stages=(Stage(10, 1e-5, 0.9),))
    snapshot = at(10.0, first, second)
    assert names("fcfs", snapshot) == ["first", "second"], "the oldest event"
    assert names("round-robin", snapshot) == ["second", "first"], "ran longest ago"
    assert names("highest-rate", snapshot) == ["second", "first"], "more rows per second of work"
    assert names("streambox", snapshot) == ["second", "first"], "the earlier deadline"
    begun = at(10.0, replace(first, in_progress=True), second)
    assert names("streambox", begun) == ["first", "second"], "until its watermark is through"
    assert not POLICIES["default"].gated


def test_a_policy_that_does_not_exist_is_refused_with_the_choices() -> None:
    with pytest.raises(hr.QueryError, match=r"no policy 'klink2'.*did you mean 'klink'.*fcfs"):
        policy_named("klink2")


@pytest.mark.parametrize("policy", GATED)
def test_nobody_waits_for_ever(policy: str) -> None:
    # "poor" has nothing that any policy likes: youngest event, last deadline, poor yield.
    poor = view("poor", 1e6, oldest_s=99.0, last_turn_s=99.0, stages=(Stage(1, 1.0, 1e-9),))
    others = [view(f"p{n}", 50.0, stages=(Stage(1e6, 1e-6, 0.5),)) for n in range(5)]
    snapshot = at(100.0, *(replace(o, waits_since_s=99.0) for o in others), poor)
    plain = POLICIES[policy].order(snapshot)
    assert plain.turns[-1].name == "poor"
    patient = with_patience(plain, snapshot, patience_s=30.0)
    assert patient.ready[0].name == "poor"
    assert "waited" in patient.ready[0].reason
    assert sorted(t.name for t in patient.turns) == sorted(t.name for t in plain.turns)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_an_order_names_every_pipeline_once_and_is_the_same_again(policy: str) -> None:
    rng = random.Random(8)
    pipelines = [
        view(
            f"p{n}",
            rng.uniform(90, 110),
            queued=rng.uniform(0, 1e5),
            oldest_s=rng.uniform(80, 100),
            last_turn_s=rng.uniform(80, 100),
            waits_since_s=rng.uniform(95, 100),
        )
        for n in range(50)
    ]
    snapshot = at(100.0, *pipelines, memory=Memory(8.0, 10.0))
    order = POLICIES[policy].order(snapshot)
    assert sorted(t.name for t in order.turns) == sorted(p.name for p in pipelines)
    assert POLICIES[policy].order(snapshot) == order


def test_memory_mode_begins_at_b_and_ends_when_half_is_free_or_time_is_up() -> None:
    klink = Klink(enter_at=0.7)
    assert klink.order(at(10.0, memory=Memory(6.9, 10.0))).memory.entered_at_s is None
    entered = klink.order(at(10.0, memory=Memory(7.0, 10.0))).memory
    assert (entered.entered_at_s, entered.used_at_entry) == (10.0, 7.0)
    goes_on = klink.order(at(12.0, memory=replace(entered, used=4.0))).memory
    assert goes_on.entered_at_s == 10.0
    assert klink.order(at(12.0, memory=replace(entered, used=3.5))).memory.entered_at_s is None
    assert klink.order(at(13.0, memory=replace(entered, used=5.0))).memory.entered_at_s is None
    again = klink.order(at(13.0, memory=replace(entered, used=8.0))).memory
    assert again.entered_at_s == 13.0, "three seconds were not enough: it begins again"
    without = Klink(memory_mode=False).order(at(10.0, memory=Memory(9.9, 10.0)))
    assert without.memory.entered_at_s is None


def test_in_memory_mode_the_pipeline_goes_first_that_frees_most() -> None:
    due = view("due", 9.0, queued=10.0)
    full = view("full", 60.0, queued=5_000.0)
    keeps = view("keeps", 60.0, stages=(Stage(9_000.0, 1e-5, 1.0),))
    snapshot = at(10.0, due, full, keeps, memory=Memory(9.0, 10.0, 9.5, 9.0))
    assert names("klink", snapshot) == ["full", "due", "keeps"]
    alike = view("alike", 40.0, queued=5_001.0)
    snapshot = at(10.0, full, alike, memory=Memory(9.0, 10.0, 9.5, 9.0))
    assert names("klink", snapshot) == ["alike", "full"], "about the same: by slack"


def test_what_a_run_frees_is_bounded_by_the_cycle_and_stops_where_most_is_freed() -> None:
    # A cheap filter keeps a tenth; what follows is dear and keeps all: stop after the filter.
    filtering = view("f", stages=(Stage(10_000, 1e-6, 0.1), Stage(0, 1e-3, 1.0)))
    freed, stages = freed_by(filtering, cycle_s=0.12)
    assert (freed, stages) == (pytest.approx(9_000), 1)
    slow = view("s", stages=(Stage(10_000, 1e-3, 0.1),))
    assert freed_by(slow, cycle_s=0.12) == (pytest.approx(120 * 0.9), None)
    batch = replace(slow, fixed_s=0.1)
    assert freed_by(batch, cycle_s=0.12) == (pytest.approx(batch.queued * 0.9), None), (
        "a micro-batch is not stopped by the clock"
    )
