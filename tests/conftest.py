"""Fixtures that several kinds of tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import locks

locks.CHECKED = True


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark for the whole run: starting it costs more than most tests."""
    session = hr.local_spark(2)
    yield session
    session.stop()
