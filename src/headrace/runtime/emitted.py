"""The rows of one transaction, put together window by window, and what tasks said beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from headrace.query.window import Span
from headrace.runtime.messages import (
    Compacted,
    Delivered,
    EarlyAnswers,
    Failed,
    Message,
    OpenSessions,
    Part,
    Staged,
)

_SPAN = b"headrace.span"


def stamped(table: pa.Table, span: Span) -> pa.Table:
    """The table with its window noted, for whoever puts the pieces of a window together."""
    return table.replace_schema_metadata({_SPAN: f"{span[0]},{span[1]}".encode()})


def span_of(table: pa.Table) -> Span:
    """The window of a table; empty for a selection."""
    noted = (table.schema.metadata or {}).get(_SPAN)
    if noted is None:
        return 0, 0
    start, end = noted.decode().split(",")
    return int(start), int(end)


@dataclass
class Emitted:
    """Filled by the jobs of one transaction; read when it is done."""

    failed: dict[int, str] = field(default_factory=dict)
    staged: dict[int, list[str]] = field(default_factory=dict)
    late: list[pa.Table] = field(default_factory=list)
    strengths: dict[int, tuple[float, float]] = field(default_factory=dict)
    answered: list[tuple[str, int]] = field(default_factory=list)
    pending: set[tuple[int, Span]] = field(default_factory=set)
    held_from_us: int | None = None
    fired_sessions: bool = False
    _compacted: list[Compacted] = field(default_factory=list)
    _tables: dict[tuple[int, Span], list[pa.Table]] = field(default_factory=dict)
    _written: dict[tuple[int, Span], Part] = field(default_factory=dict)
    _met: dict[tuple[int, Span], tuple[int, int]] = field(default_factory=dict)

    def take(self, messages: Iterable[Message]) -> None:
        """Sort the messages of a job."""
        for message in messages:
            if message.kind == "rows":
                table = message.rows
                self._tables.setdefault((message.uid, span_of(table)), []).append(table)
            elif message.kind == "late":
                self.late.append(message.rows)
            else:
                self._hear(message)

    def _hear(self, message: Message) -> None:
        match message.told:
            case Delivered(parts):
                for part in parts:
                    self._note(part)
            case Staged(file):
                self.staged.setdefault(message.uid, []).append(file)
            case Failed(reason):
                self.failed.setdefault(message.uid, reason)
            case Compacted() as compacted:
                self._compacted.append(compacted)
            case EarlyAnswers() as answers:
                self._hear_early(answers)
            case OpenSessions(first_us):
                held = self.held_from_us
                self.held_from_us = first_us if held is None else min(held, first_us)
            case _:
                pass  # what was ingested is the transaction's business

    def _note(self, part: Part) -> None:
        """One task's part of what was delivered of a window."""
        place = part.uid, (part.start_us, part.end_us)
        known = self._written.get(place)
        if known is not None:
            times = [t for t in (known.event_time_us, part.event_time_us) if t is not None]
            part = Part(
                part.uid,
                part.start_us,
                part.end_us,
                known.rows + part.rows,
                known.checksum + part.checksum,
                max(times, default=None),
            )
        self._written[place] = part

    def _hear_early(self, told: EarlyAnswers) -> None:
        """What a task tells of approximate queries: the weakest of its groups counts."""
        for uid, (weaker, middle) in told.strengths.items():
            known = self.strengths.get(uid, (weaker, middle))
            self.strengths[uid] = min(known[0], weaker), min(known[1], middle)
        self.answered += told.files
        self.pending |= {(uid, (start, end)) for uid, start, end in told.pending}
        for uid, start, end, rows, met in told.met:
            before = self._met.get((uid, (start, end)), (0, 0))
            self._met[uid, (start, end)] = before[0] + rows, before[1] + met

    def begin_firing(self, *, sessions: bool) -> None:
        """What the last firing said about open sessions no longer holds."""
        self.fired_sessions, self.held_from_us = sessions, None

    def take_compacted(self) -> list[Compacted]:
        """Which sections were replaced since the last call."""
        compacted, self._compacted = self._compacted, []
        return compacted

    # -- when it is done ------------------------------------------------------------------------

    def tables(self) -> Iterator[tuple[int, Span, pa.Table]]:
        """Rows for the driver, query and window, in the order of windows' ends."""
        for (uid, span), parts in sorted(self._tables.items(), key=lambda i: (i[0][1][::-1], i[0])):
            if uid not in self.failed:
                yield uid, span, pa.concat_tables(parts).replace_schema_metadata(None)

    def delivered(self) -> Iterator[Part]:
        """What tasks have delivered."""
        yield from self._written.values()

    def judged(self) -> Iterator[tuple[int, Span, bool]]:
        """Approximate windows of which rows came, and whether all of them are as was asked."""
        for (uid, span), (rows, met) in self._met.items():
            if uid not in self.failed:
                yield uid, span, rows == met

    @property
    def rows(self) -> int:
        """How many there are, wherever they go."""
        here: int = sum(
            table.num_rows
            for (uid, _), parts in self._tables.items()
            for table in parts
            if uid not in self.failed
        )
        return here + sum(p.rows for p in self._written.values())
