"""spark/ingest/culprits.py: what a failed query is told, from what Spark says."""

from __future__ import annotations

import pytest

from headrace.spark.ingest.culprits import reason_of

WORKER = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1, in process
    run()
ValueError: no such thing
"""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "Job aborted:\nx.SparkArithmeticException: [DIVIDE_BY_ZERO] Division by zero. "
            "SQLSTATE: 22012",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        (WORKER, "ValueError: no such thing"),
        ("the disk is full\nat line 3", "the disk is full"),
        ("", "RuntimeError"),
    ],
)
def test_the_reason_is_the_line_that_says_it(said: str, reason: str) -> None:
    assert reason_of(RuntimeError(said)) == reason
