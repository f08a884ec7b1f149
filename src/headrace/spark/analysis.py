"""Spark as the analyzer: types of statements, values of constants, ANSI mode."""

from __future__ import annotations

import datetime as dt
import re
import threading
from typing import Any

import numpy as np
import pandas as pd
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import StructType

from headrace.errors import QueryError, UnsupportedQuery
from headrace.kernels.holistic import HllTables
from headrace.kmeans import kmeans
from headrace.query.predicate import Bound
from headrace.query.schema import Column, StreamSchema

_PLACE = re.compile(r"line (\d+),? pos (\d+)")
_COPIED = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.legacy.timeParserPolicy",
)
_EPOCH = dt.datetime(1970, 1, 1)


class SparkAnalyzer:
    """Analyses text against empty views of the streams, in a session of its own.

    A statement costs 10 to 30 ms, so answers are kept: queries that differ only in constants ask
    the same questions.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark.newSession()
        for name in _COPIED:
            value = spark.conf.get(name, None)
            if value is not None:
                self._spark.conf.set(name, value)
        for function, type_ in (("kmeans", "array<array<double>>"), ("kmeans_cost", "double")):
            self._spark.udf.register(function, clustering(function, type_))
        self._columns: dict[tuple[str, str], tuple[Column, ...]] = {}
        self._constants: dict[tuple[str, str], Bound] = {}
        self._lock = threading.Lock()

    @property
    def ansi(self) -> bool:
        """Whether Spark raises on overflow and bad casts."""
        return self._spark.conf.get("spark.sql.ansi.enabled") == "true"

    @property
    def time_zone(self) -> str:
        """The session's time zone, as results carry it."""
        return str(self._spark.conf.get("spark.sql.session.timeZone"))

    def declare(self, name: str, schema: StructType) -> None:
        """Make a stream known, as an empty view."""
        self._spark.createDataFrame([], schema).createOrReplaceTempView(f"`{name}`")

    def columns(self, stream: StreamSchema, sql: str) -> tuple[Column, ...]:
        """Result columns of a statement."""
        with self._lock:
            known = self._columns.get((stream.name, sql))
            if known is None:
                frame = self._analyzed(sql)
                _refuse_generators(frame)
                known = columns_of(frame.schema)
                self._columns[(stream.name, sql)] = known
            return known

    def constant(self, sql: str, type_: str) -> Bound:
        """A constant in the discrete order of its type; None when it cannot be cast."""
        with self._lock:
            if (sql, type_) not in self._constants:
                self._constants[(sql, type_)] = self._constant(sql, type_)
            return self._constants[(sql, type_)]

    def _constant(self, sql: str, type_: str) -> Bound:
        number = {
            "date": "unix_date(CAST({} AS DATE))",
            "timestamp": "unix_micros(CAST({} AS TIMESTAMP))",
            "timestamp_ntz": "CAST({} AS TIMESTAMP_NTZ)",
        }[type_].format(sql)
        try:
            row = self._analyzed(f"SELECT {number}").collect()[0]
        except PySparkException:
            return None
        value = row[0]
        if isinstance(value, dt.datetime):
            return (value - _EPOCH) // dt.timedelta(microseconds=1)
        return None if value is None else int(value)

    def _analyzed(self, sql: str) -> DataFrame:
        try:
            return self._spark.sql(sql)
        except (AnalysisException, ParseException) as error:
            raise _translated(error) from error

    def hll_tables(self) -> HllTables:
        """HyperLogLog++ constants of the running Spark."""
        return read_hll_tables(self._spark)


def _refuse_generators(frame: DataFrame) -> None:
    """A derived column that gives several rows would multiply the tuples of all queries."""
    waiting = [frame._jdf.queryExecution().analyzed()]
    while waiting:
        plan = waiting.pop()
        if plan.getClass().getSimpleName() == "Generate":
            name = str(plan.generator().prettyName())
            raise UnsupportedQuery(
                f"{name} makes several rows of one",
                construct=name,
                choices=("expressions that give one value for a tuple",),
            )
        children = plan.children()
        waiting += [children.apply(n) for n in range(children.size())]


def clustering(name: str, type_: str) -> Any:
    """An aggregate of our own as Spark knows it: for typing, and to compare with."""

    def clustered(clusters: pd.Series, *coordinates: pd.Series) -> Any:
        points = pd.concat(coordinates, axis=1).dropna().to_numpy(dtype=float)
        if not len(points):
            return None
        centres, off = kmeans(points, np.ones(len(points)), int(clusters.iloc[0]))
        return centres.tolist() if name == "kmeans" else float(off.mean())

    return pandas_udf(clustered, returnType=type_)  # type: ignore[call-overload]  # names no lists


def columns_of(schema: StructType) -> tuple[Column, ...]:
    """A Spark schema as columns."""
    return tuple(Column(f.name, f.dataType.simpleString()) for f in schema.fields)


def _translated(error: PySparkException) -> QueryError:
    text = str(error)
    match = _PLACE.search(text)
    first = text.split("\n", 1)[0].split(" SQLSTATE", 1)[0].strip()
    if isinstance(error, ParseException):
        first = " ".join(text.split("==", 1)[0].split())
    line, column = (int(match.group(1)), int(match.group(2)) + 1) if match else (None, None)
    return QueryError(f"Spark: {first}", line=line, column=column)


def read_hll_tables(spark: SparkSession) -> HllTables:
    """The bias tables of Spark's approx_count_distinct, by way of the JVM gateway."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    helper = getattr(
        getattr(jvm, "org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper$"), "MODULE$"
    )
    return HllTables(
        thresholds=np.array(list(helper.THRESHOLDS())),
        raw_estimates=tuple(np.array(list(row)) for row in helper.RAW_ESTIMATE_DATA()),
        biases=tuple(np.array(list(row)) for row in helper.BIAS_DATA()),
    )
