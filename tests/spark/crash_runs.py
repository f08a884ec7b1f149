"""Runs of `crash_child` in processes of their own, and what must hold of the rows they leave."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from tests.spark.crash_data import QUERIES, expected, tables, template

ROOT = Path(__file__).parents[2]


def start(folder: Path, seed: int, count: int, *die_at: object) -> subprocess.Popen[bytes]:
    """A process, in a group of its own, that reads so many tables."""
    with (folder / "stderr").open("ab") as errors:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.spark.crash_child"),
                *(str(folder), str(seed), str(count), *map(str, die_at)),
            ],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


def newest(folder: Path, kind: str) -> int:
    """The last transaction that has a record of this kind, ``begin`` or ``commit``."""
    log = folder / "checkpoint" / "streams" / "s" / "log"
    names = [p.name for p in log.glob(f"*.{kind}.json")]
    return int(max(names).split(".")[0]) if names else 0


def check(folder: Path, seed: int, count: int) -> int:
    """Every row of every window inside the life of its query is there once, and right. Returns how
    many there are."""
    lives = json.loads((folder / "done.json").read_text())
    assert set(lives) == {f"q{n}" for n in range(min(QUERIES, count))}
    rows = [row for table in tables(seed, count) for row in table.to_pylist()]
    watermark = max(row["time"] for row in rows) - dt.timedelta(seconds=3)
    checked = 0
    for name, (status, since, until) in lives.items():
        assert status in ("active", "stopped")
        number = int(name[1:])
        end = dt.datetime.fromisoformat(until) if until else watermark
        want = expected(number, rows, (dt.datetime.fromisoformat(since), min(end, watermark)))
        found: dict[tuple[dt.datetime, str], tuple[int, int]] = {}
        out = folder / "out" / name
        for row in pq.read_table(out).to_pylist() if out.exists() else []:
            place = (row["start"], row["k"])
            assert place not in found, f"{name} emitted {place} twice (seed {seed})"
            found[place] = (row["total"], row["n"])
        assert found == want, f"{name}: {template(number)} (seed {seed})"
        checked += len(found)
    assert {name for name, (status, _, _) in lives.items() if status == "stopped"} == {
        f"q{n - 7}" for n in range(7, count) if n % 3 == 0 and n - 7 < QUERIES
    }
    return checked
