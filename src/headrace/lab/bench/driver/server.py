"""The driver's end of the line: serves queues and requests, notes results as they come."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import flight

from headrace.lab.bench.driver.protocol import StreamInfo, Task
from headrace.lab.bench.driver.queues import Queue
from headrace.lab.bench.driver.requests import Requests

_POLL_S = 1.0
"""So long the driver keeps a system waiting that asks for requests."""


class Server(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow has no types
    """Answers one system under test."""

    def __init__(
        self,
        streams: Sequence[StreamInfo],
        queues: Mapping[str, Sequence[Queue]],
        queries: Mapping[str, str],
        requests: Requests,
        clock: Callable[[], float] = time.time,
        location: str = "grpc://127.0.0.1:0",
    ) -> None:
        super().__init__(location)
        self._task = Task(tuple(streams), dict(queries))
        self._infos = {s.name: s for s in streams}
        self._queues = queues
        self._requests = requests
        self._clock = clock
        self._outputs: list[tuple[float, pa.Table]] = []
        self._rows: list[tuple[float, pa.Table]] = []
        self._lock = threading.Lock()
        self.ready = threading.Event()
        self.settings: dict[str, Any] = {}
        self.said: dict[str, Any] = {}
        """What the system last said of itself."""

    @property
    def address(self) -> str:
        """Where a system under test finds it."""
        return f"grpc://127.0.0.1:{self.port}"

    def outputs(self, since: int = 0) -> list[tuple[float, pa.Table]]:
        """Results in the order they came, each with when it did."""
        with self._lock:
            return self._outputs[since:]

    def rows(self) -> list[tuple[float, pa.Table]]:
        """Rows in the order they came, each table with when it did."""
        with self._lock:
            return list(self._rows)

    # -- called by Flight ---------------------------------------------------------------------

    def do_get(self, context: Any, ticket: flight.Ticket) -> flight.RecordBatchStream:
        asked = json.loads(ticket.ticket)
        queue = self._queues[asked["stream"]][asked["partition"]]
        columns = asked["columns"]
        found = queue.read(asked["consumer"], asked["start"], asked["end"], columns, self._clock())
        schema = self._infos[asked["stream"]].schema
        if columns:
            schema = pa.schema([schema.field(c) for c in columns])
        return flight.RecordBatchStream(pa.RecordBatchReader.from_batches(schema, found))

    def do_put(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        table = reader.read_all()
        kept = self._rows if descriptor.path == [b"rows"] else self._outputs
        with self._lock:
            kept.append((self._clock(), table))

    def do_action(self, context: Any, action: flight.Action) -> Iterator[bytes]:
        body = json.loads(action.body.to_pybytes() or b"{}")
        answer = getattr(self, f"_on_{action.type}", None)
        if answer is None:
            raise flight.FlightServerError(f"there is no action {action.type!r}")
        yield json.dumps(answer(**body)).encode()

    # -- actions ------------------------------------------------------------------------------

    def _on_describe(self) -> dict[str, Any]:
        return self._task.to_json()

    def _on_ready(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.ready.set()

    def _on_say(self, figures: dict[str, Any]) -> None:
        self.said = figures

    def _on_open(self, stream: str, consumer: str, at_end: bool) -> dict[str, Any]:
        return {"offsets": [q.open(consumer, at_end=at_end) for q in self._queues[stream]]}

    def _on_latest(self, stream: str) -> dict[str, Any]:
        return {"offsets": [q.end for q in self._queues[stream]]}

    def _on_held(self, stream: str) -> dict[str, Any]:
        queues = self._queues[stream]
        return {"held": sum(q.held for q in queues), "bound": sum(q.capacity for q in queues)}

    def _on_commit(self, stream: str, consumer: str, offsets: list[int]) -> None:
        for queue, offset in zip(self._queues[stream], offsets, strict=True):
            queue.commit(consumer, offset, self._clock())

    def _on_close(self, stream: str, consumer: str) -> None:
        for queue in self._queues[stream]:
            queue.close(consumer)

    def _on_next(self) -> dict[str, Any]:
        batch, stop = self._requests.next_batch(_POLL_S)
        told = [{"number": r.number, "kind": r.kind, "name": r.name, "text": r.text} for r in batch]
        return {"requests": told, "stop": stop}

    def _on_acknowledge(self, errors: dict[str, str]) -> None:
        self._requests.acknowledge({int(n): e for n, e in errors.items()}, self._clock())
