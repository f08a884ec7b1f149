"""One running system under several values of a setting, in turns: ratios from one run.

Starting a system anew for every value would compare fresh processes on a machine whose mood
changes; here all values meet the same system, again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import headrace as hr
from headrace.lab.bench.driver.stage import Setup, Stage
from headrace.lab.bench.results.summary import record_of
from headrace.lab.bench.run import (
    BASE,
    Record,
    Watcher,
    await_ready,
    begin_record,
    check_rate,
    go_on,
    interval,
    recorded,
)

LATENCIES = ("avg", "p50", "p99")
FIGURES = (*LATENCIES, "taken_per_s")


def alternate(
    setup: Setup,
    rate: float,
    seconds: float,
    setting: str,
    values: Sequence[str],
    rounds: int,
    pause_s: float,
    watcher: Watcher,
) -> Record:
    """Offer a rate all the time; every value is measured for so long, in every round.

    `pause_s` after a change nothing is measured, and what the last value left waiting is given up:
    it is not the next one's. Before the first round every value runs for a pause, so that none of
    them meets a cold system. The order turns round from one round to the next, so that no value
    always follows the same one.
    """
    if len(values) < 2 or len(set(values)) < len(values):
        raise hr.HeadraceError(f"{setting} needs two or more different values, not {values}")
    setup = replace(setup, workload=setup.workload.at_rate(rate))
    record = begin_record(setup, "alternate", check_rate(setup, rate))
    record |= {"rate": rate, "seconds": seconds, "setting": setting, "values": list(values)}
    record |= {"rounds": [], "figures": {}, "ratios": {}}
    with recorded(record), Stage(setup) as stage:
        await_ready(stage, watcher)
        record["settings"]["sut"] = stage.server.settings
        watcher.say("warming up until results come")
        stage.settle(rate, watcher.waiting)
        for value in values:
            _turn_to(stage, setting, value, rate, pause_s, watcher)
        for number in range(rounds):
            measured: Record = {}
            record["rounds"].append(measured)
            for value in values if number % 2 == 0 else reversed(values):
                watcher.say(f"round {number + 1} of {rounds}: {setting}={value}")
                _turn_to(stage, setting, value, rate, pause_s, watcher)
                stretch = stage.measure(rate, seconds, watcher.moment)
                base = {k: record[k] for k in BASE} | {"kind": "run"}
                run = base | record_of(setup, stretch) | {"said": stage.server.said}
                measured[value] = run | {"sut": f"{setup.label}, {setting}={value}"}
                go_on(stretch)
                summarize(record)
    return record


def _turn_to(
    stage: Stage, setting: str, value: str, rate: float, pause_s: float, watcher: Watcher
) -> None:
    stage.change(setting, value)
    stage.load.discard()
    go_on(stage.measure(rate, pause_s, watcher.moment))


def summarize(record: Record) -> None:
    """Figures of every value over the rounds, and those of the last value over the others'."""
    values = record["values"]
    whole = [r for r in record["rounds"] if all(_figures(r.get(v)) for v in values)]
    if not whole:
        return
    found = [{v: _figures(r[v]) for v in values} for r in whole]
    record["figures"] = {
        v: {f: interval([r[v][f] for r in found]) for f in FIGURES} for v in values
    }
    last = values[-1]
    record["ratios"] = {
        f"{last} / {v}": {f: interval([r[last][f] / r[v][f] for r in found]) for f in FIGURES}
        for v in values[:-1]
    }


def _figures(run: Record | None) -> dict[str, float]:
    """Event-time latency in seconds, and what the slowest query took in, in events per second."""
    summary = (run or {}).get("summary") or {}
    latency = summary.get("event_time_latency_s")
    if not latency:
        return {}
    return {f: latency[f] for f in LATENCIES} | {"taken_per_s": summary["taken_per_s"]}
