"""The same code on two executors; the driver never holds tuples."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import headrace as hr

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ran:
    """What a run on two executors printed, and the folder it wrote to."""

    found: dict[str, Any]
    folder: Path


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("cluster")
    run = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster_child", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    return Ran(json.loads(run.stdout.strip().splitlines()[-1]), folder)


def test_two_executors_reduce_what_the_driver_never_sees(ran: Ran) -> None:
    found = ran.found
    assert found["error"] == [None] * 6
    assert found["tuples"] == found["expected"] == 800_000

    pids = {int(name.split("-")[0]) for name in found["processes"]}
    parents = {int(name.split("-")[1]) for name in found["processes"]}
    assert found["driver"] not in pids | parents
    assert len(parents) == 2, "tuples were fetched by the workers of two executors"

    whole = hr.sources.RandomFields(rate=None, event_rate=100_000.0, start_s=1.7e9)
    tuples = pa.Table.from_batches(
        [b for p in range(2) for b in whole.read(p, 0, 400_000, whole.schema.names)]
    )
    last = 1_700_000_000_000_000 + 8_000_000
    f1 = tuples.column("f1").to_numpy()
    stamp = tuples.column("time").cast(pa.int64()).to_numpy()
    # The last two-second window is still open when the stream ends.
    inside = stamp < last - 2_000_000
    want = [int(np.count_nonzero(inside & (f1 < 100 * (n + 1)))) for n in range(5)]
    assert found["counts"] == want
    out = pq.read_table(ran.folder / "out")
    assert out.num_rows == found["rows"] == 7 * 1000
    chosen = tuples.filter(pc.greater_equal(tuples.column("f3"), 500))
    first = chosen.filter(pc.less(chosen.column("time").cast(pa.int64()), last - 7_000_000))
    high = first.group_by("key").aggregate([("f2", "max")]).to_pydict()
    got = out.filter(pc.equal(out.column("start").cast(pa.int64()), last - 8_000_000)).to_pydict()
    assert dict(zip(got["key"], got["high"], strict=True)) == dict(
        zip(high["key"], high["f2_max"], strict=True)
    )


def test_windows_are_answered_early_on_two_executors(ran: Ran) -> None:
    exact = {(start, k): total for start, k, total, _ in ran.found["early"]["exact"]}
    rows = ran.found["early"]["held"]
    places = [(start, k) for start, k, _, _ in rows]
    assert len(places) == len(set(places)), "none twice"
    assert exact.keys() <= set(places), "none missing"
    for start, k, total, is_exact in rows:
        if (start, k) in exact:
            assert total == pytest.approx(exact[start, k], rel=1e-9 if is_exact else 0.06)
    assert sum(not is_exact for *_, is_exact in rows) >= 4
