"""One run at a fixed rate, and the search for the highest rate that is sustained."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import headrace as hr
from headrace.lab.bench.adapters import check
from headrace.lab.bench.driver.load import speed
from headrace.lab.bench.driver.process import SystemFailed
from headrace.lab.bench.driver.stage import Moment, Setup, Stage, Stretch, driver_settings
from headrace.lab.bench.effort import Effort
from headrace.lab.bench.results.summary import capacity, processed, record_of, verdict_of
from headrace.lab.bench.results.verdict import SMALL_STEP, STEP, Tried, search
from headrace.lab.provenance import commit, machine
from headrace.lab.repeats import CONFIDENCE, spread

_BATCHES = 10
"""A rate is judged over at least so many batches of the system under test."""
_CONFIRMATIONS = 4
_SHARE_OF_SPEED = 0.8
"""A driver asked for more than this share of what one core makes would fall behind."""

Record = dict[str, Any]


@dataclass
class Watcher:
    """Told how a run goes: a sentence when something begins, and every moment that is measured."""

    say: Callable[[str], object] = field(default=lambda _: None)
    moment: Callable[[Moment, float], object] = field(default=lambda _moment, _share: None)
    waiting: Callable[[float], object] = field(default=lambda _: None)


def run(setup: Setup, rate: float, seconds: float, watcher: Watcher) -> Record:
    """Offer a rate for so long and measure; whatever happens, what was measured is returned."""
    setup = replace(setup, workload=setup.workload.at_rate(rate))
    made = check_rate(setup, rate)
    record = begin_record(setup, "run", made)
    record |= {"rate": rate, "seconds": seconds, "verdict": None, "summary": None}
    with recorded(record), Stage(setup) as stage:
        await_ready(stage, watcher)
        record["settings"]["sut"] = stage.server.settings
        watcher.say("warming up until results come")
        stage.settle(rate * setup.workload.rate_share(0.0), watcher.waiting)
        watcher.say(f"measuring {rate:,.0f} events/s for {seconds:.0f} s")
        record |= record_of(setup, stage.measure(rate, seconds, watcher.moment))
    return record


def sustain(setup: Setup, start: float, effort: Effort, watcher: Watcher) -> Record:
    """The highest rate that is held, and the latencies at it and at 90 % of it."""
    setup = replace(setup, workload=setup.workload.at_rate(start))
    made = check_rate(setup, start)
    record = begin_record(setup, "sustain", made)
    record |= {"searches": [], "at_100": None, "at_90": None, "sustainable_rate": None}
    found: list[float] = []
    with recorded(record):
        for number in range(effort.repeats):
            with Stage(setup) as stage:
                await_ready(stage, watcher)
                record["settings"]["sut"] = stage.server.settings
                finder = _Finder(stage, effort, watcher, _SHARE_OF_SPEED * made)
                finder.warm_up(start)
                rate = finder.find(start, SMALL_STEP if any(found) else STEP, record)
                if rate and effort.confirm and number == effort.repeats - 1:
                    rate = finder.confirm(rate, record)
                found.append(rate)
                record["sustainable_rate"] = interval(found)
            start = rate or start / 4
    return record


class _Finder:
    """Searches on a system that keeps running; between tries it is relieved of what waits."""

    def __init__(self, stage: Stage, effort: Effort, watcher: Watcher, highest: float) -> None:
        self._stage = stage
        self._effort = effort
        self._watcher = watcher
        self._highest = highest

    def warm_up(self, start: float) -> None:
        """Let the system's code be compiled and its caches fill, below the rate to come."""
        self._watcher.say(f"warming up at {start / 2:,.0f} events/s")
        self._stage.settle(start / 2, self._watcher.waiting)
        for _ in range(self._effort.warm_ups):
            if verdict_of(self._try(start / 2, self._length())).sustained:
                return

    def find(self, start: float, step: float, record: Record) -> float:
        """Search, noting every try in the record, and the best one as a run at the rate found."""
        tries: list[Record] = []
        best = 0.0
        record["searches"].append({"rate": None, "tries": tries})

        def one(rate: float) -> Tried:
            nonlocal best
            self._watcher.say(f"offering {rate:,.0f} events/s for {self._length():.0f} s")
            stretch = self._try(rate, self._length())
            tried = self._tried(rate, stretch, tries)
            if tried.verdict.sustained and rate > best:
                best = rate
                record["at_100"] = self._record(record, stretch)
            return tried

        rate, _ = search(
            one,
            start,
            highest=self._highest,
            tolerance=self._effort.tolerance,
            most=self._effort.most,
            step=step,
        )
        record["searches"][-1]["rate"] = rate
        return rate

    def confirm(self, rate: float, record: Record) -> float:
        """Measure at the rate found, or a little below where it is not held again, and at 90 %.

        A rate that is not held again even then is not published: 0.
        """
        last = record["searches"][-1]
        seconds = self._effort.at_seconds or self._effort.seconds
        for _ in range(_CONFIRMATIONS):
            stretch = self._try(rate, max(seconds, self._length()))
            record["at_100"] = self._record(record, stretch)
            if self._tried(rate, stretch, last["tries"]).verdict.sustained:
                break
            rate *= 1 - self._effort.tolerance
        else:
            last["rate"] = 0.0
            return 0.0
        last["rate"] = rate
        self._stage.relieve()  # what the run at 100 % left waiting is not the run's at 90 %
        self._stage.settle(0.9 * rate, self._watcher.waiting)
        record["at_90"] = self._record(record, self._try(0.9 * rate, max(seconds, self._length())))
        return rate

    def _record(self, record: Record, stretch: Stretch) -> Record:
        base = {k: record[k] for k in BASE}
        return base | {"kind": "run"} | record_of(self._stage.setup, stretch)

    def _tried(self, rate: float, stretch: Stretch, tries: list[Record]) -> Tried:
        tried = Tried(rate, verdict_of(stretch), capacity(stretch))
        verdict = tried.verdict
        tries.append(
            {
                "rate": rate,
                "sustained": verdict.sustained,
                "reason": verdict.reason,
                "processed": processed(stretch),
            }
        )
        held = "held" if verdict.sustained else f"not held: {verdict.reason}"
        self._watcher.say(f"{rate:,.0f} events/s {held}")
        return tried

    def _try(self, rate: float, seconds: float) -> Stretch:
        """Offer a rate; where queue or latency grew slowly, once more without a pause.

        A system with long batches needs several to settle at a higher rate, and until then its
        queue grows. What keeps growing is not held.
        """
        stretch = self._measured(rate, seconds)
        verdict = verdict_of(stretch)
        if not verdict.sustained and verdict.may_settle:
            stretch = self._measured(rate, seconds)
            verdict = verdict_of(stretch)
        if not verdict.sustained:
            self._stage.relieve()
            self._stage.settle(rate / 4, self._watcher.waiting)
        return stretch

    def _measured(self, rate: float, seconds: float) -> Stretch:
        stretch = self._stage.measure(rate, seconds, self._watcher.moment)
        go_on(stretch)
        return stretch

    def _length(self) -> float:
        """Long enough to see several batches of this system."""
        wanted = _BATCHES * self._stage.load.batch_s()
        shortest = self._effort.seconds
        return min(max(shortest, wanted), max(shortest, self._effort.longest_s))


