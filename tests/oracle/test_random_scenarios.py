"""Random queries over random streams, created and deleted at random times, against DuckDB."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

import headrace as hr
from headrace.testing import MemoryStream
from tests.amounts import rounds
from tests.oracle.queries import STREAM, make_query
from tests.oracle.scenario import run_scenario
from tests.oracle.static import schema_difference
from tests.oracle.workload import SCHEMA, make_workload

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(1, 1 + rounds(2, 12)))
def test_every_closed_window_equals_duckdb(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    failures = run_scenario(spark, make_workload(seed), tmp_path, queries=rounds(18, 50))
    assert not failures, "\n\n".join(failures)


def test_result_types_equal_spark(spark: SparkSession) -> None:
    seed, failures = 31, []
    rng = random.Random(seed)
    own = spark.newSession()
    own.createDataFrame([], from_arrow_schema(SCHEMA)).createOrReplaceTempView(STREAM)
    with hr.Session(spark) as session:
        session.stream(STREAM, MemoryStream(SCHEMA), event_time="time")
        for _ in range(100):
            text = make_query(rng).text
            expected = to_arrow_schema(own.sql(text).schema, timezone="UTC")
            wrong = schema_difference(session.sql(text).schema, expected)
            if wrong is not None:
                failures.append(f"seed {seed}: {wrong}\n  {text}")
    assert not failures, "\n\n".join(failures)
