"""From what the driver saw to figures: latencies, throughput, and whether the rate was held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.lab.bench.driver.load import LATE_S
from headrace.lab.bench.driver.queues import pulled_at
from headrace.lab.bench.driver.requests import Request
from headrace.lab.bench.driver.stage import Moment, Setup, Stretch
from headrace.lab.bench.results.verdict import WARM_UP, Sample, Verdict, judge

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Record = dict[str, Any]
RESOLUTION_S = 0.001
"""Latencies are kept to this; results that agree in it are kept as one, with their number."""
_BATCHES_THAT_TELL = 3
"""Fewer batches than this say little about how much a system takes in a second."""
_UNKNOWN = -1e15
"""Stands for a time that is not known, where NaN would not equal itself."""


def statistics_of(values: Floats, weights: Counts | None = None) -> Record | None:
    """avg, min, max and percentiles; a percentile is the least value that so many do not exceed."""
    counts = np.ones(len(values), np.int64) if weights is None else weights
    known = ~np.isnan(values)
    values, counts = values[known], counts[known]
    if not len(values):
        return None
    order = np.argsort(values)
    values, upto = values[order], np.cumsum(counts[order])
    total = int(upto[-1])

    def percentile(share: float) -> float:
        return float(values[np.searchsorted(upto, share * total - 1e-9)])

    return {
        "avg": float((values * counts[order]).sum() / total),
        "min": float(values[0]),
        "max": float(values[-1]),
        **{f"p{p}": percentile(p / 100) for p in (50, 90, 95, 99)},
        "count": total,
    }


def outputs_of(stretch: Stretch) -> dict[str, Any]:
    """Every result's latency, by when it came: one entry for those that agree in everything."""
    ats, events, ingested, rows = [], [], [], 0
    for at, table in stretch.outputs:
        told = table.filter(pa.compute.is_valid(table.column("event_time")))
        times = told.column("event_time").cast(pa.int64()).to_numpy()
        mine = times >= stretch.start_s * 1e6
        ats.append(np.full(int(mine.sum()), at))
        events.append(times[mine])
        names = told.column("query").to_numpy(zero_copy_only=False)[mine]
        ingested.append(_ingested(stretch, names, times[mine]))
        rows += int(told.column("rows").to_numpy()[mine].sum())
    at_s = np.concatenate(ats) if ats else np.zeros(0)
    event_s = np.concatenate(events) / 1e6 if events else np.zeros(0)
    pulled_s = np.concatenate(ingested) if ingested else np.zeros(0)
    columns = np.stack([at_s - stretch.start_s, at_s - event_s, at_s - pulled_s], axis=1)
    rounded = np.nan_to_num(np.round(columns / RESOLUTION_S), nan=_UNKNOWN)
    unique, counts = np.unique(rounded, axis=0, return_counts=True)
    unique = np.where(unique == _UNKNOWN, np.nan, unique)
    return {
        "at_s": (unique[:, 0] * RESOLUTION_S).round(3),
        "event_time_latency_s": (unique[:, 1] * RESOLUTION_S).round(3),
        "processing_time_latency_s": (unique[:, 2] * RESOLUTION_S).round(3),
        "count": counts.astype(np.int64),
        "rows": rows,
    }


def _ingested(stretch: Stretch, names: Any, times_us: npt.NDArray[np.int64]) -> Floats:
    """When the last contributing tuple was taken, by the query's own reader or the only one."""
    found = np.full(len(times_us), np.nan)
    readers = stretch.pulls
    alone = next(iter(readers)) if len(readers) == 1 else None
    for name in np.unique(names) if alone is None else [alone]:
        which = slice(None) if alone is not None else np.flatnonzero(names == name)
        at = [pulled_at(pulls, times_us[which]) for pulls in readers.get(str(name), []) if pulls]
        if at:
            found[which] = np.fmax.reduce(np.stack(at))
    return found


def verdict_of(stretch: Stretch) -> Verdict:
    """Whether the rate was held."""
    samples = [Sample(m.at_s, m.queued, m.latency_s) for m in stretch.moments]
    if stretch.late_s > LATE_S:
        return Verdict(False, "the driver itself fell behind", 0.0, 0.0)
    if stretch.full:
        return Verdict(False, stretch.full, 0.0, 0.0)
    if stretch.gave_up:
        first, last = stretch.moments[0], stretch.moments[-1]
        grown = last.queued - first.queued
        reason = f"the queue grew by {grown:,} events in {last.at_s:.0f} s"
        return Verdict(False, reason, grown / max(last.at_s, 1e-9), 0.0)
    return judge(samples, stretch.rate, dropped=bool(stretch.failure))


def processed(stretch: Stretch) -> float:
    """Events per second that the slowest consumer took after the warm-up."""
    seen = _after_warm_up(stretch)
    return _slope([m.at_s for m in seen], [m.offered - m.queued for m in seen])


def capacity(stretch: Stretch) -> float | None:
    """What was taken per second, where enough batches were seen for it to tell what can be."""
    taken = {m.offered - m.queued for m in _after_warm_up(stretch)}
    return processed(stretch) if len(taken) > _BATCHES_THAT_TELL else None


