"""The command line: `headrace demo`, `bench`, `simulate` and `version`."""

from __future__ import annotations

import signal
from typing import Annotated

import typer

app = typer.Typer(
    name="headrace",
    help="Many ad-hoc windowed SQL queries over the same live streams, inside one Spark.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

# Commands import what they run when they run: `headrace version` must not wait for PySpark.


@app.command()
def demo(
    seconds: Annotated[float, typer.Option(min=1, help="How long it runs once it is up.")] = 30,
    rate: Annotated[float, typer.Option(min=1, help="Events per second, both streams.")] = 20_000,
    queries: Annotated[int, typer.Option(min=1, help="How many run at a time, about.")] = 24,
) -> None:
    """Gaming streams, queries that come and go, and how they share the work, live."""
    from headrace.lab.demo import run

    code = run(seconds, rate, queries)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # nothing is left that could be interrupted
    raise typer.Exit(code)


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def bench(context: typer.Context) -> None:
    """Measure what a system really holds, from outside: list, run, sustain, compare, report."""
    try:
        from headrace.lab.bench.commands import app as commands
    except ModuleNotFoundError as missing:
        typer.echo(f"headrace bench needs {missing.name}: pip install 'headrace[bench]'", err=True)
        raise typer.Exit(1) from None
    commands(args=context.args, prog_name="headrace bench")


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
    add_help_option=False,
)
def simulate(context: typer.Context) -> None:
    """Compare scheduling policies against a virtual clock, as their papers do: klink."""
    try:
        from headrace.lab.simulator.commands import app as commands
    except ModuleNotFoundError as missing:
        needs = f"headrace simulate needs {missing.name}: pip install 'headrace[bench]'"
        typer.echo(needs, err=True)
        raise typer.Exit(1) from None
    commands(args=context.args, prog_name="headrace simulate")


@app.command()
def version() -> None:
    """The version of this package."""
    from headrace import __version__

    typer.echo(__version__)


if __name__ == "__main__":
    app()
