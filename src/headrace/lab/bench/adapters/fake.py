"""A system whose speed is known: the benchmark is checked against it.

It serves exactly ``service_rate`` events per second, stands still once for ``pause_s``, and gives
the count of every tumbling window of ``window_s``, held back by ``result_delay_s``; every tenth
window by ``tenth_delay_s`` instead. ``mute`` keeps all results back, ``die_at_s`` ends the process.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

import headrace as hr
from headrace.lab.bench.adapters import take, unchangeable
from headrace.lab.bench.driver.protocol import OUTPUTS, Driver, StreamInfo, Task

_DEFAULTS: dict[str, str | float | int] = {
    "service_rate": 50_000.0,
    "window_s": 0.25,
    "pause_at_s": 0.0,
    "pause_s": 0.0,
    "result_delay_s": 0.0,
    "tenth_delay_s": -1.0,
    "die_at_s": 0.0,
    "mute": 0,
}
_STEP_S = 0.02
_CONSUMER = "fake"


class Adapter:
    """Serves one stream, and counts."""

    def __init__(self, driver: Driver, options: Mapping[str, str]) -> None:
        taken = take(options, _DEFAULTS)
        self._set = {n: float(v) for n, v in taken.items()}
        self._driver = driver
        self._names: set[str] = set()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._counts: dict[int, int] = {}
        self._latest_us: dict[int, int] = {}

    def start(self, task: Task) -> dict[str, Any]:
        self._names = set(task.queries)
        stream = task.streams[0]
        at = list(self._driver.open(stream.name, _CONSUMER))
        self._thread = threading.Thread(target=self._serve, args=(stream, at), daemon=True)
        self._thread.start()
        return dict(self._set)

    def create(self, queries: Mapping[str, str]) -> dict[str, str]:
        self._names = self._names | set(queries)
        return {}

    def delete(self, names: Sequence[str]) -> dict[str, str]:
        self._names = self._names - set(names)
        return {}

    def change(self, name: str, value: str) -> str:
        if name not in self._set:
            return unchangeable(name)
        self._set[name] = float(value)
        return ""

    def check(self) -> None:
        if self._thread is not None and not self._thread.is_alive():
            raise hr.HeadraceError("the fake system no longer serves")

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _serve(self, stream: StreamInfo, at: list[int]) -> None:
        """Take at most one step's worth of events at a time, and be busy with them so long.

        As long as events wait, time in which the machine kept it from serving is made up for, so
        that its rate is what it was told whatever else runs.
        """
        highest = [0] * stream.partitions
        busy_until = begun = time.time()
        paused, behind = self._set["pause_s"] <= 0, False
        while not self._stop.is_set():
            most = max(int(self._set["service_rate"] * _STEP_S / stream.partitions), 1)
            served = 0
            for partition, end in enumerate(self._driver.latest(stream.name)):
                upto = min(end, at[partition] + most)
                if upto > at[partition]:
                    served += self._take(stream, partition, at[partition], upto, highest)
                    at[partition] = upto
            self._driver.commit(stream.name, _CONSUMER, at)
            now = time.time()
            busy_until = busy_until if behind else max(busy_until, now)
            busy_until += served / self._set["service_rate"]
            behind = served >= most * stream.partitions
            if self._set["die_at_s"] and now - begun >= self._set["die_at_s"]:
                sys.stderr.write("the fake system was told to die\n")
                sys.stderr.flush()
                os._exit(3)
            self._stop.wait(max(busy_until - now, 0.0 if served else _STEP_S / 2))
            self._emit(min(highest))
            # Between two steps: what was taken is told, so all that waits does so in the queue.
            if not paused and now - begun >= self._set["pause_at_s"]:
                paused = True
                self._stop.wait(self._set["pause_s"])
                busy_until = time.time()

    def _take(
        self, stream: StreamInfo, partition: int, start: int, end: int, highest: list[int]
    ) -> int:
        """Count the events of a range, by the window they fall into."""
        served = 0
        width = int(self._set["window_s"] * 1e6)
        reading = self._driver.read(
            stream.name, partition, start, end, columns=[stream.event_time], consumer=_CONSUMER
        )
        for batch in reading:
            times = batch.column(0).view(pa.int64()).to_numpy()
            ends = (times // width + 1) * width
            for end_us in np.unique(ends).tolist():
                inside = times[ends == end_us]
                self._counts[end_us] = self._counts.get(end_us, 0) + len(inside)
                latest = int(inside.max())
                self._latest_us[end_us] = max(self._latest_us.get(end_us, latest), latest)
            highest[partition] = max(highest[partition], int(times.max()))
            served += len(times)
        return served

    def _emit(self, watermark_us: int) -> None:
        """Tell the windows that are over and have been held back long enough."""
        now_us = time.time() * 1e6
        due = [
            end
            for end in sorted(self._counts)
            if end <= watermark_us and end + self._delay_s(end) * 1e6 <= now_us
        ]
        if not due:
            return
        rows = [
            (name, end, 1, float(self._counts[end]), self._latest_us[end])
            for end in due
            for name in sorted(self._names)
        ]
        for end in due:
            del self._counts[end], self._latest_us[end]
        if rows and not self._set["mute"]:
            columns = zip(*rows, strict=True)
            arrays = [pa.array(list(c), f.type) for c, f in zip(columns, OUTPUTS, strict=True)]
            self._driver.put(pa.Table.from_arrays(arrays, schema=OUTPUTS))

    def _delay_s(self, end_us: int) -> float:
        number = end_us // int(self._set["window_s"] * 1e6)
        tenth = self._set["tenth_delay_s"]
        return tenth if number % 10 == 0 and tenth >= 0 else self._set["result_delay_s"]
