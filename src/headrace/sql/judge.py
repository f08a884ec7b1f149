"""What a text may be: the shape of its plan before analysis, the kinds of its expressions after."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headrace.errors import QueryError, UnsupportedQuery, near
from headrace.query.schema import StreamSchema
from headrace.sql.growth import refuse_growth
from headrace.sql.kinds import (
    ALLOWED,
    REFUSED_EXPRESSIONS,
    REFUSED_OPERATORS,
    SHAPE,
    SUPPORTED_AGGREGATES,
)
from headrace.sql.patterns.refuse import refuse_patterns
from headrace.sql.text import error_at
from headrace.sql.tree import Node, Operator

JOINS = False
"""Whether joins are run; tests of what stands of them say so."""
_PARSED = {
    "Project", "Aggregate", "Filter", "UnresolvedHaving", "Sort", "GlobalLimit", "LocalLimit",
    "SubqueryAlias", "UnresolvedSubqueryColumnAliases", "UnresolvedRelation", "LimitAll",
}  # fmt: skip
_SELECTED = {"Project", "Filter"}
_NAMED = {"SubqueryAlias", "UnresolvedSubqueryColumnAliases", "UnresolvedRelation"}
_READ_BY_ANALYSIS = {
    **dict.fromkeys(("to_char", "to_varchar", "to_number", "try_to_number"), 1),
    **dict.fromkeys(("from_json", "from_csv"), 1),
    **dict.fromkeys(("schema_of_json", "schema_of_csv"), 0),
}
"""By function: the argument that is a format, a schema or an example."""
_LONGEST_FORMAT, _DEEPEST_SCHEMA = 4_000, 100
_OURS = {"kmeans", "kmeans_cost"}
_BUILTIN = (["builtin"], ["system", "builtin"])
_NOW = re.compile(r"'\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_WORD = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_READ_TIMES = {
    "ParseToDate",
    "ParseToTimestamp",
    "GetTimestamp",
    "ToUnixTimestamp",
    "UnixTimestamp",
}
_REPLAY = "a replay after a failure must give the same answer: use the tuple's columns"


@dataclass(frozen=True, slots=True)
class Relation:
    """A stream in a parsed text, and what the text calls it."""

    stream: StreamSchema
    name: str


def relations_of(
    text: str, plan: Operator, streams: Mapping[str, StreamSchema]
) -> tuple[Relation, ...]:
    """The streams that a parsed text reads, from left to right; a text of any other shape is
    refused with its place.

    Nothing has been looked up yet: what is not refused here names no table, file or function
    beside the streams and what is built into Spark.
    """
    return tuple(_relations(text, plan, streams, None, is_joined=False))


def _relations(
    text: str,
    at: Operator,
    streams: Mapping[str, StreamSchema],
    alias: str | None,
    *,
    is_joined: bool,
) -> Iterator[Relation]:
    """Below a join, a stream may be selected from; elsewhere, what has a name is a stream."""
    _refuse_operator(text, at)
    if alias is not None and at.kind not in _NAMED and not (is_joined and at.kind in _SELECTED):
        raise error_at(text, at.span, "subqueries are not supported", kind=UnsupportedQuery)
    for node in at.nodes:
        _refuse_unresolved(text, node)
    if at.kind == "UnresolvedRelation":
        yield _relation(text, at, streams, alias)
    elif at.kind in _NAMED:
        alias = alias or "".join(at.names)
    elif at.kind == "Join":
        alias, is_joined = None, True
    for child in at.children:
        yield from _relations(text, child, streams, alias, is_joined=is_joined)


def _relation(
    text: str, at: Operator, streams: Mapping[str, StreamSchema], alias: str | None
) -> Relation:
    by_folded = {name.lower(): stream for name, stream in streams.items()}
    name = at.names[-1] if at.names else ""
    if len(at.names) != 1 or name.lower() not in by_folded:
        full = ".".join(at.names)
        raise error_at(text, at.span, f"there is no stream {full!r}", *near(name, streams))
    return Relation(by_folded[name.lower()], alias or name)


def _refuse_operator(text: str, operator: Operator) -> None:
    if operator.kind == "OneRowRelation":
        raise QueryError("there is no FROM", choices=(SHAPE,))
    if operator.has_options:
        raise error_at(text, operator.span, "a stream takes no options", kind=UnsupportedQuery)
    if operator.kind == "Sort" and not operator.is_global:
        raise error_at(
            text, operator.span, "SORT BY and CLUSTER BY are not supported", kind=UnsupportedQuery
        )
    if operator.kind in _PARSED and len(operator.children) <= 1:
        return
    if operator.kind == "Join" and JOINS:
        return
    if operator.kind == "Distinct" and operator.children[0].kind == "Union":
        operator = operator.children[0]  # UNION without ALL
    known = REFUSED_OPERATORS.get(operator.kind)
    reason = known or f"{_words(operator.kind)} is not a query over a stream"
    raise error_at(text, operator.span, reason, SHAPE, kind=UnsupportedQuery)


def _words(kind: str) -> str:
    """Spark's name for a command as a reader knows it: CreateTable is CREATE TABLE."""
    plain = kind.removesuffix("Command").removesuffix("Statement")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", plain).upper()


