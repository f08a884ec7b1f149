"""Committed states that others read: their files and plans stay until they are given back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headrace.query.plan import SharedPlan
from headrace.runtime.state import PipelineState
from headrace.spark.worker.plans import PlanHandle


@dataclass(frozen=True, slots=True)
class Lent:
    """A committed state as whoever reads it needs it."""

    state: PipelineState
    plans: Mapping[int, SharedPlan]
    handles: Mapping[int, PlanHandle]


class Loans:
    """What of a pipeline is lent. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: Counter[str] = Counter()
        self._versions: Counter[int] = Counter()
        self._owed: set[str] = set()

    def lend(self, state: Callable[[], PipelineState]) -> PipelineState:
        """The state of now."""
        with self._lock:
            lent = state()
            self._files.update(lent.files)
            self._versions.update(lent.versions)
            return lent

    def give_back(self, state: PipelineState) -> frozenset[str]:
        """Returns the files that may go at last."""
        with self._lock:
            self._files.subtract(state.files)
            self._versions.subtract(state.versions)
            gone = frozenset(n for n in self._owed if self._files[n] <= 0)
            self._owed -= gone
            self._files, self._versions = +self._files, +self._versions
            return gone

    def may_go(self, names: frozenset[str]) -> frozenset[str]:
        """Those of some files that nobody reads; the others go later."""
        with self._lock:
            kept = {n for n in names if self._files[n] > 0}
            self._owed |= kept
            return names - kept

    @property
    def versions(self) -> set[int]:
        """Of plans that somebody reads."""
        with self._lock:
            return set(self._versions)
