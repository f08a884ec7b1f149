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
# The JVMs of tests do a little of everything and end: what the optimizing compiler makes of it
# is never used, and takes a third of the time. Spark's launcher and `cluster_child` read these;
# `make figures` sets them to nothing.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
os.environ.setdefault("SPARK_SUBMIT_OPTS", BRIEF)
os.environ.setdefault("SPARK_LAUNCHER_OPTS", BRIEF)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """One local Spark for the whole run: starting it costs more than most tests."""
    session = hr.local_spark(2)
    yield session
    session.stop()
