"""The parts of an experiment, one after the other, each shown when it is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from headrace.lab.simulator import experiments, tables
from headrace.lab.simulator.bars import shown_workers
from headrace.lab.simulator.estimates import DELAYS, Sequel, accuracies
from headrace.lab.simulator.experiments import Plan
from headrace.lab.simulator.findings import Findings
from headrace.lab.simulator.overhead import overheads
from headrace.lab.simulator.trials import Seen, Trial, run_trial
from headrace.lab.simulator.workers import Workers


def run_sections(plan: Plan, sections: Sequence[str], jobs: int, console: Console) -> Findings:
    """Ctrl-C ends it; what was finished until then is in the findings."""
    found = Findings()
    with shown_workers(jobs, console) as (workers, describe):
        for section in sections:
            describe(section)
            try:
                shown = _SECTIONS[section](workers, plan, found)
            except KeyboardInterrupt:
                workers.interrupted, shown = True, []
            for table in shown:
                if table.row_count:
                    console.print(table)
            if workers.interrupted:
                found.interrupted = True
                break
    return found


def _queries(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    run = _run(workers)
    found.queries = experiments.by_queries(run, plan)
    found.distributions = experiments.distributions(run, plan)
    return [
        tables.latency_table(found.queries, f"Latency, {plan.workload}", "queries"),
        tables.resources_table(
            found.queries, f"Resources, {plan.workload}; memory in million events", "queries"
        ),
    ]


def _memory(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    found.memory = experiments.over_time(_run(workers), plan)
    title = f"Memory and cores over time, {plan.closely} queries"
    return [tables.course_table(found.memory, title)]


def _estimates(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    conditions = plan.conditions
    sequels = [Sequel(delay, conditions.history, conditions.seed) for delay in DELAYS]
    done = workers.results(accuracies, sequels)
    found.estimates = [a for of_one in done if of_one is not None for a in of_one]
    return [tables.estimates_table(found.estimates, "Sweeps within their interval, and its width")]


def _overhead(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    found.overhead = overheads(plan.workload, plan.policies, plan.conditions, workers.told)
    cycle_ms = 1e3 * plan.conditions.cycle_s
    title = f"Decisions, and the share of a cycle of {cycle_ms:g} ms that one takes (measured)"
    return [tables.overhead_table(found.overhead, title)]


def _nodes(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    found.nodes = experiments.by_nodes(_run(workers), plan)
    cores = plan.conditions.cores
    title = f"Latency with {plan.closely} queries and {cores} cores for every node"
    return [tables.latency_table(found.nodes, title, "nodes")]


def _sensitivity(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    found.sensitivity = experiments.by_threshold(_run(workers), plan)
    title = f"Klink whose memory mode begins at b, {plan.closely} queries"
    return [tables.mixed_table(found.sensitivity, title, "b")]


def _ablation(workers: Workers, plan: Plan, found: Findings) -> list[Table]:
    found.ablation = experiments.ablation(_run(workers), plan)
    title = f"Where the gain comes from, {plan.closely} queries"
    return [tables.mixed_table(found.ablation, title, "policy")]


_SECTIONS: dict[str, Callable[[Workers, Plan, Findings], list[Table]]] = {
    "queries": _queries,
    "memory": _memory,
    "estimates": _estimates,
    "overhead": _overhead,
    "nodes": _nodes,
    "sensitivity": _sensitivity,
    "ablation": _ablation,
}
SECTIONS = tuple(_SECTIONS)


def _run(workers: Workers) -> experiments.Run:
    def run(trials: Sequence[Trial]) -> list[Seen | None]:
        return workers.results(run_trial, trials)

    return run
