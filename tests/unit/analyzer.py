"""An `Analyzer` without Spark: types by a small table of rules, constants by the standard library.

It knows just enough of Spark's typing for the queries of these tests, and notes every statement
that it is asked about.
"""

from __future__ import annotations

import datetime as dt
import re

import sqlglot
from sqlglot import exp

from headrace.errors import QueryError
from headrace.query.logical import LogicalQuery
from headrace.query.predicate import Bound
from headrace.query.schema import Column, StreamSchema, decimal_of
from headrace.sql import parse

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

_TEN = {"sum": 10, "avg": 4}
_TO_STRING = (exp.Upper, exp.Lower, exp.Concat, exp.DPipe, exp.Trim)
_BOOLEAN = (exp.Predicate, exp.Not, exp.And, exp.Or)
_SPAN = "struct<start:timestamp,end:timestamp>"


class FakeAnalyzer:
    """Types by rules; unknown columns are refused, as Spark refuses them."""

    def __init__(self, *, ansi: bool = True) -> None:
        self.ansi = ansi
        self.asked: list[str] = []

    def columns(self, stream: StreamSchema, sql: str) -> tuple[Column, ...]:
        self.asked.append(sql)
        body = re.split(r"\sFROM\s", sql, maxsplit=1, flags=re.IGNORECASE)[0]
        body = re.sub(r"(?<![`\w])(window|session_window)\b(?!`)", r"`\1`", body)
        tree = sqlglot.parse_one(body, dialect="spark")
        return tuple(Column(_name(e), _type(e, stream)) for e in tree.expressions)

    def constant(self, sql: str, type_: str) -> Bound:
        text = re.search(r"'([^']*)'", sql)
        assert text is not None
        try:
            moment = dt.datetime.fromisoformat(text.group(1))
        except ValueError:
            return None
        since = moment - dt.datetime(1970, 1, 1)
        return since.days if type_ == "date" else since // dt.timedelta(microseconds=1)


def _name(node: exp.Expression) -> str:
    return node.output_name or node.sql(dialect="spark")


def _type(node: exp.Expression, stream: StreamSchema) -> str:
    if isinstance(node, exp.Alias | exp.Paren | exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        return _type(node.this, stream)
    if isinstance(node, exp.Neg):
        return _type(node.this, stream)
    if isinstance(node, exp.Column | exp.Dot):
        return _column_type(node, stream)
    if isinstance(node, exp.Cast):
        return node.to.sql(dialect="spark").lower()
    if isinstance(node, exp.Literal):
        return "string" if node.is_string else "decimal(2,1)" if "." in node.this else "int"
    if isinstance(node, exp.Case):
        return _type(node.args["ifs"][0].args["true"], stream)
    if isinstance(node, _TO_STRING):
        return "string"
    if isinstance(node, _BOOLEAN):
        return "boolean"
    if isinstance(node, exp.Binary):
        return _type(node.this, stream)
    return _call_type(node, stream)


def _column_type(node: exp.Expression, stream: StreamSchema) -> str:
    first = node.parts[0].name.lower()
    if first in {"window", "session_window"}:
        return _SPAN if len(node.parts) == 1 else "timestamp"
    column = stream.find(first)
    if column is None:
        raise QueryError(f"Spark: cannot resolve {first}")
    return column.type


def _call_type(node: exp.Expression, stream: StreamSchema) -> str:
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_names()[0]).lower()
    arguments = node.expressions if isinstance(node, exp.Anonymous) else [node.this]
    if name in {"count", "count_if", "approx_distinct", "xxhash64"}:
        return "bigint"
    if name in {"year", "length"}:
        return "int"
    if name == "to_json":
        return "string"
    inner = _type(arguments[0], stream) if arguments and arguments[0] is not None else "int"
    decimal = decimal_of(inner)
    if name in _TEN and decimal:
        wider, scale = decimal[0] + _TEN[name], decimal[1] + (4 if name == "avg" else 0)
        return f"decimal({min(wider, 38)},{scale})"
    if name == "sum":
        return "double" if inner in {"float", "double"} else "bigint"
    if name in {"avg", "mean"} or name.startswith(("std", "var")):
        return "double"
    if name == "approx_quantile":
        return f"array<{inner}>" if isinstance(node.args["quantile"], exp.Array) else inner
    return inner


def read(sql: str, *, ansi: bool = True) -> LogicalQuery:
    """Parse a query over `purchases`."""
    return parse(sql, STREAMS, FakeAnalyzer(ansi=ansi))
