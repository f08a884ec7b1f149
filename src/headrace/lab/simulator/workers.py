"""Runs functions over many inputs in several processes: results in order, none computed twice."""

from __future__ import annotations

import multiprocessing as mp
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.synchronize import Event
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
_stop: Event | None = None
"""In a worker: set when nobody waits for results any more."""


class Stopped(Exception):
    """Nobody waits for this result any more."""


def stop_if_asked(_share: float) -> None:
    """To be called now and then by whatever takes long."""
    if _stop is not None and _stop.is_set():
        raise Stopped


def _begin(stop: Event) -> None:
    global _stop
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that waits for us decides


class Workers:
    """Remembers what it has computed. After Ctrl-C it gives only what it remembers."""

    def __init__(
        self, jobs: int, told: Callable[[int, int], object] = lambda _done, _all: None
    ) -> None:
        """`told` hears how many inputs are done, of how many."""
        self.interrupted = False
        self._jobs = jobs
        self.told = told
        self._known: dict[tuple[Any, Any], Any] = {}
        self._context = mp.get_context("spawn")  # progress bars have threads, which do not fork
        self._asked = self._context.Event()
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._asked.set()
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def results(self, function: Callable[[T], R], inputs: Sequence[T]) -> list[R | None]:
        """In the order of the inputs; None for those that were not computed before Ctrl-C."""
        new = [i for i in dict.fromkeys(inputs) if (function, i) not in self._known]
        if new and not self.interrupted:
            self.told(0, len(new))
            try:
                for done, (given, result) in enumerate(self._computed(function, new), 1):
                    self._known[function, given] = result
                    self.told(done, len(new))
            except KeyboardInterrupt:
                self.interrupted = True
                self._asked.set()
        return [self._known.get((function, i)) for i in inputs]

    def _computed(self, function: Callable[[T], R], inputs: Sequence[T]) -> Iterator[tuple[T, R]]:
        """As they come."""
        if self._jobs == 1:
            for given in inputs:
                yield given, function(given)
            return
        if self._pool is None:
            self._pool = ProcessPoolExecutor(
                self._jobs, self._context, initializer=_begin, initargs=(self._asked,)
            )
        waiting = {self._pool.submit(function, given): given for given in inputs}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
