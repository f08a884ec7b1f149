"""Every script in `examples/` runs to its end and prints what it promises."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"
PROMISED = {
    "quickstart.py": ("revenue", "buyers counts from 20", "buyers counted until 20"),
    "adhoc_on_files.py": (
        "shops counts from 2026-01-01T00:04:59",
        "everything: 27 rows, windows 2026-01-01 00:00:00+00:00 to 2026-01-01 00:08:00+00:00",
        "shops: 8 rows, windows 2026-01-01 00:05:00+00:00 to 2026-01-01 00:08:00+00:00",
    ),
    "parquet_restart.py": (
        "readings: 10 rows written in this life",
        "readings: 12 rows written in this life",
        "22 rows on disk, 22 different windows and sensors",
    ),
    "approximate.py": ("s after the window: ", "within ", "exact answers took "),
    "explain_sharing.py": (
        "pipeline purchases:",
        "99 queries (revenue-0",
        "query 'top' on stream 'purchases'",
        "100 queries on 1 scan, 2 groups",
        "100,000 events in",
    ),
}


def test_every_example_is_known() -> None:
    assert {p.name for p in EXAMPLES.glob("*.py")} == set(PROMISED)


@pytest.mark.spark
@pytest.mark.parametrize("name", PROMISED)
def test_example(name: str, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    # In this process: the example finds the running Spark instead of starting its own.
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for words in PROMISED[name]:
        assert words in printed, printed


@pytest.mark.parametrize("name", PROMISED)
def test_example_is_short(name: str) -> None:
    assert 10 <= len((EXAMPLES / name).read_text().splitlines()) <= 60
