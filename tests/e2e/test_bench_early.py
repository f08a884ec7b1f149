"""`headrace bench early` from the command line: a record, a table, a picture.

What it measures is judged by `make figures`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(600)
def test_ways_to_close_windows_are_measured_beside_each_other(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "headrace.cli", "bench", "early", "--questions", "ysb"),
            *("--delays", "EC", "--rates", "1000", "--lengths", "1", "--ways", "k-slack,aion"),
            *("--seconds", "10", "--out", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (path,) = tmp_path.glob("*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["end"] == "complete"
    assert [way["way"] for way in record["ways"]] == ["exact", "k-slack", "aion"]
    assert all(way["windows"] > 0 for way in record["ways"])
    assert (tmp_path / "latency-cdf.png").stat().st_size > 10_000
    assert "aion / k-slack" in done.stdout
