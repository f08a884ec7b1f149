"""`headrace bench early`: approximate windows against those that wait, on a running system."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headrace.lab.bench.driver.stage import Setup
from headrace.lab.bench.early.measure import measure_early
from headrace.lab.bench.early.picture import latency_picture
from headrace.lab.bench.early.questions import DELAYS, QUESTIONS, WAYS, chosen, workload
from headrace.lab.bench.results import records
from headrace.lab.bench.run import Record
from headrace.lab.bench.screen import clear_errors, console, told

_HEADS = ("n", "after", "p50", "p90", "p99", "right", "error", "held", "width", "met", "kept")


_LATENCIES = ("after_s", "after_p50_s", "after_p90_s", "after_p99_s")


def early(
    questions: Annotated[str, typer.Option(help=f"Some of {','.join(QUESTIONS)}")] = "ysb,nyt",
    delays: Annotated[str, typer.Option(help=f"Some of {','.join(DELAYS)}")] = "EC,EG",
    rates: Annotated[str, typer.Option(help="Events/s, with commas between")] = "5000",
    lengths: Annotated[str, typer.Option(help="Of windows, in seconds")] = "3",
    ways: Annotated[
        str, typer.Option(help=f"To close windows: some of {','.join(WAYS)}")
    ] = ",".join(WAYS),
    seconds: Annotated[float, typer.Option(min=10, help="Of every stream")] = 75.0,
    error: Annotated[float, typer.Option(min=0.001, max=0.5, help="That is accepted")] = 0.05,
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of it")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the first stream's events; +1 each further")] = 7,
    out: Annotated[Path, typer.Option(help="Folder for the records")] = Path(
        "benchmarks/runs/early"
    ),
) -> None:
    """Windows closed in all ways at once: exact, K-slack, AQ-K-slack, Aion with and without a
    sample. Shares are of rows. Where they would be in each other's way, take them one by one."""
    with clear_errors():
        used = chosen(ways.split(","))
        wanted = [
            (workload(q, d, float(rate), float(length), error, confidence, used), float(rate))
            for q, rate, length, d in product(
                *(text.split(",") for text in (questions, rates, lengths, delays))
            )
        ]
    found: list[Record] = []
    for number, (made, rate) in enumerate(wanted):
        # Streams of one seed are sampled alike: their shares would be right, or not, together.
        setup = Setup(made, "headrace", made.count, seed + number)
        with told() as watcher:
            record = measure_early(setup, rate, seconds, error, watcher, used)
        some = "" if len(used) == len(WAYS) else f"-{'-'.join(used[1:])}"
        path = out / f"{made.name}-{rate:g}{some}.json"
        records.write(path, record)
        show_early(record)
        console.print(f"written to {path}", soft_wrap=True)
        if record["end"] == "interrupted":
            raise typer.Exit(130)
        if record["end"] != "complete":
            console.print(f"[red]{record['end']}:[/red] {record['reason']}", soft_wrap=True)
            raise typer.Exit(1)
        found.append(record)
    figure = latency_picture(found)
    if figure is not None:
        figure.savefig(out / "latency-cdf.png")
        console.print(f"a picture is in {out / 'latency-cdf.png'}", soft_wrap=True)


def show_early(record: Record) -> None:
    """A line for each way."""
    table = Table(
        title=f"{record['workload']}, {record['rate']:,.0f} events/s; batches of "
        f"{record.get('batch_s', 0.0):.2f} s\n"
        "seconds after the window's end; shares of rows in %",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0, 0, 0),
    )
    table.add_column("way", no_wrap=True)
    for head in _HEADS:
        table.add_column(head, justify="right", no_wrap=True)
    for way in record["ways"]:
        shares = [way["accurate"], way["error"], way["covered"], way["width"]]
        shares += [way["met"], way["kept"]]
        table.add_row(
            way["way"],
            str(way["windows"]),
            *(f"{way[f]:.2f}" for f in _LATENCIES),
            *("–" if s is None else f"{100 * s:.1f}" for s in shares),
        )
    console.print(table)
    if spent := record.get("statistics"):
        console.print(
            f"  statistics and sampling: {100 * spent['share']:.2f} % of the time; "
            f"an answer waits {spent['deciding_ms']:.2f} ms for its decision"
            + (
                f", {100 * spent['share_of_latency']:.2f} % of its latency"
                if "share_of_latency" in spent
                else ""
            ),
            highlight=False,
        )
    for name, ratio in record.get("ratios", {}).items():
        console.print(f"  {name}: {ratio:.2f}", highlight=False)