def go_on(stretch: Stretch) -> None:
    """Unless Ctrl-C was pressed or the system has failed."""
    if stretch.interrupted:
        raise KeyboardInterrupt
    if stretch.failure:
        raise SystemFailed(stretch.failure)


def check_rate(setup: Setup, rate: float) -> float:
    """Refuse what cannot be run before anything starts; returns what the driver can make."""
    check(setup.sut)
    if rate <= 0:
        raise hr.HeadraceError(f"a rate of {rate:,.0f} events/s offers nothing")
    made = speed(setup.workload, seed=setup.seed)
    if rate > _SHARE_OF_SPEED * made:
        raise hr.HeadraceError(
            f"the driver makes {made:,.0f} events/s of workload {setup.workload.name!r} on one "
            f"core of this machine, so it cannot offer {rate:,.0f} reliably "
            f"(at most {_SHARE_OF_SPEED * made:,.0f})"
        )
    return made


def interval(values: Sequence[float]) -> Record:
    """Mean of the repeats and its confidence interval, by Student's t."""
    found = spread(values)
    return {
        "mean": found.mean,
        "low": found.low,
        "high": found.high,
        "confidence": CONFIDENCE,
        "values": [float(v) for v in values],
    }


BASE = ("format", "workload", "sut", "queries", "seed", "commit", "at", "machine", "settings")


def begin_record(setup: Setup, kind: str, made: float) -> Record:
    """What is the same for all of a run, before anything was measured."""
    told = asdict(setup.workload)
    return {
        "format": 1,
        "kind": kind,
        "workload": setup.workload.name,
        "sut": setup.label,
        "queries": setup.queries,
        "seed": setup.seed,
        "commit": commit(),
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "settings": {
            "workload": told,
            "sut": {},
            "driver": {**driver_settings(setup), "one_core_makes_per_s": made},
        },
        "end": "failed",
        "reason": "",
    }


class recorded(suppress):  # noqa: N801  # reads as a statement: with recorded(record)
    """Notes in the record how it ended, and lets the caller go on with what it holds."""

    def __init__(self, record: Record) -> None:
        super().__init__(hr.HeadraceError, KeyboardInterrupt)
        self._record = record

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind is None:
            if self._record["kind"] != "run":
                self._record["end"] = "complete"
        elif issubclass(kind, KeyboardInterrupt):
            self._record["end"] = "interrupted"
            self._record["reason"] = "stopped by hand; what was measured until then is kept"
        elif issubclass(kind, hr.HeadraceError):
            self._record["end"], self._record["reason"] = "failed", str(error)
        return super().__exit__(kind, error, trace)


def await_ready(stage: Stage, watcher: Watcher) -> None:
    """Until the system under test runs its queries."""
    watcher.say(f"starting {stage.setup.label} with {stage.setup.queries} queries")
    stage.await_ready()
