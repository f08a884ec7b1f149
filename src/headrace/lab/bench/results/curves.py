"""Numbers out of records, as the lines of a plot need them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headrace.lab.bench.results.records import Record, value
from headrace.lab.bench.results.verdict import WARM_UP

Numbers = npt.NDArray[np.float64]

_STEPS = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0)


def curves(records: Sequence[Record], x: str, by: Sequence[str]) -> list[list[Record]]:
    """Records that make one line; those of different commits apart where they share an x."""
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[f] for f in by), []).append(record)
    found: list[list[Record]] = []
    for group in groups.values():
        commits = dict.fromkeys(str(r.get("commit")) for r in group)
        apart = [[r for r in group if str(r.get("commit")) == c] for c in commits]
        shared = Counter(at for part in apart for at in {r[x] for r in part})
        found += apart if max(shared.values()) > 1 else [group]
    return found


def _floats(values: Sequence[float | None] | None) -> Numbers:
    return np.array([np.nan if v is None else v for v in values or ()], dtype=np.float64)


def series(run: Record, name: str) -> tuple[Numbers, Numbers]:
    """When the driver looked, and what it saw."""
    at, values = (_floats(value(run, "series", n)) for n in ("at_s", name))
    known = np.isfinite(values[: len(at)])
    return at[: len(values)][known], values[: len(at)][known]


def outputs(run: Record) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """When results came, both latencies (processing-time may be unknown), and how many each."""
    at, event, count = (
        _floats(value(run, "outputs", n)) for n in ("at_s", "event_time_latency_s", "count")
    )
    processing = _floats(value(run, "outputs", "processing_time_latency_s"))
    if len(processing) != len(at):
        processing = np.full(len(at), np.nan)
    known = np.isfinite(event)
    return at[known], event[known], processing[known], count[known]


def counted(run: Record) -> tuple[Numbers, Numbers]:
    """Event-time latencies after the warm-up, and how many results had each."""
    at, event, _, count = outputs(run)
    late = at >= WARM_UP * run["seconds"]
    return event[late], count[late]


def step_of(runs: Sequence[Record]) -> float:
    """Seconds over which a line of some sixty points brings values together."""
    longest = max(r["seconds"] for r in runs)
    return next((s for s in _STEPS if longest / s <= 60), _STEPS[-1])


def binned(
    at: Numbers, values: Numbers, count: Numbers, step: float
) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Middles of the bins that have values, with their 5th, 50th and 95th percentile."""
    bins = np.floor(at / step).astype(np.int64)
    x, rows = np.unique(bins), []
    for one in x:
        inside = bins == one
        order = np.argsort(values[inside])
        edges = np.cumsum(count[inside][order])
        places = np.searchsorted(edges, edges[-1] * np.array([0.05, 0.5, 0.95]))
        rows.append(values[inside][order][places])
    low, middle, high = np.array(rows).T
    middles = np.asarray((x + 0.5) * step, dtype=np.float64)
    return middles, low, middle, high


def per_second(at: Numbers, total: Numbers, step: float) -> tuple[Numbers, Numbers]:
    """The rate at which a total grew, over `step` seconds each."""
    edges = np.arange(at[0], at[-1] + 1e-9, step)
    if len(edges) < 2:
        edges = np.array([at[0], at[-1]])
    grown = np.interp(edges, at, total)
    return (edges[1:] + edges[:-1]) / 2, np.diff(grown) / np.diff(edges)
