"""`headrace bench`: what it says, and what it says when something is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headrace.cli import app as headrace
from headrace.lab.bench import workloads
from headrace.lab.bench.commands import app
from headrace.lab.bench.results import records
from tests.unit.bench_records import run as run_record
from tests.unit.bench_records import sustain as sustain_record

runner = CliRunner(env={"COLUMNS": "200"})


def said(*words: str) -> tuple[int, str]:
    result = runner.invoke(app, [*words])
    return result.exit_code, " ".join(result.output.split())


def test_all_workloads_are_listed() -> None:
    code, text = said("list")
    assert code == 0
    assert all(name in text for name in workloads.names())
    assert "needs joins" in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["run", "yahoo"], "yahoo"),
        (["run", "ysb", "--sut", "flink"], "no system under test 'flink'"),
        (["run", "ysb", "--sut", "fake", "--set", "speed"], "is not written NAME=VALUE"),
        (
            ["run", "ysb", "--sut", "fake", "--sharing", "off"],
            "--sharing is for the system headrace",
        ),
        (["run", "ysb", "--sut", "fake", "--rate", "1e12"], "cannot offer 1,000,000,000,000"),
        (["run", "ysb", "--sut", "fake", "--rate", "-5"], "offers nothing"),
        (["run", "ysb", "--file", "trips.csv"], "file"),
        (["run", "ysb", "--sut", "fake", "--delay", "poisson:3ms"], "'poisson' is no distribution"),
        (["sustain", "ysb", "--sut", "fake", "--start", "0"], "offers nothing"),
        (["suite", "long"], "no suite 'long'"),
        (["report", "nothing.json"], "nothing.json cannot be read"),
        (["compare", "a.json", "b.json"], "a.json cannot be read"),
    ],
)
def test_bad_input_is_answered_in_words_before_anything_starts(words: list[str], says: str) -> None:
    code, text = said(*words)
    assert code == 1, text
    assert says in text
    assert "Traceback" not in text


def test_records_are_compared_and_reported(tmp_path: Path) -> None:
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, sut in zip(paths, ("headrace", "plain-spark"), strict=True):
        records.write(path, run_record(sut=sut))
    code, text = said("compare", *map(str, paths))
    assert (code, "event-time" in text) == (0, True)
    code, text = said("report", str(tmp_path), "--out", str(tmp_path / "page"))
    assert code == 0, text
    assert (tmp_path / "page" / "report.html").is_file()


def test_different_kinds_are_not_compared(tmp_path: Path) -> None:
    records.write(tmp_path / "run.json", run_record())
    records.write(tmp_path / "search.json", sustain_record())
    code, text = said("compare", str(tmp_path / "run.json"), str(tmp_path / "search.json"))
    assert code == 1, text


def test_the_main_command_leads_to_it() -> None:
    result = runner.invoke(headrace, ["bench", "list"])
    assert result.exit_code == 0
    assert "astream-sc2" in result.output
