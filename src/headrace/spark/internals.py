"""Spark's own classes, where its public interface does not reach: all in one place."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import resources
from threading import Lock
from typing import Any

import pyspark
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.classic.column import Column
from pyspark.sql.streaming.query import StreamingQuery

from headrace.errors import ExecutionError, HeadraceError

KNOWN_VERSIONS = ("4.3",)
"""Versions of Spark whose classes are as they are taken for here."""

UNREACHABLE = (Py4JNetworkError, ConnectionError)
"""What a call raises where the JVM is no more."""


def death_of(streaming: StreamingQuery) -> Exception | None:
    """Why Spark no longer runs a streaming query; None while it does."""
    try:
        if streaming.isActive:
            return None
        return streaming.exception() or ExecutionError("Spark ended the query")
    except UNREACHABLE as error:
        died = ExecutionError("the JVM of Spark has ended, or no longer answers")
        died.__cause__ = error
        return died


def check_version() -> None:
    """Refuse a Spark whose classes nobody has looked at."""
    if not pyspark.__version__.startswith(KNOWN_VERSIONS):
        raise HeadraceError(
            f"this is Spark {pyspark.__version__}; Headrace knows {', '.join(KNOWN_VERSIONS)}"
        )


class ReadingClass:
    """The class of ``Reading.java``, compiled in the driver's JVM by Spark's own compiler."""

    def __init__(self, spark: SparkSession) -> None:
        gateway: Any = spark.sparkContext._gateway
        jvm: Any = spark._jvm
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
        compiler.cook(resources.files("headrace.spark").joinpath("Reading.java").read_text())
        made = compiler.getClassLoader().loadClass("headrace.Reading")
        types = gateway.new_array(jvm.java.lang.Class, 1)
        types[0] = jvm.java.lang.Class.forName("java.lang.String")
        self._constructor = made.getConstructor(types)
        self._gateway, self._jvm = gateway, jvm

    def of(self, text: str) -> Any:
        """A reading of one text."""
        arguments = self._gateway.new_array(self._jvm.java.lang.Object, 1)
        arguments[0] = text
        return self._constructor.newInstance(arguments)


_compiled: list[tuple[object, ReadingClass]] = []
_compiling = Lock()


def reading_class(spark: SparkSession) -> ReadingClass:
    """Compiled once for a JVM: it takes a quarter of a second, and py4j looks for methods by the
    name of a class, of which there must be one."""
    gateway = spark.sparkContext._gateway
    with _compiling:
        if not _compiled or _compiled[0][0] is not gateway:
            check_version()
            _compiled[:] = [(gateway, ReadingClass(spark))]
        return _compiled[0][1]


def told(answer: str) -> Mapping[str, Any]:
    """What a reading says."""
    found: dict[str, Any] = json.loads(answer)
    return found


# -- batches of file streams --------------------------------------------------------------------

_SEEN_THROUGH = {"Project", "Filter", "SubqueryAlias"}
"""Operators without state, through which a query's needs are passed down."""


def is_parquet(stream: DataFrame) -> bool:
    """Whether a streaming DataFrame is nothing but a stream of parquet files."""
    plan = stream._jdf.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "StreamingRelation":
        return False
    return str(plan.dataSource().className()) == "parquet"


def batch_plan(streaming: StreamingQuery) -> Any:
    """What Spark has analysed for the batch that a streaming query runs, below the sink."""
    query: Any = streaming
    return query._jsq.streamingQuery().lastExecution().analyzed().child()


def depth_of_files(plan: Any) -> int:
    """How many operators lie above the files."""
    depth = 0
    while (kind := plan.getClass().getSimpleName()) in _SEEN_THROUGH:
        plan = plan.child()
        depth += 1
    if kind != "LogicalRelation":
        raise ValueError(f"{kind} is not a scan of files")
    return depth


class FileRelation:
    """The files that a batch is, as its plan tells."""

    def __init__(self, session: SparkSession, plan: Any) -> None:
        self._session = session
        self._relation = plan.child().relation()

    @property
    def format(self) -> str:
        """The class that reads them."""
        return str(self._relation.fileFormat().getClass().getSimpleName())

    @property
    def partition_columns(self) -> int:
        """How many columns are the names of folders."""
        return int(self._relation.partitionSchema().length())

    @property
    def schema_json(self) -> str:
        """Columns that are in the files."""
        return str(self._relation.dataSchema().json())

    @property
    def options(self) -> dict[str, str]:
        """What the reader was told, by name in small letters."""
        jvm: Any = self._session._jvm
        scala = self._relation.options().toSeq()
        listed = jvm.scala.jdk.javaapi.CollectionConverters.asJava(scala)
        return {str(o._1()).lower(): str(o._2()) for o in listed}

    @property
    def paths(self) -> list[str]:
        """Where they are."""
        told = str(self._relation.location().rootPaths().mkString("\0"))
        return told.split("\0") if told else []


