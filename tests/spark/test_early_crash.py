"""Killed while windows are answered early: no row twice, none missing, exact ones exact."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.spark.early_child import KEYS, RATE, WINDOW_S, source_of

ROOT = Path(__file__).parents[2]
EARLY_ROWS = 4 * KEYS
"""So many of them are there before the process is killed."""
MORE_S = 20.0
"""The stream is followed for so long after that: a new process has to learn what to expect."""


def _run(folder: Path, start_s: float, end_s: float) -> subprocess.Popen[bytes]:
    with (folder / "stderr").open("ab") as errors:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.spark.early_child",
                str(folder),
                str(start_s),
                str(end_s),
            ],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def _rows(folder: Path) -> list[dict[str, Any]]:
    if not folder.exists():
        return []
    rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return rows


def _truth(start_s: float, end_s: float) -> dict[tuple[float, int], int]:
    """Sums of every window and key, from the source itself."""
    source = source_of(start_s)
    count = int((end_s - start_s + 2.0) * RATE)
    table = pa.Table.from_batches(source.read(0, 0, count, ["key", "f0", "time"]))
    seconds = table.column("time").cast(pa.int64()).to_numpy() // 1_000_000
    window = seconds - seconds % WINDOW_S
    found: dict[tuple[float, int], int] = {}
    for start in np.unique(window).tolist():
        for key in range(KEYS):
            mine = (window == start) & (table.column("key").to_numpy() == key)
            found[float(start), key] = int(table.column("f0").to_numpy()[mine].sum())
    return found


@pytest.mark.timeout(200)
def test_every_row_once_after_sigkill_between_an_early_answer_and_the_exact_one(
    tmp_path: Path,
) -> None:
    start_s = time.time()
    child = _run(tmp_path, start_s, start_s + 1_000)
    pause = threading.Event()
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and child.poll() is None:
        if sum(not r["exact"] for r in _rows(tmp_path / "held")) >= EARLY_ROWS:
            break
        pause.wait(0.02)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    early = [r for r in _rows(tmp_path / "held") if not r["exact"]]
    assert len(early) >= EARLY_ROWS, (tmp_path / "stderr").read_text()[-3000:]
    end_s = float(int(time.time() + MORE_S))
    again = _run(tmp_path, start_s, end_s)
    assert again.wait(timeout=90) == 0, (tmp_path / "stderr").read_text()[-3000:]

    truth = _truth(start_s, end_s)
    rows = {name: _rows(tmp_path / name) for name in ("held", "refined")}
    places = {
        name: [(r["start"].timestamp(), r["key"]) for r in found] for name, found in rows.items()
    }
    due = {p for p in truth if start_s <= p[0] and p[0] + WINDOW_S <= end_s}
    assert len(places["held"]) == len(set(places["held"])), "none twice"
    assert due <= set(places["held"]), "none missing"
    exact = [p for p, r in zip(places["refined"], rows["refined"], strict=True) if r["exact"]]
    assert len(exact) == len(set(exact))
    assert due <= set(exact)
    off = []
    for name, found in rows.items():
        for place, row in zip(places[name], found, strict=True):
            if place not in due:
                continue
            if row["exact"]:
                assert row["total"] == truth[place], (name, place)
            else:
                off.append(abs(row["total"] / truth[place] - 1.0))
    assert np.mean(np.array(off) <= 0.05) >= 0.9
    later = [p for p, r in zip(places["held"], rows["held"], strict=True) if not r["exact"]]
    assert max(s for s, _ in later) > end_s - MORE_S, "after the restart, too"