def _refuse_unresolved(text: str, node: Node) -> None:
    reason = REFUSED_EXPRESSIONS.get(node.kind)
    if reason is not None:
        raise error_at(text, node.span, reason, kind=UnsupportedQuery)
    if node.kind == "UnresolvedFunction":
        *qualifier, name = [n.lower() for n in node.names]
        if name in _OURS and not qualifier:
            return
        _refuse_long_format(text, node, name)
        if not node.builtin or (qualifier and qualifier not in _BUILTIN):
            full = ".".join(node.names)
            raise error_at(
                text, node.span, f"there is no function {full!r} built into Spark",
                "functions of a catalogue or of Python are not run",
            )  # fmt: skip


def _refuse_long_format(text: str, call: Node, name: str) -> None:
    """Spark reads formats and schemas while it analyzes a text, and long ones take their time."""
    place = _READ_BY_ANALYSIS.get(name)
    if place is None or place >= len(call.children):
        return
    told = call.children[place]
    if told.kind == "UnresolvedFunction" and told.names[-1].lower() in _READ_BY_ANALYSIS:
        return
    value = str(told.value) if told.is_constant else None
    if value is None or len(value) > _LONGEST_FORMAT or value.count("<") > _DEEPEST_SCHEMA:
        raise error_at(
            text, told.span or call.span, f"{name} reads this before anything runs",
            f"a constant of at most {_LONGEST_FORMAT:,} characters, nested {_DEEPEST_SCHEMA} deep",
            kind=UnsupportedQuery,
        )  # fmt: skip


def refuse_unlisted(text: str, nodes: Iterable[Node]) -> None:
    """Refuse every analyzed expression that is not known to be safe to share and to replay."""
    nodes = tuple(nodes)
    refuse_growth(text, nodes)
    refuse_patterns(text, nodes)
    for top in nodes:
        for node in top.walk():
            _refuse_kind(text, node)


def _refuse_kind(text: str, node: Node) -> None:
    if node.kind == "AggregateExpression" and node.children[0].kind not in ALLOWED:
        raise error_at(
            text, node.span, f"the aggregate {node.children[0].name} is not supported",
            f"supported: {SUPPORTED_AGGREGATES}", kind=UnsupportedQuery,
        )  # fmt: skip
    called = text[slice(*node.span)] if node.span is not None else ""
    if node.kind == "Literal" and node.type in _TIMES and _NOW.search(called):
        raise _varies(text, node, called)
    if _reads_the_clock(node):
        raise _varies(text, node, called or "a time that is told by a word")
    if node.varies and node.kind not in _VARIES_HARMLESSLY and not _varies_below(node):
        raise _varies(text, node, called or node.kind)
    if node.kind not in ALLOWED:
        if node.kind.startswith("Current") or node.kind in _CLOCKS:
            raise _varies(text, node, called or node.kind)
        name = called.split("(")[0].strip()
        raise error_at(
            text, node.span, f"the expression {name} ({node.kind}) is not run",
            "only expressions that read nothing but the tuple", kind=UnsupportedQuery,
        )  # fmt: skip


_TIMES = {"timestamp", "timestamp_ntz", "date", "time(6)"}
_CLOCKS = {"Now", "LocalTimestamp", "SparkVersion", "SparkPartitionID", "InputFileName"}
_VARIES_HARMLESSLY = {"RaiseError"}
"""Spark must not move it about, but whether it raises depends on the tuple alone."""


def _reads_the_clock(node: Node) -> bool:
    """Whether a constant text becomes a time: ``CAST('now' AS TIMESTAMP)`` is the clock's time when
    the plan is made, and what a computed text says is not known here."""
    if not (node.kind == "Cast" and node.type in _TIMES) and node.kind not in _READ_TIMES:
        return False
    value = node.children[0]
    if not value.type.startswith("string"):
        return False
    if value.kind == "Literal":
        return _WORD.match(str(value.value)) is not None
    return all(n.kind not in ("AttributeReference", "Window") for n in value.walk())


def _varies_below(node: Node) -> bool:
    return any(c.varies for c in node.children)


def _varies(text: str, node: Node, what: str) -> QueryError:
    what = what.split("(")[0]
    return error_at(text, node.span, f"{what} is not deterministic", _REPLAY, kind=UnsupportedQuery)
