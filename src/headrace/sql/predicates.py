"""WHERE text to a `Predicate`: what can be classified is, the rest is left to Spark.

A conjunct that compares a column with constants becomes ranges. Any other conjunct becomes a
`Truth`, Spark's own boolean. When such a conjunct could raise under ANSI, the whole WHERE becomes
one `Truth`, so that it is guarded by the conjuncts before it exactly as in Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import SqlglotError

from headrace.query.predicate import (
    Always,
    And,
    Bound,
    IsNull,
    Not,
    Or,
    Predicate,
    Range,
    Ranges,
    Truth,
)
from headrace.query.schema import Column, StreamSchema, decimal_of
from headrace.sql.analyzer import Analyzer
from headrace.sql.functions import ALWAYS_RAISERS, NEVER_RAISE, NEVER_RAISE_ON_TIMES
from headrace.sql.text import Piece

_FLIPPED = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}
_SYMMETRIC = (exp.EQ, exp.NEQ, exp.NullSafeEQ)
_EXACT_IN_DOUBLE = 2**53


def read_predicate(
    where: Piece, stream: StreamSchema, analyzer: Analyzer, sql_of: Callable[[Piece], str]
) -> Predicate:
    """The predicate of a WHERE clause; `sql_of` gives a piece's text as Spark shall see it."""
    items: list[Predicate] = []
    for conjunct in split_conjuncts(where):
        sql = sql_of(conjunct)
        tree = _parsed(sql)
        simple = _lowered(tree, stream, analyzer) if tree is not None else None
        if simple is not None:
            items.append(simple)
        elif may_raise(tree, stream, ansi=analyzer.ansi):
            return Truth(sql_of(where))
        else:
            items.append(Truth(sql))
    return items[0] if len(items) == 1 else And(tuple(items))


def split_conjuncts(where: Piece) -> list[Piece]:
    """Pieces joined by AND at the outermost level; one piece if there is an OR beside them."""
    pieces, begin, betweens, cases = [], 0, 0, 0
    for index, token in where.outermost():
        match token.token_type:
            case TokenType.CASE:
                cases += 1
            case TokenType.END:
                cases -= 1
            case TokenType.BETWEEN if cases == 0:
                betweens += 1
            case TokenType.OR if cases == 0:
                return [where]
            case TokenType.AND if cases == 0:
                if betweens:
                    betweens -= 1
                else:
                    pieces.append(where.part(begin, index))
                    begin = index + 1
    pieces.append(where.part(begin))
    return pieces


def may_raise(tree: exp.Expression | None, stream: StreamSchema, *, ansi: bool) -> bool:
    """Whether evaluating the expression could raise for some tuple; unknown means yes."""
    if tree is None:
        return True
    for node in tree.walk():
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        if name in ALWAYS_RAISERS:
            return True
        if not ansi:
            continue
        if isinstance(node, exp.Func) and not isinstance(node, exp.And | exp.Or):
            words = {name} if name else {n.lower() for n in type(node).sql_names()}
            timed = words & NEVER_RAISE_ON_TIMES and _only_times(node, stream)
            if not words & NEVER_RAISE and not timed:
                return True
        elif isinstance(node, exp.Predicate | exp.Binary) and not isinstance(
            node, exp.And | exp.Or | exp.Like | exp.ILike | exp.Is | exp.RegexpLike | exp.Dot
        ):
            if not _same_family(node, stream):
                return True
        elif isinstance(node, exp.Cast | exp.Bracket | exp.Neg | exp.Interval):
            return True
    return False


def parsed(sql: str) -> exp.Expression | None:
    """The syntax tree of an expression, or None where sqlglot does not know Spark's syntax."""
    return _parsed(sql)


def _parsed(sql: str) -> exp.Expression | None:
    try:
        tree = sqlglot.parse_one(f"SELECT 1 WHERE {sql}", dialect="spark")
    except SqlglotError:
        return None
    where = tree.args.get("where")
    return where.this if where is not None else None


def _only_times(node: exp.Expr, stream: StreamSchema) -> bool:
    columns = [_column(c, stream) for c in node.find_all(exp.Column)]
    return all(c is not None and c.type in {"date", "timestamp", "timestamp_ntz"} for c in columns)


def _same_family(node: exp.Expr, stream: StreamSchema) -> bool:
    """A comparison of a column with literals that needs no cast of the column."""
    if not isinstance(node, exp.EQ | exp.NEQ | exp.LT | exp.LTE | exp.GT | exp.GTE | exp.In):
        return False
    sides = [node.this, *(node.expressions if isinstance(node, exp.In) else [node.expression])]
    columns = [_column(s, stream) for s in sides if isinstance(s, exp.Column)]
    others = [s for s in sides if not isinstance(s, exp.Column)]
    if len(columns) != 1 or columns[0] is None:
        return False
    return all(isinstance(o, exp.Literal) and _fits(o, columns[0]) for o in others)


def _fits(literal: exp.Literal, column: Column) -> bool:
    if literal.is_string:
        return column.domain == "string"
    return column.domain in {"integer", "float"} and column.type not in {
        "boolean",
        "date",
        "timestamp",
        "timestamp_ntz",
    }


