"""When answers came after the ends of their windows, way by way: a picture of distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter

from headrace.lab.bench.run import Record
from headrace.lab.looks import LOOKS, style

_ACROSS = 4
_TICKS_S = (0.03, 0.1, 0.3, 1.0, 3.0)
_SHARES = (0.1, 0.5, 0.9)


def latency_picture(records: Sequence[Record]) -> Figure | None:
    """A panel for each record; None where none has any answer."""
    shown = [r for r in records if any(r.get("latencies_s", {}).values())]
    if not shown:
        return None
    across = min(len(shown), _ACROSS)
    down = math.ceil(len(shown) / across)
    with style():
        figure = Figure(figsize=(2.4 * across + 0.4, 1.9 * down + 0.7), layout="constrained")
        FigureCanvasAgg(figure)
        panels = list(figure.subplots(down, across, sharex="all", sharey="all", squeeze=False).flat)
        for panel in panels[len(shown) :]:
            panel.remove()
        for panel, record in zip(panels, shown, strict=False):
            panel.set_title(f"{record['workload']}, {record['rate']:,.0f}/s")
            ways = [(w, s) for w, s in record["latencies_s"].items() if s]
            for (way, seconds), (color, line, marker) in zip(ways, LOOKS, strict=False):
                x = np.maximum(np.array(seconds), 1e-3)
                share = np.arange(1, len(x) + 1) / len(x)
                marks = [int(np.searchsorted(share, s)) for s in _SHARES]
                panel.step(
                    x,
                    share,
                    where="post",
                    color=color,
                    linestyle=line,
                    marker=marker,
                    markevery=marks,
                    label=way,
                )
            panel.set_xscale("log")
            panel.xaxis.set_major_locator(FixedLocator(list(_TICKS_S)))
            panel.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
            panel.xaxis.set_minor_formatter(NullFormatter())
            panel.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g}"))
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside upper center", ncols=len(names))
        figure.supxlabel("seconds after the end of the window")
        figure.supylabel("answers (%)")
    return figure
