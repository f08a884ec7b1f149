"""Killed in the middle of batches: every result is there exactly once.

`tests/soak/test_crash_storm.py` kills at random times, and often.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.crash_child import live
from tests.spark.crash_runs import check, newest, start

SEED, TABLES = 20240501, 16
KILLS = (("delivered", 5), ("begun", 10))
"""Points of transactions, see `crash_child`."""


@pytest.mark.timeout(600)
def test_each_result_once_after_sigkill_in_the_middle_of_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    for point, txn in KILLS:
        assert start(tmp_path, SEED, TABLES, point, txn).wait() == -signal.SIGKILL
        assert (newest(tmp_path, "begin"), newest(tmp_path, "commit")) == (txn, txn - 1)
    live(spark, tmp_path, SEED, TABLES)
    assert check(tmp_path, SEED, TABLES) > 100
