"""A micro-batch as numbered tasks: what tasks fetch by themselves needs no plan of Spark's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from headrace.runtime.messages import Message, as_batch


class Numbered(Protocol):
    """Work that is cut into numbered tasks."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def run(self, number: int) -> Iterator[Message]:
        """One of them."""
        ...


@dataclass(frozen=True)
class BatchTasks:
    """Tasks that each have their part of a firing and of the ingest.

    One after the other in one task, because handing a Python worker its next task takes 10 ms.
    """

    reduce: Numbered
    beside: Numbered | None

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return max(self.reduce.count, 0 if self.beside is None else self.beside.count)

    def __call__(self, numbers: Iterable[int]) -> Iterator[tuple[str, int, bytes]]:
        for number in numbers:
            for message in self._run(number):
                yield message.kind, message.uid, message.payload

    def _run(self, number: int) -> Iterator[Message]:
        if self.beside is not None and number < self.beside.count:
            yield from self.beside.run(number)
        if number < self.reduce.count:
            yield from self.reduce.run(number)


@dataclass(frozen=True)
class AsRows:
    """The same tasks for a DataFrame of their numbers, beside others in one job."""

    reduce: Numbered

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in numbers_of(batches):
            for message in self.reduce.run(number):
                yield as_batch([message])


def numbers_of(batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
    """The numbers of the tasks that are to be done here."""
    for batch in batches:
        yield from batch.column(0).to_pylist()
