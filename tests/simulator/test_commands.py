"""`headrace simulate klink`: what it prints, writes and refuses, and the experiments behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import headrace as hr
from headrace.cli import app as headrace
from headrace.lab.repeats import spread
from headrace.lab.simulator import experiments
from headrace.lab.simulator.commands import app
from headrace.lab.simulator.counts import by_doubling, by_twenties, read_counts
from headrace.lab.simulator.estimates import Sequel, accuracies, regressed
from headrace.lab.simulator.experiments import Plan
from headrace.lab.simulator.model import Conditions, queries
from headrace.lab.simulator.overhead import PIPELINES
from headrace.lab.simulator.run import simulate
from headrace.lab.simulator.sections import SECTIONS
from headrace.lab.simulator.trials import Seen, Trial, run_trial
from headrace.lab.simulator.workers import Workers
from headrace.scheduling import POLICIES
from headrace.scheduling.policies.klink import Klink

runner = CliRunner(env={"COLUMNS": "100"})
TINY = ["--seconds", "20", "--cores", "1", "--history", "20", "--memory", "1e5", "--jobs", "1"]
PICTURES = {
    "queries": [
        "latency-by-queries",
        "latency-cdf",
        "memory-by-queries",
        "slowdown-by-queries",
        "throughput-by-queries",
    ],
    "memory": ["memory-over-time"],
    "estimates": ["estimates"],
    "overhead": ["overhead"],
    "nodes": ["latency-by-nodes"],
    "sensitivity": ["sensitivity"],
    "ablation": [],
}


def invoked(out: Path, *words: str) -> Result:
    return runner.invoke(app, ["klink", *TINY, "--out", str(out), *words])


def record_in(out: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((out / "klink.json").read_text())
    return record


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    """All sections, tiny."""
    out = tmp_path_factory.mktemp("everything")
    return invoked(out, "--queries", "1,4", "--nodes", "1..2"), out


def test_every_section_is_printed_within_a_hundred_columns(everything: tuple[Result, Path]) -> None:
    result, _ = everything
    assert result.exit_code == 0, result.output
    for title in (
        "Latency, ysb",
        "Resources, ysb",
        "Memory and cores over time, 4 queries",
        "Sweeps within their interval",
        "Decisions, and the share of a cycle of 120 ms",
        "Latency with 4 queries and 1 cores for every node",
        "Klink whose memory mode begins at b",
        "Where the gain comes from",
        "Klink over its best rival, and over default:",
    ):
        assert title in result.output
    tables = result.output.partition("written to")[0]
    assert max(len(line) for line in tables.splitlines()) <= 100
    assert "…" not in tables, "nothing is cut off"
    assert all(f" {policy} " in result.output for policy in POLICIES)


def test_the_record_is_complete(everything: tuple[Result, Path]) -> None:
    record = record_in(everything[1])
    assert (record["end"], record["seed"]) == ("complete", 7)
    assert record["commit"]
    assert record["machine"]["cores"]
    settings = record["settings"]
    assert (settings["delay"], settings["history"]) == ("uniform:50ms,250ms", 20)
    assert settings["sections"] == list(SECTIONS)
    rows = record["queries"]["rows"]
    assert [(r["queries"], r["policy"]) for r in rows] == [(n, p) for n in (1, 4) for p in POLICIES]
    for figure in ("mean_s", "p50_s", "p90_s", "p99_s", "slowdown", "memory_p90", "unfinished"):
        assert all(row["figures"][figure]["mean"] >= 0 for row in rows if row["queries"] == 4)
    latencies = record["queries"]["distribution"]["latencies_s"]
    assert list(latencies) == list(POLICIES)
    assert all(values == sorted(values) for values in latencies.values())
    assert [course["policy"] for course in record["memory"]] == ["default", "klink"]
    assert len(record["estimates"]) == 4 * 2 * 3
    assert {(r["nodes"], r["variant"]) for r in record["nodes"]} == {
        (nodes, variant) for nodes in (1, 2) for variant in ("", "not forwarding")
    }
    assert [r["enter_at"] for r in record["sensitivity"]] == list(experiments.THRESHOLDS)
    assert len(record["ablation"]) == 9
    gated = sum(policy.gated for policy in POLICIES.values())
    assert len(record["measured"]["overhead"]) == gated * len(PIPELINES)


def test_every_picture_is_there(everything: tuple[Result, Path]) -> None:
    out = everything[1]
    names = {name for some in PICTURES.values() for name in some}
    assert {path.stem for path in out.glob("*.png")} == names
    assert all(path.stat().st_size > 10_000 for path in out.glob("*.png"))


def test_the_same_seed_gives_the_same_record_whatever_the_jobs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.lab.simulator.commands.draw_all", lambda *_: [])
    some = ["--only", "queries,estimates", "--queries", "3", "--policies", "klink,fcfs"]
    records = []
    others = (["--jobs", "1"], ["--jobs", "2"], ["--seed", "8", "--only", "queries"])
    for number, more in enumerate(others):
        out = tmp_path / str(number)
        assert invoked(out, *some, "--repeats", "2", *more).exit_code == 0
        records.append(record_in(out))
        measured = records[-1].pop("measured")
        assert measured["jobs"] == (2 if number == 1 else 1)
    assert records[0] == records[1]
    assert records[0]["queries"] != records[2]["queries"]
    mean = records[0]["queries"]["rows"][0]["figures"]["mean_s"]
    assert mean["low"] < mean["mean"] < mean["high"]


@pytest.mark.parametrize("section", ["memory", "sensitivity"])
def test_only_some_sections(section: str, tmp_path: Path) -> None:
    result = invoked(tmp_path, "--only", section, "--queries", "2")
    assert result.exit_code == 0, result.output
    record = record_in(tmp_path)
    assert [name for name in SECTIONS if name in record] == [section]
    assert "overhead" not in record["measured"]
    assert sorted(path.stem for path in tmp_path.glob("*.png")) == PICTURES[section]
    assert "Klink over" not in result.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--policies", "klink,fifo"], "no policy 'fifo' (did you mean 'fcfs'?; known: default,"),
        (["--workload", "tpch"], "no workload 'tpch' (known: lrb, nyt, ysb)"),
        (["--only", "memori"], "no section 'memori' (did you mean 'memory'?"),
        (["--queries", "80..1"], "80 is more than 1 (valid: 60, or 20,40,60, or 1..80)"),
        (["--queries", "many"], "queries 'many': 'many' is no number (valid: 60,"),
        (["--queries", "0"], "there can be 1 to 1,000 queries, not 0"),
        (["--nodes", "1..-8"], "nodes '1..-8': '-8' is no number"),
        (["--nodes", "100"], "there can be 1 to 64 nodes, not 100"),
        (["--delay", "poisson:3ms"], "'poisson' is no distribution (valid: constant:150ms,"),
    ],
)
def test_nonsense_is_refused_with_what_is_valid(
    words: list[str], says: str, tmp_path: Path
) -> None:
    result = invoked(tmp_path / "out", *words)
    assert result.exit_code == 1, result.output
    assert says in " ".join(result.output.split())
    assert not (tmp_path / "out").exists(), "nothing was begun"


def test_a_folder_that_cannot_be_made_is_told_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = invoked(tmp_path / "file" / "out")
    assert (result.exit_code, "cannot be made" in result.output) == (1, True)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = 0

    def third_is_interrupted(trial: Trial) -> Seen:
        nonlocal begun
        begun += 1
        if begun == 3:
            raise KeyboardInterrupt
        return run_trial(trial)

    monkeypatch.setattr("headrace.lab.simulator.sections.run_trial", third_is_interrupted)
    result = invoked(tmp_path, "--queries", "2")
    assert result.exit_code == 130
    assert "interrupted" in result.output
    record = record_in(tmp_path)
    assert record["end"] == "interrupted"
    assert [r["policy"] for r in record["queries"]["rows"]] == list(POLICIES)[:2]
    assert (record["nodes"], record["measured"]["overhead"]) == ([], [])
    assert (tmp_path / "latency-by-queries.png").is_file()


def test_the_main_command_leads_to_it() -> None:
    result = runner.invoke(headrace, ["simulate", "klink", "--help"])
    assert result.exit_code == 0
    assert "--watermark-every" in result.output


# -- behind it ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("60", (60,)),
        ("60, 20,40,20", (20, 40, 60)),
        ("1..80", (1, 20, 40, 60, 80)),
        ("20..50", (20, 40, 50)),
        ("5..5", (5,)),
        ("1..20,80", (1, 20, 80)),
    ],
)
def test_numbers_of_queries(text: str, means: tuple[int, ...]) -> None:
    assert read_counts(text, "queries", by_twenties, 1_000) == means


@pytest.mark.parametrize(("text", "means"), [("1..8", (1, 2, 4, 8)), ("3..8", (3, 6, 8))])
def test_numbers_of_nodes(text: str, means: tuple[int, ...]) -> None:
    assert read_counts(text, "nodes", by_doubling, 64) == means


@pytest.mark.parametrize("text", ["", ",", "1,,2", "1..", "..8", "1...8", "2.5", "1e3", "٣"])
def test_what_is_no_number(text: str) -> None:
    with pytest.raises(hr.QueryError, match="is no number"):
        read_counts(text, "queries", by_twenties, 1_000)


@pytest.mark.parametrize("delay", ["uniform:50ms,250ms", "exponential:240ms"])
def test_estimates_cover_what_they_say_and_few_epochs_do_not(delay: str) -> None:
    found = {
        (a.estimator, a.confidence): a for a in accuracies(Sequel(delay, 200, 3, held_out=2_000))
    }
    assert len(found) == 6
    for confidence in (0.90, 0.95):
        ours, theirs = found["klink", confidence], found["regression of 200", confidence]
        assert ours.covered >= confidence - 0.015
        assert ours.width <= theirs.width
        assert found["regression of 10", confidence].covered < confidence - 0.05


def test_a_regression_by_hand() -> None:
    # Delays on a line are foretold exactly; one that leaves it is not within.
    line = np.arange(30, dtype=np.float64)
    assert regressed(line + 1e-9 * np.sin(line), 10, 5, 0.95)[1] < 1e-6
    jumped = np.where(line == 29, 50.0, line + 0.1 * np.sin(line))
    within, _ = regressed(jumped, 29, 5, 0.95)
    assert within == 0.0


def test_a_spread_is_students() -> None:
    found = spread([1.0, 2.0, 3.0])
    assert found.mean == pytest.approx(2.0)
    assert found.high == pytest.approx(2.0 + 4.303 / 3**0.5, rel=1e-3)
    assert spread([5.0]).low is None


@pytest.mark.parametrize(
    ("counts", "closely"), [((1, 20, 40, 60, 80), 60), ((1, 50), 50), ((70, 80), 70)]
)
def test_the_number_of_queries_that_is_looked_at_closely(
    counts: tuple[int, ...], closely: int
) -> None:
    assert Plan(queries=counts).closely == closely


def test_a_policy_that_is_given_takes_the_place_of_the_named_one() -> None:
    conditions = Conditions(policy="fcfs", cores=1, seconds=20.0, memory_events=1e5)
    specs = queries("ysb", 5, 1)
    given = simulate(specs, conditions, policy=Klink(enter_at=0.3))
    assert given.in_memory_mode > 0.0
    assert given.outputs != simulate(specs, conditions).outputs
    named = simulate(specs, replace(conditions, policy="klink"))
    assert named.outputs == simulate(specs, conditions, policy=Klink()).outputs


def test_fcfs_is_given_the_memory_that_klink_used() -> None:
    plan = Plan(
        queries=(4,), conditions=Conditions(cores=1, seconds=60.0, memory_events=1e5, seed=2)
    )

    def run(trials: Sequence[Trial]) -> list[Seen | None]:
        return [run_trial(trial) for trial in trials]

    rows = {row.label: row for row in experiments.ablation(run, plan)}
    wanted = rows["klink"].mean("memory_mean")
    for name in ("fcfs, klink's memory", "fcfs, klink's memory, whole heap"):
        assert rows[name].mean("memory_mean") == pytest.approx(wanted, rel=0.1)
    assert rows["fcfs, no collecting"].mean("throughput_per_s") > rows["fcfs"].mean(
        "throughput_per_s"
    )


def test_workers_compute_nothing_twice_and_keep_the_order() -> None:
    asked: list[int] = []
    told: list[tuple[int, int]] = []

    def square(number: int) -> int:
        asked.append(number)
        return number * number

    with Workers(1, lambda done, of: told.append((done, of))) as workers:
        assert workers.results(square, [3, 1, 3]) == [9, 1, 9]
        assert workers.results(square, [1, 2]) == [1, 4]
    assert asked == [3, 1, 2]
    assert told == [(0, 2), (1, 2), (2, 2), (0, 1), (1, 1)]
