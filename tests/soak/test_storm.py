"""Fifty kills at any moment: two streams, all shapes of queries, all sinks that outlive a process,
names used again. What is exactly-once is there once, what is at-least-once at least once."""

from __future__ import annotations

import datetime as dt
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.soak.storm_data import ASKED, SELECTION, SESSIONS, SHAPES, SINKS, START, expected, tables

ROOT = Path(__file__).parents[2]
STEPS = int(os.environ.get("HEADRACE_STORM_STEPS", "150"))
KILLS = int(os.environ.get("HEADRACE_STORM_KILLS", "50"))


def start(folder: Path, seed: int) -> subprocess.Popen[bytes]:
    with (folder / "stderr").open("ab") as errors:
        command = [sys.executable, "-m", "tests.soak.storm_child"]
        return subprocess.Popen(
            [*command, str(folder), str(seed), str(STEPS)],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )


@pytest.mark.timeout(7200)
def test_nothing_is_lost_and_nothing_is_there_twice(spark: SparkSession, tmp_path: Path) -> None:
    seed = int(os.environ.get("HEADRACE_STORM_SEED", "20260501"))
    rng, kills = random.Random(seed), 0
    while not (tmp_path / "done").exists():
        child = start(tmp_path, seed)
        if kills < KILLS and killed(child, tmp_path, rng):
            kills += 1
        assert child.wait() in (0, -signal.SIGKILL), (tmp_path / "stderr").read_text()[-4000:]
    print(f"{kills} kills, {STEPS} steps")
    assert kills == KILLS
    assert _checked(spark, tmp_path, seed) > 500


def killed(child: subprocess.Popen[bytes], folder: Path, rng: random.Random) -> bool:
    """Kill it at any moment: one in four while it comes up, the others in their first batch, which
    takes its time, or some steps later. False if it ended by itself before."""
    early, steps = rng.random() < 0.25, rng.randint(0, 4)
    moment_s = rng.uniform(0.0, 8.0 if early else 1.5)

    def made() -> int:
        return len(list((folder / "files").glob("*.parquet")))

    if not early:
        _await(child, lambda: _says(folder / "up", child.pid))
        goal = made() + steps
        _await(child, lambda: made() >= goal)
    begun = time.monotonic()
    _await(child, lambda: time.monotonic() >= begun + moment_s)
    if child.poll() is not None:
        return False
    os.killpg(child.pid, signal.SIGKILL)
    return True


def _await(child: subprocess.Popen[bytes], holds: Callable[[], bool]) -> None:
    while child.poll() is None and not holds():
        time.sleep(0.01)


def _says(up: Path, pid: int) -> bool:
    return up.exists() and up.read_text() == str(pid)


def _checked(spark: SparkSession, folder: Path, seed: int) -> int:
    made = tables(seed, STEPS)
    streams = [
        pa.concat_tables([t for left, right, _ in made for t in (left, right)]),
        pa.concat_tables([other for _, _, other in made]),
    ]
    highest = [max(max(step[n].column("time").to_pylist()) for step in made) for n in range(3)]
    late = dt.timedelta(seconds=3)
    watermarks = [min(highest[:2]) - late, highest[2] - late]
    lives: dict[int, tuple[str, str, str | None]] = {}
    for line in (folder / "lives.jsonl").read_text().splitlines():
        generation, status, since, until = json.loads(line)
        lives[generation] = status, since, until
    checked = 0
    for generation, (status, since, until) in lives.items():
        if status == ASKED:
            continue  # it was not in the checkpoint of the run that came next
        assert status in ("active", "stopped"), (generation, status)
        if generation % len(SHAPES) == SESSIONS and not since.startswith("0001"):
            continue  # the sessions of a query that came later begin in the middle
        kind = SINKS[generation % len(SINKS)]
        last = watermarks[generation % 2]
        if generation % len(SHAPES) == SELECTION:
            last = START + dt.timedelta(days=1)
        end = last if until is None else dt.datetime.fromisoformat(until)
        first = since.startswith("0001")
        begin = START.replace(year=1) if first else dt.datetime.fromisoformat(since)
        want = expected(spark, generation, streams[generation % 2], begin, end)
        found = _found(folder, kind, generation)
        if generation % len(SHAPES) == SELECTION and until is not None:
            # Tuples that come out of order after the stop are not seen.
            sure = str(end - late)
            want, found = ([r for r in rows if r[0] < sure] for rows in (want, found))
        if kind == "parquet":
            assert found == want, (generation, kind)
        else:
            missing = Counter(map(tuple, want)) - Counter(map(tuple, found))
            assert not missing, (generation, kind, missing)
            assert set(map(tuple, found)) <= set(map(tuple, want)), (generation, kind)
        checked += len(want)
    return checked


def _found(folder: Path, kind: str, generation: int) -> list[list[str]]:
    place = folder / kind / str(generation)
    if not place.exists():
        return []
    if kind == "called":
        return sorted(json.loads(line) for line in place.read_text().splitlines())
    if kind == "parquet":
        table = pq.read_table(place)
        return sorted([str(v) for v in row.values()] for row in table.to_pylist())
    lines = [line for p in place.glob("*.json") for line in p.read_text().splitlines()]
    told = [json.loads(line) for line in lines]
    stamps = [{**r, **{n: dt.datetime.fromisoformat(r[n]) for n in ("start", "end")}} for r in told]
    return sorted([str(v) for v in row.values()] for row in stamps)
