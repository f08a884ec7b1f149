"""`headrace simulate`: a paper's experiments against a virtual clock."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from headrace.errors import HeadraceError, QueryError, near
from headrace.lab.delays import read_delay
from headrace.lab.provenance import commit, machine
from headrace.lab.simulator.bars import shown_workers
from headrace.lab.simulator.counts import by_doubling, by_twenties, read_counts
from headrace.lab.simulator.early import run as early
from headrace.lab.simulator.early.stream import PAPERS, QUESTIONS, SETTINGS
from headrace.lab.simulator.early.tables import early_table
from headrace.lab.simulator.early.trials import Row as EarlyRow
from headrace.lab.simulator.early.trials import run_trial, trials
from headrace.lab.simulator.experiments import Plan, ratios
from headrace.lab.simulator.findings import Findings, plain, record_of, settings_of, write
from headrace.lab.simulator.model import WORKLOADS, Conditions
from headrace.lab.simulator.pictures import draw_all
from headrace.lab.simulator.sections import SECTIONS, run_sections
from headrace.lab.simulator.tables import ratio_lines
from headrace.scheduling.policies import POLICIES

app = typer.Typer(
    help="Schedulers and early answers against a virtual clock.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console()
OUT = Path("benchmarks/runs/simulate-klink")
EARLY_OUT = Path("benchmarks/runs/simulate-aion")
_MOST_QUERIES = 1_000
_MOST_NODES = 64


@app.callback()
def simulate() -> None:
    """Papers' experiments against a virtual clock: the same seed gives the same figures."""


@app.command()
def klink(
    workload: Annotated[str, typer.Option(help=f"One of {', '.join(WORKLOADS)}")] = "ysb",
    queries: Annotated[
        str, typer.Option(help="60, or 20,40,60, or 1..80, which is 1, 20, 40, 60, 80")
    ] = "1..80",
    nodes: Annotated[str, typer.Option(help="Likewise; 1..8 is 1, 2, 4, 8")] = "1..8",
    policies: Annotated[
        str, typer.Option(help="With commas between, for queries, nodes and overhead")
    ] = ",".join(POLICIES),
    seconds: Annotated[float, typer.Option(min=20, help="Length of one simulation")] = 300.0,
    repeats: Annotated[int, typer.Option(min=1, help="Seeds, for intervals over them")] = 1,
    cores: Annotated[int, typer.Option(min=1, help="Of each node")] = 24,
    cycle: Annotated[float, typer.Option(min=0.01, max=1, help="Seconds a decision holds")] = 0.12,
    delay: Annotated[
        str, typer.Option(help="On the way in: gamma:60,4ms, …")
    ] = "uniform:50ms,250ms",
    watermark_every: Annotated[
        float, typer.Option(min=0.01, help="Seconds from watermark to watermark")
    ] = 0.2,
    lateness: Annotated[float, typer.Option(min=0, help="Seconds watermarks stay behind")] = 0.0,
    memory: Annotated[float, typer.Option(min=1, help="Events a node has memory for")] = 6e6,
    buffer: Annotated[
        float, typer.Option(min=1, help="Events of one query that stop its sources")
    ] = 150e3,
    collecting: Annotated[
        float, typer.Option(min=0, help="What garbage collection takes, 0 for none")
    ] = 0.045,
    history: Annotated[int, typer.Option(min=10, help="Epochs that estimates remember")] = 400,
    confidence: Annotated[
        float, typer.Option(min=0.5, max=0.999, help="Of the intervals of estimates")
    ] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures")] = 7,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: one for each core")
    ] = None,
    only: Annotated[
        str, typer.Option(help=f"Some of the sections: {','.join(SECTIONS)}")
    ] = ",".join(SECTIONS),
    out: Annotated[Path, typer.Option(help="Folder for klink.json and the pictures")] = OUT,
) -> None:
    """The experiments of "Klink: Progress-Aware Scheduling for Streaming Data Systems"."""
    begun = dt.datetime.now(dt.UTC)
    with clear_errors():
        wanted = [_known(word, "section", SECTIONS) for word in only.split(",")]
        sections = [section for section in SECTIONS if section in wanted]
        plan = Plan(
            _known(workload, "workload", WORKLOADS),
            read_counts(queries, "queries", by_twenties, _MOST_QUERIES),
            read_counts(nodes, "nodes", by_doubling, _MOST_NODES),
            tuple(dict.fromkeys(_known(p, "policy", POLICIES) for p in policies.split(","))),
            repeats,
            Conditions(
                cores=cores,
                seconds=seconds,
                cycle_s=cycle,
                delay=read_delay(delay),
                watermark_every_s=watermark_every,
                lateness_s=lateness,
                buffer_events=buffer,
                memory_events=memory,
                collecting=collecting,
                history=history,
                confidence=confidence,
                seed=seed,
            ),
        )
        _make(out)
    jobs = jobs or os.cpu_count() or 1
    found = run_sections(plan, sections, jobs, console)
    measured = {
        "at": begun.isoformat(timespec="seconds"),
        "seconds": (dt.datetime.now(dt.UTC) - begun).total_seconds(),
        "jobs": jobs,
    }
    with clear_errors():
        settings = settings_of(plan, delay)
        write(out / "klink.json", record_of(found, plan, sections, settings, measured))
        pictures = draw_all(found, plan, out)
    _finish(found, out, len(pictures))


