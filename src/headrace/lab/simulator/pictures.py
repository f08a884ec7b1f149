"""Pictures of an experiment, after the paper's figures 6 to 9.

A function gives None where there is nothing to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter

from headrace.lab.looks import style
from headrace.lab.simulator import drawing
from headrace.lab.simulator.drawing import BOUND, WARM
from headrace.lab.simulator.estimates import CONFIDENCES, Accuracy
from headrace.lab.simulator.experiments import Course, Plan, Row
from headrace.lab.simulator.findings import Findings
from headrace.lab.simulator.outcome import WARM_UP, Numbers
from headrace.lab.simulator.overhead import Overhead

_MEGA = 1e6
_X = {
    "queries": "queries",
    "nodes": "nodes",
    "enter_at": "share of memory at which memory mode begins (b)",
}


@dataclass(frozen=True, slots=True)
class Panel:
    """One pair of axes: which figure, what it is called, and its unit."""

    figure: str
    label: str
    unit: float = 1.0


MEAN = Panel("mean_s", "mean latency (s)")
P99 = Panel("p99_s", "99th percentile of latency (s)")
SLOWDOWN = Panel("slowdown", "mean slowdown (thousands)", 1e3)
THROUGHPUT = Panel("throughput_per_s", "throughput (M events/s)", _MEGA)
MEMORY = Panel("memory_mean", "mean memory (M events)", _MEGA)
MEMORY_P90 = Panel("memory_p90", "90th percentile of memory (M events)", _MEGA)


def draw_all(found: Findings, plan: Plan, out: Path) -> list[Path]:
    """Write every picture for which there is something to show."""
    made = {
        "latency-by-queries": by(found.queries, "queries", (MEAN, P99)),
        "latency-cdf": distribution(found.distributions),
        "slowdown-by-queries": by(found.queries, "queries", (SLOWDOWN,)),
        "throughput-by-queries": by(found.queries, "queries", (THROUGHPUT,)),
        "memory-by-queries": by(found.queries, "queries", (MEMORY, MEMORY_P90)),
        "memory-over-time": over_time(found.memory, plan.conditions.memory_events),
        "estimates": accuracy(found.estimates),
        "overhead": overhead(found.overhead, plan.conditions.cycle_s),
        "latency-by-nodes": by(found.nodes, "nodes", (MEAN, P99)),
        "sensitivity": by(found.sensitivity, "enter_at", (MEAN, P99, THROUGHPUT, MEMORY)),
    }
    files = []
    for name, figure in made.items():
        if figure is not None:
            files.append(out / f"{name}.png")
            files[-1].write_bytes(drawing.png(figure))
    return files


def by(rows: Sequence[Row], x: str, panels: Sequence[Panel]) -> Figure | None:
    """A line for each policy against queries, nodes or b; bars are intervals over repeats."""
    if not rows:
        return None
    names = list(dict.fromkeys(row.label for row in rows))
    values = sorted({getattr(row, x) for row in rows})
    with style():
        figure, axes = drawing.sheet(len(panels))
        for ax, panel in zip(axes, panels, strict=True):
            for name in names:
                _line(ax, [row for row in rows if row.label == name], x, panel)
            ax.set_ylabel(panel.label)
            drawing.ticks_at(ax, values, log=x == "nodes" and len(values) > 1)
            tops = [row.figures[panel.figure] for row in rows]
            y = np.array([s.mean if s.high is None else s.high for s in tops]) / panel.unit
            if x == "nodes" and drawing.wide(y):
                drawing.log_y(ax, y)
            else:
                drawing.y_from_zero(ax, y)
        figure.supxlabel(_X[x])
        if len(names) > 1:
            drawing.legend(figure, drawing.keys(names), beside=len(panels) == 1)
    return figure


def _line(ax: Axes, rows: Sequence[Row], x: str, panel: Panel) -> None:
    spreads = [row.figures[panel.figure] for row in rows]
    y = np.array([s.mean for s in spreads]) / panel.unit
    low = np.array([s.mean if s.low is None else s.low for s in spreads]) / panel.unit
    high = np.array([s.mean if s.high is None else s.high for s in spreads]) / panel.unit
    bars = np.stack((y - low, high - y)) if (high > low).any() else None
    look = drawing.look(rows[0].label)
    places = [getattr(row, x) for row in rows]
    ax.errorbar(places, y, yerr=bars, capsize=3, elinewidth=1, **look)


def distribution(latencies_s: Mapping[str, Numbers]) -> Figure | None:
    """How many windows were how late."""
    there = {name: values for name, values in latencies_s.items() if len(values)}
    if not there:
        return None
    with style():
        figure, (ax,) = drawing.sheet(1)
        for name, values in there.items():
            share = np.arange(1, len(values) + 1) / len(values)
            marks = [int(np.searchsorted(share, s)) + 1 for s in (0.1, 0.3, 0.5, 0.7, 0.9)]
            x, y = np.concatenate((values[:1], values)), np.concatenate(([0.0], share))
            marks = [mark for mark in marks if mark < len(x)]
            ax.step(x, y, where="post", **drawing.look(name), markevery=marks)
        medians = [float(np.median(values)) for values in there.values()]
        if drawing.wide(np.array([*medians, *(float(v[-1]) for v in there.values())])):
            ax.set_xscale("log")
        else:
            ax.set_xlim(left=0)
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
        ax.set_ylim(0, 1.02)
        ax.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 0.9, 1]))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g}"))
        ax.set_xlabel("latency (s)")
        ax.set_ylabel("windows (%)")
        drawing.legend(figure, drawing.keys(list(there)), beside=True)
    return figure


def over_time(courses: Sequence[Course], bound: float) -> Figure | None:
    """Memory and cores in use, without garbage collection, as means over a second."""
    if not courses:
        return None
    with style():
        figure, (above, below) = drawing.sheet(2, across=1)
        above.axhline(bound / _MEGA, **BOUND)
        for number, course in enumerate(courses):
            look = {**drawing.look(course.policy), "markersize": 4.5}
            for ax, values in ((above, course.queued / _MEGA), (below, course.useful_cores)):
                x, y = drawing.by_second(course.at_s, values)
                every = max(len(x) // 10, 1)
                ax.plot(x, y, **look, markevery=(every * (1 + number) // 3, every), zorder=3)
        end = max(float(course.at_s[-1]) for course in courses)
        for ax in (above, below):
            ax.axvspan(0, WARM_UP * end, zorder=0, **WARM)
            ax.set_xlim(0, end)
        most = max(float(course.queued.max()) for course in courses)
        drawing.y_from_zero(above, np.array([bound, most]) / _MEGA)
        drawing.y_from_zero(below, np.concatenate([course.useful_cores for course in courses]))
        above.tick_params(labelbottom=False)
        above.set_ylabel("memory (M events)")
        below.set_ylabel("cores in useful work")
        below.set_xlabel("time since the start (s)")
        more = [Line2D([], [], label="memory bound", **BOUND), Patch(**WARM, label="warm-up")]
        drawing.legend(figure, [*drawing.keys([c.policy for c in courses]), *more])
    return figure


def accuracy(found: Sequence[Accuracy]) -> Figure | None:
    """Sweeps within their interval above, the interval's width below; one column a confidence."""
    if not found:
        return None
    delays = list(dict.fromkeys(a.delay for a in found))
    names = list(dict.fromkeys(a.estimator for a in found))
    looks = {n: {**drawing.numbered(i), "linestyle": ""} for i, n in enumerate(names)}
    with style():
        figure, axes = drawing.sheet(4)
        for column, confidence in enumerate(CONFIDENCES):
            above, below = axes[column], axes[2 + column]
            above.axhline(100 * confidence, **BOUND)
            for number, name in enumerate(names):
                here = [a for a in found if (a.estimator, a.confidence) == (name, confidence)]
                x = [delays.index(a.delay) + 0.18 * (number - (len(names) - 1) / 2) for a in here]
                above.plot(x, [100 * a.covered for a in here], **looks[name])
                below.plot(x, [a.width for a in here], **looks[name])
            above.set_ylim(min(75.0, 100 * min(a.covered for a in found) - 2), 101)
            below.set_ylim(0, 1.1 * max(a.width for a in found))
            for ax in (above, below):
                ax.set_xlim(-0.5, len(delays) - 0.5)
                ax.set_xticks(range(len(delays)), [d.partition(":")[0] for d in delays])
                ax.grid(visible=False, axis="x")
            above.set_title(f"confidence of {100 * confidence:.0f} %")
            above.tick_params(labelbottom=False)
        axes[0].set_ylabel("sweeps within\nthe interval (%)")
        axes[2].set_ylabel("width of the interval\n(deviations of the delay)")
        figure.supxlabel("distribution of the delay")
        keys = [Line2D([], [], label=name, **look) for name, look in looks.items()]
        drawing.legend(figure, [*keys, Line2D([], [], label="asked for", **BOUND)])
    return figure


def overhead(found: Sequence[Overhead], cycle_s: float) -> Figure | None:
    """What one decision takes against the number of pipelines."""
    if not found:
        return None
    names = list(dict.fromkeys(o.policy for o in found))
    with style():
        figure, (ax,) = drawing.sheet(1)
        ax.axhline(1e3 * cycle_s, **BOUND)
        for name in names:
            here = [o for o in found if o.policy == name]
            took = [1e3 * o.decision_s for o in here]
            ax.plot([o.pipelines for o in here], took, **drawing.look(name))
        drawing.ticks_at(ax, sorted({o.pipelines for o in found}), log=True)
        drawing.log_y(ax, np.array([*(1e3 * o.decision_s for o in found), 1e3 * cycle_s]))
        ax.set_xlabel("pipelines that wait")
        ax.set_ylabel("one decision (ms)")
        cycle = Line2D([], [], label="a cycle", **BOUND)
        drawing.legend(figure, [*drawing.keys(names), cycle], beside=True)
    return figure
