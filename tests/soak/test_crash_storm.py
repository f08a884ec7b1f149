"""Killed again and again, whenever it happens: every result is there exactly once."""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

import pytest

from tests.spark.crash_runs import check, newest, start

TABLES, KILLS = 60, 12


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", [20240501, 20240502, 20240503])
def test_each_result_once_after_a_storm_of_kills(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for _ in range(KILLS):
        goal = newest(tmp_path, "commit") + rng.randint(1, 6)
        child = start(tmp_path, seed, TABLES)
        while child.poll() is None and newest(tmp_path, "begin") < goal:
            threading.Event().wait(0.01)
        # Somewhere in this batch, or in the next.
        threading.Event().wait(rng.uniform(0.0, 0.3))
        if child.poll() is not None:
            break
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if not (tmp_path / "done.json").exists():
        last = start(tmp_path, seed, TABLES)
        assert last.wait() == 0, (tmp_path / "stderr").read_text()[-3000:]
    assert check(tmp_path, seed, TABLES) > 200
