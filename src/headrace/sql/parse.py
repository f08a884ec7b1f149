"""`parse`: one statement to a typed `LogicalQuery`, or a QueryError that names the place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headrace.errors import QueryError
from headrace.query.logical import LogicalQuery
from headrace.query.schema import StreamSchema
from headrace.query.window import Window
from headrace.sql.analyzer import Analyzer
from headrace.sql.approx import Hint, find_hint
from headrace.sql.joins.reader import JoinReader
from headrace.sql.joins.windows import standing_windows
from headrace.sql.judge import Relation, relations_of
from headrace.sql.reader import Reader, Unfaithful
from headrace.sql.text import LONGEST, Span, refuse_variables
from headrace.sql.tree import Node, Statement, Writer
from headrace.sql.windows import WindowCall, one_window, window_calls


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a text that Spark was asked about."""

    relations: tuple[Relation, ...]
    statement: Statement
    calls: tuple[WindowCall, ...]
    hint: Hint | None
    constants: tuple[Node, ...]
    """Numbers that stand in no SQL of the query, only as bounds, parameters and its limit."""


def parse(text: str, streams: Mapping[str, StreamSchema], analyzer: Analyzer) -> LogicalQuery:
    """Read one query over the declared streams; nothing is run."""
    return read(text, streams, analyzer)[0]


def read(
    text: str,
    streams: Mapping[str, StreamSchema],
    analyzer: Analyzer,
    record: Callable[[Writer], Writer] = lambda writer: writer,
) -> tuple[LogicalQuery, Found]:
    """The query of a text, and what was found on the way; `record` may listen to the writer."""
    if len(text) > LONGEST:
        raise QueryError(
            f"the text has {len(text):,} characters", choices=(f"at most {LONGEST:,}",)
        )
    refuse_variables(text, text)
    hint = find_hint(text)
    plain = text if hint is None else hint.without(text)
    plan = analyzer.parsed(plain)
    relations = relations_of(plain, plan, streams)
    calls = window_calls(plain, plan)
    window = one_window(plain, calls)
    neutral = plain
    for call in calls:
        neutral = call.neutral(neutral)
    over = calls[0].over if calls else None
    schemas = [r.stream for r in relations]
    windows = standing_windows(plain, plan, relations)

    def reader(*, plainly: bool) -> Reader | JoinReader:
        statement, writer = analyzer.analyzed(neutral, schemas, plainly=plainly, windows=windows)
        return reader_of(text, relations, statement, record(writer), window, over, hint)

    used = reader(plainly=True)
    try:
        query = used.read()
    except Unfaithful:
        used = reader(plainly=False)
        try:
            query = used.read()
        except Unfaithful as error:
            raise error.told() from None
    return query, Found(relations, used.statement, tuple(calls), hint, tuple(used.constants))


def reader_of(
    text: str,
    relations: Sequence[Relation],
    statement: Statement,
    writer: Writer,
    window: Window | None,
    over: Span | None,
    hint: Hint | None,
) -> Reader | JoinReader:
    """What reads a statement over one stream, or over several."""
    if len(relations) == 1:
        return Reader(text, relations[0].stream, statement, writer, window, over, hint)
    return JoinReader(text, relations, statement, writer, window, hint)
