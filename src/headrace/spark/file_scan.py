"""A micro-batch of a file stream as a scan that Catalyst can see through.

Spark hands `foreachBatch` rows of all columns, behind a wall that its optimizer does not cross.
The plan of the batch is at hand, though: read as a batch instead of a stream, only the columns and
the files that are asked for are read. Internals of Spark are used for it, so whatever is not as
expected leaves the batch as it came.
"""

from __future__ import annotations

import logging
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger("headrace")

_SEEN_THROUGH = {"Project", "Filter", "SubqueryAlias"}
"""Operators without state, through which a query's needs are passed down."""


class FileScan:
    """Turns the batches of one streaming query into scans; gives up at the first that is none."""

    def __init__(self) -> None:
        self._gave_up = False
        self._depth = 0

    def of(self, batch: DataFrame, streaming: StreamingQuery | None) -> DataFrame:
        """The same tuples, as a scan if the batch is one."""
        if self._gave_up or streaming is None:
            return batch
        try:
            plan = streaming._jsq.streamingQuery().lastExecution().analyzed().child()
            self._depth = self._depth or _depth(plan)
            return _unwalled(batch, plan, self._depth)
        except Exception:
            log.debug("batches of this stream stay as they come", exc_info=True)
            self._gave_up = True
            return batch


def _depth(plan: Any) -> int:
    """How many operators lie above the files."""
    depth = 0
    while (kind := plan.getClass().getSimpleName()) in _SEEN_THROUGH:
        plan = plan.child()
        depth += 1
    if kind != "LogicalRelation":
        raise ValueError(f"{kind} is not a scan of files")
    return depth


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
