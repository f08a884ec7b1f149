"""A micro-batch of a file stream, read better than `foreachBatch` hands it over.

Spark gives the callback rows of all columns, behind a wall that its optimizer does not cross. The
plan of the batch is at hand, though. It names the files: parquet ones can be read where they are
reduced, without a row in the JVM. And read as a batch instead of a stream, only the columns that
are asked for are read. Internals of Spark are used for both, so whatever is not as expected leaves
the batch as it came.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from headrace.spark.offsets import Came, Range

log = logging.getLogger("headrace")

_SEEN_THROUGH = {"Project", "Filter", "SubqueryAlias"}
"""Operators without state, through which a query's needs are passed down."""
_CHANGES_VALUES = {"datetimerebasemode", "int96rebasemode", "ignorecorruptfiles"}
"""Options under which Spark's reader gives other values than the file holds."""


@dataclass(frozen=True)
class Batch:
    """The tuples of a micro-batch."""

    given: DataFrame
    ranges: tuple[Range, ...] = ()
    """Of an Arrow source: what to read."""
    came: tuple[Came, ...] = ()
    """When the tuples of each range came, as far as the source tells."""
    files: tuple[str, ...] = ()
    """Parquet files with exactly these tuples, if tasks can read them by themselves."""
    scan: Any = None
    depth: int = 0

    @cached_property
    def frame(self) -> DataFrame:
        """As a DataFrame, with the wall taken down where there is a way."""
        return self.given if self.scan is None else _unwalled(self.given, self.scan, self.depth)

    def without_files(self) -> Batch:
        """The same tuples, to be read by Spark."""
        return replace(self, files=())


class FileScan:
    """Sees what the batches of one streaming query are, or leaves them as they come."""

    def __init__(self) -> None:
        self._is_files = True
        self._reads_files = True
        self._depth = 0

    def of(self, given: DataFrame, streaming: StreamingQuery | None) -> Batch:
        """The same tuples, with all that is known of them."""
        if not self._is_files or streaming is None:
            return Batch(given)
        try:
            plan = streaming._jsq.streamingQuery().lastExecution().analyzed().child()
            self._depth = self._depth or _depth(plan)
            files = _files(plan) if self._reads_files and self._depth == 1 else ()
            return Batch(given, files=files, scan=plan, depth=self._depth)
        except Exception:
            log.debug("batches of this stream stay as they come", exc_info=True)
            self._is_files = False
            return Batch(given)

    def give_up_files(self, reason: str) -> None:
        """From now on Spark reads the files."""
        log.info("files are read by Spark: %s", reason)
        self._reads_files = False


def is_parquet(stream: DataFrame) -> bool:
    """Whether a streaming DataFrame is nothing but a stream of parquet files."""
    plan = stream._jdf.queryExecution().analyzed()
    if plan.getClass().getSimpleName() != "StreamingRelation":
        return False
    return str(plan.dataSource().className()) == "parquet"


def _depth(plan: Any) -> int:
    """How many operators lie above the files."""
    depth = 0
    while (kind := plan.getClass().getSimpleName()) in _SEEN_THROUGH:
        plan = plan.child()
        depth += 1
    if kind != "LogicalRelation":
        raise ValueError(f"{kind} is not a scan of files")
    return depth


def _files(plan: Any) -> tuple[str, ...]:
    """Local parquet files under a mere renaming of columns, which Spark puts over every source."""
    relation = plan.child().relation()
    options = {str(name).lower() for name in relation.options().keys().mkString("\n").split("\n")}
    if (
        relation.fileFormat().getClass().getSimpleName() != "ParquetFileFormat"
        or relation.partitionSchema().length()
        or options & _CHANGES_VALUES
    ):
        return ()
    paths = relation.location().rootPaths().mkString("\n").split("\n")
    if not all(path.startswith("file:/") for path in paths):
        return ()
    return tuple("/" + path.removeprefix("file:").lstrip("/") for path in paths)


def _unwalled(batch: DataFrame, plan: Any, depth: int) -> DataFrame:
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
