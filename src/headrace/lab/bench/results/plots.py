"""Pictures of records, fit for a paper: one function each, None where there is nothing to show.

The caption of a picture is its figure's label.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from headrace.lab.bench.results import drawing
from headrace.lab.bench.results.curves import (
    Numbers,
    binned,
    counted,
    curves,
    outputs,
    per_second,
    series,
    step_of,
)
from headrace.lab.bench.results.drawing import Look
from headrace.lab.bench.results.panels import FEW_LINES, Line, arrange
from headrace.lab.bench.results.records import Record, label, value
from headrace.lab.looks import style


def latency_over_time(runs: Sequence[Record]) -> Figure | None:
    """Latency of the results as they came."""
    runs = [r for r in runs if len(outputs(r)[0])]
    if not runs:
        return None
    sheet, step = arrange(runs), step_of(runs)
    seen: list[Numbers] = []
    processing_times: list[bool] = []

    def draw(ax: Axes, line: Line, look: Look) -> None:
        at, event, processing, count = outputs(line.record)
        x, low, middle, high = binned(at, event, count, step)
        ax.plot(x, middle, **look, markevery=drawing.spaced(len(x), look), zorder=3)
        seen.append(middle)
        if sheet.crowded:
            return
        ax.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)
        seen.extend((low, high))
        known = np.isfinite(processing)
        if known.any():
            x, _, middle, _ = binned(at[known], processing[known], count[known], step)
            thin = {**look, "linewidth": drawing.THIN, "marker": ""}
            ax.plot(x, middle, **thin)
            seen.append(middle)
        processing_times.append(bool(known.any()))

    with style():
        figure, axes = drawing.sheet_of(sheet, draw)
        drawing.time_axis(axes, sheet)
        drawing.latency_axis(axes, "y", np.concatenate(seen))
        drawing.titles(figure, axes, drawing.TIME, "latency (s)")
        thin_key = [drawing.thin_key("thin: processing-time")] if any(processing_times) else []
        drawing.legend(figure, sheet, [*thin_key, drawing.warm_up_key()])
    thin_words = " and processing-time latency (thin)" if thin_key else ""
    bands = "" if sheet.crowded else ", and bands from their 5th to their 95th percentile"
    text = (
        f"Event-time latency{thin_words} of results over the run: medians of the results that "
        f"came within {step:g} s{bands}"
    )
    return drawing.captioned(figure, text, sheet)


def latency_cdf(runs: Sequence[Record]) -> Figure | None:
    """How many results were how late, after the warm-up."""
    good = [r for r in runs if r["end"] == "complete" and len(counted(r)[0])]
    if not good:
        return None
    sheet = arrange(good)
    seen: list[Numbers] = []

    def draw(ax: Axes, line: Line, look: Look) -> None:
        latency, count = counted(line.record)
        order = np.argsort(latency)
        x, share = latency[order], np.cumsum(count[order]) / count.sum()
        seen.append(x)
        marks = [int(np.searchsorted(share, s)) + 1 for s in (0.1, 0.25, 0.5, 0.75, 0.9)]
        x, share = np.concatenate((x[:1], x)), np.concatenate(([0.0], share))
        ax.step(x, share, where="post", **look, markevery=marks)

    with style():
        figure, axes = drawing.sheet_of(sheet, draw)
        drawing.latency_axis(axes, "x", np.concatenate(seen))
        for ax in axes:
            ax.set_ylim(0, 1.02)
            ax.yaxis.set_major_locator(FixedLocator([0, 0.25, 0.5, 0.75, 1]))
            ax.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g}"))
        drawing.titles(figure, axes, "event-time latency (s)", "results (%)")
        drawing.legend(figure, sheet, [])
    text = f"Share of the results that were at most so late, without the warm-up{_not_in(runs)}"
    return drawing.captioned(figure, text, sheet)


def throughput_over_time(runs: Sequence[Record]) -> Figure | None:
    """What was offered and what was taken, per second."""
    runs = [r for r in runs if len(series(r, "taken")[0]) > 1 and len(series(r, "offered")[0]) > 1]
    if not runs:
        return None
    sheet, step = arrange(runs), max(step_of(runs), 1.0)

    def draw(ax: Axes, line: Line, look: Look) -> None:
        drawing.draw_offered(ax, *per_second(*series(line.record, "offered"), step))
        x, taken = per_second(*series(line.record, "taken"), step)
        ax.plot(x, taken, **look, markevery=drawing.spaced(len(x), look), zorder=3)

    with style():
        figure, axes = drawing.sheet_of(sheet, draw)
        drawing.time_axis(axes, sheet)
        drawing.count_axis(axes)
        drawing.titles(figure, axes, drawing.TIME, "throughput (events/s)")
        drawing.legend(figure, sheet, [drawing.offered_key(), drawing.warm_up_key()])
    text = (
        f"Events per second offered, and taken by each system from the queue, as means over "
        f"{step:g} s"
    )
    return drawing.captioned(figure, text, sheet)


def queue_over_time(runs: Sequence[Record]) -> Figure | None:
    """How many events waited in front of the system."""
    runs = [r for r in runs if len(series(r, "queued")[0]) > 1]
    if not runs:
        return None
    sheet = arrange(runs)

    def draw(ax: Axes, line: Line, look: Look) -> None:
        x, queued = series(line.record, "queued")
        thin = {**look, "linewidth": 1.1}
        ax.plot(x, queued, **thin, markevery=drawing.spaced(len(x), look), zorder=3)

    with style():
        figure, axes = drawing.sheet_of(sheet, draw)
        drawing.time_axis(axes, sheet)
        drawing.count_axis(axes)
        drawing.titles(figure, axes, drawing.TIME, "events in the queue")
        drawing.legend(figure, sheet, [drawing.warm_up_key()])
    text = "Events that waited in the driver's queue over the run"
    return drawing.captioned(figure, text, sheet)


def latency_by_rate(runs: Sequence[Record]) -> Figure | None:
    """Median and 99th percentile of event-time latency against the rate that was offered."""
    good = [r for r in runs if r["end"] == "complete" and _latency(r, "p50") is not None]
    lines = curves(good, "rate", ("workload", "queries", "sut"))
    lines = [c for c in lines if len({r["rate"] for r in c}) > 1]
    if not lines:
        return None
    sheet = arrange([c[0] for c in lines], without=("rate", "seed"), most=FEW_LINES)
    of = {id(c[0]): c for c in lines}
    seen: list[float] = []
    unheld: list[bool] = []
    rates = [r["rate"] for c in lines for r in c]

    def draw(ax: Axes, line: Line, look: Look) -> None:
        curve = of[id(line.record)]
        x = np.array(sorted({r["rate"] for r in curve}))
        at = [[r for r in curve if r["rate"] == rate] for rate in x]
        held = np.array([all(value(r, "verdict", "sustained") is not False for r in a) for a in at])
        for figure_name, dashes in (("p50", "-"), ("p99", "--")):
            y = np.array([np.median([_latency(r, figure_name) or np.nan for r in a]) for a in at])
            color, marker = look["color"], look["marker"]
            ax.plot(x, y, color=color, linestyle=dashes, zorder=3)
            ax.plot(x[held], y[held], color=color, marker=marker, linestyle="", zorder=4)
            hollow: Look = {"markerfacecolor": "white", "markeredgecolor": color}
            ax.plot(x[~held], y[~held], marker=marker, linestyle="", zorder=4, **hollow)
            seen.extend(y)
        unheld.append(not held.all())

    with style():
        figure, axes = drawing.sheet_of(sheet, draw, apart=True)
        drawing.latency_axis(axes, "y", np.array(seen))
        drawing.rate_axis(axes)
        drawing.titles(figure, axes, "offered rate (events/s)", "event-time latency (s)")
        styles = [
            Line2D([], [], color="0.3", linestyle="-", label="median"),
            Line2D([], [], color="0.3", linestyle="--", label="99th percentile"),
        ]
        empty: Look = {"marker": "o", "markerfacecolor": "white", "markeredgecolor": "0.3"}
        if any(unheld):
            styles.append(Line2D([], [], linestyle="", **empty, label="not sustained"))
        drawing.legend(figure, sheet, styles, lines=False)
    repeats = "; repeats at one rate as their median" if len(rates) > _points(lines) else ""
    text = (
        f"Median and 99th percentile of event-time latency against the rate offered{repeats}"
        f"{'; a hollow marker is a rate that was not held' if any(unheld) else ''}{_not_in(runs)}"
    )
    return drawing.captioned(figure, text, sheet)


def sustainable_by_queries(records: Sequence[Record]) -> Figure | None:
    """The highest rate held against the number of queries."""
    searches = [r for r in records if r["kind"] == "sustain"]
    good = [r for r in searches if r["end"] == "complete" and _found(r) and r["queries"]]
    if len({r["queries"] for r in good}) < 2:
        return None
    lines = curves(good, "queries", ("workload", "sut"))
    sheet = arrange([c[0] for c in lines], without=("rate", "queries", "seed"))
    of = {id(c[0]): c for c in lines}
    seen: list[float] = []

    def draw(ax: Axes, line: Line, look: Look) -> None:
        latest = {
            r["queries"]: r for r in sorted(of[id(line.record)], key=lambda r: str(r.get("at")))
        }
        y = np.array([_found(latest[count]) for count in sorted(latest)], dtype=np.float64)
        low, high = np.array([_bounds(latest[count]) for count in sorted(latest)]).T
        seen.extend([*np.maximum(low, y / 3), *np.minimum(high, y * 3)])
        down = y - np.maximum(low, y / 1000)
        ax.errorbar(sorted(latest), y, yerr=(down, high - y), capsize=3, elinewidth=1, **look)

    with style():
        figure, axes = drawing.sheet_of(sheet, draw)
        for ax in axes:
            drawing.log_axes(ax, [r["queries"] for r in good], seen)
        drawing.titles(figure, axes, "queries", "sustainable throughput (events/s)")
        drawing.legend(figure, sheet, [])
    sure = {value(r, "sustainable_rate", "confidence") for r in good if np.ptp(_bounds(r)) > 0}
    words = " or ".join(sorted(f"{100 * c:g} %" for c in sure if c is not None))
    bars = f"; bars are {words} confidence intervals" if words else ""
    older = "; of repeated searches the latest" if len(good) > _points(lines, "queries") else ""
    none = [label(r) for r in searches if r["end"] == "complete" and _found(r) == 0]
    held = f"; no rate at all was held by: {'; '.join(none)}" if none else ""
    text = f"Highest rate that was held against the number of queries{bars}{older}{held}"
    return drawing.captioned(figure, text + _not_in(searches), sheet)


def _points(lines: Sequence[Sequence[Record]], x: str = "rate") -> int:
    return sum(len({r[x] for r in line}) for line in lines)


def _found(record: Record) -> float | None:
    found = value(record, "sustainable_rate", "mean")
    return None if found is None else float(found)


def _bounds(record: Record) -> tuple[float, float]:
    """The interval of a sustainable rate; as narrow as can be when there is none."""
    rate = record["sustainable_rate"]
    if rate.get("low") is None or rate.get("high") is None:
        return rate["mean"], rate["mean"]
    return rate["low"], rate["high"]


def _latency(run: Record, name: str) -> float | None:
    found = value(run, "summary", "event_time_latency_s", name)
    return None if found is None else float(found)


def _not_in(records: Sequence[Record]) -> str:
    left = Counter(r["end"] for r in records if r["end"] != "complete")
    words = " and ".join(f"{count} {end}" for end, count in sorted(left.items()))
    return f"; not drawn: {words}" if left else ""
