"""Headrace itself: one session for all queries, or with ``sharing=off`` a pipeline for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

import headrace as hr
from headrace.lab.bench.adapters import take, unchangeable
from headrace.lab.bench.driver.protocol import Driver, StreamInfo, Task

_DEFAULTS: dict[str, str | float | int] = {
    "sharing": "auto",
    "cores": 0,
    "driver_memory": "6g",
    "rows_per_batch": 12_000_000,
    "policy": "default",
    "concurrency": 0,
    "rows": "digest",
}
_AWAIT_S = 60.0


@dataclass(frozen=True)
class DriverSource:
    """The driver's queues as an Arrow source."""

    driver: Driver
    info: StreamInfo
    rows_per_batch: int
    reader: str
    """Who reads: the consumer itself, or pipelines of which each reads all, and the slowest counts:
    it has taken what all of them have committed."""
    consumer: str = "headrace"

    @property
    def schema(self) -> pa.Schema:
        return self.info.schema

    @property
    def partitions(self) -> int:
        return self.info.partitions

    def initial_offsets(self) -> tuple[int, ...]:
        return self.driver.open(self.info.name, self.consumer)

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        most = self.rows_per_batch // self.partitions
        latest = self.driver.latest(self.info.name)
        return tuple(min(e, s + most) for s, e in zip(start, latest, strict=True))

    def newest_offsets(self) -> tuple[int, ...]:
        return self.driver.latest(self.info.name)

    def memory(self) -> tuple[float, float]:
        return self.driver.held(self.info.name)

    def read(
        self, partition: int, start: int, end: int, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        return self.driver.read(
            self.info.name, partition, start, end, columns=columns, consumer=self.reader
        )

    def commit(self, offsets: tuple[int, ...]) -> None:
        self.driver.commit(self.info.name, self.consumer, offsets)


class Adapter:
    """Runs queries in a session and tells what it delivers."""

    def __init__(self, driver: Driver, options: Mapping[str, str]) -> None:
        self._driver = driver
        self._options = take(options, _DEFAULTS)
        cores = int(self._options["cores"]) or None
        memory = str(self._options["driver_memory"])
        self._spark = hr.local_spark(cores, **{"spark.driver.memory": memory})
        self._session = hr.Session(
            self._spark,
            sharing=self._options["sharing"],  # type: ignore[arg-type]
            policy=str(self._options["policy"]),
            concurrency=int(self._options["concurrency"]) or None,
        )
        self._queries: dict[str, hr.Query] = {}

    def start(self, task: Task) -> dict[str, Any]:
        reader = "headrace" if self._options["sharing"] == "auto" else "pipelines"
        for info in task.streams:
            source = DriverSource(self._driver, info, int(self._options["rows_per_batch"]), reader)
            self._session.stream(
                info.name, source, event_time=info.event_time, lateness=info.lateness
            )
        self._session.on_output(self._driver.put)
        for name, text in task.queries.items():
            self._ask(name, text)
        self._session.start()
        for query in self._queries.values():
            query.await_active(_AWAIT_S)
        return {**self._options, "spark": self._spark.version, "sink": "digest on the executors"}

    def create(self, queries: Mapping[str, str]) -> dict[str, str]:
        errors: dict[str, str] = {}
        for name, text in queries.items():
            try:
                self._ask(name, text)
            except hr.HeadraceError as error:
                errors[name] = str(error)
        for name in queries.keys() - errors.keys():
            try:
                self._queries[name].await_active(_AWAIT_S)
            except hr.HeadraceError as error:
                errors[name] = str(error)
        return errors

    def delete(self, names: Sequence[str]) -> dict[str, str]:
        ending = [self._queries.pop(n) for n in names if n in self._queries]
        for query in ending:
            query.stop(wait=False)
        for query in ending:
            query.stop()
        return {}

    def change(self, name: str, value: str) -> str:
        if name not in ("policy", "concurrency"):
            return unchangeable(name)
        self._options[name] = value
        try:
            self._session.schedule(
                str(self._options["policy"]), concurrency=int(self._options["concurrency"]) or None
            )
        except hr.HeadraceError as error:
            return str(error)
        return ""

    def check(self) -> None:
        if self._options["policy"] != "default":
            self._driver.say({"schedule": dict(self._session.metrics().schedule)})
        if self._options["rows"] != "digest":
            (pipeline,) = self._session.metrics().pipelines
            names = ("statistics_s", "deciding_s", "decisions", "sampling")
            self._driver.say({name: pipeline[name] for name in names})
        for query in self._queries.values():
            if query.status == "failed":
                raise hr.HeadraceError(f"query {query.name!r} failed: {query.error}")

    def stop(self) -> None:
        self._session.close()
        self._spark.stop()

    def _ask(self, name: str, text: str) -> None:
        if self._options["rows"] == "digest":
            sink, options = "digest", {"event_time": "event_time"}
            self._queries[name] = self._session.sql(text, name=name, sink=sink, options=options)
        else:
            self._queries[name] = self._session.sql(
                text, name=name, sink=partial(self._driver.put_rows, name)
            )
