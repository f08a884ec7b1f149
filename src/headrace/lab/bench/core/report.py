"""Figures as JSON with all that is needed to judge them, and as a table for people."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headrace.lab.bench.core.measure import Figure
from headrace.lab.provenance import commit, machine


def save(path: Path, figures: Sequence[Figure], settings: dict[str, Any]) -> None:
    """Write the JSON file; lines that were measured before and not now stay in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = json.loads(path.read_text())["figures"] if path.exists() else []
    measured = {
        "commit": commit(),
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "settings": settings,
    }
    fresh = {f.name: {**f.record(), **measured} for f in figures}
    kept = [fresh.pop(f["name"], f) for f in before]
    path.write_text(json.dumps({"figures": [*kept, *fresh.values()]}, indent=1))


def show(figures: Sequence[Figure], console: Console) -> None:
    """Print the table."""
    table = Table(title="Headrace against plain Structured Streaming")
    for title, right in (("measured", False), ("median", True), ("spread", True), ("must", True)):
        table.add_column(title, justify="right" if right else "left")
    table.add_column("")
    for figure in figures:
        low, high = min(figure.values), max(figure.values)
        bound = "≥" if figure.at_least else "≤"
        must = "" if figure.target is None else f"{bound} {_number(figure.target)}"
        verdict = {True: "reached", False: "MISSED", None: ""}[figure.reached]
        spread = f"{_number(low)} … {_number(high)}" if len(figure.values) > 1 else ""
        table.add_row(figure.name, f"{_number(figure.median)} {figure.unit}", spread, must, verdict)
    console.print(table)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}"
