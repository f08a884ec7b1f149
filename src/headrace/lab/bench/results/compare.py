"""Two records side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rich.markup import escape
from rich.table import Table

import headrace as hr
from headrace.lab.bench.results.records import Record, label, value

_NOTHING = "–"
_SAME = 0.01
"""Figures that differ by less than this share count as the same."""


@dataclass(frozen=True)
class Row:
    """A figure, where it stands in a record, and which way is better, if either is."""

    name: str
    path: tuple[str, ...]
    better: str = ""
    digits: int = 0


def _latencies(title: str, key: str, figures: str) -> list[Row]:
    return [Row(f"{title} {f}, s", ("summary", key, f), "lower", digits=3) for f in figures.split()]


_RUN = (
    Row("offered/s", ("rate",)),
    Row("taken/s", ("summary", "taken_per_s"), "higher"),
    Row("taken/s, slowest query", ("summary", "slowest_per_s"), "higher"),
    Row("taken/s, over all queries", ("summary", "overall_per_s"), "higher"),
    *_latencies("event-time latency", "event_time_latency_s", "avg p50 p90 p95 p99 max"),
    *_latencies("processing-time latency", "processing_time_latency_s", "p50 p99"),
    *_latencies("deployment latency", "deployment_latency_s", "p50 p99"),
    Row("queries created and deleted/s", ("summary", "queries_per_s"), "higher", digits=2),
    Row("CPU cores, avg", ("summary", "cpu_cores", "avg"), "lower", digits=2),
    Row("memory MB, max", ("summary", "memory_mb", "max"), "lower"),
)
_AT = tuple(
    Row(f"at {share} %: {row.name}", (f"at_{share}", *row.path), row.better, row.digits)
    for share in (100, 90)
    for row in _RUN
    if row.name in ("event-time latency p50, s", "event-time latency p99, s", "CPU cores, avg")
)
_SUSTAIN = (
    Row("sustainable rate/s", ("sustainable_rate", "mean"), "higher"),
    Row("… its lower bound", ("sustainable_rate", "low"), "higher"),
    Row("… its upper bound", ("sustainable_rate", "high"), "higher"),
    *_AT,
)
_ROWS = {"run": _RUN, "sustain": _SUSTAIN}


def compare(a: Record, b: Record) -> Table:
    """The main figures of both, b as a multiple of a, and which is better."""
    if a["kind"] != b["kind"]:
        raise hr.HeadraceError(
            f"a {a['kind']} and a {b['kind']} cannot be compared: {label(a)} and {label(b)}"
        )
    table = Table(title=f"a: {escape(label(a))}\nb: {escape(label(b))}", caption_justify="left")
    table.add_column("")
    for title in ("a", "b", "b / a"):
        table.add_column(title, justify="right")
    table.add_column("better")
    for row in _ROWS[a["kind"]]:
        x, y = value(a, *row.path), value(b, *row.path)
        if x is not None or y is not None:
            table.add_row(row.name, _text(x, row), _text(y, row), _ratio(x, y), _better(x, y, row))
    if a["kind"] == "run":
        table.add_row("sustained?", _sustained(a), _sustained(b), "", "")
    table.caption = "\n".join(f"Warning: {escape(w)}" for w in warnings(a, b)) or None
    return table


def warnings(a: Record, b: Record) -> list[str]:
    """Why the figures of two records may say less than they seem to."""
    said = []
    whole = [("a", a), ("b", b)]
    parts = [(f"{n} at {k} %", r.get(f"at_{k}")) for n, r in whole for k in (100, 90)]
    for name, record in (*whole, *parts):
        if record is not None and record["end"] != "complete":
            why = f": {record['reason']}" if record.get("reason") else ""
            said.append(f"{name} is {record['end']}{why}")
    checks: list[tuple[str, Callable[[Record], Any]]] = [
        ("workload", lambda r: r["workload"]),
        ("queries", lambda r: r["queries"]),
        ("rate", lambda r: r.get("rate") if r["kind"] == "run" else None),
        ("seconds", _seconds),
        ("machine", lambda r: r.get("machine")),
    ]
    for name, of in checks:
        if of(a) != of(b):
            said.append(f"{name} differs: a has {_said(of(a))}, b has {_said(of(b))}")
    if a["kind"] == "sustain" and _overlap(a, b):
        said.append("the intervals of the sustainable rates overlap: they may be the same")
    return said


def _seconds(record: Record) -> Any:
    if record["kind"] == "run":
        return round(record["seconds"], 1)
    found = value(record, "at_100", "seconds")
    return None if found is None else round(found, 1)


def _said(found: Any) -> str:
    if isinstance(found, dict):
        return ", ".join(f"{k} {v}" for k, v in found.items())
    return f"{found:,.12g}" if isinstance(found, int | float) else str(found or "none")


def _overlap(a: Record, b: Record) -> bool:
    bounds = [value(r, "sustainable_rate", n) for r in (a, b) for n in ("low", "high")]
    if any(bound is None for bound in bounds):
        return False
    low_a, high_a, low_b, high_b = bounds
    return bool(low_a <= high_b and low_b <= high_a)


def _text(found: float | None, row: Row) -> str:
    return _NOTHING if found is None else f"{found:,.{row.digits}f}"


def _ratio(x: float | None, y: float | None) -> str:
    if x is None or y is None or x == 0:
        return _NOTHING
    return f"{y / x:.3g}×" if y / x < 1000 else f"{y / x:,.0f}×"


def _better(x: float | None, y: float | None, row: Row) -> str:
    """Which record is better, and the direction that makes it so."""
    if not row.better:
        return ""
    if x is None or y is None:
        return f"({row.better} is better)"
    if abs(y - x) <= _SAME * max(abs(x), abs(y)):
        return f"same ({row.better} is better)"
    return f"{'b' if (y > x) == (row.better == 'higher') else 'a'} ({row.better} is better)"


def _sustained(run: Record) -> str:
    if run["end"] != "complete":
        return str(run["end"])
    return {True: "yes", False: "no"}.get(value(run, "verdict", "sustained"), _NOTHING)
