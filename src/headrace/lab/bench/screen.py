"""What a person sees while something is measured, and when it is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table

import headrace as hr
from headrace.lab.bench.driver.stage import Moment
from headrace.lab.bench.results import records
from headrace.lab.bench.run import Record, Watcher

console = Console()


@contextmanager
def clear_errors() -> Iterator[None]:
    """What is wrong, in words, and exit code 1."""
    try:
        yield
    except hr.HeadraceError as error:
        console.print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None


@contextmanager
def told() -> Iterator[Watcher]:
    """A line for every step, and a bar with rate, queue and latency."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30))
    with clear_errors(), Progress(*columns, console=console, transient=True) as progress:
        bar = _Bar(progress, progress.add_task("", total=1.0))
        yield Watcher(bar.say, bar.moment, bar.waiting)


class _Bar:
    """The bar of one command."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._last: Moment | None = None
        self._latency: float | None = None

    def say(self, sentence: str) -> None:
        """A step begins."""
        self._last = None
        self._progress.console.print(sentence, highlight=False)

    def waiting(self, seconds: float) -> None:
        """Nothing is measured yet."""
        self._progress.update(self._task, description=f"waiting, {seconds:.0f} s", completed=0.0)

    def moment(self, moment: Moment, share: float) -> None:
        """Something was measured."""
        before, self._last = self._last, moment
        rate = 0.0
        if before is not None and moment.at_s > before.at_s:
            rate = (moment.offered - before.offered) / (moment.at_s - before.at_s)
        if moment.latency_s is not None:
            self._latency = moment.latency_s
        latency = "–" if self._latency is None else f"{self._latency:.2f} s"
        text = f"{rate:>12,.0f} events/s   queue {moment.queued:>12,}   latency {latency}"
        self._progress.update(self._task, description=text, completed=share)


def show(record: Record) -> None:
    """The main figures, as a table."""
    table = Table(title=records.label(record), show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for name, text in _figures(record):
        table.add_row(name, text)
    if table.row_count:
        console.print(table)


def _figures(record: Record) -> Iterator[tuple[str, str]]:
    found = record.get("sustainable_rate")
    if record["kind"] == "sustain":
        if found is not None:
            spread = f" ({found['low']:,.0f} … {found['high']:,.0f})" if found["low"] else ""
            least = "at least " if records.is_lower_bound(record) else ""
            yield "sustainable", f"{least}{found['mean']:,.0f} events/s{spread}"
        for key, share in (("at_100", "100 %"), ("at_90", "90 %")):
            if record[key] is not None:
                for name, text in _figures(record[key]):
                    yield f"at {share}: {name}", text
        return
    if record["kind"] == "alternate":
        for title, figures in (record["figures"] | record["ratios"]).items():
            yield title, "   ".join(f"{name} {_spread(figures[name])}" for name in figures)
        return
    summary = record.get("summary")
    if summary is None:
        return
    verdict = record["verdict"]
    yield "held", "yes" if verdict["sustained"] else f"no: {verdict['reason']}"
    yield (
        "offered, taken",
        f"{summary['offered_per_s']:,.0f}, {summary['taken_per_s']:,.0f} events/s",
    )
    for key, name in (
        ("event_time_latency_s", "event-time latency"),
        ("processing_time_latency_s", "processing-time latency"),
        ("deployment_latency_s", "deployment latency"),
    ):
        if summary[key] is not None:
            yield name, _latency(summary[key])
    if summary["queries_per_s"] is not None:
        yield "creations and deletions", f"{summary['queries_per_s']:,.1f}/s"
    if summary["cpu_cores"] is not None:
        memory = summary["memory_mb"]["max"]
        yield "system", f"{summary['cpu_cores']['avg']:.2f} cores, {memory:,.0f} MB at most"
    driver: dict[str, Any] = record["driver"]
    behind = 1000 * driver["behind_s"]
    yield "driver", f"{driver['cpu_cores'] or 0:.2f} cores, {behind:.0f} ms behind at most"


def _spread(figure: dict[str, Any]) -> str:
    low, high = figure["low"], figure["high"]
    form = ",.0f" if figure["mean"] >= 1000 else ".2f"
    spread = f" ({low:{form}} … {high:{form}})" if low is not None else ""
    return f"{figure['mean']:{form}}{spread}"


def _latency(s: dict[str, Any]) -> str:
    return f"avg {s['avg']:.2f}, p50 {s['p50']:.2f}, p95 {s['p95']:.2f}, p99 {s['p99']:.2f} s"