def record_of(setup: Setup, stretch: Stretch) -> dict[str, Any]:
    """The figures of a stretch, as a record without what is the same for all of a run."""
    seen = _after_warm_up(stretch)
    times = [m.at_s for m in seen]
    outputs = outputs_of(stretch)
    late = outputs["at_s"] >= WARM_UP * stretch.seconds
    end, reason = _end(stretch)
    taken = processed(stretch)
    summary = {
        "event_time_latency_s": statistics_of(
            outputs["event_time_latency_s"][late], outputs["count"][late]
        ),
        "processing_time_latency_s": statistics_of(
            outputs["processing_time_latency_s"][late], outputs["count"][late]
        ),
        "deployment_latency_s": statistics_of(_deployed(stretch.requests, "create")),
        "offered_per_s": _slope(times, [m.offered for m in seen]),
        "taken_per_s": taken,
        "slowest_per_s": taken,
        "overall_per_s": _overall(seen),
        "queries_per_s": _requests_per_s(stretch),
        "cpu_cores": statistics_of(np.array([m.cpu_cores for m in seen])),
        "memory_mb": statistics_of(np.array([m.memory_mb for m in seen])),
        "rows": outputs.pop("rows"),
        "outputs": int(outputs["count"].sum()),
    }
    made = summary["offered_per_s"]
    cores = [m.driver_cores for m in seen]
    return {
        "queries": setup.queries,
        "rate": stretch.rate,
        "seconds": stretch.seconds,
        "end": end,
        "reason": reason,
        "verdict": vars(verdict_of(stretch)),
        "driver": {
            "made_per_s": made,
            "behind_s": stretch.late_s,
            "cpu_cores": float(np.mean(cores)) if cores else None,
        },
        "summary": summary,
        "series": _series(stretch.moments),
        "outputs": {name: _plain(values) for name, values in outputs.items()},
        "requests": _requests(stretch),
    }


def _end(stretch: Stretch) -> tuple[str, str]:
    if stretch.failure:
        return "failed", stretch.failure
    if stretch.interrupted:
        return "interrupted", "stopped by hand; what was measured until then is kept"
    if stretch.late_s > LATE_S:
        return "void", (
            f"the driver itself fell behind: events came up to {stretch.late_s:.2f} s after they "
            "were due; offer less, or give it a core of its own"
        )
    return "complete", ""


def _after_warm_up(stretch: Stretch) -> list[Moment]:
    return [m for m in stretch.moments if m.at_s >= WARM_UP * stretch.seconds]


def _slope(times: Sequence[float], values: Sequence[float]) -> float:
    """Growth per second between the first and the last."""
    if len(times) < 2 or times[-1] <= times[0]:
        return 0.0
    return float((values[-1] - values[0]) / (times[-1] - times[0]))


def _overall(seen: Sequence[Moment]) -> float:
    """Events per second summed over the queries that they served."""
    if len(seen) < 2:
        return 0.0
    names = seen[0].taken.keys() & seen[-1].taken.keys()
    times = [seen[0].at_s, seen[-1].at_s]
    each = {n: _slope(times, [seen[0].taken[n], seen[-1].taken[n]]) for n in names}
    active = float(np.mean([m.active for m in seen]))
    return sum(each.values()) if len(each) > 1 else sum(each.values()) * active


def _deployed(requests: Sequence[Request], kind: str) -> Floats:
    return np.array(
        [
            r.acknowledged_s - r.due_s
            for r in requests
            if r.kind == kind and r.acknowledged_s is not None and r.error is None
        ]
    )


def _requests_per_s(stretch: Stretch) -> float | None:
    """Creations and deletions per second that were acknowledged, as long as there were some."""
    done = [r.acknowledged_s for r in stretch.requests if r.acknowledged_s is not None]
    if len(done) < 2:
        return None
    return len(done) / max(max(done) - stretch.start_s, 1e-9)


def _requests(stretch: Stretch) -> dict[str, Any]:
    start = stretch.start_s
    return {
        "at_s": [r.due_s - start for r in stretch.requests],
        "kind": [r.kind for r in stretch.requests],
        "latency_s": [
            None if r.acknowledged_s is None else r.acknowledged_s - r.due_s
            for r in stretch.requests
        ],
        "errors": sorted({r.error for r in stretch.requests if r.error}),
    }


def _series(moments: Sequence[Moment]) -> dict[str, Any]:
    first = moments[0].offered if moments else 0
    return {
        "at_s": [m.at_s for m in moments],
        "offered": [m.offered - first for m in moments],
        "taken": [m.offered - m.queued - first for m in moments],
        "queued": [m.queued for m in moments],
        "cpu_cores": [m.cpu_cores for m in moments],
        "memory_mb": [m.memory_mb for m in moments],
        "active": [m.active for m in moments],
    }


def _plain(values: npt.NDArray[Any]) -> list[Any]:
    return [None if isinstance(v, float) and np.isnan(v) else v for v in values.tolist()]
