"""One stream, one question, all ways to close its windows at once on one running system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from headrace.lab.bench.driver.stage import Setup, Stage
from headrace.lab.bench.early.judge import answers, judge, latencies
from headrace.lab.bench.early.questions import LATENESS, WAYS
from headrace.lab.bench.run import (
    Record,
    Watcher,
    await_ready,
    begin_record,
    check_rate,
    go_on,
    recorded,
)

_LEARN_S = 15.0
"""Before anything counts: windows have to tell what to expect, at first as late as exact ones."""
_FLUSH_S = float(LATENESS.split()[0]) + 2.0
"""The exact answers of the last windows come so long after their ends."""


def measure_early(
    setup: Setup,
    rate: float,
    seconds: float,
    error: float,
    watcher: Watcher,
    ways: Sequence[str] = tuple(WAYS),
) -> Record:
    """Offer a rate for so long; what came is judged against what exact windows gave. `ways` are
    those of the workload's queries, in order."""
    setup = replace(setup, options={**setup.options, "rows": "all"})
    setup = replace(setup, workload=setup.workload.at_rate(rate))
    record = begin_record(setup, "early", check_rate(setup, rate))
    record |= {"rate": rate, "seconds": seconds, "error": error, "ways": []}
    with recorded(record), Stage(setup) as stage:
        await_ready(stage, watcher)
        record["settings"]["sut"] = stage.server.settings
        watcher.say("warming up until results come")
        stage.settle(rate, watcher.waiting)
        go_on(stage.measure(rate, _LEARN_S, watcher.moment))
        watcher.say(f"measuring {rate:,.0f} events/s for {seconds:.0f} s")
        before = dict(stage.server.said)
        stretch = stage.measure(rate, seconds, watcher.moment)
        spent = _spent(before, stage.server.said, stretch.seconds)
        go_on(stage.measure(rate, _FLUSH_S, watcher.moment))
        names = {f"q{n}": way for n, way in enumerate(ways)}
        found = answers(stage.server.rows(), names)
        since_us = int(stretch.start_s * 1e6)
        upto_us = since_us + int(stretch.seconds * 1e6)
        record["ways"] = [asdict(j) for j in judge(found, since_us, upto_us, error)]
        record["ratios"] = ratios(record["ways"])
        record["statistics"] = spent | _waited(spent, record["ways"])
        record["latencies_s"] = latencies(found, since_us, upto_us)
        record["batch_s"] = stage.load.batch_s()
        go_on(stretch)
    return record


def _spent(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> Record:
    """What the system says that it spent on statistics, as shares of the time that passed."""
    if not before or not after:
        return {}
    decisions = max(after["decisions"] - before["decisions"], 1)
    return {
        "share": (after["statistics_s"] - before["statistics_s"]) / seconds,
        "deciding_ms": 1e3 * (after["deciding_s"] - before["deciding_s"]) / decisions,
        "sampling": after["sampling"],
    }


def _waited(spent: Mapping[str, float], ways: list[Mapping[str, Any]]) -> Record:
    """What answers wait for decisions, as a share of the time they take."""
    after = {w["way"]: w["after_s"] for w in ways}
    if not spent or not after.get("aion"):
        return {}
    return {"share_of_latency": spent["deciding_ms"] / 1e3 / after["aion"]}


def ratios(ways: list[Mapping[str, Any]]) -> dict[str, float]:
    """How long answers take after the end of their window, over those of the rivals."""
    after = {w["way"]: w["after_s"] for w in ways}
    return {
        f"{way} / {rival}": after[way] / after[rival]
        for way in ("aion", "aion-all")
        for rival in ("k-slack", "aq-k-slack")
        if way in after and after.get(rival)
    }
