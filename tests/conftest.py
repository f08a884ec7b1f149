"""Fixtures that several kinds of tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import locks

locks.CHECKED = True
# pytest's worker processes are told a terminal of 80 columns, which nobody looks at.
for size in ("COLUMNS", "LINES"):
    os.environ.pop(size, None)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark for the whole run: starting it costs more than most tests."""
    session = hr.local_spark(2)
    yield session
    session.stop()
