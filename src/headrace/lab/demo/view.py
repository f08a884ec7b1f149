"""Two views of a running show: one that redraws a terminal, one that prints a line a second."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from headrace.lab.demo import words
from headrace.lab.demo.figures import Figures
from headrace.lab.demo.show import Phase, Show

_STILL_EVERY_S = 5.0
"""How often the plain view says that it is still starting."""
_HEAD, _FIGURES = 3, 8
"""Lines of the screen, frames included."""


class View(Protocol):
    """Shows a show; `update` is called several times a second."""

    def __enter__(self) -> View: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def update(self, now_s: float) -> None: ...


class PlainView:
    """Lines for a file or a pipe: each phase once, then one line a second."""

    def __init__(self, show: Show, console: Console) -> None:
        self._show = show
        self._console = console
        self._doing = ""
        self._next_s = 0.0

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, now_s: float) -> None:
        """Print a line when it is time for one."""
        phase, doing = self._show.phase, self._show.doing
        same = doing == self._doing
        if phase is Phase.OVER or (same and now_s < self._next_s):
            return
        every_s = 1.0 if phase is Phase.RUNNING else _STILL_EVERY_S
        # From line to line, not from now: the lines keep in step with the clock.
        on_time = same and now_s < self._next_s + every_s
        self._next_s = (self._next_s if on_time else now_s) + every_s
        self._doing = doing
        figures = self._show.figures() if doing == Phase.RUNNING.value else None
        if figures is None:
            line = f"{doing} …"
        else:
            line = words.plain_line(self._show.ran_s, figures)
        self._console.print(line, soft_wrap=True, highlight=False, markup=False)
        self._console.file.flush()


class LiveView:
    """The whole screen, redrawn; it leaves the terminal as it was."""

    def __init__(self, show: Show, console: Console) -> None:
        self._show = show
        self._console = console
        self._spinner = Spinner("dots")
        self._began_s: float | None = None
        self._live = Live(console=console, screen=True, auto_refresh=False, redirect_stdout=False)

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def update(self, now_s: float) -> None:
        """Draw the screen."""
        self._began_s = now_s if self._began_s is None else self._began_s
        self._live.update(self._screen(now_s - self._began_s), refresh=True)

    def _screen(self, open_s: float) -> RenderableType:
        layout = Layout()
        layout.split_column(
            Layout(self._head(open_s), name="head", size=_HEAD),
            Layout(name="body"),
        )
        figures = self._show.figures()
        if figures is None:
            layout["body"].update(Panel(self._waiting(), border_style="dim"))
            return layout
        left = self._console.height - _HEAD - _FIGURES - 4
        comings = max(2, min(12, left // 3))
        answers = max(2, left - comings)
        layout["body"].split_column(
            Layout(name="figures", size=_FIGURES),
            Layout(_comings(figures, comings), size=comings + 2),
            Layout(_answers(figures, answers)),
        )
        layout["figures"].split_row(
            Layout(_streams(figures)), Layout(_sharing(figures)), Layout(_answering(figures))
        )
        return layout

    def _head(self, open_s: float) -> RenderableType:
        show = self._show
        row = Table.grid(expand=True, padding=(0, 1))
        row.add_column(no_wrap=True)
        row.add_column(ratio=1)
        row.add_column(justify="right", no_wrap=True)
        if show.doing == Phase.RUNNING.value:
            bar = ProgressBar(total=show.seconds, completed=min(show.ran_s, show.seconds))
            time = f"{show.ran_s:.0f} of {show.seconds:.0f} s"
            row.add_row(Text("Running", style="bold green"), bar, time)
        else:
            row.add_row(self._spinner, Text(f"{show.doing} …"), f"{open_s:.0f} s")
        ending = "Ctrl-C again ends it at once" if show.is_asked_to_end else "Ctrl-C ends it"
        return Panel(row, title="[b]Headrace[/b] demo", subtitle=ending)

    def _waiting(self) -> RenderableType:
        return Text(
            "\nTwo streams of a game, purchases and ads, will be read once each.\n"
            "Everybody's windowed SQL queries share those two scans, and they come and go\n"
            "while the streams run. Spark needs a few seconds first.",
            style="dim",
        )


def _streams(figures: Figures) -> RenderableType:
    rows = [
        ("events/s", words.count(figures.events_per_s)),
        ("events", words.count(figures.events)),
    ]
    for stream in figures.streams:
        batch = "–" if stream.batch_ms is None else words.duration(stream.batch_ms)
        rows.append((f"{stream.name}/s", words.count(stream.events_per_s)))
        rows.append(("  batch", batch))
    return _figures("Streams", rows)


def _sharing(figures: Figures) -> RenderableType:
    return _figures(
        "Sharing",
        [
            ("active queries", str(figures.active)),
            ("queries per scan", f"{figures.queries_per_scan:.1f}"),
            ("query groups", str(figures.groups)),
            ("classes", str(figures.classes)),
            ("slices", str(figures.slices)),
            ("state", words.size(figures.state_bytes)),
        ],
    )


def _answering(figures: Figures) -> RenderableType:
    return _figures(
        "Latency and results",
        [
            ("deployment", words.usual(figures.deployment)),
            ("  worst", words.worst(figures.deployment)),
            ("event time", words.usual(figures.event_time)),
            ("  worst", words.worst(figures.event_time)),
            ("result rows", words.count(figures.rows)),
            ("queries served", str(figures.served))
            if not figures.failed
            else ("served, failed", f"{figures.served}, {len(figures.failed)}"),
        ],
    )


def _figures(title: str, rows: list[tuple[str, str]]) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1))
    # A narrow terminal may cut the labels, never the figures.
    widest = max(len(value) for _, value in rows)
    grid.add_column(no_wrap=True, style="dim", ratio=1, overflow="ellipsis")
    grid.add_column(no_wrap=True, justify="right", style="bold", min_width=widest)
    for label, value in rows:
        grid.add_row(label, value)
    return Panel(grid, title=title, border_style="cyan")


def _comings(figures: Figures, rows: int) -> RenderableType:
    lines = []
    for coming in figures.comings[:rows]:
        sign, style = ("+", "green") if coming.kind == "asked" else ("−", "red")
        line = Text(f"{sign} {coming.question.name:<19}", style, no_wrap=True, overflow="ellipsis")
        if coming.kind == "asked":
            line.append(coming.question.sql, style="dim")
        lines.append(line)
    return Panel(Group(*lines), title="Queries come and go", border_style="magenta")


def _answers(figures: Figures, rows: int) -> RenderableType:
    grid = Table.grid(expand=True, padding=(0, 1))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(no_wrap=True, style="green")
    grid.add_column(no_wrap=True, ratio=1, overflow="ellipsis")
    # One line a query: the queries of the slower stream would not be seen among the others.
    newest = {answer.query: answer for answer in reversed(figures.answers)}
    shown = sorted(newest.values(), key=figures.answers.index)[:rows]
    for answer in shown:
        grid.add_row(words.moment(answer), answer.query, words.first_row(answer))
    waiting = Text("No window has closed yet.", style="dim")
    return Panel(grid if shown else waiting, title="Newest results", border_style="green")


def view_of(show: Show, console: Console) -> View:
    """The live view on a terminal, the plain one elsewhere."""
    # Not `is_terminal`: settings such as FORCE_COLOR make a pipe look like one.
    can_redraw = console.file.isatty() and not console.is_dumb_terminal
    return LiveView(show, console) if can_redraw else PlainView(show, console)
