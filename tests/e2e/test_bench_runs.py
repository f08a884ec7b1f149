"""Runs of the benchmark whose end does not depend on the machine: systems that fail, and say why.

That systems whose speed is known are measured right is for `make figures`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import headrace as hr
from headrace.lab.bench import workloads
from headrace.lab.bench.alternate import alternate
from headrace.lab.bench.driver.stage import Setup
from headrace.lab.bench.results import records
from headrace.lab.bench.run import Watcher, run
from tests.waiting import GUARD_S

RATE = 2_000.0


def fake(**options: object) -> Setup:
    given = {name: str(value) for name, value in options.items()}
    return Setup(workloads.load("astream"), "fake", 1, options=given, answer_s=GUARD_S)


def test_a_system_that_dies_leaves_its_last_words_and_what_was_measured() -> None:
    record = run(fake(die_at_s=6.0), RATE, 600.0, Watcher())
    assert record["end"] == "failed"
    assert "exit code 3" in record["reason"]
    assert "told to die" in record["reason"]
    assert record["summary"]["outputs"] > 0


def test_a_system_that_never_answers_is_given_up() -> None:
    setup = Setup(workloads.load("astream"), "fake", 1, options={"mute": "1"}, answer_s=2.0)
    record = run(setup, RATE, 5.0, Watcher())
    assert (record["end"], record["summary"]) == ("failed", None)
    assert "gave no result within 2 s" in record["reason"]


def test_an_adapter_that_cannot_start_says_why() -> None:
    record = run(fake(speed=3), RATE, 5.0, Watcher())
    assert record["end"] == "failed"
    assert "no option 'speed'" in record["reason"]


def test_a_system_of_ones_own_is_one_file(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    shipped = "from headrace.lab.bench.adapters.fake import Adapter as Fake"
    own.write_text(f"{shipped}\n\n\nclass Adapter(Fake):\n    pass\n")
    setup = Setup(workloads.load("astream"), str(own), 1, answer_s=GUARD_S)
    record = run(setup, RATE, 2.0, Watcher())
    assert record["sut"] == "mine"
    # On a machine that is too busy for the driver the run is void, but it runs.
    assert record["end"] in ("complete", "void"), record["reason"]


def test_what_cannot_be_run_is_refused_before_anything_starts() -> None:
    with pytest.raises(hr.HeadraceError, match=r"no system under test 'spark'.*plain-spark"):
        run(Setup(workloads.load("astream"), "spark", 1), RATE, 5.0, Watcher())
    with pytest.raises(hr.HeadraceError, match=r"on one core.*cannot offer 900,000,000"):
        run(fake(), 9e8, 5.0, Watcher())
    with pytest.raises(hr.HeadraceError, match="offers nothing"):
        run(fake(), 0.0, 5.0, Watcher())


def test_a_run_that_is_stopped_by_hand_keeps_what_was_measured(tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    command = [sys.executable, "-m", "headrace.cli", "bench", "run", "astream", "--sut", "fake"]
    options = ["--rate", "2000", "--queries", "1", "--seconds", "600", "--out", str(out)]
    with subprocess.Popen(
        [*command, *options],
        stdout=subprocess.PIPE,
        text=True,
        # In the background of a shell SIGINT is ignored, and children inherit that.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as driver:
        try:
            assert driver.stdout is not None
            for line in driver.stdout:
                if line.startswith("measuring"):
                    break
            driver.send_signal(signal.SIGINT)
            rest, _ = driver.communicate()
        finally:
            driver.kill()
    assert driver.returncode == 130
    assert "written to" in rest
    record = records.read(out)
    assert record["end"] == "interrupted"


def test_a_setting_that_cannot_be_changed_is_told() -> None:
    record = alternate(fake(), RATE, 2.0, "colour", ["red", "blue"], 1, 0.5, Watcher())
    assert record["end"] == "failed"
    assert "'colour' cannot be changed" in record["reason"]
    with pytest.raises(hr.HeadraceError, match="two or more different values"):
        alternate(fake(), RATE, 2.0, "mute", ["1"], 1, 0.5, Watcher())
