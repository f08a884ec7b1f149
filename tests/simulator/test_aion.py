"""simulator/early: windows that are answered before all of their tuples have come."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from headrace.lab.simulator.commands import app
from headrace.lab.simulator.early.run import WAYS, Conditions, simulate
from headrace.lab.simulator.early.stream import PAPERS, QUESTIONS, SETTINGS, make
from headrace.lab.simulator.early.trials import Row, Trial, run_trial
from tests.amounts import SOAK, rounds

WINDOWS = rounds(50, 150)
runner = CliRunner(env={"COLUMNS": "80"})


@cache
def row(question: str, setting: str, way: str, **more: float) -> Row:
    conditions = Conditions(windows=WINDOWS, rate=2_500.0, **more)  # type: ignore[arg-type]
    return run_trial(Trial(question, setting, way, conditions))


@pytest.mark.parametrize("setting", PAPERS)
@pytest.mark.parametrize("question", ["ysb", "nyt"])
def test_answers_come_at_the_deadline_within_the_error_and_the_bounds(
    question: str, setting: str
) -> None:
    early = row(question, setting, "aion")
    assert early.windows == WINDOWS
    assert early.latency_s <= 0.1
    assert early.accurate >= 0.93, "95 of 100, of not many"
    assert early.covered >= 0.92
    assert early.width < 0.11
    assert early.met >= 0.85
    assert early.kept < 0.6


def test_whoever_waits_for_stragglers_waits_for_seconds_and_gains_little() -> None:
    early, waits = row("ysb", "EG", "aion-all"), row("ysb", "EG", "k-slack")
    assert waits.latency_s > 1.5
    assert early.latency_s < 0.1 * waits.latency_s
    assert waits.error < 1e-4
    assert early.error < 0.01
    minus = row("ysb", "EG", "aion-minus")
    assert minus.latency_s == pytest.approx(waits.latency_s)
    assert minus.kept < 0.6


def test_groups_that_are_small_wait_for_the_fewest_stragglers_that_suffice() -> None:
    large, small = row("ysb", "EC", "aion"), row("ysb-campaigns", "EC", "aion")
    assert large.latency_s < small.latency_s < row("ysb-campaigns", "EC", "k-slack").latency_s
    assert small.accurate >= 0.95
    assert small.kept > 0.95, "25 tuples a group: all are needed"
    stricter = row("ysb-campaigns", "EC", "aion", error=0.02)
    assert stricter.latency_s >= small.latency_s


@pytest.mark.parametrize("setting", ["EC-CC", "bursts", "stops"])
def test_a_stream_that_changes_is_waited_for_and_no_guarantee_is_broken(setting: str) -> None:
    conditions = Conditions(windows=2 * WINDOWS, rate=2_500.0)
    found = simulate(QUESTIONS["ysb"], SETTINGS[setting], "aion", conditions)
    errors, met = np.concatenate(found.errors), np.concatenate(found.met)
    assert np.mean(errors[met] <= conditions.error) >= 0.95
    assert np.mean(np.concatenate(found.within)) >= 0.94
    assert np.median(found.latency_s) < 0.05, "most windows see no change"
    assert max(found.latency_s) > 1.0, "those that do are closed late"


def test_values_that_cannot_be_estimated_are_waited_for_or_said_to_be_uncertain() -> None:
    conditions = Conditions(windows=WINDOWS, rate=2_500.0)
    for question in ("heavy-tails", "near-zero"):
        found = simulate(QUESTIONS[question], SETTINGS["EC"], "aion-all", conditions)
        errors, met = np.concatenate(found.errors), np.concatenate(found.met)
        assert np.median(found.latency_s) > 0.15, question
        assert np.mean(errors[met] <= conditions.error) >= (0.95 if SOAK else 0.9), question
    # The last one.
    assert np.median(found.latency_s) > 1.0, "a mean near zero needs all but all of its tuples"


def test_equal_values_are_as_sure_as_their_number() -> None:
    early = row("alike", "EC", "aion-all")
    assert early.latency_s < 0.05
    assert early.error < 0.002, "the rate is even"
    assert early.met == 1.0


def test_aq_k_slack_leaves_out_what_the_error_allows_and_states_nothing() -> None:
    quality = row("ysb", "EC", "aq-k-slack")
    assert 0.0 < quality.latency_s < 0.5
    assert quality.accurate >= 0.95
    assert quality.error > 2 * row("ysb", "EC", "aion-all").error, "it does not estimate the rest"


def test_the_same_seed_gives_the_same_figures() -> None:
    row.cache_clear()
    first = row("nyt", "GG", "aion")
    row.cache_clear()
    assert row("nyt", "GG", "aion") == first
    assert row("nyt", "GG", "aion") != row("nyt", "GG", "aion", seed=8)
    with pytest.raises(ValueError, match=r"no way 'guess' .*aion, aion-all"):
        simulate(QUESTIONS["ysb"], SETTINGS["CC"], "guess", Conditions())


@pytest.mark.parametrize("setting", PAPERS)
def test_streams_have_the_rate_and_the_delays_they_should(setting: str) -> None:
    rng = np.random.default_rng(2)
    made = make(QUESTIONS["nyt-zones"], SETTINGS[setting], 1_000.0, 60.0, rng)
    assert made.time_s[-1] == pytest.approx(60.0, rel=0.02)
    assert np.all(np.diff(made.time_s) >= 0.0)
    wanted = SETTINGS[setting].delay.mean
    assert np.mean(made.came_s - made.time_s) == pytest.approx(wanted, rel=0.03)
    window = made.between(3.0, 6.0)
    assert window.time_s[0] >= 3.0
    assert window.time_s[-1] < 6.0


def test_the_command_prints_tables_and_writes_a_record(tmp_path: Path) -> None:
    given = ["--questions", "ysb", "--delays", "CC,EC", "--ways", "aion,k-slack", "--rates", "1000"]
    given += ["--lengths", "3", "--windows", "20", "--jobs", "1", "--out", str(tmp_path)]
    result = runner.invoke(app, ["aion", *given])
    assert result.exit_code == 0, result.output
    assert "ysb, 1,000 events/s, windows of 3 s" in result.output
    assert "k-slack" in result.output
    assert "…" not in result.output, "it fits eighty columns"
    record = json.loads((tmp_path / "aion.json").read_text())
    assert [(r["setting"], r["way"]) for r in record["rows"]] == [
        ("CC", "aion"),
        ("CC", "k-slack"),
        ("EC", "aion"),
        ("EC", "k-slack"),
    ]
    assert record["settings"]["windows"] == 20
    assert record["end"] == "complete"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["--ways", "guess"], "there is no way 'guess'"),
        (["--questions", "ysbb"], "there is no question 'ysbb'"),
        (["--delays", "XX"], "there is no setting 'XX'"),
        (["--rates", "many"], "rates are numbers with commas between, not 'many'"),
        (["--lengths", "0"], "lengths are above zero"),
    ],
)
def test_bad_input_is_told(given: list[str], says: str, tmp_path: Path) -> None:
    result = runner.invoke(app, ["aion", *given, "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert says in " ".join(result.output.split())


def test_all_ways_close_every_window() -> None:
    assert {row("ysb", "GG", way).windows for way in WAYS} == {WINDOWS}
