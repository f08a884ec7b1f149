"""Killed while windows are answered early, or run on two executors: no row twice, none missing."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.spark.early_child import KEYS
from tests.spark.early_runs import await_early, check, finish, start

EARLY_ROWS = 4 * KEYS
"""So many of them are there before the process is killed, or may end."""


@pytest.mark.timeout(300)
def test_every_row_once_after_sigkill_between_an_early_answer_and_the_exact_one(
    tmp_path: Path,
) -> None:
    start_s = time.time()
    child = start(tmp_path, start_s)
    await_early(child, tmp_path, EARLY_ROWS)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    killed_s = time.time()
    again = start(tmp_path, start_s)
    await_early(again, tmp_path, KEYS, killed_s)
    early = check(tmp_path, start_s, finish(again, tmp_path))
    # What the killed process had not committed is taken back, and may be answered exactly then.
    assert min(early) < killed_s
    assert max(early) > killed_s, "after the restart, too"


@pytest.mark.timeout(200)
def test_windows_are_answered_early_on_two_executors(tmp_path: Path) -> None:
    start_s = time.time()
    child = start(tmp_path, start_s, "local-cluster[2,1,1024]")
    await_early(child, tmp_path, EARLY_ROWS)
    assert len(check(tmp_path, start_s, finish(child, tmp_path))) >= EARLY_ROWS
