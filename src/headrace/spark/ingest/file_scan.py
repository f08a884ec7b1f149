"""A micro-batch of a file stream, read better than `foreachBatch` hands it over.

Spark gives the callback rows of all columns, behind a wall that its optimizer does not cross. The
plan of the batch is at hand, though. It names the files: parquet ones can be read where they are
reduced, without a row in the JVM. And read as a batch instead of a stream, only the columns that
are asked for are read. Internals of Spark are used for both, so whatever is not as expected leaves
the batch as it came.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headrace.connectors.offsets import Came, Range
from headrace.connectors.parquet_file import ReadRules, Unreadable
from headrace.spark.internals import FileRelation, batch_plan, depth_of_files, unmarked

log = logging.getLogger("headrace")

_CASE = "spark.sql.caseSensitive"
_DATETIME_MODE = "spark.sql.parquet.datetimeRebaseModeInRead"
_INT96_MODE = "spark.sql.parquet.int96RebaseModeInRead"
_FOR_SPARK = (
    "spark.sql.parquet.int96TimestampConversion",
    "spark.sql.parquet.fieldId.read.enabled",
)
"""Settings under which Spark's reader finds other columns or values than the file holds."""
_DEFAULTS = "EXISTS_DEFAULT"
"""In the metadata of a column that is not NULL where a file does not have it."""


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
    rules: ReadRules = field(default_factory=ReadRules)
    scan: Any = None
    depth: int = 0

    @cached_property
    def frame(self) -> DataFrame:
        """As a DataFrame, with the wall taken down where there is a way."""
        return self.given if self.scan is None else unmarked(self.given, self.scan, self.depth)

    def without_files(self) -> Batch:
        """The same tuples, to be read by Spark."""
        return replace(self, files=())


class FileScan:
    """Sees what the batches of one streaming query are, or leaves them as they come."""

    def __init__(self, name: str, *, reads_files: bool, given_up: Callable[[str], object]) -> None:
        """Where tasks are expected to read files, `given_up` hears once why they do not."""
        self._name = name
        self._is_files = True
        self._reads_files = reads_files
        self._given_up = given_up
        self._depth = 0
        self._rules: ReadRules | None = None

    def of(self, given: DataFrame, streaming: StreamingQuery | None) -> Batch:
        """The same tuples, with all that is known of them."""
        if not self._is_files or streaming is None:
            return Batch(given)
        try:
            plan = batch_plan(streaming)
            self._depth = self._depth or depth_of_files(plan)
            batch = Batch(given, scan=plan, depth=self._depth)
            return self._with_files(batch) if self._reads_files else batch
        except Exception:
            log.debug("batches of this stream stay as they come", exc_info=True)
            self.give_up_files("this version of Spark plans batches in another way")
            self._is_files = False
            return Batch(given)

    def give_up_files(self, reason: str) -> None:
        """From now on Spark reads the files."""
        if self._reads_files:
            self._reads_files = False
            log.warning("stream %r: Spark reads the files from now on: %s", self._name, reason)
            self._given_up(reason)

    def _with_files(self, batch: Batch) -> Batch:
        session = batch.given.sparkSession
        files = FileRelation(session, batch.scan)
        try:
            if self._rules is None:
                # Of the streaming query's own session, which is a copy made when it started.
                self._rules = _rules(session, files)
            return replace(batch, files=_files(files.paths), rules=self._rules)
        except Unreadable as error:
            self.give_up_files(str(error))
            return batch


def _rules(session: SparkSession, files: FileRelation) -> ReadRules:
    """How Spark would read the files of a stream, or why only Spark can."""
    if files.format != "ParquetFileFormat":
        raise Unreadable(f"{files.format} is not Spark's own reader of parquet")
    if files.partition_columns:
        raise Unreadable("the names of folders are columns")
    if _DEFAULTS in files.schema_json:
        raise Unreadable("columns have default values")
    for name in _FOR_SPARK:
        if session.conf.get(name) == "true":
            raise Unreadable(f"{name} is set")
    options = files.options
    return ReadRules(
        case_sensitive=session.conf.get(_CASE) == "true",
        datetime_mode=options.get("datetimerebasemode") or str(session.conf.get(_DATETIME_MODE)),
        int96_mode=options.get("int96rebasemode") or str(session.conf.get(_INT96_MODE)),
    )


def _files(paths: Sequence[str]) -> tuple[str, ...]:
    """Paths of local files, each once: Spark repeats them where the name of one is a pattern."""
    others = [path for path in paths if not path.startswith("file:/")]
    if others:
        raise Unreadable(f"{others[0]} is not a local file")
    return tuple("/" + path.removeprefix("file:").lstrip("/") for path in dict.fromkeys(paths))
