"""Runs the demo from start to summary, and ends it cleanly when the user presses Ctrl-C."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.lab.demo import words
from headrace.lab.demo.show import Phase, Show
from headrace.lab.demo.view import view_of

_REDRAW_S = 0.25
_GRACE_S = 10.0
"""A cold first batch can take longer than anybody waits for the end."""
_LOG_LINES = 15
_READ_ON = "How it works: docs/internals/architecture.md. A first session: examples/quickstart.py"


@dataclass(slots=True)
class _Interrupts:
    """Counted by the signal handler, which may do no more: locks could be held where it runs."""

    count: int = 0


def run(seconds: float, rate: float, queries: int) -> int:
    """Run the demo; returns the exit code."""
    if isinstance(sys.stdout, TextIOWrapper):  # a terminal that has no "–" shows "?"
        sys.stdout.reconfigure(errors="replace")
    console = Console()
    show = Show(seconds, rate, queries)
    with _counted_interrupts() as interrupts, _own_words_to(show.log_file):
        try:
            show.start()
            ended_in_time = _watch(show, console, interrupts)
            if show.error is not None and not interrupts.count:
                _print_failure(show, console)
                return 1
            if interrupts.count:
                when = f"after {show.ran_s:.0f} s" if show.ran_s else "while it was starting"
                console.print(f"Stopped by you {when}.", highlight=False)
            _print_summary(show, console)
        finally:
            show.tidy()
        if not ended_in_time:
            _leave_at_once()
    return 0


def _watch(show: Show, console: Console, interrupts: _Interrupts) -> bool:
    """Show it until it is over; False when closing takes longer than anybody waits."""
    deadline_s: float | None = None
    with view_of(show, console) as view:
        while show.is_alive():
            now_s = time.monotonic()
            if interrupts.count:
                show.end()
            if deadline_s is None and (interrupts.count or show.phase is Phase.CLOSING):
                deadline_s = now_s + _GRACE_S
            if deadline_s is not None and (now_s > deadline_s or interrupts.count > 1):
                return False
            view.update(now_s)
            time.sleep(_REDRAW_S)
    return True


@contextmanager
def _counted_interrupts() -> Iterator[_Interrupts]:
    """Ctrl-C and SIGTERM only count. PySpark's own handler would cancel the jobs of a batch."""
    interrupts = _Interrupts()

    def note(_number: int, _frame: FrameType | None) -> None:
        interrupts.count += 1

    before = {s: signal.signal(s, note) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _own_words_to(path: Path) -> Iterator[None]:
    """Python's log and stack traces go where Spark's go.

    PySpark's accumulator server prints one whenever the JVM ends before it.
    """
    with path.open("a") as file, redirect_stderr(file):
        logging.basicConfig(stream=file, level=logging.WARNING, force=True)
        try:
            yield
        finally:
            logging.basicConfig(stream=sys.__stderr__, level=logging.WARNING, force=True)


def _leave_at_once() -> None:
    """End the process without waiting for threads; the JVM follows when its stdin closes."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _print_failure(show: Show, console: Console) -> None:
    console.print(Text("The demo failed: ", "red"), Text(str(show.error)), sep="")
    if "JAVA_GATEWAY_EXITED" in str(show.error):
        console.print("Spark did not start. It needs Java 17 or later; `make demo` looks for it.")
    lines = show.log_file.read_text(errors="replace").splitlines()[-_LOG_LINES:]
    if lines:
        console.print("The last lines of Spark's log:")
        for line in lines:
            console.print(f"  {line}", markup=False, highlight=False)


def _print_summary(show: Show, console: Console) -> None:
    figures = show.figures()
    if figures is None or not figures.events:
        return
    table = Table(title="What happened", title_justify="left", show_header=False)
    table.add_column(style="dim")
    table.add_column(justify="right")
    rows = [
        ("events processed", words.count(figures.events)),
        ("queries served", str(figures.served)),
        ("  on scans of a stream", str(len(figures.streams))),
        ("result rows", words.count(figures.rows)),
        ("closed windows", words.count(figures.windows)),
        ("deployment latency, median", words.usual(figures.deployment)),
        ("  worst", words.worst(figures.deployment)),
        ("event-time latency, median", words.usual(figures.event_time)),
        ("  worst", words.worst(figures.event_time)),
    ]
    for label, value in rows:
        table.add_row(label, value)
    console.print(table)
    for failure in figures.failed:
        console.print(Text("failed: ", "red"), Text(failure), sep="")
    console.print(_READ_ON, highlight=False, soft_wrap=True)
