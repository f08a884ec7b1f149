"""Records as the benchmark would write them, made up from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.lab.bench.results.records import Record

STEP = 0.25
MACHINE = {"cores": 2, "memory_gb": 24, "python": "3.11.2", "system": "Linux"}


def run(
    sut: str = "headrace",
    queries: int = 20,
    rate: float = 500_000.0,
    *,
    holds: float = 1e9,
    base_s: float = 0.35,
    seconds: float = 30.0,
    seed: int = 7,
    end: str = "complete",
    reason: str = "",
    **other: Any,
) -> Record:
    """A run of a system that takes at most `holds` events per second, in batches."""
    rng = np.random.default_rng([seed, queries, int(rate)])
    at = np.round(np.arange(STEP, seconds + STEP / 2, STEP), 6)
    offered = np.floor(rate * at)
    taken = np.empty_like(offered)
    done = 0.0
    for i, waiting in enumerate(offered):
        stalled = at[i] < 1.0 or rng.uniform() < 0.3  # the batch before is still at work
        done = done if stalled else min(waiting, done + holds * STEP / 0.7)
        taken[i] = np.floor(done)
    queued = offered - taken
    out_at = np.repeat(np.arange(1.0, seconds + 0.5), 4) + rng.uniform(0.1, 0.4, 4 * int(seconds))
    behind = np.interp(out_at, at, queued) / rate
    processing = base_s * rng.lognormal(-0.3, 0.25, len(out_at))
    event = processing + behind + 0.05
    start = out_at >= 0.25 * seconds
    cpu = np.clip(rng.normal(1.4, 0.1, len(at)), 0.0, 2.0)
    memory = 900 + 400 * (1 - np.exp(-at / 8)) + rng.normal(0, 10, len(at))
    asked = np.linspace(0.0, 1.0, queries)
    answered = rng.gamma(4.0, 0.03, queries)
    late = at > 0.25 * seconds
    taken_per_s = float((taken[-1] - taken[~late][-1]) / (at[-1] - at[~late][-1]))
    growth = float((queued[-1] - queued[~late][-1]) / (at[-1] - at[~late][-1]))
    sustained = growth < 0.05 * rate
    record: Record = {
        "format": 1,
        "kind": "run",
        "workload": "astream",
        "sut": sut,
        "queries": queries,
        "rate": rate,
        "seed": seed,
        "seconds": seconds,
        "commit": "0c7a72b",
        "at": "2026-11-16T05:00:00+00:00",
        "machine": dict(MACHINE),
        "settings": {
            "sut": {"trigger": "0.5 seconds", "tuning": {"shuffle": 2}},
            "driver": {"partitions": 2, "one_core_makes_per_s": 18_000_000.0},
        },
        "end": end,
        "reason": reason,
        "verdict": {
            "sustained": sustained,
            "reason": "queue and latency stayed level"
            if sustained
            else f"the queue grew by {growth:,.0f} events/s",
            "queue_growth": growth,
            "latency_slope": growth / rate,
        },
        "driver": {"made_per_s": rate * 0.9995, "behind_s": 0.0042, "cpu_cores": 0.21},
        "summary": {
            "event_time_latency_s": spread(event[start]),
            "processing_time_latency_s": spread(processing[start]),
            "deployment_latency_s": spread(answered),
            "offered_per_s": rate,
            "taken_per_s": taken_per_s,
            "slowest_per_s": taken_per_s,
            "overall_per_s": taken_per_s * queries,
            "queries_per_s": None,
            "cpu_cores": spread(cpu[late]),
            "memory_mb": spread(memory[late]),
            "rows": 1000 * len(out_at),
            "outputs": len(out_at) * queries,
        },
        "series": {
            "at_s": at.tolist(),
            "offered": offered.tolist(),
            "taken": taken.tolist(),
            "queued": queued.tolist(),
            "cpu_cores": cpu.tolist(),
            "memory_mb": memory.tolist(),
            "active": [queries] * len(at),
        },
        "outputs": {
            "at_s": out_at.tolist(),
            "event_time_latency_s": event.tolist(),
            "processing_time_latency_s": processing.tolist(),
            "count": [max(queries // 4, 1)] * len(out_at),
        },
        "requests": {
            "at_s": asked.tolist(),
            "kind": ["create"] * queries,
            "latency_s": answered.tolist(),
        },
    }
    return {**record, **other}


def empty() -> Record:
    """A run whose system never answered."""
    record = run(end="failed", reason="never began", summary=None, verdict=None)
    return {k: v for k, v in record.items() if k not in ("driver", "series", "outputs", "requests")}


def silent() -> Record:
    """A run that gave no result."""
    record = run(end="failed", reason="gave nothing")
    for part in ("series", "outputs", "requests"):
        record[part] = {name: [] for name in record[part]}
    record["summary"] = dict.fromkeys(record["summary"])
    return record


def spread(values: np.ndarray) -> dict[str, float | int]:
    """A summary's S."""
    p50, p90, p95, p99 = (float(v) for v in np.percentile(values, [50, 90, 95, 99]))
    return {
        "avg": float(values.mean()),
        "min": float(values.min()),
        "max": float(values.max()),
        "p50": p50,
        "p90": p90,
        "p95": p95,
        "p99": p99,
        "count": len(values),
    }


def sustain(
    sut: str = "headrace",
    queries: int = 20,
    holds: float = 800_000.0,
    *,
    repeats: int = 3,
    seed: int = 7,
    base_s: float = 0.35,
    **other: Any,
) -> Record:
    """A search that found about `holds`, with the runs at all and at nine tenths of it."""
    rng = np.random.default_rng([seed, queries, int(holds)])
    values = [float(v) for v in np.round(holds * rng.normal(1.0, 0.04, repeats))]
    mean = float(np.mean(values))
    half = float(2 * np.std(values))

    def tried(rate: float, found: float) -> dict[str, Any]:
        held = rate <= found
        reason = "queue and latency stayed level" if held else "the queue grew by 9,000 events/s"
        return {
            "rate": rate,
            "sustained": held,
            "reason": reason,
            "processed": min(rate, found * 0.99),
        }

    record: Record = {
        "format": 1,
        "kind": "sustain",
        "workload": "astream",
        "sut": sut,
        "queries": queries,
        "seed": seed,
        "commit": "0c7a72b",
        "at": "2026-11-16T06:00:00+00:00",
        "machine": dict(MACHINE),
        "settings": {"seconds": 30.0, "highest": 2_000_000, "tolerance": 0.05},
        "end": "complete",
        "reason": "",
        "sustainable_rate": {
            "mean": mean,
            "low": mean - half if repeats > 1 else None,
            "high": mean + half if repeats > 1 else None,
            "confidence": 0.95,
            "values": values,
        },
        "searches": [
            {"rate": v, "tries": [tried(r, v) for r in (2.0 * v, 1.03 * v, v)]} for v in values
        ],
        "at_100": run(sut, queries, round(mean), holds=mean * 1.6, base_s=base_s * 1.3, seed=seed),
        "at_90": run(sut, queries, round(0.9 * mean), holds=mean * 1.6, base_s=base_s, seed=seed),
    }
    return {**record, **other}
