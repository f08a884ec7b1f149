"""What an experiment found, as tables for a terminal of a hundred columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table

from headrace.lab.repeats import Spread
from headrace.lab.simulator.estimates import CONFIDENCES, Accuracy
from headrace.lab.simulator.experiments import Course, Ratio, Row
from headrace.lab.simulator.overhead import Overhead

_MEGA = 1e6


def latency_table(rows: Sequence[Row], title: str, x: str = "") -> Table:
    """Latencies by policy, grouped by `x`: queries or nodes."""
    table = _table(title, x, ("policy", "mean (s)", "p50", "p90", "p99", "slowdown", "not out"))
    for row, name, ends in _grouped(rows, x):
        table.add_row(
            *name,
            row.label,
            _with_error(row.figures["mean_s"]),
            *(_number(row.mean(f"p{p}_s")) for p in (50, 90, 99)),
            f"{row.mean('slowdown'):,.0f}" if math.isfinite(row.mean("slowdown")) else "–",
            f"{row.mean('unfinished'):,.0f}",
            end_section=ends,
        )
    return table


def resources_table(rows: Sequence[Row], title: str, x: str = "") -> Table:
    """Throughput, cores and memory by policy."""
    heads = ("policy", "M events/s", "cores busy", "memory (M)", "p90", "in memory mode")
    table = _table(title, x, heads)
    for row, name, ends in _grouped(rows, x):
        table.add_row(
            *name,
            row.label,
            _with_error(row.figures["throughput_per_s"], _MEGA),
            _percent(row.mean("cores_busy")),
            *(_number(row.mean(figure) / _MEGA) for figure in ("memory_mean", "memory_p90")),
            _percent(row.mean("memory_mode")),
            end_section=ends,
        )
    return table


def mixed_table(rows: Sequence[Row], title: str, first: str) -> Table:
    """Latency and memory side by side, for cases that differ in one thing: b, or what is left."""
    heads = ("mean (s)", "p99", "M events/s", "memory (M)", "p90", "in memory mode")
    table = _table(title, "", (first, *heads))
    for row in rows:
        table.add_row(
            f"{row.enter_at:g}" if first == "b" else row.label,
            _with_error(row.figures["mean_s"]),
            _number(row.mean("p99_s")),
            _number(row.mean("throughput_per_s") / _MEGA),
            *(_number(row.mean(figure) / _MEGA) for figure in ("memory_mean", "memory_p90")),
            _percent(row.mean("memory_mode")),
        )
    return table


def course_table(courses: Sequence[Course], title: str) -> Table:
    """Memory and cores over time in a few figures."""
    heads = ("policy", "memory (M): least", "mean", "most", "cores busy: least", "mean", "most")
    table = _table(title, "", heads)
    for course in courses:
        later = course.at_s >= course.at_s[-1] / 4.0
        memory, cores = course.queued[later] / _MEGA, course.useful_cores[later]
        table.add_row(
            course.policy,
            *(_number(float(v)) for v in (memory.min(), memory.mean(), memory.max())),
            *(_number(float(v)) for v in (cores.min(), cores.mean(), cores.max())),
        )
    return table


def estimates_table(found: Sequence[Accuracy], title: str) -> Table:
    """Share within the interval, and its width, for both confidences."""
    heads = [f"{word} {100 * c:.0f}" for c in CONFIDENCES for word in ("within at", "width at")]
    table = _table(title, "", ("delay", "estimator", *heads), words=2)
    pairs = list(dict.fromkeys((a.delay, a.estimator) for a in found))
    for number, (delay, estimator) in enumerate(pairs):
        figures = []
        for confidence in CONFIDENCES:
            here = next(
                a
                for a in found
                if (a.delay, a.estimator, a.confidence) == (delay, estimator, confidence)
            )
            figures += [f"{100 * here.covered:.1f} %", f"{here.width:.2f} sd"]
        first = number == 0 or pairs[number - 1][0] != delay
        last = number + 1 == len(pairs) or pairs[number + 1][0] != delay
        table.add_row(delay if first else "", estimator, *figures, end_section=last)
    return table


def overhead_table(found: Sequence[Overhead], title: str) -> Table:
    """Decisions per second, and the share of a cycle that one takes."""
    counts = sorted({o.pipelines for o in found})
    heads = [head for count in counts for head in (f"{count:,} wait", "share")]
    table = _table(title, "", ("policy", *heads))
    for policy in dict.fromkeys(o.policy for o in found):
        by_count = {o.pipelines: o for o in found if o.policy == policy}
        figures = []
        for count in counts:
            here = by_count.get(count)
            figures += (
                [f"{here.decisions_per_s:,.0f}/s", f"{100 * here.cycle_share:.3g} %"]
                if here is not None
                else ["–", "–"]
            )
        table.add_row(policy, *figures)
    return table


def ratio_lines(found: Sequence[Ratio]) -> list[str]:
    """One line for each number of queries."""
    lines = []
    for count in dict.fromkeys(r.queries for r in found):
        words = []
        for ratio in found:
            if ratio.queries != count:
                continue
            name = "mean" if ratio.figure == "mean_s" else "p99"
            text = f"{name} {ratio.over_rival:.2f} × {ratio.rival}"
            if ratio.over_default is not None and ratio.rival != "default":
                text += f", {ratio.over_default:.2f} × default"
            words.append(text)
        lines.append(f"{count:>4} {'query:  ' if count == 1 else 'queries:'} {'; '.join(words)}")
    return lines


def _table(title: str, x: str, heads: Sequence[str], words: int = 1) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    if x:
        table.add_column(x, justify="right")
    for number, head in enumerate(heads):
        is_word = number < words
        table.add_column(head, justify="left" if is_word else "right", no_wrap=is_word)
    return table


def _grouped(rows: Sequence[Row], x: str) -> Iterable[tuple[Row, list[str], bool]]:
    """Rows, with the group's name at its first row, and whether they end their group."""
    if not x:
        yield from ((row, [], False) for row in rows)
        return
    values = [row.queries if x == "queries" else row.nodes for row in rows]
    for number, row in enumerate(rows):
        first = number == 0 or values[number - 1] != values[number]
        last = number + 1 == len(rows) or values[number + 1] != values[number]
        yield row, [f"{values[number]:,}" if first else ""], last


def _with_error(spread: Spread, unit: float = 1.0) -> str:
    if spread.high is None:
        return _number(spread.mean / unit)
    half = (spread.high - spread.mean) / unit
    return f"{_number(spread.mean / unit)}\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}{_number(half)}"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "–"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
