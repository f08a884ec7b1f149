"""bench/results/plots.py: what the pictures of records show, and what they are called."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from headrace.lab.bench.results import plots

from .bench_records import empty, run, silent, sustain


def names(figure: Figure | None) -> list[str]:
    """The words of the legend."""
    assert figure is not None
    return [text.get_text() for text in figure.legends[0].get_texts()]


def titles(figure: Figure | None) -> list[str]:
    assert figure is not None
    return [ax.get_title() for ax in figure.axes]


def test_nothing_to_show_is_no_picture() -> None:
    for draw in (
        plots.latency_over_time,
        plots.latency_cdf,
        plots.throughput_over_time,
        plots.queue_over_time,
        plots.latency_by_rate,
    ):
        assert draw([]) is None
        assert draw([empty(), silent()]) is None
    assert plots.latency_by_rate([run(seed=1), run(seed=2)]) is None, "one rate is no line"
    assert plots.sustainable_by_queries([run(), sustain()]) is None, "one number of queries"


def test_lines_are_named_by_what_tells_them_apart() -> None:
    few = [run("headrace", n) for n in (1, 20)]
    shade = ["thin: processing-time", "warm-up"]
    figure = plots.latency_over_time(few)
    assert names(figure) == ["headrace, 1 query", "headrace, 20 queries", *shade]
    many = [run(sut, n) for n in (1, 20, 60) for sut in ("headrace", "plain-spark")]
    figure = plots.latency_over_time(many)
    assert names(figure) == ["headrace", "plain-spark", *shade]
    assert titles(figure) == ["1 query", "20 queries", "60 queries"]
    commits = plots.queue_over_time([run(commit="abc"), run(commit="def")])
    assert names(commits)[:2] == ["headrace, abc", "headrace, def"]
    ended = plots.queue_over_time([run(), run(end="void")])
    assert names(ended)[:2] == ["headrace", "headrace (void)"]


def test_lines_differ_without_colour() -> None:
    figure = plots.queue_over_time([run(f"system-{i}") for i in range(8)])
    assert figure is not None
    lines = [ln for ln in figure.axes[0].lines if len(np.asarray(ln.get_xdata())) > 2]
    assert len({line.get_marker() for line in lines}) == 8
    assert len({str(line.get_color()) for line in lines}) == 8


def test_too_many_lines_are_left_out_and_the_caption_says_so() -> None:
    figure = plots.queue_over_time([run(f"system-{i}") for i in range(11)])
    assert figure is not None
    assert len(names(figure)) == 8 + 1
    assert "8 of 11 lines are drawn" in str(figure.get_label())
    figure = plots.queue_over_time([run("a", n, r) for n in range(1, 8) for r in (1e5, 2e5)])
    assert len(titles(figure)) == 7
    figure = plots.queue_over_time([run("a", n) for n in range(1, 15)])
    assert len(titles(figure)) == 12
    assert figure is not None
    assert "12 of 14 lines are drawn" in str(figure.get_label())


def test_throughput_is_the_growth_of_the_totals() -> None:
    record = run(rate=400_000.0, holds=100_000.0)
    figure = plots.throughput_over_time([record])
    assert figure is not None
    offered, taken = (np.asarray(line.get_ydata()) for line in figure.axes[0].lines[:2])
    assert offered == pytest.approx(400_000.0)
    series = record["series"]
    mean = (series["taken"][-4] - series["taken"][0]) / (series["at_s"][-4] - series["at_s"][0])
    assert float(taken.mean()) == pytest.approx(mean)


def test_the_distribution_leaves_out_the_warm_up_and_bad_runs() -> None:
    record = run()
    record["outputs"] = {
        "at_s": [1.0, 10.0, 11.0],
        "event_time_latency_s": [99.0, 0.5, 1.0],
        "processing_time_latency_s": [None, None, None],
        "count": [5, 3, 1],
    }
    figure = plots.latency_cdf([record, run(end="void")])
    assert figure is not None
    (line,) = figure.axes[0].lines
    assert list(np.asarray(line.get_xdata())) == [0.5, 0.5, 1.0]
    assert list(np.asarray(line.get_ydata())) == [0.0, 0.75, 1.0]
    assert "not drawn: 1 void" in str(figure.get_label())
    assert figure.axes[0].get_xscale() == "linear"
    both = plots.latency_cdf([run(base_s=0.05), run("slow", base_s=5.0)])
    assert both is not None
    assert both.axes[0].get_xscale() == "log"


def test_latency_against_rate_marks_what_was_not_held() -> None:
    sweep = [run(rate=r, holds=5e5) for r in (1e5, 3e5, 9e5)]
    figure = plots.latency_by_rate([*sweep, run("other")])
    assert names(figure) == ["headrace", "median", "99th percentile", "not sustained"]
    assert figure is not None
    median, held, hollow, p99 = (np.asarray(ln.get_xydata()) for ln in figure.axes[0].lines[:4])
    of = [r["summary"]["event_time_latency_s"] for r in sweep]
    assert median.tolist() == [[r["rate"], s["p50"]] for r, s in zip(sweep, of, strict=True)]
    assert p99.tolist() == [[r["rate"], s["p99"]] for r, s in zip(sweep, of, strict=True)]
    assert held[:, 0].tolist() == [1e5, 3e5]
    assert hollow[:, 0].tolist() == [9e5]


def test_sustainable_throughput_has_a_line_for_each_system() -> None:
    found = [sustain(s, n, h / n) for s, h in (("headrace", 4e6), ("other", 1e6)) for n in (1, 9)]
    lost = sustain("other", 99, end="void")
    none = sustain("other", 50, sustainable_rate={"mean": 0.0, "low": None, "high": None})
    figure = plots.sustainable_by_queries([*found, lost, none])
    assert names(figure) == ["headrace", "other"]
    assert figure is not None
    (ax,) = figure.axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    lines = [bars.lines[0] for bars in ax.containers]
    expected = [
        [[r["queries"], r["sustainable_rate"]["mean"]] for r in found[i : i + 2]] for i in (0, 2)
    ]
    assert [np.asarray(line.get_xydata()).tolist() for line in lines] == expected
    caption = str(figure.get_label())
    assert "95 % confidence" in caption
    assert "no rate at all was held by: other, 50 queries" in caption
    assert "not drawn: 1 void" in caption


def test_a_wide_interval_does_not_take_the_whole_axis() -> None:
    found = [sustain(queries=n, holds=1e5) for n in (1, 10)]
    found[0]["sustainable_rate"].update(low=-3e6, high=4e6)
    figure = plots.sustainable_by_queries(found)
    assert figure is not None
    low, high = figure.axes[0].get_ylim()
    assert 1e4 < low < high < 1e6


def test_of_repeats_the_median_or_the_latest_is_drawn() -> None:
    sweep = [run(rate=r, seed=s) for r in (1e5, 2e5) for s in (1, 2, 3)]
    figure = plots.latency_by_rate(sweep)
    assert figure is not None
    assert "repeats at one rate as their median" in str(figure.get_label())
    p50 = [r["summary"]["event_time_latency_s"]["p50"] for r in sweep]
    drawn = np.asarray(figure.axes[0].lines[0].get_ydata())
    assert drawn.tolist() == [np.median(p50[:3]), np.median(p50[3:])]
    found = [sustain(queries=n, seed=s, at=f"2026-11-{s}") for n in (1, 9) for s in (12, 11)]
    figure = plots.sustainable_by_queries(found)
    assert figure is not None
    assert "the latest" in str(figure.get_label())
    (bars,) = figure.axes[0].containers
    means = [found[i]["sustainable_rate"]["mean"] for i in (0, 2)]
    assert np.asarray(bars.lines[0].get_ydata()).tolist() == means
