"""One running system under several values of a setting, in turns: ratios from one run.

Starting a system anew for every value would compare fresh processes on a machine whose mood
changes; here all values meet the same system, again and again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import headrace as hr
from headrace.bench.driver.stage import Setup, Stage
from headrace.bench.results.summary import record_of
from headrace.bench.run import (
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

FIGURES = ("avg", "p50", "p99")


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

    `pause_s` after a change nothing is measured. The order turns round from one round to the next,
    so that no value always follows the same one.
    """
    if len(values) < 2 or len(set(values)) < len(values):
        raise hr.HeadraceError(f"{setting} needs two or more different values, not {values}")
    setup = replace(setup, workload=setup.workload.at_rate(rate))
    record = begin_record(setup, "alternate", check_rate(setup, rate))
    record |= {"rate": rate, "seconds": seconds, "setting": setting, "values": list(values)}
    record |= {"rounds": [], "latency_s": {}, "ratios": {}}
    with recorded(record), Stage(setup) as stage:
        await_ready(stage, watcher)
        record["settings"]["sut"] = stage.server.settings
        watcher.say("warming up until results come")
        stage.settle(rate, watcher.waiting)
        for number in range(rounds):
            measured: Record = {}
            record["rounds"].append(measured)
            for value in values if number % 2 == 0 else reversed(values):
                watcher.say(f"round {number + 1} of {rounds}: {setting}={value}")
                stage.change(setting, value)
                go_on(stage.measure(rate, pause_s, watcher.moment))
                stretch = stage.measure(rate, seconds, watcher.moment)
                base = {k: record[k] for k in BASE} | {"kind": "run"}
                run = base | record_of(setup, stretch) | {"said": stage.server.said}
                measured[value] = run | {"sut": f"{setup.label}, {setting}={value}"}
                go_on(stretch)
                summarize(record)
    return record


def summarize(record: Record) -> None:
    """Latencies of every value over the rounds, and the last value over each of the others."""
    values = record["values"]
    whole = [r for r in record["rounds"] if all(_latency(r.get(v)) for v in values)]
    if not whole:
        return
    record["latency_s"] = {
        v: {f: interval([_latency(r[v])[f] for r in whole]) for f in FIGURES} for v in values
    }
    last = values[-1]
    record["ratios"] = {
        f"{last} / {v}": {
            f: interval([_latency(r[last])[f] / _latency(r[v])[f] for r in whole]) for f in FIGURES
        }
        for v in values[:-1]
    }


def _latency(run: Record | None) -> Record:
    summary = (run or {}).get("summary") or {}
    return summary.get("event_time_latency_s") or {}
