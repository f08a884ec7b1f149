"""How pictures look: lines that differ without colour, axes with units, legends, captions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from headrace.lab.bench.results.curves import Numbers
from headrace.lab.bench.results.panels import Line, Sheet, number
from headrace.lab.bench.results.verdict import WARM_UP
from headrace.lab.looks import LOOKS

Look = dict[str, Any]

THIN = 0.8
TIME = "time since the start of the run (s)"
_OFFERED: dict[str, Any] = {"color": "0.25", "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
_WARM: dict[str, Any] = {"facecolor": "0.5", "alpha": 0.13, "linewidth": 0}
_WIDE = 20.0
"""Values this many times apart ask for a logarithmic axis."""


def sheet_of(
    sheet: Sheet, draw: Callable[[Axes, Line, Look], None], *, apart: bool = False
) -> tuple[Figure, list[Axes]]:
    """A figure with a pair of axes for each panel, every line drawn by `draw`.

    All panels have the same axes, unless their x is `apart`.
    """
    count = len(sheet.panels)
    across = count if count < 4 else 2 if count == 4 else 3
    down = math.ceil(count / across)
    size = (5.2, 3.4) if count == 1 else (7.2, 2.2 * down + (0.9 if down == 1 else 0.7))
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(wspace=0.05))
    FigureCanvasAgg(figure)
    grid = figure.subplots(
        down, across, sharex=False if apart else "all", sharey="all", squeeze=False
    )
    looks = look_of(sheet)
    axes = list(grid.flat)
    for i, ax in enumerate(axes):
        if i >= count:
            ax.remove()
            continue
        ax.set_title(sheet.panels[i].title)
        ax.tick_params(labelbottom=apart or i + across >= count)
        for line in sheet.panels[i].lines:
            draw(ax, line, looks[line.name])
    return figure, axes[:count]


def look_of(sheet: Sheet) -> dict[str, Look]:
    """How the line of each name looks."""
    looks = {}
    for i, name in enumerate(sheet.names):
        color, style, marker = LOOKS[i % len(LOOKS)]
        looks[name] = {"color": color, "linestyle": style, "marker": marker}
    return looks


def spaced(count: int, look: Look) -> tuple[int, int]:
    """Six markers along a line of so many points, beside those of the other lines."""
    every = max(count // 6, 1)
    order = [marker for _, _, marker in LOOKS].index(look["marker"])
    return (every // 2 + order * every // 4) % every, every


def draw_offered(ax: Axes, x: Numbers, y: Numbers) -> None:
    """The line of what was offered."""
    ax.plot(x, y, **_OFFERED, zorder=4)


def offered_key() -> Line2D:
    """… in the legend."""
    return Line2D([], [], **_OFFERED, label="offered")


def thin_key(text: str) -> Line2D:
    """Thin lines in the legend."""
    return Line2D([], [], color="0.3", linewidth=THIN, label=text)


def warm_up_key() -> Patch:
    """The shade in the legend."""
    return Patch(**_WARM, label="warm-up")


def time_axis(axes: Sequence[Axes], sheet: Sheet) -> None:
    """Seconds of a run, with the warm-up shaded."""
    longest = max(ln.record["seconds"] for p in sheet.panels for ln in p.lines)
    for ax, panel in zip(axes, sheet.panels, strict=True):
        for seconds in sorted({round(line.record["seconds"], 1) for line in panel.lines}):
            ax.axvspan(0, WARM_UP * seconds, zorder=0, **_WARM)
        ax.set_xlim(0, longest or 1)
        ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 3, 5, 6, 10]))


def count_axis(axes: Sequence[Axes]) -> None:
    """Numbers of events, from zero on."""
    top = axes[0].get_ylim()[1]
    for ax in axes:
        ax.set_ylim(-0.02 * top, top)
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))


def latency_axis(axes: Sequence[Axes], which: str, values: Numbers) -> None:
    """Seconds on the x or the y axis, logarithmic when the values are far apart."""
    values = values[np.isfinite(values) & (values > 0)]
    log = _wide(values)
    for ax in axes:
        if log:
            _log_axis(ax, which, values, labels=8)
        elif which == "x":
            ax.set_xlim(left=0)
        else:
            ax.set_ylim(bottom=0)
        _axis(ax, which).set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))


def rate_axis(axes: Sequence[Axes]) -> None:
    """Events per second on the x axis, each panel's own, logarithmic when they are far apart."""
    for ax in axes:
        values = np.array([v for line in ax.lines for v in np.asarray(line.get_xdata())])
        if _wide(values):
            _log_axis(ax, "x", values, labels=4)
        else:
            ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))


