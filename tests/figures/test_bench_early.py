"""`headrace bench early`: how soon and how right answers are on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.lab.bench.early.questions import WAYS


@pytest.mark.timeout(240)
def test_approximate_windows_are_measured_against_those_that_wait(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            Path(sys.executable).with_name("headrace"),
            *("bench", "early", "--questions", "ysb", "--delays", "EC"),
            *("--seconds", "12", "--out", str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        timeout=220,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (path,) = tmp_path.glob("*.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["end"] == "complete"
    ways = {w["way"]: w for w in record["ways"]}
    assert list(ways) == list(WAYS)
    assert ways["aion"]["windows"] >= 15, "one ends every 600 ms"
    # A stream of 240 ms delays and a lateness of 4 s.
    assert ways["exact"]["after_s"] > 3.5
    assert ways["aion"]["after_s"] < 0.5 * ways["k-slack"]["after_s"]
    assert ways["aion"]["accurate"] >= 0.8
    assert ways["aion"]["kept"] < 0.6
    assert 0.0 < record["statistics"]["share_of_latency"] < 0.1
    assert len(record["latencies_s"]["aion"]) >= 15
    assert (tmp_path / "latency-cdf.png").stat().st_size > 10_000
    assert "aion / k-slack" in done.stdout
