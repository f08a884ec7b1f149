"""The session in the README runs as pasted and prints what it promises."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

README = Path(__file__).parents[2] / "README.md"
PROMISED = ("gem_pack", "top counts from 20", "bought", "top counted until 20", "on one scan")


def code_blocks() -> list[str]:
    """The Python blocks of the README."""
    text = README.read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_there_is_one_session() -> None:
    assert len(code_blocks()) == 1


@pytest.mark.spark
def test_the_session_runs(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    # In this process: the session finds the running Spark instead of starting its own.
    (block,) = code_blocks()
    exec(compile(block, str(README), "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    for words in PROMISED:
        assert words in printed, printed
