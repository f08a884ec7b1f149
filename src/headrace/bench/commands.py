"""`headrace bench`: run workloads against systems under test, compare and report."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn
from rich.table import Table

import headrace as hr
from headrace.bench import workloads
from headrace.bench.core.command import core
from headrace.bench.driver.stage import Moment, Setup
from headrace.bench.results import records
from headrace.bench.run import Record, Watcher, run, sustain

app = typer.Typer(
    help="Measure what a system really holds, from outside.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()

RUNS = Path("benchmarks/runs")

_Workload = Annotated[str, typer.Argument(help="A name from `bench list`, or a TOML file")]
_Sut = Annotated[str, typer.Option("--sut", help="headrace, plain-spark, fake, or a Python file")]
_Sharing = Annotated[str, typer.Option(help="headrace only: auto, or off for a pipeline per query")]
_Queries = Annotated[int | None, typer.Option(min=0, help="How many; default: the workload's")]
_Seed = Annotated[int, typer.Option(help="Of the events and of the queries")]
_Partitions = Annotated[int, typer.Option(min=1, help="Queues per stream")]
_Set = Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE for the system")]
_File = Annotated[Path | None, typer.Option(help="Real data, where the workload takes some")]
_Out = Annotated[Path | None, typer.Option(help=f"The record; default: a new file in {RUNS}")]
_Answer = Annotated[float, typer.Option(min=1, help="Seconds to wait for a system to answer")]


@app.command("list")
def list_workloads() -> None:
    """Workloads, and the systems they can be run against."""
    table = Table(title="Workloads")
    for title in ("name", "what it is", "events/s", "queries"):
        table.add_column(title, justify="right" if title in ("events/s", "queries") else "left")
    for name in workloads.names():
        workload = workloads.load(name)
        needs = f" (needs {workload.needs})" if workload.needs else ""
        table.add_row(name, workload.title + needs, f"{workload.rate:,.0f}", str(workload.count))
    console.print(table)
    console.print("Systems: headrace, plain-spark, fake, or a Python file with a class Adapter")


@app.command("run")
def run_command(
    workload: _Workload,
    sut: _Sut = "headrace",
    sharing: _Sharing = "auto",
    rate: Annotated[float | None, typer.Option(help="Events/s; default: the workload's")] = None,
    queries: _Queries = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long it is measured")] = 60.0,
    seed: _Seed = 7,
    partitions: _Partitions = 2,
    options: _Set = None,
    file: _File = None,
    out: _Out = None,
    answer: _Answer = 180.0,
) -> None:
    """Offer a fixed rate for a while, and measure."""
    setup = _setup(workload, sut, sharing, queries, seed, partitions, options, file, answer)
    with _told() as watcher:
        record = run(setup, rate or setup.workload.rate, seconds, watcher)
    _finish(record, out)


@app.command("sustain")
def sustain_command(
    workload: _Workload,
    sut: _Sut = "headrace",
    sharing: _Sharing = "auto",
    start: Annotated[
        float | None, typer.Option(help="Events/s to begin with; default: the workload's rate")
    ] = None,
    queries: _Queries = None,
    seconds: Annotated[float, typer.Option(min=2, help="Length of one try")] = 20.0,
    at_seconds: Annotated[
        float | None, typer.Option(help="How long it is measured at 100 % and 90 %")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="Searches, each with a fresh system")] = 1,
    tolerance: Annotated[float, typer.Option(min=0.01, max=0.5, help="Of the rate found")] = 0.05,
    seed: _Seed = 7,
    partitions: _Partitions = 2,
    options: _Set = None,
    file: _File = None,
    out: _Out = None,
    answer: _Answer = 180.0,
) -> None:
    """Search for the highest rate that is held without queue or latency growing."""
    setup = _setup(workload, sut, sharing, queries, seed, partitions, options, file, answer)
    with _told() as watcher:
        record = sustain(
            setup,
            start or setup.workload.rate,
            seconds,
            watcher,
            repeats=repeats,
            tolerance=tolerance,
            at_seconds=at_seconds,
        )
    _finish(record, out)


@app.command("compare")
def compare_command(
    first: Annotated[Path, typer.Argument(help="A record")],
    second: Annotated[Path, typer.Argument(help="Another one")],
) -> None:
    """Two records side by side, with the ratio of their figures."""
    from headrace.bench.results.compare import compare

    with _clear_errors():
        console.print(compare(records.read(first), records.read(second)))


@app.command("report")
def report_command(
    paths: Annotated[list[Path], typer.Argument(help="Records, or folders of them")],
    out: Annotated[Path, typer.Option(help="Folder for the page and the pictures")] = Path(
        "benchmarks/report"
    ),
) -> None:
    """One page and its pictures from any set of records."""
    from headrace.bench.results.page import make_report

    with _clear_errors():
        files = [f for p in paths for f in (sorted(p.glob("*.json")) if p.is_dir() else [p])]
        written = make_report(files, out)
    console.print(f"{written[0]} and {len(written) - 1} pictures beside it")


app.command("core")(core)


def _setup(
    workload: str,
    sut: str,
    sharing: str,
    queries: int | None,
    seed: int,
    partitions: int,
    options: list[str] | None,
    file: Path | None,
    answer_s: float,
) -> Setup:
    with _clear_errors():
        loaded = workloads.load(workload)
        if file is not None:
            loaded = loaded.with_file(file)
        given = dict(_pair(o) for o in options or [])
        if sharing != "auto":
            if sut != "headrace":
                raise hr.HeadraceError(f"--sharing is for the system headrace, not for {sut!r}")
            given["sharing"] = sharing
        count = loaded.count if queries is None else queries
        return Setup(loaded, sut, count, seed, partitions, given, answer_s=answer_s)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise hr.HeadraceError(f"--set {text!r} is not written NAME=VALUE")
    return name, value


@contextmanager
def _clear_errors() -> Iterator[None]:
    """What is wrong, in words, and exit code 1."""
    try:
        yield
    except hr.HeadraceError as error:
        console.print(f"[red]error:[/red] {error}", highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None


@contextmanager
def _told() -> Iterator[Watcher]:
    """A line for every step, and a bar with rate, queue and latency."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=30))
    with _clear_errors(), Progress(*columns, console=console, transient=True) as progress:
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


def _finish(record: Record, out: Path | None) -> None:
    """Keep the record, show its figures, and say how it ended."""
    path = out or RUNS / _file_name(record)
    records.write(path, record)
    show(record)
    console.print(f"written to {path}", soft_wrap=True)
    if record["end"] in ("failed", "void"):
        console.print(f"[red]{record['end']}:[/red] {record['reason']}", soft_wrap=True)
        raise typer.Exit(1)
    if record["end"] == "interrupted":
        raise typer.Exit(130)


def _file_name(record: Record) -> str:
    stamp = dt.datetime.fromisoformat(record["at"]).strftime("%Y%m%d-%H%M%S")
    sut = "".join(c if c.isalnum() or c == "-" else "-" for c in record["sut"]).strip("-")
    return f"{record['kind']}-{record['workload']}-{sut}-{record['queries']}q-{stamp}.json"


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
            yield "sustainable", f"{found['mean']:,.0f} events/s{spread}"
        for key, share in (("at_100", "100 %"), ("at_90", "90 %")):
            if record[key] is not None:
                for name, text in _figures(record[key]):
                    yield f"at {share}: {name}", text
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


def _latency(s: dict[str, Any]) -> str:
    return f"avg {s['avg']:.2f}, p50 {s['p50']:.2f}, p95 {s['p95']:.2f}, p99 {s['p99']:.2f} s"
