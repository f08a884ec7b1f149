"""The stream of purchases as Spark knows it, and a way to read texts over it."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from headrace.query.logical import LogicalQuery
from headrace.query.schema import StreamSchema, quoted
from headrace.spark.analysis import SparkAnalyzer
from headrace.sql import parse
from tests.unit.analyzer import PURCHASES, STREAMS, WINDOW

__all__ = ["PURCHASES", "STREAMS", "WINDOW", "analyzer_of", "read", "use"]

_analyzers: dict[bool, SparkAnalyzer] = {}


def use(spark: SparkSession) -> None:
    """Read texts with this Spark from now on."""
    for ansi in (True, False):
        _analyzers[ansi] = analyzer_of(spark, PURCHASES, ansi=ansi)


def analyzer_of(spark: SparkSession, stream: StreamSchema, *, ansi: bool) -> SparkAnalyzer:
    """Spark's analyzer with one stream declared."""
    own = spark.newSession()
    own.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    analyzer = SparkAnalyzer(own)
    columns = ", ".join(f"{quoted(c.name)} {c.type}" for c in stream.columns)
    analyzer.declare(stream.name, StructType.fromDDL(columns))
    return analyzer


def read(sql: str, *, ansi: bool = True) -> LogicalQuery:
    """Parse a query over `purchases`."""
    return parse(sql, STREAMS, _analyzers[ansi])
