"""Texts that differ only in constants: Spark is asked about the first of them alone.

Analyzing a text takes Spark 10 to 40 ms; a thousand alerts with a threshold each would wait for
half a minute. A text is cut into tokens, its numbers and durations become holes, and what Spark
said of the first text with that skeleton is read again with the other's constants. Only constants
that became bounds, parameters of HAVING, the limit or the window may differ: every other one may
have meant something to Spark, and has to be the same.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from threading import Lock

from headrace.query.logical import LogicalQuery
from headrace.query.schema import StreamSchema, decimal_of
from headrace.sql.analyzer import Analyzer
from headrace.sql.approx import Hint
from headrace.sql.judge import Relation
from headrace.sql.parse import Found, read, reader_of
from headrace.sql.text import Token, tokens
from headrace.sql.tree import Node, Statement, Writer
from headrace.sql.windows import Duration, WindowCall, one_window
from headrace.types import duration_us

_MOST = 500
"""So many skeletons are remembered."""
_DURATION = re.compile(r"'\d{1,9} (?:second|minute|hour|day|week|millisecond|microsecond)s?'")
"""Durations that are read without Spark, which reads them the same."""
_INT = re.compile(r"\d+")
_DECIMAL = re.compile(r"\d+\.\d+")

Skeleton = tuple[str, ...]


def _hole(token: Token) -> str:
    """A token in a skeleton: a hole tells the type that Spark gives what is in it."""
    if token.kind == "number":
        if _INT.fullmatch(token.text) and int(token.text) < 2**31:
            return "#int"
        if _DECIMAL.fullmatch(token.text):
            return f"#{_decimal_type(token.text)}"
    if token.kind == "string" and _DURATION.fullmatch(token.text):
        return "#duration"
    return token.text


def _decimal_type(text: str) -> str:
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    return f"decimal({max(len(digits), -exponent)},{-exponent})"


@dataclass(slots=True)
class Recorded:
    """A writer that remembers what it was asked; without Spark it can only say that again."""

    spark: Writer | None
    known: dict[tuple[object, ...], str] = field(default_factory=dict)

    def sql(
        self, node: Node, standing: Sequence[tuple[Node, str]] = (), *, over_stream: bool = True
    ) -> str:
        asked = (node.number, tuple((n.number, name) for n, name in standing), over_stream)
        if asked not in self.known:
            assert self.spark is not None, "another text of a template asks what the first asked"
            self.known[asked] = self.spark.sql(node, standing, over_stream=over_stream)
        return self.known[asked]

    def unfaithful(self) -> tuple[int, str] | None:
        return self.spark.unfaithful() if self.spark is not None else None


@dataclass(frozen=True, slots=True)
class Template:
    """What Spark said of a text, and which of its tokens may be others."""

    relations: tuple[Relation, ...]
    statement: Statement
    known: Mapping[tuple[object, ...], str]
    calls: tuple[tuple[str, tuple[int, ...]], ...]
    """Window functions, each with the tokens of its durations."""
    constants: Mapping[int, tuple[int, bool]]
    """By the number of a literal: its token, and whether it has a minus before it."""
    fixed: tuple[tuple[int, str], ...]
    """Tokens in holes that have to be the same."""
    hint: int | None

    @classmethod
    def of(cls, text: str, found: Found, writer: Recorded, parts: Sequence[Token]) -> Template:
        """From the first text of its kind."""
        by_end = {t.end: n for n, t in enumerate(parts)}
        by_span = {(t.start, t.end): n for n, t in enumerate(parts)}
        durations = {s: n for s, n in by_span.items() if _hole(parts[n]) == "#duration"}
        calls = tuple(
            (c.name, tuple(durations.get(d.span, -1) for d in c.durations)) for c in found.calls
        )
        constants: dict[int, tuple[int, bool]] = {}
        for node in found.constants:
            at = None if node.span is None else by_end.get(node.span[1])
            if node.span is None or at is None or _hole(parts[at]) != f"#{node.type}":
                continue
            before = text[node.span[0] : parts[at].start].strip()
            if before in ("", "-"):
                constants[node.number] = at, before == "-"
        for node in _cast_otherwise(found.statement):
            constants.pop(node.number, None)
        free = {at for at, _ in constants.values()} | {at for _, of in calls for at in of}
        fixed = [(n, t.text) for n, t in enumerate(parts) if _hole(t) != t.text and n not in free]
        hint = None if found.hint is None else by_span[found.hint.span]
        return cls(
            found.relations,
            found.statement,
            dict(writer.known),
            calls,
            constants,
            tuple(fixed),
            hint,
        )

    @property
    def is_whole(self) -> bool:
        """Whether all durations are such tokens that can be read from another text."""
        return all(at >= 0 for _, of in self.calls for at in of)

    def fits(self, parts: Sequence[Token]) -> bool:
        """Whether a text of the same skeleton differs only where it may."""
        return all(parts[n].text == text for n, text in self.fixed)

    def read(self, text: str, parts: Sequence[Token]) -> LogicalQuery:
        """The query of another text."""
        values = {n: self._value(parts, n) for n in self.constants}
        calls = [
            WindowCall(
                name,
                (parts[of[0]].start, parts[of[-1]].end),
                None,
                tuple(
                    Duration((parts[at].start, parts[at].end), duration_us(parts[at].text[1:-1]))
                    for at in of
                ),
            )
            for name, of in self.calls
        ]
        hint = None if self.hint is None else Hint((parts[self.hint].start, parts[self.hint].end))
        return reader_of(
            text,
            self.relations,
            _exchanged(self.statement, values),
            Recorded(None, dict(self.known)),
            one_window(text, calls),
            None,
            hint,
        ).read()

    def _value(self, parts: Sequence[Token], number: int) -> str:
        at, minus = self.constants[number]
        text = parts[at].text
        return f"-{text}" if minus and Decimal(text) else text


class Templates:
    """The last templates that were used, by skeleton. Safe to use from any thread."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._known: OrderedDict[Skeleton, list[Template]] = OrderedDict()
        self._lock = Lock()

    def parse(
        self, text: str, streams: Mapping[str, StreamSchema], analyzer: Analyzer
    ) -> LogicalQuery:
        """As `headrace.sql.parse` reads it, but Spark is asked only where it has to be."""
        known = self._find(text)
        if known is not None:
            return known
        writers: list[Recorded] = []

        def record(writer: Writer) -> Writer:
            writers.append(Recorded(writer))
            return writers[-1]

        query, found = read(text, streams, analyzer, record)
        self._remember(text, found, writers[-1])
        return query

    def _find(self, text: str) -> LogicalQuery | None:
        """The query of a text that is like one that was read before."""
        parts = list(tokens(text))
        skeleton = tuple(_hole(t) for t in parts)
        with self._lock:
            known = list(self._known.get(skeleton, ()))
            if known:
                self._known.move_to_end(skeleton)
        template = next((t for t in known if t.fits(parts)), None)
        return None if template is None else template.read(text, parts)

    def _remember(self, text: str, found: Found, writer: Recorded) -> None:
        parts = list(tokens(text))
        template = Template.of(text, found, writer, parts)
        if not template.is_whole:
            return
        with self._lock:
            self._known.setdefault(tuple(_hole(t) for t in parts), []).append(template)
            while sum(len(t) for t in self._known.values()) > self._most:
                self._known.popitem(last=False)


