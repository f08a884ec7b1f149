"""These tests ask Spark itself what a text means."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.sql import live


@pytest.fixture(autouse=True, scope="session")
def _analyzers(spark: SparkSession) -> None:
    live.use(spark)
