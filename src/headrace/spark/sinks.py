"""Sinks as the driver sees them: what a query asked for, and where its rows end up."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from headrace.errors import QueryError
from headrace.query.logical import Output
from headrace.spark.fire.delivery import TaskSink

SinkFunction = Callable[..., object]
_BY_TASKS = {"parquet", "digest"}


@dataclass(frozen=True)
class Sink:
    """Where a query's rows go.

    ``memory`` keeps them for `Query.results` and `Query.collect`; ``parquet`` is written by the
    executors, exactly once; ``digest`` counts and sums rows on the executors and keeps nothing but
    the largest value of the column that its option ``event_time`` names; a callable gets every
    table on the driver; any other name is a Spark writer format. The last two are at-least-once:
    after a crash the last firing may be delivered again.
    """

    kind: str
    options: Mapping[str, str] = field(default_factory=dict)
    function: SinkFunction | None = None

    @classmethod
    def of(cls, sink: str | SinkFunction, options: Mapping[str, Any] | None) -> Sink:
        """Check what `session.sql` was given."""
        given = {k: str(v) for k, v in (options or {}).items()}
        if callable(sink):
            return cls("callable", given, sink)
        if not sink:
            raise QueryError(
                f"sink must be a name or a callable, not {sink!r}",
                choices=("memory", "parquet", "digest", "a Spark writer format", "a callable"),
            )
        if sink == "parquet" and "path" not in given:
            raise QueryError("the parquet sink needs options={'path': …}")
        return cls(sink, given)

    def check(self, outputs: Iterable[Output], label: str) -> None:
        """Refuse an option that the query's columns do not bear out."""
        wanted = self.options.get("event_time", "") if self.kind == "digest" else ""
        times = [o.name for o in outputs if o.type in ("timestamp", "timestamp_ntz")]
        if wanted and wanted not in times:
            raise QueryError(
                f"the digest sink's event_time is {wanted!r}, no time column of the result",
                query=label,
                choices=times or ("SELECT …, MAX(time) AS event_time",),
            )

    def for_tasks(self, partial_before_us: int | None) -> TaskSink:
        """The part of it that tasks need."""
        if self.kind in _BY_TASKS:
            options = self.options.get("path", ""), partial_before_us
            return TaskSink(self.kind, *options, self.options.get("event_time", ""))
        return TaskSink("memory", "", partial_before_us)

    def deliver(self, spark: SparkSession, table: pa.Table, txn: int) -> None:
        """Hand rows over on the driver; memory keeps its own."""
        if self.function is not None:
            if _takes_two(self.function):
                self.function(table, txn)
            else:
                self.function(table)
        elif self.kind != "memory":
            frame = spark.createDataFrame(table)
            frame.write.format(self.kind).options(**self.options).mode("append").save()

    @property
    def is_lost(self) -> bool:
        """A callable that did not survive a restart."""
        return self.kind == "callable" and self.function is None

    def record(self) -> dict[str, Any]:
        """For the changelog; a callable is only noted, it cannot be stored."""
        return {"kind": self.kind, "options": dict(self.options)}

    @classmethod
    def from_record(cls, value: Mapping[str, Any]) -> Sink:
        """Back from the changelog."""
        return cls(value["kind"], dict(value["options"]))


def _takes_two(function: SinkFunction) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    return len(positional) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