def _lowered(tree: exp.Expression, stream: StreamSchema, analyzer: Analyzer) -> Predicate | None:
    """Ranges and null tests combined by AND, OR, NOT; None where that cannot say it."""
    match tree:
        case exp.Paren():
            return _lowered(tree.this, stream, analyzer)
        case exp.And() | exp.Or():
            left = _lowered(tree.this, stream, analyzer)
            right = _lowered(tree.expression, stream, analyzer)
            if left is None or right is None:
                return None
            kind = And if isinstance(tree, exp.And) else Or
            return kind((*_flat(left, kind), *_flat(right, kind)))
        case exp.Not():
            inner = _lowered(tree.this, stream, analyzer)
            return Not(inner) if inner is not None else None
        case exp.Boolean():
            return Always() if tree.this else Or(())
        case exp.Is():
            column = _column(tree.this, stream)
            if column is None or column.domain == "other":
                return None
            return IsNull(column.name) if isinstance(tree.expression, exp.Null) else None
        case exp.Column():
            column = _column(tree, stream)
            if column is not None and column.type == "boolean":
                return Ranges(column.name, ((1, 2),))
            return None
        case exp.Between() if not tree.args.get("symmetric"):
            low = _comparison(exp.GTE, tree.this, tree.args["low"], stream, analyzer)
            high = _comparison(exp.LTE, tree.this, tree.args["high"], stream, analyzer)
            return And((low, high)) if low is not None and high is not None else None
        case exp.In() if tree.expressions:
            options = [
                _comparison(exp.EQ, tree.this, e, stream, analyzer) for e in tree.expressions
            ]
            if any(not isinstance(o, Ranges) for o in options):
                return None
            found = [o for o in options if isinstance(o, Ranges)]
            return Ranges(found[0].column, tuple(r for o in found for r in o.ranges))
        case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE() | exp.NullSafeEQ():
            op: type[exp.Binary] = type(tree)
            left_side, right_side = tree.this, tree.expression
            if not isinstance(left_side, exp.Column):
                left_side, right_side = right_side, left_side
                op = _FLIPPED.get(op, op)
            return _comparison(op, left_side, right_side, stream, analyzer)
        case _:
            return None


def _flat(predicate: Predicate, kind: type[And] | type[Or]) -> tuple[Predicate, ...]:
    return predicate.items if isinstance(predicate, kind) else (predicate,)


def _column(node: exp.Expression, stream: StreamSchema) -> Column | None:
    if not isinstance(node, exp.Column) or node.args.get("table") is not None:
        return None
    return stream.find(node.name)


def _comparison(
    op: type[exp.Binary],
    left: exp.Expression,
    right: exp.Expression,
    stream: StreamSchema,
    analyzer: Analyzer,
) -> Predicate | None:
    column = _column(left, stream)
    if column is None:
        return None
    cuts = _cuts(column, right, analyzer)
    if cuts is None:
        return None
    at, after = cuts
    ranges: tuple[Range, ...]
    if op is exp.LT:
        ranges = ((None, at),)
    elif op is exp.LTE:
        ranges = ((None, after),)
    elif op is exp.GT:
        ranges = ((after, None),)
    elif op is exp.GTE:
        ranges = ((at, None),)
    else:
        ranges = ((at, after),) if at != after else ()
    inside = Ranges(column.name, ranges)
    if op is exp.NEQ:
        return Not(inside)
    if op is exp.NullSafeEQ:
        return And((Not(IsNull(column.name)), inside))
    return inside


def _cuts(column: Column, node: exp.Expression, analyzer: Analyzer) -> tuple[Bound, Bound] | None:
    """Where a constant cuts the column's order: at its first and just after its last equal value.

    None when Spark would cast the column rather than the constant, so that the order differs.
    """
    if column.type in {"date", "timestamp", "timestamp_ntz"}:
        return _time_cuts(column, node, analyzer)
    if column.type == "boolean":
        if not isinstance(node, exp.Boolean):
            return None
        return int(node.this), int(node.this) + 1
    if column.domain == "string":
        if not isinstance(node, exp.Literal) or not node.is_string:
            return None
        value = node.this.encode()
        return value, value + b"\x00"
    number = _number(node)
    if number is None:
        return None
    exact, is_double = number
    if column.domain == "float":
        whole = not is_double and exact.denominator == 1
        if column.type == "float" and whole and abs(exact) >= 2**24:
            return None  # Spark compares a float with a whole number as floats, which rounds
        as_float = float(exact)
        return as_float, math.nextafter(as_float, math.inf)
    if column.domain != "integer":
        return None
    decimal = decimal_of(column.type)
    if is_double and (decimal or column.type == "bigint" or abs(exact) >= _EXACT_IN_DOUBLE):
        return None
    scaled = exact * 10 ** (decimal[1] if decimal else 0)
    low = math.ceil(scaled)
    high = low + 1 if low == scaled else low
    if max(abs(low), abs(high)) >= 2**63:
        return None
    return low, high


def _time_cuts(
    column: Column, node: exp.Expression, analyzer: Analyzer
) -> tuple[Bound, Bound] | None:
    if isinstance(node, exp.Literal) and node.is_string:
        sql = node.sql(dialect="spark")
    elif isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        kind = node.to.sql(dialect="spark").lower()
        allowed = {
            "date": {"date"},
            "timestamp": {"timestamp", "date"},
            "timestamp_ntz": {"timestamp_ntz"},
        }
        if kind not in allowed[column.type]:
            return None
        sql = node.sql(dialect="spark")
    else:
        return None
    value = analyzer.constant(sql, column.type)
    return (value, value + 1) if isinstance(value, int) else None


def _number(node: exp.Expression) -> tuple[Fraction, bool] | None:
    """A numeric literal's exact value, and whether Spark types it DOUBLE."""
    if isinstance(node, exp.Paren):
        return _number(node.this)
    if isinstance(node, exp.Neg):
        inner = _number(node.this)
        return (-inner[0], inner[1]) if inner is not None else None
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    is_double = "e" in node.this.lower()
    try:
        return Fraction(float(node.this)) if is_double else Fraction(node.this), is_double
    except (ValueError, OverflowError):
        return None
