"""Sinks: where the rows of a query go, and what each kind of sink can promise.

A transaction's rows are staged, then committed or taken back. A sink says as a value where that
happens: tasks write it themselves (`tasks`), the process keeps it for `Query.results` (`log`), or
the driver hands it over after the commit (`outbox`).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.connectors.store import Store
from headrace.errors import QueryError
from headrace.query.logical import Output

Place = Literal["tasks", "log", "outbox"]
SinkFunction = Callable[..., object]


class Sink(Protocol):
    """Where one query's rows go."""

    @property
    def kind(self) -> str:
        """The name it was asked for by."""
        ...

    @property
    def options(self) -> Mapping[str, str]:
        """What else was said."""
        ...

    @property
    def place(self) -> Place:
        """Who hands the rows over."""
        ...

    def check(self, outputs: Iterable[Output], label: str) -> None:
        """Raise QueryError for an option that the query's columns do not bear out."""
        ...

    def stage(self, txn: int, uid: int, task: str, number: int, table: pa.Table) -> None:
        """In a task: write some rows of a transaction, in every attempt to the same place."""
        ...

    def commit(self, table: pa.Table, txn: int) -> None:
        """On the driver, after the transaction: hand over the rows of a window."""
        ...

    def abort(self, txn: int, uid: int, task: str = "") -> None:
        """Take back what tasks have staged of a transaction that is done again."""
        ...

    def rewind(self, txn: int, uid: int) -> None:
        """Take back what was staged after a transaction, the last one that is known to count."""
        ...


@dataclass(frozen=True)
class SinkBase:
    """What most sinks have no need to do."""

    options: Mapping[str, str] = field(default_factory=dict)

    def check(self, outputs: Iterable[Output], label: str) -> None:
        pass

    def stage(self, txn: int, uid: int, task: str, number: int, table: pa.Table) -> None:
        pass

    def commit(self, table: pa.Table, txn: int) -> None:
        pass

    def abort(self, txn: int, uid: int, task: str = "") -> None:
        pass

    def rewind(self, txn: int, uid: int) -> None:
        pass


@dataclass(frozen=True)
class MemorySink(SinkBase):
    """Kept in this process for `Query.results` and `Query.collect`, within bounds."""

    kind: ClassVar[str] = "memory"
    place: ClassVar[Place] = "log"

    def check(self, outputs: Iterable[Output], label: str) -> None:
        unknown = sorted(set(self.options) - {"rows", "bytes", "age"})
        if unknown:
            raise QueryError(
                f"the memory sink has no option {unknown[0]!r}",
                query=label,
                choices=("rows", "bytes", "age"),
            )


@dataclass(frozen=True)
class DigestSink(SinkBase):
    """Counted and summed by tasks; only the largest value of the column ``event_time`` is kept."""

    kind: ClassVar[str] = "digest"
    place: ClassVar[Place] = "tasks"

    @property
    def event_time(self) -> str:
        """The column whose largest value is told."""
        return self.options.get("event_time", "")

    def check(self, outputs: Iterable[Output], label: str) -> None:
        times = [o.name for o in outputs if o.type in ("timestamp", "timestamp_ntz")]
        if self.event_time and self.event_time not in times:
            raise QueryError(
                f"the digest sink's event_time is {self.event_time!r}, no time column of the "
                "result",
                query=label,
                choices=times or ("SELECT …, MAX(time) AS event_time",),
            )


@dataclass(frozen=True)
class ParquetSink(SinkBase):
    """Written by tasks, exactly once, into a folder that is made at once. A file is named by its
    checkpoint and transaction, so whoever does the transaction again replaces it, and nobody else
    does."""

    checkpoint: str = ""
    kind: ClassVar[str] = "parquet"
    place: ClassVar[Place] = "tasks"

    @property
    def path(self) -> str:
        """The folder."""
        return self.options.get("path", "")

    def check(self, outputs: Iterable[Output], label: str) -> None:
        if not self.path:
            raise QueryError("the parquet sink needs options={'path': …}", query=label)
        check_names(outputs, label, self.kind)
        try:
            Store(self.path).make()
        except (OSError, ValueError, pa.ArrowException) as error:
            raise QueryError(
                f"the parquet sink's path is {self.path!r}, where no folder can be made: {error}",
                query=label,
                choices=("a folder that driver and executors can write to",),
            ) from error

    def stage(self, txn: int, uid: int, task: str, number: int, table: pa.Table) -> None:
        store = Store(self.path)
        store.make()
        out = pa.BufferOutputStream()
        pq.write_table(table, out)
        name = f"{self._prefix(txn, uid)}{task}-{number:04d}.parquet"
        store.write(name, out.getvalue())

    def abort(self, txn: int, uid: int, task: str = "") -> None:
        prefix = f"{self._prefix(txn, uid)}{task}"
        self._delete(lambda name: name.startswith(prefix))

    def rewind(self, txn: int, uid: int) -> None:
        form = re.compile(rf"part-(\d+)-{self.checkpoint}-{uid}-")

        def is_later(name: str) -> bool:
            found = form.match(name)
            return found is not None and int(found[1]) > txn

        self._delete(is_later)

    def _prefix(self, txn: int, uid: int) -> str:
        """How the files begin that a transaction writes for one query."""
        return f"part-{txn:010d}-{self.checkpoint}-{uid}-"

    def _delete(self, chosen: Callable[[str], bool]) -> None:
        folder = Store(self.path)
        for name in filter(chosen, folder.names()):
            folder.delete(name)


@dataclass(frozen=True)
class CallableSink(SinkBase):
    """A function that gets every table on the driver, at least once. It cannot be stored: after a
    restart it has to be given again."""

    function: SinkFunction | None = None
    kind: ClassVar[str] = "callable"
    place: ClassVar[Place] = "outbox"

    def commit(self, table: pa.Table, txn: int) -> None:
        assert self.function is not None, "a lost function is refused before anything runs"
        if _takes_two(self.function):
            self.function(table, txn)
        else:
            self.function(table)


def check_names(outputs: Iterable[Output], label: str, kind: str) -> None:
    """Raise QueryError where two columns have one name: no reader could tell them apart. Capital
    letters make no difference to Spark."""
    seen: set[str] = set()
    for output in outputs:
        if output.name.lower() in seen:
            raise QueryError(
                f"two columns of the result are named {output.name!r}, which {kind} files cannot "
                "hold",
                query=label,
                choices=("another name for one of them, with AS", "the memory sink", "a callable"),
            )
        seen.add(output.name.lower())


def is_lost(sink: Sink) -> bool:
    """Whether it is a function that did not survive a restart."""
    return isinstance(sink, CallableSink) and sink.function is None


def options_of(options: Mapping[str, Any] | None) -> dict[str, str]:
    """Options as they are stored."""
    return {str(k): str(v) for k, v in (options or {}).items()}


def _takes_two(function: SinkFunction) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [
        p
        for p in parameters
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    return len(positional) >= 2 or any(p.kind == p.VAR_POSITIONAL for p in parameters)