@app.command()
def aion(
    questions: Annotated[str, typer.Option(help=f"Some of {','.join(QUESTIONS)}")] = ",".join(
        QUESTIONS
    ),
    delays: Annotated[str, typer.Option(help=f"Some of {','.join(SETTINGS)}")] = ",".join(PAPERS),
    ways: Annotated[
        str, typer.Option(help=f"To close windows: some of {','.join(early.WAYS)}")
    ] = ",".join(early.WAYS),
    rates: Annotated[str, typer.Option(help="Events per second: 5000,25000")] = "5000,25000",
    lengths: Annotated[str, typer.Option(help="Of windows, in seconds: 3,6")] = "3,6",
    windows: Annotated[int, typer.Option(min=10, help="Of every stream")] = 1_000,
    step: Annotated[float, typer.Option(min=0.01, max=1, help="Seconds between batches")] = 0.1,
    error: Annotated[float, typer.Option(min=0.001, max=0.5, help="That is accepted")] = 0.05,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of it")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures")] = 7,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Processes; default: one for each core")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for aion.json")] = EARLY_OUT,
) -> None:
    """The experiments of "Leaving Stragglers at the Window" (Aion)."""
    with clear_errors():
        conditions = early.Conditions(
            windows=windows, step_s=step, error=error, confidence=confidence, seed=seed
        )
        asked = [_known(word, "question", QUESTIONS) for word in questions.split(",")]
        wanted = trials(
            asked,
            [_known(word, "setting", SETTINGS) for word in delays.split(",")],
            _numbers(rates, "rates"),
            _numbers(lengths, "lengths"),
            [_known(word, "way", early.WAYS) for word in ways.split(",")],
            conditions,
        )
        _make(out)
    found: list[EarlyRow] = []
    with shown_workers(jobs or os.cpu_count() or 1, console) as (workers, describe):
        for question in asked:
            describe(question)
            done = workers.results(run_trial, [t for t in wanted if t.question == question])
            rows = [row for row in done if row is not None]
            found += rows
            for rate, window_s in dict.fromkeys((r.rate, r.window_s) for r in rows):
                here = [r for r in rows if (r.rate, r.window_s) == (rate, window_s)]
                title = f"{question}, {rate:,.0f} events/s, windows of {window_s:g} s"
                console.print(early_table(here, title))
        interrupted = workers.interrupted
    with clear_errors():
        record = {
            "experiment": "aion",
            "commit": commit(),
            "machine": machine(),
            "settings": conditions,
            "end": "interrupted" if interrupted else "complete",
            "rows": found,
        }
        write(out / "aion.json", plain(record))
    console.print(f"written to {out / 'aion.json'}", soft_wrap=True)
    if interrupted:
        raise typer.Exit(130)


def _numbers(text: str, what: str) -> list[float]:
    """Numbers above zero with commas between."""
    try:
        found = [float(word) for word in text.split(",")]
    except ValueError:
        raise HeadraceError(f"{what} are numbers with commas between, not {text!r}") from None
    if min(found) <= 0.0:
        raise HeadraceError(f"{what} are above zero, not {text!r}")
    return found


@contextmanager
def clear_errors() -> Iterator[None]:
    """What is wrong, in words, and exit code 1."""
    try:
        yield
    except HeadraceError as error:
        text = escape(str(error))
        console.print(f"[red]error:[/red] {text}", highlight=False, soft_wrap=True)
        raise typer.Exit(1) from None


def _known(word: str, what: str, names: Iterable[str]) -> str:
    word = word.strip()
    if word not in names:
        raise QueryError(f"there is no {what} {word!r}", choices=near(word, names))
    return word


def _make(folder: Path) -> None:
    """Before anything is simulated for nothing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadraceError(f"{folder} cannot be made: {error.strerror}") from None


def _finish(found: Findings, out: Path, pictures: int) -> None:
    """Klink against the others in a few lines, and where everything is."""
    lines = ratio_lines(ratios(found.queries))
    if lines:
        console.print("Klink over its best rival, and over default:")
        console.print("\n".join(lines), highlight=False, soft_wrap=True)
    word = "picture" if pictures == 1 else "pictures"
    console.print(f"written to {out / 'klink.json'}, with {pictures} {word}", soft_wrap=True)
    if found.interrupted:
        console.print("[yellow]interrupted:[/yellow] what was finished is there")
        raise typer.Exit(130)
