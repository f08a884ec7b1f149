"""Killed while windows are answered early, or run on two executors: no row twice, none missing."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.spark.early_child import KEYS
from tests.spark.early_runs import check, rows_in, start

EARLY_ROWS = 4 * KEYS
"""So many of them are there before the process is killed."""
MORE_S = 20.0
"""The stream is followed for so long after that: a new process has to learn what to expect."""


@pytest.mark.timeout(200)
def test_every_row_once_after_sigkill_between_an_early_answer_and_the_exact_one(
    tmp_path: Path,
) -> None:
    start_s = time.time()
    child = start(tmp_path, start_s, start_s + 1_000)
    pause = threading.Event()
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and child.poll() is None:
        if sum(not r["exact"] for r in rows_in(tmp_path / "held")) >= EARLY_ROWS:
            break
        pause.wait(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    early = [r for r in rows_in(tmp_path / "held") if not r["exact"]]
    assert len(early) >= EARLY_ROWS, (tmp_path / "stderr").read_text()[-3000:]
    end_s = float(int(time.time() + MORE_S))
    again = start(tmp_path, start_s, end_s)
    assert again.wait(timeout=90) == 0, (tmp_path / "stderr").read_text()[-3000:]
    assert max(check(tmp_path, start_s, end_s)) > end_s - MORE_S, "after the restart, too"


@pytest.mark.timeout(150)
def test_windows_are_answered_early_on_two_executors(tmp_path: Path) -> None:
    start_s = time.time()
    end_s = float(int(start_s + 30.0))
    child = start(tmp_path, start_s, end_s, "local-cluster[2,1,1024]")
    assert child.wait(timeout=120) == 0, (tmp_path / "stderr").read_text()[-3000:]
    assert len(check(tmp_path, start_s, end_s)) >= EARLY_ROWS
