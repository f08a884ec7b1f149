"""bench/core/report.py: figures as a file that later runs add to."""

from __future__ import annotations

import json
from pathlib import Path

from headrace.lab.bench.core.measure import Figure
from headrace.lab.bench.core.report import save


def test_a_line_measured_again_replaces_itself_and_leaves_the_others(tmp_path: Path) -> None:
    path = tmp_path / "results" / "core.json"
    save(path, [Figure("slow", [1.0], "×"), Figure("fast", [2.0], "×")], {"cores": 2})
    save(path, [Figure("fast", [3.0, 5.0], "×", target=3.5), Figure("new", [1.0], "×")], {})
    figures = json.loads(path.read_text())["figures"]
    assert [(f["name"], f["median"]) for f in figures] == [
        ("slow", 1.0),
        ("fast", 4.0),
        ("new", 1.0),
    ]
    assert [f["reached"] for f in figures] == [None, True, None]
    assert figures[0]["settings"] == {"cores": 2}
    assert {"commit", "at", "machine"} <= figures[1].keys()
