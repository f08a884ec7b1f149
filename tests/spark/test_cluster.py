"""The same code on two executors; the driver never holds tuples."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import headrace as hr

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(240)
def test_two_executors_reduce_what_the_driver_never_sees(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster_child", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=230,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    found = json.loads(run.stdout.strip().splitlines()[-1])
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
    out = pq.read_table(tmp_path / "out")
    assert out.num_rows == found["rows"] == 7 * 1000
    chosen = tuples.filter(pc.greater_equal(tuples.column("f3"), 500))
    first = chosen.filter(pc.less(chosen.column("time").cast(pa.int64()), last - 7_000_000))
    high = first.group_by("key").aggregate([("f2", "max")]).to_pydict()
    got = out.filter(pc.equal(out.column("start").cast(pa.int64()), last - 8_000_000)).to_pydict()
    assert dict(zip(got["key"], got["high"], strict=True)) == dict(
        zip(high["key"], high["f2_max"], strict=True)
    )
