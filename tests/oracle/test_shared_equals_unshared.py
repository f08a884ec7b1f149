"""The shared plan against the same queries run each as a pipeline of its own.

Over a DataFrame, a query that runs alone is reduced by Catalyst and shared ones by the kernels, so
the two runs have little code in common. Both are compared with DuckDB too.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import headrace as hr
from headrace.testing import ManualClock, MemoryStream
from tests.oracle.compare import check_query, difference, rows_of
from tests.oracle.queries import STREAM, RandomQuery, make_query
from tests.oracle.reference import BEGINNING, Life, Reference
from tests.oracle.workload import SCHEMA, Workload, make_workload

pytestmark = [pytest.mark.spark, pytest.mark.slow]

_KERNELS_ONLY = re.compile(r"FIRST|LAST\(|DISTINCT|PERCENTILE")
Sharing = Literal["auto", "off"]


@pytest.mark.parametrize("read_by", ["tasks", "spark"])
def test_over_a_dataframe(spark: SparkSession, tmp_path: Path, read_by: str) -> None:
    seed = 21
    workload = _one_partition(make_workload(seed, steps=2, rows=200))
    rng = random.Random(seed)
    queries = [_for_catalyst(rng) for _ in range(5)]
    queries += [make_query(rng, "session"), make_query(rng, "selection")]
    _write_files(workload, tmp_path / "in")

    def source() -> DataFrame:
        reader = spark.readStream.schema(from_arrow_schema(SCHEMA))
        files = reader.option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))
        # Anything on top of the files leaves the reading to Spark.
        return files if read_by == "tasks" else files.select("*")

    failures = _compared(spark, workload, queries, source)
    assert not failures, "\n\n".join(failures)


def test_over_an_arrow_source(spark: SparkSession) -> None:
    seed = 22
    workload = _one_partition(make_workload(seed, steps=3, rows=200))
    rng = random.Random(seed)
    queries = [make_query(rng, "window"), make_query(rng, "session"), make_query(rng, "window")]
    stream = MemoryStream(SCHEMA, tables_per_batch=1)
    for step in workload.steps:
        for table in step.tables.values():
            stream.push(table)
    failures = _compared(spark, workload, queries, lambda: stream)
    assert not failures, "\n\n".join(failures)


def _for_catalyst(rng: random.Random) -> RandomQuery:
    while True:
        query = make_query(rng, "window")
        if not _KERNELS_ONLY.search(query.text):
            return query


def _one_partition(workload: Workload) -> Workload:
    """All tuples of a step in one table of one partition; every step holds some."""
    steps = []
    for step in workload.steps:
        tables = [t for t in step.tables.values() if t.num_rows]
        if tables:
            steps.append(type(step)(0.0, {0: pa.concat_tables(tables)}))
    return Workload(workload.seed, 1, workload.lateness_s, None, tuple(steps))


def _write_files(workload: Workload, folder: Path) -> None:
    """One file a step; Spark reads them in the order of their modification times."""
    folder.mkdir()
    for number, step in enumerate(workload.steps):
        name = folder / f"{number:03d}.parquet"
        pq.write_table(step.tables[0], name)
        os.utime(name, (1_700_000_000 + number, 1_700_000_000 + number))


def _compared(
    spark: SparkSession,
    workload: Workload,
    queries: list[RandomQuery],
    source: Callable[[], DataFrame | MemoryStream],
) -> list[str]:
    reference = Reference(1, workload.lateness_s)
    for step in workload.steps:
        reference.push(step.tables)
    life = Life(BEGINNING, reference.watermark.value_us)
    runs: dict[Sharing, list[pa.Table]] = {}
    failures = []
    for sharing in ("auto", "off"):
        with hr.Session(spark, clock=ManualClock(), sharing=sharing) as session:
            session.stream(
                STREAM,
                source(),
                event_time="time",
                lateness=f"{workload.lateness_s} seconds",
                max_ahead=None,
            )
            handles = [session.sql(q.text) for q in queries]
            session.start()
            session.process_all_available()
            for query, handle in zip(queries, handles, strict=True):
                wrong = check_query(query, handle, reference, life)
                if wrong is not None:
                    failures.append(f"seed {workload.seed}, {sharing}: {wrong}\n  {query.text}")
            runs[sharing] = [h.collect() for h in handles]
    for query, shared, alone in zip(queries, runs["auto"], runs["off"], strict=True):
        wrong = difference(rows_of(shared), rows_of(alone), ordered=query.is_ordered)
        if wrong is None and shared.schema != alone.schema:
            wrong = f"schema {shared.schema} is not {alone.schema}"
        if wrong is not None:
            failures.append(f"seed {workload.seed}, auto against off: {wrong}\n  {query.text}")
    return failures
