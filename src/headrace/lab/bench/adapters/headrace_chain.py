"""Two sessions in two processes: the second reads the results of the first, query by query.

Every query of the workload runs in the first session; what it gives is summed up over longer
windows by the second one, and only that is told as a result. With ``forwarding=on`` the sessions
tell each other when windows will be out and what the rest of a query costs.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import headrace as hr
from headrace.lab.bench.adapters import take, unchangeable
from headrace.lab.bench.adapters.headrace_session import DriverSource
from headrace.lab.bench.driver.protocol import Driver, Task

_DEFAULTS: dict[str, str | float | int] = {
    "policy": "klink",
    "forwarding": "on",
    "windows": "12 seconds",
    "driver_memory": "3g",
    "rows_per_batch": 12_000_000,
}
PARTS = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("value", pa.float64()),
        ("event_time", pa.timestamp("us", "UTC")),
    ]
)
"""What goes from the first session to the second."""
_AWAIT_S = 60.0


class Adapter:
    """Runs the first session here and the second in a process of its own."""

    def __init__(self, driver: Driver, options: Mapping[str, str]) -> None:
        self._driver = driver
        self._options = take(options, _DEFAULTS)
        self._folder = Path(tempfile.mkdtemp(prefix="headrace-chain-"))
        memory = str(self._options["driver_memory"])
        self._spark = hr.local_spark(None, **{"spark.driver.memory": memory})
        self._session = hr.Session(self._spark, sharing="off", policy=str(self._options["policy"]))
        self._second: subprocess.Popen[str] | None = None

    def start(self, task: Task) -> dict[str, Any]:
        key = secrets.token_bytes(32)
        address = self._session.publish(key)
        for info in task.streams:
            rows = int(self._options["rows_per_batch"])
            source = DriverSource(self._driver, info, rows, "pipelines")
            self._session.stream(
                info.name, source, event_time=info.event_time, lateness=info.lateness
            )
        asked = [
            self._session.sql(text, name=name, sink=self._handing_over(name))
            for name, text in task.queries.items()
        ]
        self._session.start()
        for query in asked:
            query.await_active(_AWAIT_S)
        told = {
            "driver": self._driver.address,
            "upstream": address,
            "key": key.hex(),
            "streams": {name: str(self._folder / name) for name in task.queries},
            "options": self._options,
        }
        self._second = subprocess.Popen(
            [sys.executable, "-m", "headrace.lab.bench.adapters.chain_second", json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._second.stdout is not None
        if self._second.stdout.readline().strip() != "ready":
            raise hr.HeadraceError("the second session did not start")
        self.change("forwarding", str(self._options["forwarding"]))
        return {**self._options, "spark": self._spark.version, "sessions": 2}

    def _handing_over(self, name: str) -> Callable[[pa.Table], object]:
        stream = hr.testing.MemoryStream(PARTS, path=self._folder / name)

        def hand_over(table: pa.Table) -> None:
            value = next(c for c in table.column_names if c not in ("window_end", "event_time"))
            columns = [table.column(c) for c in ("window_end", value, "event_time")]
            stream.push(pa.Table.from_arrays(columns, names=PARTS.names))

        return hand_over

    def create(self, queries: Mapping[str, str]) -> dict[str, str]:
        return dict.fromkeys(queries, "a chain of sessions takes no queries while it runs")

    def delete(self, names: Sequence[str]) -> dict[str, str]:
        return dict.fromkeys(names, "a chain of sessions keeps its queries")

    def change(self, name: str, value: str) -> str:
        if name != "forwarding" or value not in ("on", "off"):
            return unchangeable(f"{name}={value}")
        assert self._second is not None
        assert self._second.stdin is not None
        self._session.forward(value == "on")
        self._second.stdin.write(f"{value}\n")
        self._second.stdin.flush()
        return ""

    def check(self) -> None:
        failed = [q for q in self._session.queries if q.status == "failed"]
        if failed:
            raise hr.HeadraceError(f"query {failed[0].name!r} failed: {failed[0].error}")
        if self._second is not None and self._second.poll() is not None:
            raise hr.HeadraceError(f"the second session ended with {self._second.returncode}")
        metrics = self._session.metrics()
        self._driver.say({"batches": metrics.batches, "schedule": dict(metrics.schedule)})

    def stop(self) -> None:
        if self._second is not None:
            assert self._second.stdin is not None
            self._second.stdin.close()
            self._second.wait(60.0)
        self._session.close()
        self._spark.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