def unmarked(batch: DataFrame, plan: Any, depth: int) -> DataFrame:
    """The plan below the marker for the sink, with its leaf no longer marked as a stream."""
    session = batch.sparkSession
    jvm: Any = session._jvm
    nodes = []
    for _ in range(depth):
        nodes.append(plan)
        plan = plan.child()
    plan = plan.copy(plan.relation(), plan.output(), plan.catalogTable(), False, plan.stream())
    for node in reversed(nodes):
        plan = node.withNewChildren(jvm.PythonUtils.toSeq([plan]))
    made = jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)
    return DataFrame(made, session)


# -- expressions that raise ---------------------------------------------------------------------


def tried(spark: SparkSession, texts: Iterable[str]) -> list[Column]:
    """Expressions that are NULL where the texts raise.

    Spark evaluates what several expressions have in common once, before all of them, where nobody
    tries: see `shared_parts_apart`.
    """
    jvm: Any = spark._jvm
    parse = spark._jsparkSession.sessionState().sqlParser().parseExpression
    try_eval = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
    column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column
    return [Column(column(try_eval(parse(text)))) for text in texts]


@contextmanager
def shared_parts_apart(spark: SparkSession) -> Iterator[None]:
    """Inside, Spark evaluates every expression by itself."""
    name = "spark.sql.subexpressionElimination.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    try:
        yield
    finally:
        spark.conf.set(name, str(before))


# -- writers ------------------------------------------------------------------------------------

_SOURCES = "org.apache.spark.sql.execution.datasources"


def writer_format(spark: SparkSession, name: str) -> Any | None:
    """The class that writes files of a format, or None where it writes no files.

    Raises Spark's own error for a format that it does not know.
    """
    jvm: Any = spark._jvm
    lookup = getattr(getattr(jvm, f"{_SOURCES}.DataSource$"), "MODULE$")
    conf = spark._jsparkSession.sessionState().conf()
    made = lookup.lookupDataSource(name, conf).newInstance()
    gateway: Any = spark.sparkContext._gateway
    if is_instance_of(gateway, made, f"{_SOURCES}.v2.FileDataSourceV2"):
        made = made.fallbackFileFormat().newInstance()
    return made if is_instance_of(gateway, made, f"{_SOURCES}.FileFormat") else None


def check_writer(
    spark: SparkSession, writer: Any, options: Mapping[str, str], schema_json: str
) -> None:
    """Raise what Spark would when it writes such columns: types or names it has no files for."""
    jvm: Any = spark._jvm
    schema = jvm.org.apache.spark.sql.types.DataType.fromJson(schema_json)
    jvm.org.apache.spark.sql.execution.datasources.DataSourceUtils.verifySchema(
        writer, schema, False
    )
    session = spark._jsparkSession
    job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(session.sessionState().newHadoopConf())
    writer.prepareWrite(session, job, jvm.PythonUtils.toScalaMap(dict(options)), schema)


# -- facts ----------------------------------------------------------------------------------------


def hll_tables(spark: SparkSession) -> tuple[list[float], list[list[float]], list[list[float]]]:
    """Thresholds, raw estimates and biases of Spark's approx_count_distinct."""
    jvm: Any = spark.sparkContext._jvm
    helper = getattr(
        getattr(jvm, "org.apache.spark.sql.catalyst.util.HyperLogLogPlusPlusHelper$"), "MODULE$"
    )
    # Rows as texts: number by number they would be thousands of calls, two seconds.
    arrays = jvm.java.util.Arrays
    return (
        json.loads(arrays.toString(helper.THRESHOLDS())),
        [json.loads(arrays.toString(row)) for row in helper.RAW_ESTIMATE_DATA()],
        [json.loads(arrays.toString(row)) for row in helper.BIAS_DATA()],
    )


def executor_memory(context: SparkContext) -> list[tuple[float, float]]:
    """Of every executor: the most it may hold, and what is left of it."""
    jsc: Any = context._jsc
    status = jsc.sc().getExecutorMemoryStatus().values().iterator()
    found = []
    while status.hasNext():
        pair = status.next()
        found.append((float(pair._1()), float(pair._2())))
    return found
