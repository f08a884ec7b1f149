"""What Spark's batch SQL says to a text over the same tuples."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from tests.battery.rows import NAMES, stream_rows
from tests.few_rows import set_for_few_rows

_CLASS = re.compile(r"\[([A-Z][A-Z0-9_]+)(?:\.[A-Z0-9_.]+)?\]")


@dataclass(frozen=True)
class Setting:
    """What a session is set to."""

    ansi: bool
    zone: str

    @property
    def id(self) -> str:
        """In a test's name."""
        return f"{'ansi' if self.ansi else 'plain'}-{self.zone.rpartition('/')[2]}"

    def session(self, spark: SparkSession) -> SparkSession:
        """A session of the same application with these settings."""
        own = spark.newSession()
        own.conf.set("spark.sql.ansi.enabled", str(self.ansi).lower())
        own.conf.set("spark.sql.session.timeZone", self.zone)
        return own


@dataclass(frozen=True)
class Refused:
    """It was not accepted: the whole message."""

    message: str


@dataclass(frozen=True)
class Failed:
    """It raised while it ran: the whole message."""

    message: str


Outcome = pa.Table | Refused | Failed


def error_class(message: str) -> str:
    """Spark's name for an error, without the part behind the dot; empty if it has none."""
    found = _CLASS.search(message)
    return found.group(1) if found else ""


class Oracle:
    """Batch answers under one setting; each text is asked once."""

    def __init__(self, spark: SparkSession, setting: Setting) -> None:
        self._spark = setting.session(spark)
        self._zone = setting.zone
        self._known: dict[str, Outcome] = {}
        set_for_few_rows(self._spark)
        for stream in NAMES:
            tuples = pa.concat_tables(stream_rows(stream))
            schema = from_arrow_schema(tuples.schema, prefer_timestamp_ntz=True)
            frame = self._spark.createDataFrame(tuples, schema).coalesce(1)
            # A tuple without event time lies in no query's life: the documented difference.
            frame.where("time IS NOT NULL").createOrReplaceTempView(stream)

    def answer(self, sql: str) -> Outcome:
        """Rows, or why there are none."""
        if sql not in self._known:
            self._known[sql] = self._asked(sql)
        return self._known[sql]

    def _asked(self, sql: str) -> Outcome:
        try:
            frame = self._spark.sql(sql)
        except (AnalysisException, ParseException) as error:
            return Refused(str(error))
        try:
            # Spark labels times UTC when it collects them; what they are typed is the session's.
            return frame.toArrow().cast(to_arrow_schema(frame.schema, timezone=self._zone))
        except PySparkException as error:
            return Failed(str(error))
