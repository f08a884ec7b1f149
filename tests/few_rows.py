"""Spark as the oracle, over a few hundred tuples: what it spends on tasks and on compiling would be
most of the time of a test."""

from __future__ import annotations

from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def set_for_few_rows(session: SparkSession) -> None:
    """From here on the session interprets what it would compile."""
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
