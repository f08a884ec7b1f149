"""Killed in the middle of batches, again and again: every result is there exactly once."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import headrace as hr
from tests.spark.crash_data import SCHEMA, expected, tables, template

ROOT = Path(__file__).parents[2]
SEED = 20240501
KILLS = 4


def _run(folder: Path, number: int) -> subprocess.Popen[bytes]:
    with (folder / f"stderr{number}").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark.crash_child", str(folder), str(SEED + number)],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def _committed(folder: Path) -> int:
    log = folder / "checkpoint" / "streams" / "s" / "log"
    names = [n for n in os.listdir(log) if n.endswith(".commit.json")] if log.exists() else []
    return int(max(names).split(".")[0]) if names else 0


def _begun(folder: Path) -> int:
    log = folder / "checkpoint" / "streams" / "s" / "log"
    names = [n for n in os.listdir(log) if n.endswith(".begin.json")] if log.exists() else []
    return int(max(names).split(".")[0]) if names else 0


@pytest.mark.timeout(280)
def test_each_result_once_after_sigkill_in_the_middle_of_batches(tmp_path: Path) -> None:
    source = hr.testing.MemoryStream(SCHEMA, path=tmp_path / "stream")
    data = tables(SEED)
    for table in data:
        source.push(table)
    rng = random.Random(SEED)
    mid_batch = 0
    pause = threading.Event()
    for number in range(KILLS):
        goal = _committed(tmp_path) + rng.randint(4, 9)
        child = _run(tmp_path, number)
        deadline = time.monotonic() + 90
        # Wait for a begun but uncommitted transaction: that is the middle of a batch.
        while time.monotonic() < deadline and child.poll() is None:
            if _begun(tmp_path) >= goal and _begun(tmp_path) > _committed(tmp_path):
                break
            pause.wait(0.01)
        mid_batch += _begun(tmp_path) > _committed(tmp_path)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        assert not (tmp_path / "done.json").exists(), "the stream ended before the last kill"
    last = _run(tmp_path, KILLS)
    assert last.wait(timeout=120) == 0, (tmp_path / f"stderr{KILLS}").read_text()[-3000:]
    assert mid_batch >= KILLS - 1

    lives = json.loads((tmp_path / "done.json").read_text())
    assert len(lives) >= 12
    assert sum(status == "stopped" for status, _, _ in lives.values()) >= 3
    rows = [row for table in data for row in table.to_pylist()]
    watermark = max(row["time"] for row in rows) - dt.timedelta(seconds=3)
    checked = 0
    for name, (status, since, until) in lives.items():
        assert status in ("active", "stopped")
        number = int(name[1:])
        end = dt.datetime.fromisoformat(until) if until else watermark
        want = expected(number, rows, (dt.datetime.fromisoformat(since), min(end, watermark)))
        found: dict[tuple[dt.datetime, str], tuple[int, int]] = {}
        folder = tmp_path / "out" / name
        got = pq.read_table(folder).to_pylist() if folder.exists() else []
        for row in got:
            place = (row["start"], row["k"])
            assert place not in found, f"{name} emitted {place} twice (seed {SEED})"
            found[place] = (row["total"], row["n"])
        assert found == want, f"{name}: {template(number)} (seed {SEED})"
        checked += len(found)
    assert checked > 200
