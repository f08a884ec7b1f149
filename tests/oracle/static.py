"""A stream that holds everything at once, so that Spark's batch SQL is the reference."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

import headrace as hr
from headrace.testing import ManualClock, MemoryStream
from tests.few_rows import set_for_few_rows
from tests.oracle.compare import difference, rows_of

STREAM = "events"
# The night in which New York's clocks go forward, at 07:00 UTC.
START = dt.datetime(2024, 3, 10, 5, 30, tzinfo=dt.UTC)

COLUMNS: tuple[tuple[str, pa.DataType], ...] = (
    ("k", pa.string()),
    ("t", pa.int8()),
    ("h", pa.int16()),
    ("i", pa.int32()),
    ("b", pa.int64()),
    ("r", pa.float32()),
    ("x", pa.float64()),
    ("d", pa.decimal128(10, 2)),
    ("w", pa.decimal128(38, 10)),
    ("s", pa.string()),
    ("f", pa.bool_()),
    ("day", pa.date32()),
    ("ts", pa.timestamp("us", "UTC")),
    ("n", pa.timestamp("us")),
    ("bin", pa.binary()),
)


def make_tuples(seed: int, rows: int, *, ntz: bool = False, step_s: float = 20.0) -> pa.Table:
    """Tuples of every type, with nulls and the awkward values of each."""
    rng = random.Random(seed)
    made = [_row(rng, number, step_s) for number in range(rows)]
    kind = pa.timestamp("us") if ntz else pa.timestamp("us", "UTC")
    schema = pa.schema([*COLUMNS, ("time", kind)])
    if ntz:
        made = [r | {"time": r["time"].replace(tzinfo=None)} for r in made]
    return pa.Table.from_pylist(made, schema=schema)


def _row(rng: random.Random, number: int, step_s: float) -> dict[str, Any]:
    moment = START + dt.timedelta(minutes=rng.randint(-600, 600), microseconds=rng.randint(0, 999))
    row: dict[str, Any] = {
        "k": rng.choice(("a", "b", "c", "B", "")),
        "t": rng.randint(-128, 127),
        "h": rng.randint(-300, 300),
        "i": rng.randint(-20, 40),
        "b": rng.choice((rng.randint(-9, 9), 2**53 + rng.randint(0, 9), -(2**55) + 1)),
        "r": rng.choice((0.5, -1.25, 3.0, 100.0)),
        "x": rng.choice((0.0, -0.0, 1.5, -2.25, 1024.0, rng.randint(-640, 640) / 64)),
        "d": Decimal(rng.randint(-99999, 99999)).scaleb(-2),
        "w": Decimal(rng.randint(-(10**24), 10**24)).scaleb(-10),
        "s": rng.choice(("", "a", "Ab", "banana", "12", "-7", "x y", "ähre")),
        "f": rng.random() < 0.5,
        "day": dt.date(2024, 3, 10) + dt.timedelta(days=rng.randint(-70, 70)),
        "ts": moment,
        "n": moment.replace(tzinfo=None),
        "bin": rng.choice((b"", b"a", b"\x00\xff")),
    }
    if rng.random() < 0.05:
        row["x"] = rng.choice((float("nan"), float("inf")))
    for name in row:
        if rng.random() < 0.12:
            row[name] = None
    delay = rng.choice((0.0, 0.0, 30.0, 61.5))
    row["time"] = START + dt.timedelta(seconds=number * step_s - delay)
    return row


@contextmanager
def configured(spark: SparkSession, settings: dict[str, str]) -> Iterator[SparkSession]:
    """A session of the same application with settings of its own."""
    own = spark.newSession()
    for name, value in settings.items():
        own.conf.set(name, value)
    yield own


def run_static(
    spark: SparkSession, tuples: pa.Table, statements: Sequence[str]
) -> list[pa.Table | str]:
    """What the engine emits for every statement when all tuples come in one batch, or its error."""
    stream = MemoryStream(tuples.schema)
    last = tuples.slice(tuples.num_rows - 1)
    place = tuples.schema.get_field_index("time")
    far = last.column("time")[0].as_py() + dt.timedelta(days=40)
    flush = last.set_column(place, "time", pa.array([far], tuples.schema.field("time").type))
    with hr.Session(spark, clock=ManualClock()) as session:
        session.stream(STREAM, stream, event_time="time", max_ahead=None)
        queries = [_asked(session, text) for text in statements]
        stream.push(tuples)
        session.start()
        session.process_all_available()
        # A selection has answered already; the last tuple is no part of the comparison.
        early = [_outcome(q) for q in queries]
        stream.push(flush)
        session.process_all_available()
        return [
            _outcome(q) if "GROUP BY" in text else first
            for q, first, text in zip(queries, early, statements, strict=True)
        ]


def _asked(session: hr.Session, text: str) -> hr.Query | str:
    try:
        return session.sql(text)
    except hr.QueryError as error:
        return f"it is refused: {error}"


def _outcome(query: hr.Query | str) -> pa.Table | str:
    if isinstance(query, str):
        return query
    return f"it failed: {query.error}" if query.status == "failed" else query.collect()


def differences(spark: SparkSession, tuples: pa.Table, statements: Sequence[str]) -> list[str]:
    """Where types, names or values differ from Spark's batch SQL over the same tuples."""
    outcomes = run_static(spark, tuples, statements)
    set_for_few_rows(spark)
    schema = from_arrow_schema(tuples.schema, prefer_timestamp_ntz=True)
    spark.createDataFrame(tuples, schema).coalesce(1).createOrReplaceTempView(STREAM)
    zone = spark.conf.get("spark.sql.session.timeZone")
    found = []
    for text, table in zip(statements, outcomes, strict=True):
        if isinstance(table, str):
            found.append(f"{table}\n  {text}")
            continue
        frame = spark.sql(text)
        wrong = schema_difference(table.schema, to_arrow_schema(frame.schema, timezone=zone))
        wrong = wrong or difference(rows_of(table), rows_of(frame.toArrow()))
        if wrong is not None:
            found.append(f"{wrong}\n  {text}")
    return found


def schema_difference(mine: pa.Schema, spark: pa.Schema) -> str | None:
    """Names and types, without nullability."""
    if mine.names != spark.names:
        return f"columns {mine.names}, Spark has {spark.names}"
    for name, left, right in zip(mine.names, mine.types, spark.types, strict=True):
        if _bare(left) != _bare(right):
            return f"column {name!r} is {left}, Spark's is {right}"
    return None


def _bare(kind: pa.DataType) -> str:
    """A type without the names and nullability of list items."""
    return str(kind).replace(" not null", "").replace("list<element:", "list<item:")
