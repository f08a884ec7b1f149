"""simulator/: a small run by hand, what must be conserved, and the paper's headline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import headrace as hr
from headrace.lab.delays import Constant, Uniform
from headrace.lab.simulator.model import Conditions, Operator, QuerySpec, queries
from headrace.lab.simulator.outcome import Outcome
from headrace.lab.simulator.part import Part, Way
from headrace.lab.simulator.queues import Watermark
from headrace.lab.simulator.run import simulate
from headrace.scheduling import POLICIES
from tests.amounts import SOAK, rounds

CALM = Conditions(cores=4, seconds=60.0, memory_events=1e9, buffer_events=1e9)


def test_a_way_counts_what_is_kept_and_what_a_window_emits() -> None:
    # 10 events: 10 at the filter, 4 at the count; a sweep sends 5 rows through the sink.
    operators = (
        Operator("filter", 1.0, 0.4),
        Operator("count", 10.0, rows=5.0),
        Operator("sink", 0.1),
    )
    way = Way.of(operators)
    assert way.cost_s == pytest.approx(1.0 + 0.4 * 10.0)
    assert way.steps == pytest.approx(1.4)
    assert (way.leaves, way.rows) == (0.0, pytest.approx(5.0))
    assert way.sweep_s == pytest.approx(0.5)


def test_a_run_by_hand() -> None:
    #  100 events of 10 ms, then a sweep of 2 rows of 50 ms, then 100 more; one second at a time
    spec = QuerySpec("q", (Operator("count", 0.01, rows=2.0), Operator("sink", 0.05)), 1, 3, 3)
    part = Part.of(0, spec, 0)
    part.inputs[0].push(100, 0.0)
    part.inputs[0].mark(Watermark(0, 3.0, 3.0, 3.0))
    part.inputs[0].push(100, 0.0)
    out: list[float] = []
    for second in range(3):
        part.run(float(second), 1.0, 1.0, lambda _, at: out.append(at))
    assert out == [pytest.approx(1.1)], "1 s of events, then 0.1 s for the rows"
    assert part.queued == pytest.approx(0.0, abs=1e-6)
    assert part.run(3.0, 1.0, 1.0, lambda _, at: out.append(at))[0] == 0.0, "nothing is left"


def test_running_some_stages_leaves_events_and_watermarks_before_the_next() -> None:
    spec = QuerySpec(
        "q", (Operator("filter", 0.01, 0.5), Operator("count", 0.1, rows=1.0)), 1, 3, 3
    )
    part = Part.of(0, spec, 0)
    part.inputs[0].push(100, 0.0)
    part.inputs[0].mark(Watermark(0, 3.0, 3.0, 3.0))
    out: list[float] = []
    part.run(0.0, 10.0, 1.0, lambda _, at: out.append(at), last=1)
    assert [stage.queued for stage in part.stages()] == [0.0, pytest.approx(50.0)]
    assert (out, part.has_work) == ([], True)
    part.run(10.0, 10.0, 1.0, lambda _, at: out.append(at))
    assert out == [pytest.approx(15.0)]


def test_a_join_is_swept_by_the_last_of_its_streams() -> None:
    spec = QuerySpec("q", (Operator("join", 0.0, rows=1.0),), 1, 3, 3, streams=2)
    part = Part.of(0, spec, 0)
    part.inputs[0].mark(Watermark(0, 7.0, 7.0, 6.0))
    out: list[float | None] = []
    part.run(8.0, 1.0, 1.0, lambda mark, _: out.append(mark.sweeps_s))
    assert out == []
    part.inputs[1].mark(Watermark(1, 3.5, 3.5, 3.0))
    part.run(9.0, 1.0, 1.0, lambda mark, _: out.append(mark.sweeps_s))
    assert out == [3.0], "the lower watermark counts"
    part.inputs[1].mark(Watermark(1, 2.0, 9.0, None))
    part.run(9.5, 1.0, 1.0, lambda mark, _: out.append(mark.sweeps_s))
    assert out == [3.0], "a watermark that goes backwards moves nothing"


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_with_cores_to_spare_every_policy_gives_windows_as_they_come(policy: str) -> None:
    specs = queries("ysb", 4, seed=1)
    conditions = replace(CALM, policy=policy, delay=Constant(0.1))
    outcome = simulate(specs, conditions)
    assert outcome.unfinished == 0
    # A delay of 0.1 s, up to two cycles, and a window's work: never more.
    assert outcome.percentile_s(100) < 0.1 + 3 * conditions.cycle_s
    windows = 4 * (0.55 * 60.0) / 3.0
    assert len(outcome.latencies_s) == pytest.approx(windows, abs=4)


@pytest.mark.parametrize("workload", ["ysb", "nyt", "lrb"])
def test_all_that_is_sent_is_processed_or_waits(workload: str) -> None:
    specs = [replace(spec, starts_s=0.0) for spec in queries(workload, 6, seed=3)]
    slow = replace(CALM, cores=1, policy="klink", seconds=30.0)
    outcome = simulate(specs, slow)
    sent = sum(s.rate_per_s * s.streams * 30.0 for s in specs)
    steps = Way.of(specs[0].operators).steps
    left = outcome.moments[-1].queued
    done = outcome.moments[-1].processed / steps
    # Events that wait inside were processed in part, so the sum lies between the two.
    assert done <= sent * 1.001
    assert done + left >= sent * 0.97
    assert outcome.cores_busy == pytest.approx(1.0, abs=0.01), "a core that could work, works"


def test_the_same_seed_gives_the_same_outcome() -> None:
    def run(seed: int) -> Outcome:
        return simulate(queries("ysb", 5, seed), replace(CALM, cores=1, seconds=20.0, seed=seed))

    assert run(5) == run(5)
    assert run(5) != run(6)


def test_estimates_keep_their_word_inside_a_run() -> None:
    outcome = simulate(queries("nyt", 8, 2), replace(CALM, seconds=200.0, delay=Uniform(0.05, 0.3)))
    assert len(outcome.estimated) > 500
    assert outcome.covered >= 0.94
    assert outcome.width_s < 0.3


def test_over_capacity_klink_halves_latency_and_keeps_memory_low() -> None:
    # The paper's figure 6 and 8, shortened: 70 queries where about 50 can be served.
    specs = queries("ysb", 70, seed=7)
    policies = ("default", "fcfs", "streambox", "klink") if SOAK else ("default", "klink")
    outcomes = {
        policy: simulate(specs, Conditions(policy=policy, seconds=rounds(80, 120)))
        for policy in policies
    }
    klink, default = outcomes["klink"], outcomes["default"]
    best = min(o.mean_s for name, o in outcomes.items() if name != "klink")
    assert klink.mean_s <= 0.5 * default.mean_s
    assert klink.mean_s <= 0.55 * best
    assert klink.percentile_s(99) <= 0.45 * default.percentile_s(99)
    assert klink.throughput_per_s >= 1.2 * default.throughput_per_s
    bound = klink.conditions.memory_events
    full = (0.9 if SOAK else 0.75) * bound
    assert np.mean(klink.queued) < 0.55 * bound < full < np.mean(default.queued)


def test_a_query_that_its_policy_never_chooses_is_not_starved() -> None:
    # One query whose path yields nothing, which Highest Rate would never choose.
    rich = queries("ysb", 6, 1)
    poor = replace(
        rich[0],
        name="poor",
        operators=(Operator("keep nothing", 5e-3, 1e-6), Operator("count", 1e-6, rows=1.0)),
        rate_per_s=20.0,
    )
    conditions = replace(CALM, cores=1, policy="highest-rate", buffer_events=1e5)

    def windows(patience_s: float) -> int:
        outcome = simulate([*rich, poor], replace(conditions, patience_s=patience_s))
        return sum(o.query == 6 and o.done_at_s is not None for o in outcome.outputs)

    assert (windows(1e9), windows(2.0) >= 5) == (0, True)


def test_on_several_nodes_queries_run_through_and_forwarding_is_told() -> None:
    specs = queries("ysb", 12, seed=4, nodes=3)
    assert {op.node for s in specs for op in s.operators} == {0, 1, 2}
    conditions = replace(CALM, nodes=3, cores=3, policy="klink")
    for forwarding in (True, False):
        outcome = simulate(specs, replace(conditions, forwarding=forwarding))
        assert outcome.unfinished == 0
        assert outcome.percentile_s(100) < 2.0


def test_what_cannot_be_simulated_is_refused_in_words() -> None:
    with pytest.raises(hr.QueryError, match=r"no workload 'ysbb'.*ysb"):
        queries("ysbb", 3, 1)
    with pytest.raises(hr.QueryError, match=r"no policy 'fifo'"):
        simulate(queries("ysb", 1, 1), Conditions(policy="fifo"))
    with pytest.raises(hr.QueryError, match="no query"):
        simulate([], Conditions())
    with pytest.raises(hr.QueryError, match="must be positive"):
        simulate(queries("ysb", 1, 1), Conditions(cores=0))
    with pytest.raises(hr.QueryError, match="no window"):
        QuerySpec("q", (Operator("map", 1.0),), 1, 1, 1)
    with pytest.raises(hr.QueryError, match="placed on node 2"):
        simulate(queries("ysb", 9, 1, nodes=3), Conditions(nodes=2))
