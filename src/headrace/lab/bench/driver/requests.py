"""The second queue: queries to create and delete, settings to change, handed over in batches.

All that is due goes into one batch; the next batch is given out only after the last one was
acknowledged. A request's latency runs from when it was due, so a slow system cannot hide behind
the driver's patience.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headrace.lab.bench.workloads import Scenario

Kind = Literal["create", "delete", "change"]


@dataclass
class Request:
    """One query to create or to delete, or a setting to change: its value is the text."""

    number: int
    kind: Kind
    name: str
    text: str
    due_s: float
    acknowledged_s: float | None = None
    error: str | None = None


class Requests:
    """Requests of one run, those under way and those done."""

    def __init__(self) -> None:
        self.all: list[Request] = []
        self._given = 0
        self._outstanding: list[Request] = []
        self._stopping = False
        self._changed = threading.Condition()

    def add(self, kind: Kind, name: str, text: str, due_s: float) -> None:
        """Put a request at the end."""
        with self._changed:
            self.all.append(Request(len(self.all), kind, name, text, due_s))
            self._changed.notify_all()

    def stop(self) -> None:
        """Ask the system under test to end."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def next_batch(self, timeout_s: float) -> tuple[list[Request], bool]:
        """All requests that wait, once the last batch is acknowledged; and whether to stop."""
        with self._changed:
            self._changed.wait_for(self._has_something, timeout_s)
            if self._outstanding or self._stopping:
                return [], self._stopping
            self._outstanding = self.all[self._given :]
            self._given = len(self.all)
            return list(self._outstanding), False

    def acknowledge(self, errors: Mapping[int, str], now_s: float) -> None:
        """The batch given out last is done; some of its requests were refused."""
        with self._changed:
            for request in self._outstanding:
                request.acknowledged_s = now_s
                request.error = errors.get(request.number)
            self._outstanding = []
            self._changed.notify_all()

    def unacknowledged(self) -> int:
        """How many wait for an acknowledgement."""
        with self._changed:
            return sum(1 for r in self.all if r.acknowledged_s is None)

    def _has_something(self) -> bool:
        return self._stopping or (not self._outstanding and self._given < len(self.all))


class Plan:
    """Which queries a scenario asks to create and to delete as time goes by."""

    def __init__(self, scenario: Scenario, texts: Sequence[str]) -> None:
        self._scenario = scenario
        self._texts = texts
        self._created = 0
        self._deleted = 0

    @property
    def active(self) -> int:
        """How many queries are asked for now."""
        return self._created - self._deleted

    def due(self, at_s: float, start_s: float) -> list[tuple[Kind, str, str, float]]:
        """Requests due up to `at_s` seconds of the run: kind, name, text, when it was due."""
        scenario, found = self._scenario, list[tuple[Kind, str, str, float]]()
        if scenario.kind == "grow":
            while self._created < scenario.upto:
                due = self._created / scenario.per_second
                if due > at_s:
                    break
                found.append(self._create(start_s + due))
            return found
        while (due := self._created // scenario.count * scenario.every_s) <= at_s:
            round_number = self._created // scenario.count
            found += [self._create(start_s + due) for _ in range(scenario.count)]
            if round_number:
                found += [self._delete(start_s + due) for _ in range(scenario.count)]
        return found

    def _create(self, due_s: float) -> tuple[Kind, str, str, float]:
        name, text = f"a{self._created}", self._texts[self._created % len(self._texts)]
        self._created += 1
        return "create", name, text, due_s

    def _delete(self, due_s: float) -> tuple[Kind, str, str, float]:
        name = f"a{self._deleted}"
        self._deleted += 1
        return "delete", name, "", due_s
