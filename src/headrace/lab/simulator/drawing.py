"""How pictures of experiments look: sheets of panels, lines by name, axes, legends."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from headrace.lab.looks import LOOKS
from headrace.lab.simulator.outcome import Numbers

Look = dict[str, Any]

BOUND: Look = {"color": "0.25", "linewidth": 1.0, "linestyle": (0, (1, 1.5))}
"""Of a line that is not a measurement."""
WARM: Look = {"facecolor": "0.5", "alpha": 0.13, "linewidth": 0}
_DPI = 200
_WIDE = 20.0
"""Values this many times apart ask for a logarithmic axis."""
_NAMES = (
    "klink",
    "default",
    "fcfs",
    "klink-without-memory",
    "round-robin",
    "highest-rate",
    "streambox",
    "klink, not forwarding",
)
"""Each of these looks the same in all pictures."""
_SIZES = (5.0, 9.0, 7.5, 7.0, 6.5, 6.0, 4.0, 4.0, 5.0)


def sheet(count: int, across: int = 2) -> tuple[Figure, list[Axes]]:
    """A figure with so many panels, in rows of two or of one."""
    across = min(count, across)
    down = math.ceil(count / across)
    height = 3.4 if down == 1 else 2.2 * down + 0.7
    figure = Figure(figsize=(7.2, height), layout=ConstrainedLayoutEngine(wspace=0.05))
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(down, across, squeeze=False).flat)


def look(name: str) -> Look:
    """Of a policy's line. Markers are hollow and shrink: where lines lie on one another, all of
    their markers are seen."""
    number = _NAMES.index(name) if name in _NAMES else len(_NAMES)
    hollow = {"markerfacecolor": "none", "markeredgewidth": 1.2, "markersize": _SIZES[number]}
    return {**numbered(number), **hollow}


def numbered(number: int) -> Look:
    """Of the n-th line."""
    color, dashes, marker = LOOKS[number % len(LOOKS)]
    return {"color": color, "linestyle": dashes, "marker": marker}


def keys(names: Sequence[str]) -> list[Artist]:
    """Policies in the legend."""
    return [Line2D([], [], label=name, **look(name)) for name in names]


def legend(figure: Figure, shown: Sequence[Artist], *, beside: bool = False) -> None:
    """Beside the panels, or above them in as many rows as it takes."""
    if beside:
        figure.legend(handles=list(shown), loc="outside right upper")
        return
    widths = [len(str(key.get_label())) * 0.065 + 0.65 for key in shown]
    room = figure.get_figwidth()
    across = len(shown) if sum(widths) <= room else max(int(room / max(widths)), 1)
    rows = math.ceil(len(shown) / across)
    figure.set_figheight(figure.get_figheight() + 0.19 * (rows - 1))
    figure.legend(
        handles=list(shown), loc="outside upper center", ncols=math.ceil(len(shown) / rows)
    )


def wide(values: Numbers) -> bool:
    """Whether they are too far apart for a linear axis."""
    values = values[np.isfinite(values) & (values > 0)]
    return len(values) > 0 and float(values.max()) > _WIDE * float(values.min())


def ticks_at(ax: Axes, values: Sequence[float], *, log: bool = False) -> None:
    """The x axis with these values and no others."""
    if log:
        ax.set_xscale("log")
    ax.xaxis.set_major_locator(FixedLocator(list(values)))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))


def y_from_zero(ax: Axes, values: Numbers) -> None:
    """The y axis from zero to a bit above the values."""
    values = values[np.isfinite(values)]
    top = float(values.max()) if len(values) else 0.0
    ax.set_ylim(0.0, 1.08 * top if top > 0.0 else 1.0)


def log_y(ax: Axes, values: Numbers) -> None:
    """A logarithmic y axis around the values, with plain numbers."""
    values = values[np.isfinite(values) & (values > 0)]
    low, high = float(values.min()), float(values.max())
    ax.set_yscale("log", nonpositive="mask")
    ax.set_ylim(low / 1.3, high * 1.3)
    steps = (1.0, 2.0, 5.0) if math.log10(high / low) < 2.5 else (1.0,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps, numticks=12))
    ax.yaxis.set_minor_locator(LogLocator(subs=tuple(np.arange(2.0, 10.0)), numticks=40))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,g}"))


def by_second(at_s: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Means over every second."""
    second = np.floor(at_s).astype(np.int64)
    count = np.bincount(second)
    total = np.bincount(second, weights=values)
    there = count > 0
    return np.arange(len(count))[there] + np.float64(0.5), total[there] / count[there]


def png(figure: Figure) -> bytes:
    """The same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()
