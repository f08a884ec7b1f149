"""Joins give what Spark gives, run in batch over the same tuples with the same text."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import MemoryStream
from tests.spark.helpers import at

pytestmark = pytest.mark.spark

A = pa.schema([("k", pa.int32()), ("g", pa.string()), ("x", pa.int32()),
               ("time", pa.timestamp("us", "UTC"))])  # fmt: skip
B = pa.schema([("k", pa.int64()), ("h", pa.string()), ("y", pa.float64()),
               ("time", pa.timestamp("us", "UTC"))])  # fmt: skip
C = pa.schema([("h", pa.string()), ("z", pa.int64()), ("time", pa.timestamp("us", "UTC"))])
SCHEMAS = {"a": A, "b": B, "c": C}
LATER_S = 10_000.0
"""When the last tuple of every stream is, which closes all windows before."""

Rows = list[dict[str, Any]]


def random_rows(rng: random.Random, name: str, count: int) -> Rows:
    """In order of their times, with NULLs among keys and values."""
    times = sorted(rng.uniform(0, 60) for _ in range(count))

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    made = {
        "a": lambda: {"k": maybe(rng.randrange(4)), "g": maybe(rng.choice("pq")),
                      "x": maybe(rng.randint(-9, 9))},
        "b": lambda: {"k": maybe(rng.randrange(4)), "h": maybe(rng.choice("pqr")),
                      "y": maybe(rng.choice([0.5, -0.0, 2.25]))},
        "c": lambda: {"h": maybe(rng.choice("pqr")), "z": maybe(rng.randrange(5))},
    }[name]  # fmt: skip
    return [{**made(), "time": at(t)} for t in times]


def run(
    spark: SparkSession, data: Mapping[str, Rows], texts: Sequence[str], batches: int = 3
) -> list[hr.Query]:
    """The queries over the tuples, which come in some batches, stream by stream."""
    streams = {name: MemoryStream(SCHEMAS[name]) for name in data}
    with hr.Session(spark) as session:
        for name, stream in streams.items():
            session.stream(name, stream, event_time="time")
        queries = [session.sql(text, name=f"q{n}") for n, text in enumerate(texts)]
        session.start()
        for number in range(batches):
            for name, stream in streams.items():
                part = _part(data[name], number, batches)
                if part:
                    stream.push(part)
            session.process_all_available()
        for stream in streams.values():
            stream.push([{"time": at(LATER_S)}])
        session.process_all_available()
        assert {q.name: q.error for q in queries if q.status != "active"} == {}
    return queries


def _part(rows: Rows, number: int, batches: int) -> Rows:
    size = -(-len(rows) // batches)
    return rows[number * size : (number + 1) * size]


def expected(spark: SparkSession, data: Mapping[str, Rows], text: str) -> list[tuple[Any, ...]]:
    for name, some in data.items():
        table = pa.Table.from_pylist(some, schema=SCHEMAS[name])
        spark.createDataFrame(table.to_pandas(), _ddl(SCHEMAS[name])).createOrReplaceTempView(name)
    return [tuple(r) for r in spark.sql(text).collect()]


def _ddl(schema: pa.Schema) -> str:
    names = {pa.int32(): "int", pa.int64(): "bigint", pa.string(): "string",
             pa.float64(): "double", pa.timestamp("us", "UTC"): "timestamp"}  # fmt: skip
    return ", ".join(f"{f.name} {names[f.type]}" for f in schema)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(plain(v) for v in value.values())
    if isinstance(value, tuple):
        return tuple(plain(v) for v in value)
    if isinstance(value, float):
        return round(value, 6) + 0.0
    if isinstance(value, dt.datetime) and value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    return value


def same(query: hr.Query, wanted: Sequence[tuple[Any, ...]]) -> None:
    table = query.collect()
    columns = [c.to_pylist() for c in table.columns]
    found = Counter(tuple(plain(v) for v in row) for row in zip(*columns, strict=True))
    assert found == Counter(tuple(plain(v) for v in row) for row in wanted)


def of(name: str, window: str = "'8 seconds', '4 seconds'", where: str = "TRUE") -> str:
    return f"(SELECT *, window(time, {window}) AS w FROM {name} WHERE {where})"


TEXTS = {
    "aggregates": f"SELECT a.w.start, a.k, COUNT(*), SUM(a.x), AVG(b.y), MIN(b.y), MAX(a.g), "
    f"COUNT(b.y), VAR_POP(a.x) FROM {of('a')} a JOIN {of('b')} b ON a.w = b.w AND a.k = b.k "
    "WHERE a.x > -5 AND b.y < 2 GROUP BY a.w, a.k",
    "in all": f"SELECT a.w.end, COUNT(*) FROM {of('a')} a JOIN {of('b')} b "
    "ON a.w = b.w AND a.k = b.k GROUP BY a.w",
    "by both": f"SELECT a.w.end, a.g, b.h, SUM(a.x) FROM {of('a')} a JOIN {of('b')} b "
    "ON a.w = b.w AND a.k = b.k GROUP BY a.w, a.g, b.h",
    "rows": f"SELECT a.w.start, a.x, b.y, a.x * b.y FROM {of('a')} a JOIN {of('b')} b "
    "ON a.w = b.w AND a.k = b.k AND a.g <> b.h",
    "distinct": f"SELECT a.w.start, COUNT(DISTINCT a.x), COUNT(DISTINCT b.h), COUNT(*), "
    f"percentile_approx(a.x, 0.5) FROM {of('a')} a JOIN {of('b')} b ON a.w = b.w AND a.k = b.k "
    "GROUP BY a.w",
    "having": f"SELECT a.w.start, a.k, COUNT(*) AS n, SUM(a.x) / 2 FROM {of('a')} a JOIN {of('b')} "
    "b ON a.w = b.w AND a.k = b.k GROUP BY a.w, a.k HAVING n > 3",
    "left": f"SELECT a.w.start, a.k, COUNT(*), COUNT(b.y), SUM(b.y), MAX(b.h) FROM {of('a')} a "
    f"LEFT JOIN {of('b')} b ON a.w = b.w AND a.k = b.k AND a.x > 0 AND b.y > 0 GROUP BY a.w, a.k",
    "right": f"SELECT b.w.start, a.k, b.k, COUNT(*), SUM(a.x) FROM {of('a')} a RIGHT JOIN "
    f"{of('b')} b ON a.w = b.w AND a.k = b.k GROUP BY b.w, a.k, b.k",
    "full": f"SELECT w.start, k, COUNT(*), SUM(x), SUM(y) FROM {of('a')} a FULL JOIN {of('b')} b "
    "USING (w, k) GROUP BY w, k",
    "full rows": f"SELECT w, k, a.x, b.y FROM {of('a')} a FULL JOIN {of('b')} b USING (w, k)",
    "semi": f"SELECT a.w.start, a.k, a.x FROM {of('a')} a LEFT SEMI JOIN {of('b')} b "
    "ON a.w = b.w AND a.k = b.k AND b.y > 0",
    "anti": f"SELECT a.w.start, COUNT(*), SUM(a.x) FROM {of('a')} a LEFT ANTI JOIN {of('b')} b "
    "ON a.w = b.w AND a.k = b.k AND a.x > 0 GROUP BY a.w",
    "nulls": f"SELECT a.w.start, a.k, COUNT(*) FROM {of('a')} a JOIN {of('b')} b "
    "ON a.w = b.w AND a.k <=> b.k GROUP BY a.w, a.k",
    "self": f"SELECT a.w.start, a.g, COUNT(*), SUM(o.x) FROM {of('a')} a JOIN {of('a')} o "
    "ON a.w = o.w AND a.k = o.x GROUP BY a.w, a.g",
    "chain": f"SELECT a.w.start, a.k, COUNT(*), SUM(a.x), SUM(c.z), MIN(b.y) FROM {of('a')} a "
    f"JOIN {of('b')} b ON a.w = b.w AND a.k = b.k JOIN {of('c')} c ON c.w = b.w AND c.h = b.h "
    "WHERE c.z > 0 GROUP BY a.w, a.k",
    "star": f"SELECT b.w.start, COUNT(*), AVG(c.z) FROM {of('b')} b JOIN {of('a')} a "
    f"ON a.w = b.w AND a.g = b.h JOIN {of('c')} c ON c.w = a.w AND c.h = a.g GROUP BY b.w",
    "tumbling": f"SELECT a.w.start, COUNT(*) FROM {of('a', repr('5 seconds'))} a JOIN "
    f"{of('b', repr('5 seconds'))} b ON a.w = b.w AND a.k + 1 = b.k GROUP BY a.w",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _joins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.sql.judge.JOINS", True)


@pytest.fixture(scope="module")
def data() -> dict[str, Rows]:
    rng = random.Random(7)
    return {name: random_rows(rng, name, 60) for name in SCHEMAS}


def test_joins_are_what_spark_gives_in_batch(spark: SparkSession, data: dict[str, Rows]) -> None:
    queries = run(spark, data, list(TEXTS.values()))
    wrong = []
    for query, (name, text) in zip(queries, TEXTS.items(), strict=True):
        try:
            same(query, expected(spark, data, text))
        except AssertionError as error:
            wrong.append((name, str(error)[:600]))
    assert not wrong