def _exchanged(statement: Statement, values: Mapping[int, str]) -> Statement:
    """The statement with other constants."""
    return statement.mapped(lambda node: _with(node, values)) if values else statement


def _with(node: Node, values: Mapping[int, str]) -> Node:
    if node.number in values:
        return replace(node, value=values[node.number])
    children = tuple(_with(c, values) for c in node.children)
    if all(a is b for a, b in zip(children, node.children, strict=True)):
        return node
    if node.kind == "Cast" and node.is_constant:
        return replace(node, children=children, value=_cast(str(children[0].value), node.type))
    return replace(node, children=children, same=-1 - node.number)


def _cast_otherwise(statement: Statement) -> Iterator[Node]:
    """Literals that Spark casts to something else than we would."""
    for node in (n for e in statement.branch.expressions for n in e.walk()):
        if node.kind == "Cast" and node.is_constant:
            (inner,) = node.children
            if inner.kind in ("Cast", "Literal") and inner.value is not None:
                try:
                    same = Fraction(_cast(str(inner.value), node.type)) == Fraction(str(node.value))
                except (ValueError, ArithmeticError):
                    same = False
                if not same:
                    yield from (n for n in node.walk() if n.kind == "Literal")


def _cast(value: str, type_: str) -> str:
    """A number in another type, as Spark casts those that it widens."""
    if type_ in ("float", "double"):
        return str(float(value))
    decimal = decimal_of(type_)
    if decimal is None:
        return value
    return str(Decimal(value).quantize(Decimal(1).scaleb(-decimal[1])))
