"""Fixtures that several kinds of tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import headrace as hr


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark for the whole run: starting it costs more than most tests."""
    # Many pipelines starting at once on a busy machine need longer than Spark's 15 seconds.
    session = hr.local_spark(2, **{"spark.python.authenticate.socketTimeout": "180s"})
    yield session
    session.stop()
