"""bench/results/compare.py: two records side by side."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

import headrace as hr
from headrace.lab.bench.results.compare import compare
from headrace.lab.bench.results.records import Record

from .bench_records import MACHINE, run, sustain


def rows(table: Table) -> dict[str, list[str]]:
    """The cells of a table, by the first of each row."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    return {name: [column[i] for column in columns[1:]] for i, name in enumerate(columns[0])}


def printed(table: Table) -> str:
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def with_summary(record: Record, **figures: Any) -> Record:
    return {**record, "summary": {**record["summary"], **figures}}


def latency(p50: float, p99: float) -> dict[str, float]:
    figures = {"avg": p50, "min": 0.0, "max": p99, "p90": p99, "p95": p99, "count": 10}
    return {**figures, "p50": p50, "p99": p99}


def test_the_ratio_is_b_by_a_and_the_better_one_is_named() -> None:
    a = with_summary(
        run(), event_time_latency_s=latency(0.4, 1.0), taken_per_s=500_000.0, queries_per_s=10.0
    )
    b = with_summary(
        run("plain-spark"),
        event_time_latency_s=latency(1.0, 0.25),
        taken_per_s=125_000.0,
        queries_per_s=10.01,
    )
    table = rows(compare(a, b))
    slower = ["0.400", "1.000", "2.5×", "a (lower is better)"]
    assert table["event-time latency p50, s"] == slower
    faster = ["1.000", "0.250", "0.25×", "b (lower is better)"]
    assert table["event-time latency p99, s"] == faster
    assert table["taken/s"] == ["500,000", "125,000", "0.25×", "a (higher is better)"]
    same = ["10.00", "10.01", "1×", "same (higher is better)"]
    assert table["queries created and deleted/s"] == same
    assert table["offered/s"] == ["500,000", "500,000", "1×", ""]
    assert table["sustained?"][:2] == ["yes", "yes"]


def test_every_ratio_is_that_of_the_records() -> None:
    a, b = run(seed=1), run("plain-spark", seed=2, holds=400_000.0, base_s=0.9)
    table = rows(compare(a, b))
    for name in ("avg", "p50", "p90", "p95", "p99", "max"):
        mine, theirs = (r["summary"]["event_time_latency_s"][name] for r in (a, b))
        cells = table[f"event-time latency {name}, s"]
        assert cells[:2] == [f"{mine:.3f}", f"{theirs:.3f}"]
        assert float(cells[2].rstrip("×")) == pytest.approx(theirs / mine, rel=0.005)
    memory = [r["summary"]["memory_mb"]["max"] for r in (a, b)]
    assert table["memory MB, max"][:2] == [f"{m:,.0f}" for m in memory]


def test_what_was_not_measured_has_no_ratio() -> None:
    a = with_summary(run(), processing_time_latency_s=None, taken_per_s=0.0)
    table = rows(compare(a, run()))
    cells = table["processing-time latency p50, s"]
    assert (cells[0], cells[2], cells[3]) == ("–", "–", "(lower is better)")
    assert table["taken/s"][2] == "–"
    assert "queries created and deleted/s" not in table, "neither has any"


def test_sustainable_rates() -> None:
    a, b = sustain(holds=200_000.0, sut="plain-spark"), sustain(holds=1_000_000.0)
    table = compare(a, b)
    cells = rows(table)["sustainable rate/s"]
    mine, theirs = (r["sustainable_rate"]["mean"] for r in (a, b))
    assert cells[:2] == [f"{mine:,.0f}", f"{theirs:,.0f}"]
    assert float(cells[2].rstrip("×")) == pytest.approx(theirs / mine, rel=0.005)
    assert cells[3] == "b (higher is better)"
    p99 = b["at_90"]["summary"]["event_time_latency_s"]["p99"]
    assert rows(table)["at 90 %: event-time latency p99, s"][1] == f"{p99:.3f}"
    assert table.caption is None
    assert "may be the same" in str(compare(a, a).caption)
    single = sustain(repeats=1)
    assert compare(single, single).caption is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"workload": "ysb"}, "workload differs: a has astream, b has ysb"),
        ({"queries": 1000}, "queries differs: a has 20, b has 1,000"),
        ({"rate": 1e6}, "rate differs: a has 500,000, b has 1,000,000"),
        ({"seconds": 60.0}, "seconds differs: a has 30, b has 60"),
        ({"machine": {**MACHINE, "cores": 8}}, "machine differs: a has cores 2"),
        ({"end": "void", "reason": "[late] driver"}, "b is void: [late] driver"),
    ],
)
def test_a_difference_in_the_conditions_is_said(change: dict[str, Any], says: str) -> None:
    assert compare(run(), run()).caption is None
    assert says in printed(compare(run(), {**run(), **change}))


def test_a_bad_run_within_a_search_is_said() -> None:
    bad = sustain(at_100=run(end="failed", reason="no memory"))
    assert "Warning: b at 100 % is failed: no memory" in printed(compare(sustain(), bad))


def test_different_kinds_are_refused() -> None:
    with pytest.raises(hr.HeadraceError, match="a run and a sustain cannot be compared"):
        compare(run(), sustain())
