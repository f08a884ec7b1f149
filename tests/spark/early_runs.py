"""Runs of `early_child` in processes of their own, and what must hold of the rows they leave."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.spark.early_child import KEYS, RATE, WINDOW_S, source_of

ROOT = Path(__file__).parents[2]


def start(folder: Path, start_s: float, master: str = "local[2]") -> subprocess.Popen[bytes]:
    """A process that answers the windows of a stream."""
    with (folder / "stderr").open("ab") as errors:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.spark.early_child",
                str(folder),
                str(start_s),
                master,
            ],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def await_early(
    child: subprocess.Popen[bytes], folder: Path, rows: int, since_s: float = 0.0
) -> None:
    """Until so many rows of windows since then were answered early."""
    pause = threading.Event()
    deadline = time.monotonic() + 120
    while _early(folder, since_s) < rows:
        said = (folder / "stderr").read_text()[-3000:]
        assert child.poll() is None, said
        assert time.monotonic() < deadline, f"{_early(folder, since_s)} early rows: {said}"
        pause.wait(0.02)


def _early(folder: Path, since_s: float) -> int:
    rows = rows_in(folder / "held")
    return sum(not r["exact"] and r["start"].timestamp() >= since_s for r in rows)


def finish(child: subprocess.Popen[bytes], folder: Path) -> float:
    """Let a process end with the windows until now; returns when the last of them ends."""
    end_s = float(int(time.time()))
    hidden = folder / "_end"
    hidden.write_text(str(end_s))
    hidden.rename(folder / "end")
    assert child.wait(timeout=60) == 0, (folder / "stderr").read_text()[-3000:]
    return end_s


def rows_in(folder: Path) -> list[dict[str, Any]]:
    """What a query has written so far."""
    if not folder.exists():
        return []
    rows: list[dict[str, Any]] = pq.read_table(folder).to_pylist()
    return rows


def check(folder: Path, start_s: float, end_s: float) -> list[float]:
    """Every row once, exact ones exact, early ones nearly always within the error. Returns the
    starts of the windows that were answered early."""
    truth = _truth(start_s, end_s)
    rows = {name: rows_in(folder / name) for name in ("held", "refined")}
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
    return [s for (s, _), r in zip(places["held"], rows["held"], strict=True) if not r["exact"]]


def _truth(start_s: float, end_s: float) -> dict[tuple[float, int], int]:
    """Sums of every window and key, from the source itself."""
    source = source_of(start_s)
    count = int((end_s - start_s + 2.0) * RATE)
    table = pa.Table.from_batches(source.read(0, 0, count, ["key", "f0", "time"]))
    seconds = table.column("time").cast(pa.int64()).to_numpy() // 1_000_000
    window = seconds - seconds % WINDOW_S
    found: dict[tuple[float, int], int] = {}
    for start_of in np.unique(window).tolist():
        for key in range(KEYS):
            mine = (window == start_of) & (table.column("key").to_numpy() == key)
            found[float(start_of), key] = int(table.column("f0").to_numpy()[mine].sum())
    return found
