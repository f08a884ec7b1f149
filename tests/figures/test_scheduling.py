"""What scheduling saves and costs on this machine."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.spark.test_scheduling import await_windows, live


def test_klink_needs_fewer_batches_for_the_same_windows(spark: SparkSession) -> None:
    def batches(policy: str) -> float:
        with live(spark, 3, policy=policy) as session:
            await_windows(session, 2)
            before = session.metrics()
            await_windows(session, 5)
            after = session.metrics()
            assert after.schedule.deciding_share < 0.05
            return (after.batches - before.batches) / max(after.windows - before.windows, 1)

    assert batches("klink") < 0.7 * batches("fcfs")
