"""The queries of every shipped workload are texts that Headrace takes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headrace.lab.bench.makers import maker
from headrace.lab.bench.workloads import load, names
from headrace.query.schema import Column, StreamSchema
from headrace.sql import parse

from .live import analyzer_of

_TYPES = {"int32": "int", "int64": "bigint", "double": "double", "string": "string"}


@pytest.mark.parametrize("name", [n for n in names() if load(n).needs is None])
def test_headrace_takes_the_queries_that_need_no_joins(spark: SparkSession, name: str) -> None:
    workload = load(name)
    (stream,) = workload.streams
    made = maker(stream.maker, stream.parameters)
    number = np.arange(0)
    columns: dict[str, pa.Array] = made.columns(np.random.default_rng(1), number, number / 1000.0)
    schema = StreamSchema(
        stream.name,
        (
            *(Column(n, _TYPES[str(a.type)]) for n, a in columns.items()),
            Column("time", "timestamp"),
        ),
        "time",
    )
    analyzer = analyzer_of(spark, schema, ansi=True)
    for query in workload.queries(12, seed=2):
        found = parse(query, {stream.name: schema}, analyzer)
        assert found.window is not None
        assert {"window_end", "event_time"} <= {o.name for o in found.outputs}
