"""Spark as the analyzer: what its parser and its analyzer say of a text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import StructType

from headrace.errors import QueryError, UnsupportedQuery, near
from headrace.kernels.holistic import HllTables
from headrace.kernels.kmeans import kmeans
from headrace.query.schema import Column, StreamSchema
from headrace.spark.internals import hll_tables, reading_class, told
from headrace.sql.text import refuse_variables
from headrace.sql.tree import Node, Operator, Statement, Writer

_COPIED = (
    "spark.sql.ansi.enabled",
    "spark.sql.session.timeZone",
    "spark.sql.caseSensitive",
    "spark.sql.timestampType",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.legacy.timeParserPolicy",
)


class SparkAnalyzer:
    """Reads texts against empty views of the streams, in a session of its own."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark.newSession()
        for name in _COPIED:
            value = spark.conf.get(name, None)
            if value is not None:
                self._spark.conf.set(name, value)
        # What is judged is what was written; what is written to Spark later has no variables.
        self._spark.conf.set("spark.sql.variable.substitute", "false")
        for function, type_ in (("kmeans", "array<array<double>>"), ("kmeans_cost", "double")):
            self._spark.udf.register(function, clustering(function, type_))
        self._readings = reading_class(spark)
        self._state: Any = self._spark._jsparkSession.sessionState()

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

    def parsed(self, text: str) -> Operator:
        """The plan of a text before any name is looked up; nothing is run."""
        return Operator.of(self.told_of(text)[0])

    def analyzed(
        self,
        text: str,
        streams: Sequence[StreamSchema],
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Statement, Writer]:
        """A SELECT over streams with all names and types settled; nothing is run. Plainly:
        functions that stand for other expressions are told as those.

        With ``windows``, calls and names that begin at these places stand for the window of the
        stream with that number, in the order of the text.
        """
        found, writer = self.told_of(text, streams, plainly=plainly, windows=windows)
        return Statement.of(found), writer

    def told_of(
        self,
        text: str,
        streams: Sequence[StreamSchema] | None = None,
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Mapping[str, Any], Writer]:
        """What Spark says of a text over streams, or before it looks up any name, as it says it;
        and a writer of its expressions."""
        reading = self._readings.of(text)
        if streams is None:
            found = told(reading.parsed(self._state))
        else:
            standing = ""
            if windows:
                times = [s.event_time for s in streams]
                standing = json.dumps({"times": times, "places": windows})
            found = told(reading.analyzed(self._state, plainly, standing))
        if "error" in found:
            raise _refused(found["error"], streams or ())
        return found, _Writer(reading, self._state, text)

    def hll_tables(self) -> HllTables:
        """HyperLogLog++ constants of the running Spark."""
        return read_hll_tables(self._spark)


def _refused(error: Mapping[str, Any], streams: Sequence[StreamSchema]) -> QueryError:
    """Spark's error in our words where we know it, else its own."""
    line, column = error.get("line"), error.get("column")
    named = str(error.get("named", "")).replace("`", "")
    missing = str(error.get("condition", "")).startswith("UNRESOLVED_COLUMN")
    if missing and streams and all(s.find(named.split(".")[-1]) is None for s in streams):
        whose = " and ".join(dict.fromkeys(repr(s.name) for s in streams))
        have = "stream {} has" if len(streams) == 1 else "streams {} have"
        return QueryError(
            f"{have.format(whose)} no column {named!r}",
            line=line,
            column=column,
            construct=named,
            choices=near(named.split(".")[-1], [c.name for s in streams for c in s.columns]),
        )
    if error["kind"] == "TooLarge":
        return UnsupportedQuery(
            "result columns that are made of each other become too large",
            choices=("use a computed column fewer times in those that come after it",),
        )
    if error["kind"] == "StackOverflowError":
        return QueryError(
            "the text is nested too deeply for Spark's parser",
            choices=("fewer parentheses and calls inside each other",),
        )
    message = str(error.get("message") or error["kind"])
    first = " ".join(message.split("== SQL ==", 1)[0].split(" SQLSTATE", 1)[0].split())
    return QueryError(f"Spark: {first[:500]}", line=line, column=column)


class _Writer:
    """Writes the expressions of one statement as SQL."""

    def __init__(self, reading: Any, state: Any, text: str) -> None:
        self._text = text
        self._reading = reading
        self._state = state

    def sql(
        self, node: Node, standing: Sequence[tuple[Node, str]] = (), *, over_stream: bool = True
    ) -> str:
        # As one text: every call to the JVM takes half a millisecond.
        names = json.dumps({n.number: name for n, name in standing})
        written = str(self._reading.sql(node.number, names, over_stream))
        refuse_variables(self._text, written)
        return written

    def unfaithful(self) -> tuple[int, str] | None:
        number = int(self._reading.unfaithful(self._state))
        return None if number < 0 else (number, str(self._reading.refusal()))


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


def read_hll_tables(spark: SparkSession) -> HllTables:
    """The bias tables of Spark's approx_count_distinct, by way of the JVM gateway."""
    thresholds, raw_estimates, biases = hll_tables(spark)
    return HllTables(
        thresholds=np.array(thresholds),
        raw_estimates=tuple(np.array(row) for row in raw_estimates),
        biases=tuple(np.array(row) for row in biases),
    )
