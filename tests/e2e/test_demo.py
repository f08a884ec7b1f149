"""The demo without a terminal: it ends by itself, and cleanly when it is interrupted."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.lab.demo.questions import questions

DEMO = [sys.executable, "-m", "headrace.cli", "demo", "--rate", "5000"]
LINE = re.compile(
    r"^\s*(?P<second>\d+) s \| (?P<events>[\d,]+) events/s \| (?P<queries>\d+) queries \| "
    r"(?P<per_scan>[\d.]+) per scan \| \d+ groups \| \d+ classes \| \d+ slices \| .* state \| "
    r"deployment .* \| event-time latency .* \| (?P<rows>[\d,]+) rows"
)

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def start(tmp_path: Path, *arguments: str) -> subprocess.Popen[str]:
    """The demo, with its temporary files in a folder of the test, in a process group of its own."""
    return subprocess.Popen(
        [*DEMO, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    )


def interrupt(demo: subprocess.Popen[str]) -> tuple[str, str]:
    """Ctrl-C, as a terminal sends it: to the JVM and its workers too."""
    os.killpg(demo.pid, signal.SIGINT)
    return demo.communicate()


def assert_clean_end(demo: subprocess.Popen[str], printed: str, errors: str) -> None:
    assert demo.returncode == 0, (printed, errors)
    for word in ("Traceback", "Exception", "Error", "failed"):
        assert word not in printed + errors
    assert errors == ""


def number(text: str) -> int:
    return int(text.replace(",", ""))


def assert_no_rubbish(tmp_path: Path) -> None:
    assert [p.name for p in tmp_path.iterdir() if "headrace" in p.name] == []


def test_it_ends_by_itself(tmp_path: Path) -> None:
    demo = start(tmp_path, "--queries", "3", "--seconds", "2")
    printed, errors = demo.communicate()
    assert_clean_end(demo, printed, errors)
    seconds = [int(found["second"]) for text in printed.splitlines() if (found := LINE.match(text))]
    assert seconds == sorted(seconds)
    assert re.search(r"events processed\W+[\d,]+", printed)
    assert "docs/internals/architecture.md" in printed
    assert_no_rubbish(tmp_path)


def test_every_question_is_accepted(spark: SparkSession) -> None:
    with hr.Session(spark) as session:
        session.stream("purchases", hr.sources.Purchases(), event_time="time")
        session.stream("ads", hr.sources.Ads(), event_time="time")
        asked = [session.sql(q.sql, name=q.name) for q in islice(questions(seed=1), 60)]
        assert {q.status for q in asked} == {"pending"}


def test_it_shows_what_runs_until_ctrl_c(tmp_path: Path) -> None:
    demo = start(tmp_path, "--queries", "8", "--seconds", "600")
    assert demo.stdout is not None
    before, line = "", None
    for text in demo.stdout:
        before += text
        line = LINE.match(text)
        if line and number(line["events"]) > 0 and number(line["rows"]) > 0:
            break
    assert line, before
    assert float(line["per_scan"]) > 1, "queries share a scan"
    assert number(line["queries"]) >= 8
    printed, errors = interrupt(demo)
    assert_clean_end(demo, before + printed, errors)
    assert "newest " in before + printed
    assert "Stopped by you" in printed
    assert "events processed" in printed
    assert_no_rubbish(tmp_path)


def test_ctrl_c_while_spark_starts(tmp_path: Path) -> None:
    demo = start(tmp_path, "--queries", "8", "--seconds", "600")
    assert demo.stdout is not None
    first = demo.stdout.readline()
    printed, errors = interrupt(demo)
    assert_clean_end(demo, first + printed, errors)
    assert "Stopped by you" in printed