def log_axes(ax: Axes, counts: Sequence[int], values: Sequence[float]) -> None:
    """Numbers of queries against events per second, both logarithmic."""
    _log_axis(ax, "x", np.array(counts), labels=8)
    _log_axis(ax, "y", np.array(values), labels=8)
    ax.xaxis.set_major_locator(FixedLocator(_apart(sorted(set(counts)))))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: number(v)))


def _apart(counts: Sequence[int]) -> list[int]:
    """Those of the counts whose labels do not run into each other."""
    least = (max(counts) / min(counts)) ** 0.07
    kept: list[int] = []
    for count in counts:
        if not kept or count >= kept[-1] * least:
            kept.append(count)
    return kept


def _wide(values: Numbers) -> bool:
    return len(values) > 0 and float(values.max()) > _WIDE * float(values.min())


def _axis(ax: Axes, which: str) -> Axis:
    return ax.xaxis if which == "x" else ax.yaxis


def _log_axis(ax: Axes, which: str, values: Numbers, labels: int) -> None:
    """A logarithmic axis around the values, with no more labels than there is room for."""
    low, high = float(values.min()), float(values.max())
    (ax.set_xscale if which == "x" else ax.set_yscale)("log", nonpositive="mask")
    (ax.set_xlim if which == "x" else ax.set_ylim)(low / 1.3, high * 1.3)
    decades = math.log10(high / low)
    ways = [(1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)]
    steps = next((w for w in ways if len(w) * decades <= labels), ways[-1])
    axis = _axis(ax, which)
    axis.set_major_locator(LogLocator(subs=steps, numticks=labels + 4))
    axis.set_minor_locator(LogLocator(subs=tuple(np.arange(2.0, 10.0)), numticks=40))
    axis.set_minor_formatter(NullFormatter())


def legend(figure: Figure, sheet: Sheet, more: Sequence[Artist], *, lines: bool = True) -> None:
    """The names of the lines (or of the markers only) above the panels, then what else is drawn."""
    looks = {
        name: look if lines else {**look, "linestyle": ""} for name, look in look_of(sheet).items()
    }
    keys: list[Artist] = [Line2D([], [], label=name, **look) for name, look in looks.items()]
    keys += more
    widths = [len(str(key.get_label())) * 0.065 + 0.65 for key in keys]
    room = figure.get_figwidth()
    across = len(keys) if sum(widths) <= room else max(int(room / max(widths)), 1)
    rows = math.ceil(len(keys) / across)
    figure.set_figheight(figure.get_figheight() + 0.19 * (rows - 1))
    columns = math.ceil(len(keys) / rows)
    figure.legend(handles=keys, loc="outside upper center", ncols=columns)


def titles(figure: Figure, axes: Sequence[Axes], x: str, y: str) -> None:
    """What the axes show: beside a single row of panels, or once for all rows."""
    figure.supxlabel(x)
    place = axes[0].get_subplotspec()
    if place is not None and place.get_gridspec().nrows == 1:
        axes[0].set_ylabel(y)
    else:
        figure.supylabel(y)


def captioned(figure: Figure, text: str, sheet: Sheet) -> Figure:
    """The figure, with its caption for a label."""
    figure.set_label(". ".join([text, *sheet.notes]) + ".")
    return figure
