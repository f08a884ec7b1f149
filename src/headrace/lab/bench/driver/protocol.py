"""How driver and system under test speak: Arrow Flight, and who says what.

The driver is the server. Actions have JSON bodies: ``describe``, ``ready``, ``say``, ``open``,
``latest``, ``held``, ``commit``, ``close``, ``next``, ``acknowledge``. Tuples are pulled with a
ticket (stream, partition, offsets, columns, consumer); results are put to ``outputs``, and where
the driver wants to see them, their rows to ``rows``. Any language with a Flight client can take
part.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import flight

OUTPUTS = pa.schema(
    [
        pa.field("query", pa.string()),
        pa.field("window_end", pa.timestamp("us", "UTC")),
        pa.field("rows", pa.int64()),
        pa.field("checksum", pa.float64()),
        pa.field("event_time", pa.timestamp("us", "UTC")),
    ]
)
"""A result as the driver wants it told: `event_time` is the largest of those that contributed."""
ROWS = pa.schema(
    [
        pa.field("query", pa.string()),
        pa.field("window_end", pa.timestamp("us", "UTC")),
        pa.field("key", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("value_lower", pa.float64()),
        pa.field("value_upper", pa.float64()),
        pa.field("value_sample", pa.int64()),
        pa.field("value_input", pa.float64()),
        pa.field("value_met", pa.bool_()),
        pa.field("exact", pa.bool_()),
    ]
)
"""A row of a result, where the values themselves are wanted; what a query does not give is null."""


@dataclass(frozen=True)
class StreamInfo:
    """What a system must know of a stream before it reads it."""

    name: str
    partitions: int
    event_time: str
    lateness: str
    schema_ipc: str

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tuples."""
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.schema_ipc)))

    @classmethod
    def of(cls, name: str, partitions: int, lateness: str, schema: pa.Schema) -> StreamInfo:
        """Describe a stream whose event time is the column `time`."""
        packed = base64.b64encode(schema.serialize().to_pybytes()).decode()
        return cls(name, partitions, "time", lateness, packed)


@dataclass(frozen=True)
class Task:
    """What the driver asks for: streams, and the queries to start with."""

    streams: tuple[StreamInfo, ...]
    queries: dict[str, str]

    def to_json(self) -> dict[str, Any]:
        """For the wire."""
        return {"streams": [vars(s) for s in self.streams], "queries": self.queries}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Task:
        """From the wire."""
        return cls(tuple(StreamInfo(**s) for s in value["streams"]), dict(value["queries"]))


_clients: dict[str, flight.FlightClient] = {}
_lock = threading.Lock()


def _client(address: str) -> flight.FlightClient:
    """One connection per process, made when it is first needed."""
    with _lock:
        if address not in _clients:
            _clients[address] = flight.connect(address)
        return _clients[address]


@dataclass(frozen=True)
class Driver:
    """The driver as a system under test sees it. May be pickled and used in any process."""

    address: str

    def task(self) -> Task:
        """What to do."""
        return Task.from_json(self._do("describe"))

    def ready(self, settings: Mapping[str, Any]) -> None:
        """The queries run; the settings go into the report."""
        self._do("ready", settings=dict(settings))

    def open(self, stream: str, consumer: str, *, at_end: bool = False) -> tuple[int, ...]:
        """Begin to read a stream: the offset of each partition."""
        return tuple(self._do("open", stream=stream, consumer=consumer, at_end=at_end)["offsets"])

    def latest(self, stream: str) -> tuple[int, ...]:
        """The offset after the last tuple of each partition."""
        return tuple(self._do("latest", stream=stream)["offsets"])

    def say(self, figures: Mapping[str, Any]) -> None:
        """Figures of the system's own, for the record: they are told, not measured."""
        self._do("say", figures=dict(figures))

    def held(self, stream: str) -> tuple[int, int]:
        """Tuples that the queues hold, and how many they have room for."""
        told = self._do("held", stream=stream)
        return told["held"], told["bound"]

    def commit(self, stream: str, consumer: str, offsets: Sequence[int]) -> None:
        """Nothing before these offsets will be asked for again."""
        self._do("commit", stream=stream, consumer=consumer, offsets=list(offsets))

    def close(self, stream: str, consumer: str) -> None:
        """This consumer will not read again."""
        self._do("close", stream=stream, consumer=consumer)

    def read(
        self,
        stream: str,
        partition: int,
        start: int,
        end: int,
        *,
        columns: Sequence[str] = (),
        consumer: str,
    ) -> Iterator[pa.RecordBatch]:
        """Tuples of a range; no columns means all."""
        ticket = {
            "stream": stream,
            "partition": partition,
            "start": start,
            "end": end,
            "columns": list(columns),
            "consumer": consumer,
        }
        reader = _client(self.address).do_get(flight.Ticket(json.dumps(ticket).encode()))
        for chunk in reader:
            yield chunk.data

    def put(self, outputs: pa.Table) -> None:
        """Tell results: a table with the columns of `OUTPUTS`; the driver notes when it came."""
        self._put("outputs", outputs.select(OUTPUTS.names).cast(OUTPUTS))

    def put_rows(self, query: str, rows: pa.Table) -> None:
        """Tell the rows of one query, with those of the columns of `ROWS` that it has."""
        given = {
            field.name: rows.column(field.name).cast(field.type)
            if field.name in rows.column_names
            else pa.nulls(rows.num_rows, field.type)
            for field in ROWS
        }
        given["query"] = pa.array([query] * rows.num_rows, pa.string())
        self._put("rows", pa.table(given, schema=ROWS))

    def _put(self, path: str, table: pa.Table) -> None:
        descriptor = flight.FlightDescriptor.for_path(path)
        writer, _ = _client(self.address).do_put(descriptor, table.schema)
        with writer:
            writer.write_table(table)

    def next_requests(self) -> tuple[list[dict[str, Any]], bool]:
        """Queries to create and delete, once there are some; and whether to stop."""
        told = self._do("next")
        return told["requests"], told["stop"]

    def acknowledge(self, errors: Mapping[int, str]) -> None:
        """The requests given out last are done, but for those with an error."""
        self._do("acknowledge", errors={str(n): e for n, e in errors.items()})

    def _do(self, action: str, **body: Any) -> Any:
        sent = flight.Action(action, json.dumps(body).encode())
        answers = list(_client(self.address).do_action(sent))
        return json.loads(answers[0].body.to_pybytes()) if answers else None
