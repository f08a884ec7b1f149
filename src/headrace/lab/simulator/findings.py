"""All that an experiment found, and its record on disk.

The same settings give the same record to the last digit, apart from what is under "measured".
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headrace.errors import HeadraceError
from headrace.lab.provenance import commit, machine
from headrace.lab.simulator.estimates import Accuracy
from headrace.lab.simulator.experiments import Course, Plan, Row, ratios
from headrace.lab.simulator.outcome import Numbers
from headrace.lab.simulator.overhead import Overhead


@dataclass
class Findings:
    """Filled section by section; what was not asked for, or not finished, is empty."""

    queries: list[Row] = field(default_factory=list)
    distributions: dict[str, Numbers] = field(default_factory=dict)
    memory: list[Course] = field(default_factory=list)
    estimates: list[Accuracy] = field(default_factory=list)
    overhead: list[Overhead] = field(default_factory=list)
    nodes: list[Row] = field(default_factory=list)
    sensitivity: list[Row] = field(default_factory=list)
    ablation: list[Row] = field(default_factory=list)
    interrupted: bool = False


def settings_of(plan: Plan, delay: str) -> dict[str, Any]:
    """All that is needed to do it again; `delay` in the words that were given."""
    varied = ("policy", "nodes", "forwarding", "seed", "delay")
    fixed = {f.name: getattr(plan.conditions, f.name) for f in fields(plan.conditions)}
    return {
        "workload": plan.workload,
        "queries": plan.queries,
        "nodes": plan.nodes,
        "policies": plan.policies,
        "repeats": plan.repeats,
        "delay": delay,
        **{name: value for name, value in fixed.items() if name not in varied},
    }


def record_of(
    found: Findings,
    plan: Plan,
    sections: Sequence[str],
    settings: Mapping[str, Any],
    measured: Mapping[str, Any],
) -> dict[str, Any]:
    """As plain values. `measured` is what differs from run to run."""
    record: dict[str, Any] = {
        "experiment": "klink",
        "commit": commit(),
        "machine": machine(),
        "seed": plan.conditions.seed,
        "settings": {**settings, "sections": sections},
        "end": "interrupted" if found.interrupted else "complete",
    }
    contents: dict[str, Any] = {
        "queries": {
            "rows": found.queries,
            "ratios": ratios(found.queries),
            "distribution": {"queries": plan.closely, "latencies_s": found.distributions},
        },
        "memory": found.memory,
        "estimates": found.estimates,
        "nodes": found.nodes,
        "sensitivity": found.sensitivity,
        "ablation": found.ablation,
    }
    record |= {name: contents[name] for name in contents if name in sections}
    record["measured"] = dict(measured)
    if "overhead" in sections:
        record["measured"]["overhead"] = found.overhead
    written: dict[str, Any] = plain(record)
    return written


def write(path: Path, record: Mapping[str, Any]) -> None:
    """At once, or not at all."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fresh.write_text(
            json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n",
            encoding="utf-8",
        )
        os.replace(fresh, path)
    except OSError as error:
        raise HeadraceError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        fresh.unlink(missing_ok=True)


def plain(value: Any) -> Any:
    """Numbers to six digits, or the whole number; what is not known is null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain({f.name: getattr(value, f.name) for f in fields(value)})
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, float):  # numpy's are floats too
        if not math.isfinite(value):
            return None
        return round(float(value)) if value == round(value) else float(f"{value:.6g}")
    return value
