"""`headrace bench`: run workloads against systems under test, compare and report."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import headrace as hr
from headrace.lab.bench import suites, workloads
from headrace.lab.bench.adapters import SHIPPED
from headrace.lab.bench.alternate import alternate
from headrace.lab.bench.core.command import core
from headrace.lab.bench.driver.stage import Setup
from headrace.lab.bench.early.command import early
from headrace.lab.bench.effort import Effort
from headrace.lab.bench.results import records
from headrace.lab.bench.run import Record, run, sustain
from headrace.lab.bench.screen import clear_errors, console, show, told

app = typer.Typer(
    help="Measure what a system really holds, from outside.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
RUNS = Path("benchmarks/runs")

_Workload = Annotated[str, typer.Argument(help="A name from `bench list`, or a TOML file")]
_Sut = Annotated[str, typer.Option("--sut", help=f"{', '.join(SHIPPED)}, or a Python file")]
_Sharing = Annotated[str, typer.Option(help="headrace only: auto, or off for a pipeline per query")]
_Queries = Annotated[int | None, typer.Option(min=0, help="How many; default: the workload's")]
_Seed = Annotated[int, typer.Option(help="Of the events and of the queries")]
_Partitions = Annotated[int, typer.Option(min=1, help="Queues per stream")]
_Set = Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE for the system")]
_Delay = Annotated[str | None, typer.Option(help="On the way to the queue: gamma:60,4ms, …")]
_Lateness = Annotated[str | None, typer.Option(help="How long to wait for late events: 2 seconds")]
_File = Annotated[Path | None, typer.Option(help="Real data, where the workload takes some")]
_Out = Annotated[Path | None, typer.Option(help=f"The record; default: a new file in {RUNS}")]
_QueueMb = Annotated[
    int | None,
    typer.Option(min=1, help="Memory of the queues, with backpressure; default: 4 GB without"),
]
_Rate = Annotated[float | None, typer.Option(help="Events/s; default: the workload's")]
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
    console.print(f"Systems: {', '.join(SHIPPED)}, or a Python file with a class Adapter")


@app.command("run")
def run_command(
    workload: _Workload,
    sut: _Sut = "headrace",
    sharing: _Sharing = "auto",
    rate: _Rate = None,
    queries: _Queries = None,
    seconds: Annotated[float, typer.Option(min=1, help="How long it is measured")] = 60.0,
    seed: _Seed = 7,
    partitions: _Partitions = 2,
    options: _Set = None,
    delay: _Delay = None,
    lateness: _Lateness = None,
    file: _File = None,
    queue_mb: _QueueMb = None,
    out: _Out = None,
    answer: _Answer = 180.0,
) -> None:
    """Offer a fixed rate for a while, and measure."""
    setup = _setup(workload, sut, sharing, queries, seed, partitions, options, answer)
    setup = _changed(setup, delay, lateness, file, queue_mb)
    with told() as watcher:
        record = run(setup, setup.workload.rate if rate is None else rate, seconds, watcher)
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
    longest: Annotated[float, typer.Option(help="A try of a slow system lasts at most so long")] = (
        180.0
    ),
    most: Annotated[int, typer.Option(min=1, help="Tries of one search at most")] = 12,
    confirm: Annotated[
        bool, typer.Option(help="Measure the rate found once more, and 90 % of it")
    ] = True,
    seed: _Seed = 7,
    partitions: _Partitions = 2,
    options: _Set = None,
    delay: _Delay = None,
    lateness: _Lateness = None,
    file: _File = None,
    out: _Out = None,
    answer: _Answer = 180.0,
) -> None:
    """Search for the highest rate that is held without queue or latency growing."""
    setup = _setup(workload, sut, sharing, queries, seed, partitions, options, answer)
    setup = _changed(setup, delay, lateness, file)
    with told() as watcher:
        record = sustain(
            setup,
            setup.workload.rate if start is None else start,
            Effort(
                seconds,
                longest_s=longest,
                tolerance=tolerance,
                most=most,
                repeats=repeats,
                at_seconds=at_seconds,
                confirm=confirm,
            ),
            watcher,
        )
    _finish(record, out)


@app.command("alternate")
def alternate_command(
    workload: _Workload,
    setting: Annotated[str, typer.Argument(help="NAME=VALUE,VALUE,… of the system")],
    sut: _Sut = "headrace",
    sharing: _Sharing = "auto",
    rate: _Rate = None,
    queries: _Queries = None,
    seconds: Annotated[float, typer.Option(min=1, help="Of every value, in every round")] = 40.0,
    rounds: Annotated[int, typer.Option(min=1, help="How often all values are measured")] = 3,
    pause: Annotated[float, typer.Option(min=0, help="Seconds after a change, not measured")] = (
        15.0
    ),
    seed: _Seed = 7,
    partitions: _Partitions = 2,
    options: _Set = None,
    delay: _Delay = None,
    lateness: _Lateness = None,
    file: _File = None,
    queue_mb: _QueueMb = None,
    out: _Out = None,
    answer: _Answer = 180.0,
) -> None:
    """One running system under several values of a setting, in turns; ratios with intervals."""
    setup = _setup(workload, sut, sharing, queries, seed, partitions, options, answer)
    setup = _changed(setup, delay, lateness, file, queue_mb)
    with clear_errors():
        name, text = _pair(setting)
    values = [v.strip() for v in text.split(",") if v.strip()]
    with told() as watcher:
        offered = setup.workload.rate if rate is None else rate
        record = alternate(setup, offered, seconds, name, values, rounds, pause, watcher)
    _finish(record, out)


@app.command("compare")
def compare_command(
    first: Annotated[Path, typer.Argument(help="A record")],
    second: Annotated[Path, typer.Argument(help="Another one")],
) -> None:
    """Two records side by side, with the ratio of their figures."""
    from headrace.lab.bench.results.compare import compare

    with clear_errors():
        console.print(compare(records.read(first), records.read(second)))


@app.command("report")
def report_command(
    paths: Annotated[list[Path], typer.Argument(help="Records, or folders of them")],
    out: Annotated[Path, typer.Option(help="Folder for the page and the pictures")] = Path(
        "benchmarks/report"
    ),
) -> None:
    """One page and its pictures from any set of records."""
    from headrace.lab.bench.results.page import make_report

    with clear_errors():
        files = [f for p in paths for f in (sorted(p.glob("*.json")) if p.is_dir() else [p])]
        written = make_report(files, out)
    console.print(f"{written[0]} and {len(written) - 1} pictures beside it")


@app.command("suite")
def suite_command(
    name: Annotated[str, typer.Argument(help="short, full, or a TOML file")] = "short",
    out: Annotated[Path, typer.Option(help="Folder for the records")] = Path(
        "benchmarks/results/outside"
    ),
    report: Annotated[Path, typer.Option(help="Folder for the page and the pictures")] = Path(
        "benchmarks/report"
    ),
    readme: Annotated[Path | None, typer.Option(help="Put the tables into this file")] = None,
    only: Annotated[str, typer.Option(help="Only measurements whose name has this in it")] = "",
) -> None:
    """A set of measurements one after the other, then the page and the README's tables."""
    from headrace.lab.bench.results.page import make_report
    from headrace.lab.bench.results.readme import put_into

    with clear_errors():
        chosen = [m for m in suites.load(name) if only in m.name]
    for number, measurement in enumerate(chosen, 1):
        console.rule(f"{number} of {len(chosen)}: {measurement.name}")
        record = _measured(measurement)
        records.write(out / f"{measurement.name}.json", record)
        show(record)
        if record["end"] == "interrupted":
            break
        if record["end"] != "complete":
            console.print(f"[red]{record['end']}:[/red] {record['reason']}", soft_wrap=True)
    with clear_errors():
        kept = sorted(out.glob("*.json"))
        if readme is not None:
            put_into(readme, [records.read(p) for p in kept])
        console.print(f"report: {make_report(kept, report)[0]}")


