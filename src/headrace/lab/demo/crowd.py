"""The people of the demo: they ask questions, read answers and leave while the streams run."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Literal

import pyarrow as pa

import headrace as hr
from headrace.lab.demo.questions import Question, questions

_KEPT = 100
"""Answers and comings that are remembered: more than a screen shows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A table that a query just delivered: its first row stands for it."""

    query: str
    row: dict[str, object]
    rows: int


@dataclass(frozen=True, slots=True)
class Coming:
    """Somebody asked a question or left."""

    kind: Literal["asked", "left"]
    question: Question


class Crowd:
    """Keeps about `size` queries running, with other people and other questions all the time.

    Its methods belong to one thread; what it holds may be read from any.
    """

    def __init__(self, session: hr.Session, size: int, seed: int) -> None:
        self._session = session
        self._size = size
        self._random = Random(seed)
        self._questions = questions(seed)
        self._present: dict[hr.Query, Question] = {}
        self._lock = threading.Lock()
        self._answers: deque[Answer] = deque(maxlen=_KEPT)
        self._comings: deque[Coming] = deque(maxlen=_KEPT)
        self._late_comers: deque[hr.Query] = deque(maxlen=_KEPT)
        self._waits_ms: deque[float] = deque(maxlen=_KEPT)
        session.on_output(self._note_waits)

    def come(self) -> hr.Query:
        """One more asks."""
        return self._ask(next(self._questions))

    def change(self) -> None:
        """A few leave, about as many come."""
        for _ in range(min(self._random.randint(1, 3), len(self._present) - 1)):
            self._leave(self._random.choice(list(self._present)))
        missing = self._size - len(self._present)
        for _ in range(missing + self._random.randint(-1, 1)):
            self._late_comers.append(self.come())

    def _ask(self, question: Question) -> hr.Query:
        # A sink of our own, not "memory": a demo that runs for hours must not keep every row.
        hear = partial(self._hear, question.name)
        query = self._session.sql(question.sql, name=question.name, sink=hear)
        self._present[query] = question
        with self._lock:
            self._comings.append(Coming("asked", question))
        return query

    def _leave(self, query: hr.Query) -> None:
        query.stop(wait=False)
        with self._lock:
            self._comings.append(Coming("left", self._present.pop(query)))

    def _hear(self, name: str, table: pa.Table) -> None:
        if table.num_rows:
            row = table.slice(0, 1).to_pylist()[0]
            with self._lock:
                self._answers.append(Answer(name, row, table.num_rows))

    def _note_waits(self, outputs: pa.Table) -> None:
        now_ms = time.time() * 1000.0
        ends = outputs.column("window_end").drop_null().cast(pa.int64()).to_pylist()
        with self._lock:
            self._waits_ms.extend(now_ms - end_us / 1000.0 for end_us in ends)

    @property
    def present(self) -> tuple[hr.Query, ...]:
        """Queries that nobody has asked to stop."""
        return tuple(self._present)

    @property
    def late_comers(self) -> tuple[hr.Query, ...]:
        """Queries that came while the streams were running, the newest last."""
        return tuple(self._late_comers)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The newest answers, newest first."""
        with self._lock:
            return tuple(reversed(self._answers))

    @property
    def waits_ms(self) -> tuple[float, ...]:
        """How long after the ends of their windows the last answers came."""
        with self._lock:
            return tuple(self._waits_ms)

    @property
    def comings(self) -> tuple[Coming, ...]:
        """Who came and went, newest first."""
        with self._lock:
            return tuple(reversed(self._comings))
