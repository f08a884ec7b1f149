"""Workers with a bar that shows how far they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from headrace.lab.simulator.workers import Workers


@contextmanager
def shown_workers(jobs: int, console: Console) -> Iterator[tuple[Workers, Callable[[str], object]]]:
    """The workers, and what is to be called with the name of their work."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=None)

        def told(done: int, of: int) -> None:
            progress.update(bar, completed=done, total=of)

        with Workers(jobs, told) as workers:
            yield workers, lambda name: progress.update(bar, description=name)
