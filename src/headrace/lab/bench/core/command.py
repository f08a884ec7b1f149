"""`headrace bench core`: the engine's speed table, as JSON and on the screen."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import headrace as hr
from headrace.lab.bench.core import plain_spark, report
from headrace.lab.bench.core.measure import Bench, Figure, Writer
from headrace.lab.bench.core.workload import Workload

LINES = (
    "one",
    "one-spark",
    "twenty",
    "twenty-spark",
    "sixty",
    "mixed",
    "thousand",
    "wide",
    "fsync",
    "arrow",
    "deploy",
    "early",
    "soak",
)
"""With ``-spark``: over files as Spark writes them by default."""


def core(
    only: Annotated[str, typer.Option(help=f"Comma-separated lines of {', '.join(LINES)}")] = "",
    out: Annotated[Path, typer.Option(help="Where the JSON goes")] = Path(
        "benchmarks/results/core.json"
    ),
    repeats: Annotated[int, typer.Option(help="Repeats of every ratio")] = 3,
    cores: Annotated[int, typer.Option(help="Cores for Spark")] = 2,
    soak_seconds: Annotated[float, typer.Option(help="Length of the soak run")] = 600.0,
) -> None:
    """Measure Headrace against plain Structured Streaming on this machine."""
    console = Console()
    chosen = [w.strip() for w in only.split(",") if w.strip()] or list(LINES)
    unknown = [w for w in chosen if w not in LINES]
    if unknown:
        raise typer.BadParameter(f"{unknown[0]!r} is none of {', '.join(LINES)}", param_hint="only")
    workload = Workload()
    scratch = Path(tempfile.mkdtemp(prefix="headrace-bench-"))
    spark = hr.local_spark(cores, **{"spark.driver.memory": "6g"})
    bench = Bench(spark, scratch, workload, console.print)
    figures: list[Figure] = []
    try:
        for line in chosen:
            console.print(f"[bold]{line}[/bold]")
            figures += _line(bench, line, repeats, soak_seconds)
    except KeyboardInterrupt:
        console.print("stopped: what was measured so far is kept")
    finally:
        settings = {
            "workload": asdict(workload),
            "cores": cores,
            "repeats": repeats,
            "plain": plain_spark.SETTINGS,
        }
        if figures:
            report.save(out, figures, settings)
            report.show(figures, console)
            console.print(f"written to {out}")
        spark.stop()
        shutil.rmtree(scratch, ignore_errors=True)


def _line(bench: Bench, line: str, repeats: int, soak_seconds: float) -> list[Figure]:
    queries, events = bench.workload.queries, 2_000_000
    writer: Writer = "spark" if line.endswith("-spark") else "arrow"
    written = ", files as Spark writes them" if writer == "spark" else ""
    match line.removesuffix("-spark"):
        case "one":
            name, more = "1 query / plain Structured Streaming" + written, max(repeats, 5)
            return [
                bench.ratio(name, queries(1), 1.0, events=4_000_000, repeats=more, writer=writer)
            ]
        case "twenty":
            name, target = "20 queries / plain with 20" + written, 15.0 if written else 10.0
            return [
                bench.ratio(
                    name, queries(20), target, events=events, repeats=repeats, writer=writer
                )
            ]
        case "sixty":
            name = "60 queries / plain with 60"
            return [
                bench.ratio(name, queries(60), 25.0, events=1_000_000, batches=2, repeats=repeats)
            ]
        case "mixed":
            name = "60 mixed queries / plain with the same 60"
            mixed = bench.workload.mixed(60)
            return [bench.ratio(name, mixed, 15.0, events=1_000_000, batches=2, repeats=repeats)]
        case "thousand":
            return [bench.scale(1000, events=12_000_000, batches=12, repeats=max(repeats, 5))]
        case "wide":
            return bench.wide(100, (14, 40), repeats=max(repeats, 5))
        case "fsync":
            return [bench.fsync(100, events=4_000_000, batches=8, repeats=max(repeats, 5))]
        case "arrow":
            return [bench.fastest(1000, 45.0), bench.held(1000, 1_000_000, 60.0)]
        case "deploy":
            return [bench.deployment(900, 100, 200_000)]
        case "early":
            return [bench.beside(100, 5, seconds=20.0, repeats=repeats)]
        case _:
            return bench.soak(200, 100_000, soak_seconds)
