"""How much of the memory is in use: what sources hold, the state, the executors' memory for data.

Whatever is nearest to its bound counts. Sources and state are looked at twice a second,
executors every five seconds: asking them takes longer than a decision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from pyspark import SparkContext

from headrace.connectors.source import Source
from headrace.scheduling.snapshot import Memory
from headrace.spark.internals import executor_memory

_ASK_S = 0.5
_ASK_EXECUTORS_S = 5.0


class MemoryGauge:
    """Read by the gate before every decision."""

    def __init__(
        self,
        context: SparkContext,
        sources: Callable[[], Iterable[Source]],
        state_bytes: Callable[[], int],
        state_bound: int | None,
    ) -> None:
        self._context = context
        self._sources = sources
        self._state_bytes = state_bytes
        self._state_bound = state_bound
        self._fullest = self._executors = 0.0
        self._read_at = self._asked_at = float("-inf")

    def read(self) -> Memory:
        """The highest share in use of anything that has a bound, as of a moment ago."""
        now = time.monotonic()
        if now - self._read_at >= _ASK_S:
            self._read_at = now
            self._fullest = max(self.shares().values(), default=0.0)
        return Memory(self._fullest, 1.0)

    def shares(self) -> dict[str, float]:
        """Shares in use, by what they are of."""
        shares = {"executors": self._storage()}
        if self._state_bound is not None:
            shares["state"] = self._state_bytes() / self._state_bound
        for number, source in enumerate(self._sources()):
            if source.abilities.memory:
                used, bound = source.memory()
                shares[f"source {number}"] = used / bound if bound > 0 else 0.0
        return shares

    def _storage(self) -> float:
        """Of the executors' memory for data, the fullest one's share."""
        now = time.monotonic()
        if now - self._asked_at >= _ASK_EXECUTORS_S:
            self._asked_at = now
            self._executors = _fullest(self._context)
        return self._executors


def _fullest(context: SparkContext) -> float:
    """Spark's own account of every executor."""
    return max([0.0, *(1.0 - left / most for most, left in executor_memory(context) if most > 0)])
