"""Texts over one stream, read without a JVM: what Spark said of them was written down before.

`tests/unit/analyzed.json.gz` holds Spark's own answers. A test with a text of a new kind needs one
more: ``HEADRACE_RECORD=1 make unit`` asks Spark and writes it down; `tests/sql` checks that the
answers are still the same.
"""

from __future__ import annotations

import atexit
import gzip
import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from headrace.query.logical import LogicalQuery
from headrace.query.schema import Column, StreamSchema
from headrace.sql import Templates
from headrace.sql.tree import Node, Operator, Statement, Writer

PURCHASES = StreamSchema(
    "purchases",
    (
        Column("user_id", "bigint"),
        Column("gem_pack", "string"),
        Column("price", "int"),
        Column("amount", "decimal(10,2)"),
        Column("weight", "double"),
        Column("ratio", "float"),
        Column("paid", "boolean"),
        Column("day", "date"),
        Column("time", "timestamp"),
        Column("local", "timestamp_ntz"),
        Column("tags", "array<string>"),
        Column("start", "string"),
        Column("total", "decimal(30,2)"),
    ),
    "time",
)
STREAMS = {"purchases": PURCHASES}
WINDOW = "GROUP BY window(time, '10 seconds')"
RECORD = Path(__file__).with_name("analyzed.json.gz")
Answer = dict[str, Any]
"""What Spark said of one text: ``text``, ``ansi``, ``parsed``, ``analyzed`` and ``sql``."""


def read(sql: str, *, ansi: bool = True) -> LogicalQuery:
    """Parse a query over `purchases`."""
    analyzer = _asked(ansi)
    analyzer.text = sql
    return _templates(ansi).parse(sql, STREAMS, analyzer)


def answers() -> list[Answer]:
    """All that was written down."""
    if not RECORD.exists():
        return []
    found: list[Answer] = json.loads(gzip.decompress(RECORD.read_bytes()))
    return found


class Played:
    """Answers of one text as an analyzer."""

    ansi = True

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def parsed(self, text: str) -> Operator:
        return Operator.of(self._answer["parsed"])

    def analyzed(
        self,
        text: str,
        streams: Sequence[StreamSchema],
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Statement, Writer]:
        return Statement.of(self._answer["analyzed"]), self

    def sql(
        self, node: Node, standing: Sequence[tuple[Node, str]] = (), *, over_stream: bool = True
    ) -> str:
        return str(self._answer["sql"][key_of(node, standing, over_stream)])

    def unfaithful(self) -> None:
        return None


def key_of(node: Node, standing: Sequence[tuple[Node, str]], over_stream: bool) -> str:
    """What was asked of a writer, as a name."""
    return json.dumps([node.number, [[n.number, name] for n, name in standing], over_stream])


@cache
def _templates(ansi: bool) -> Templates:
    templates = Templates(most=100_000)
    for answer in answers():
        if answer["ansi"] == ansi:
            templates.parse(answer["text"], STREAMS, Played(answer))
    return templates


class Unknown:
    """Refuses every text with a word on what to do."""

    ansi = True
    text = ""

    def parsed(self, text: str) -> Operator:
        raise AssertionError(f"Spark was never asked about {text!r}: HEADRACE_RECORD=1 make unit")

    def analyzed(
        self,
        text: str,
        streams: Sequence[StreamSchema],
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Statement, Writer]:
        raise AssertionError(text)


@cache
def _asked(ansi: bool) -> Any:
    if os.environ.get("HEADRACE_RECORD") != "1":
        return Unknown()
    from tests.sql.recording import RecordingAnalyzer

    return RecordingAnalyzer(ansi=ansi)


@cache
def _recorded() -> list[Answer]:
    found = answers()
    atexit.register(write, found)
    return found


def note(answer: Answer) -> None:
    """Write an answer down when all tests have run; it may grow until then."""
    _recorded().append(answer)


def write(found: Sequence[Answer]) -> None:
    """Write all answers down, in an order that does not depend on that of the tests."""
    whole = [a for a in found if "analyzed" in a]
    ordered = sorted(whole, key=lambda a: (a["text"], a["ansi"]))
    data = json.dumps(ordered, separators=(",", ":"), sort_keys=True).encode()
    RECORD.write_bytes(gzip.compress(data, mtime=0))
