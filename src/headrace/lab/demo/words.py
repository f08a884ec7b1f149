"""Figures, answers and times as short text."""

from __future__ import annotations

import datetime as dt

from headrace.lab.demo.crowd import Answer
from headrace.lab.demo.figures import Figures, Latency


def count(value: float) -> str:
    """``12,345``"""
    return f"{value:,.0f}"


def size(value: int) -> str:
    """Bytes in the unit that reads best: ``3.4 MB``"""
    for scale, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= scale:
            return f"{value / scale:.1f} {unit}"
    return f"{value} B"


def duration(ms: float) -> str:
    """``340 ms`` or ``1.3 s``"""
    return f"{ms:.0f} ms" if ms < 1_000 else f"{ms / 1_000:.1f} s"


def usual(latency: Latency | None) -> str:
    """The median, or a dash when nothing was measured."""
    return "–" if latency is None else duration(latency.median_ms)


def worst(latency: Latency | None) -> str:
    """The highest, or a dash when nothing was measured."""
    return "–" if latency is None else duration(latency.worst_ms)


def moment(answer: Answer) -> str:
    """When it is about: its first time column, usually the start of its window."""
    for value in answer.row.values():
        if isinstance(value, dt.datetime):
            return value.strftime("%H:%M:%S")
    return ""


def first_row(answer: Answer) -> str:
    """Its first row without times, and how many more there are."""
    cells = [
        f"{name} {_cell(value)}"
        for name, value in answer.row.items()
        if not isinstance(value, dt.datetime)
    ]
    more = answer.rows - 1
    return "  ".join(cells) + (f"  (+{more} more)" if more else "")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return str(value)


def plain_line(ran_s: float, figures: Figures) -> str:
    """One second of the demo for a terminal that cannot redraw, or a file."""
    parts = [
        f"{ran_s:4.0f} s",
        f"{count(figures.events_per_s)} events/s",
        f"{figures.active} queries",
        f"{figures.queries_per_scan:.1f} per scan",
        f"{figures.groups} groups",
        f"{figures.classes} classes",
        f"{figures.slices} slices",
        f"{size(figures.state_bytes)} state",
        f"deployment {usual(figures.deployment)}",
        f"event-time latency {usual(figures.event_time)}",
        f"{count(figures.rows)} rows",
    ]
    if figures.answers:
        newest = figures.answers[0]
        parts.append(f"newest {newest.query} {moment(newest)} {first_row(newest)}")
    return " | ".join(parts)