def _measured(m: suites.Measurement) -> Record:
    setup = _setup(m.workload, m.sut, "auto", m.queries, 7, 2, None, 300.0)
    with told() as watcher:
        if m.kind == "run":
            return run(setup, m.rate, m.effort.seconds, watcher)
        return sustain(setup, m.rate, m.effort, watcher)


app.command("core")(core)
app.command("early")(early)


def _setup(
    workload: str,
    sut: str,
    sharing: str,
    queries: int | None,
    seed: int,
    partitions: int,
    options: list[str] | None,
    answer_s: float,
) -> Setup:
    with clear_errors():
        loaded = workloads.load(workload)
        given = dict(_pair(o) for o in options or [])
        if sharing != "auto":
            if sut != "headrace":
                raise hr.HeadraceError(f"--sharing is for the system headrace, not for {sut!r}")
            given["sharing"] = sharing
        count = loaded.count if queries is None else queries
        return Setup(loaded, sut, count, seed, partitions, given, answer_s=answer_s)


def _changed(
    setup: Setup,
    delay: str | None,
    lateness: str | None,
    file: Path | None,
    queue_mb: int | None = None,
) -> Setup:
    """With another delay, lateness or real data than its file says; with bounded queues."""
    if queue_mb is not None:
        setup = replace(setup, queue_bytes=queue_mb * 2**20, backpressure=True)
    with clear_errors():
        workload = setup.workload.with_delay(delay, lateness)
        if file is not None:
            workload = workload.with_file(file)
        return replace(setup, workload=workload)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise hr.HeadraceError(f"--set {text!r} is not written NAME=VALUE")
    return name, value


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
