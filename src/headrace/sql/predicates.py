"""A condition to a `Predicate`: what can be classified is, the rest is left to Spark.

A conjunct that compares a column with constants becomes ranges. Any other conjunct becomes a
`Truth`, Spark's own boolean. When such a conjunct could raise, the whole WHERE becomes one
`Truth`, so that it is guarded by the conjuncts before it exactly as in Spark.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

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
from headrace.sql.kinds import NEVER_RAISE, OVERFLOW, RAISE_IN_ANSI_MODE
from headrace.sql.tree import Node

_FLIPPED = {
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
}
COMPARISONS = {*_FLIPPED, "EqualTo", "EqualNullSafe"}
_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
_EXACT_AS = {"double": {"tinyint", "smallint", "int", "float"}, "float": {"tinyint", "smallint"}}
_FRACTIONS = {"float", "double"}
_TIMES = {"date", "timestamp", "timestamp_ntz"}
_RAISING = ("ANSI", "true")


@dataclass(slots=True)
class PredicateReader:
    """Reads conditions over one stream; ``bounds`` are the constants that became bounds."""

    stream: StreamSchema
    sql_of: Callable[[Node], str]
    bounds: list[Node] = field(default_factory=list)

    def read(self, conditions: Sequence[Node], whole_sql: Callable[[], str]) -> Predicate:
        """The predicate of a WHERE clause; `whole_sql` gives all of it."""
        items: list[Predicate] = []
        for conjunct in conjuncts(conditions):
            before = len(self.bounds)
            simple = self._lowered(conjunct)
            if simple is not None:
                items.append(simple)
                continue
            del self.bounds[before:]
            if may_raise(conjunct):
                self.bounds.clear()
                return Truth(whole_sql())
            items.append(Truth(self.sql_of(conjunct)))
        if not items:
            return Always()
        return items[0] if len(items) == 1 else And(tuple(items))

    def _lowered(self, node: Node) -> Predicate | None:
        """Ranges and null tests combined by AND, OR, NOT; None where that cannot say it."""
        match node.kind:
            case "And" | "Or":
                parts = [self._lowered(c) for c in node.children]
                kind = And if node.kind == "And" else Or
                known = [p for p in parts if p is not None]
                if len(known) < len(parts):
                    return None
                return kind(tuple(x for p in known for x in _flat(p, kind)))
            case "Not":
                inner = self._lowered(node.children[0])
                return Not(inner) if inner is not None else None
            case "Literal" if node.type == "boolean" and node.value is not None:
                return Always() if node.value else Or(())
            case "IsNull" | "IsNotNull":
                column = self._column(node.children[0])
                if column is None or column.domain == "other":
                    return None
                test = IsNull(column.name)
                return test if node.kind == "IsNull" else Not(test)
            case "AttributeReference":
                column = self._column(node)
                if column is not None and column.type == "boolean":
                    return Ranges(column.name, ((1, 2),))
                return None
            case "In":
                return self._in(node)
            case _ if node.kind in COMPARISONS:
                left, right = node.children
                kind_ = node.kind
                if left.is_constant:
                    left, right, kind_ = right, left, _FLIPPED.get(kind_, kind_)
                return self._comparison(kind_, left, right)
        return None

    def _in(self, node: Node) -> Predicate | None:
        value, *options = node.children
        found = [self._comparison("EqualTo", value, o) for o in options]
        ranges = [f for f in found if isinstance(f, Ranges)]
        if not ranges or len(ranges) < len(found):
            return None
        return Ranges(ranges[0].column, tuple(r for f in ranges for r in f.ranges))

    def _comparison(self, kind: str, left: Node, right: Node) -> Predicate | None:
        column = self._compared(left)
        if column is None or not right.is_constant or right.value is None:
            return None
        cuts = _cuts(column, right)
        if cuts is None:
            return None
        self.bounds.append(right)
        at, after = cuts
        ranges: tuple[Range, ...]
        if kind == "LessThan":
            ranges = ((None, at),)
        elif kind == "LessThanOrEqual":
            ranges = ((None, after),)
        elif kind == "GreaterThan":
            ranges = ((after, None),)
        elif kind == "GreaterThanOrEqual":
            ranges = ((at, None),)
        else:
            ranges = ((at, after),) if at != after else ()
        inside = Ranges(column.name, ranges)
        if kind == "EqualNullSafe":
            return And((Not(IsNull(column.name)), inside))
        return inside

    def _compared(self, node: Node) -> Column | None:
        """The column that is compared, if what Spark makes of it keeps its values apart."""
        if node.kind != "Cast":
            return self._column(node)
        column = self._compared(node.children[0])
        return column if column is not None and _is_exact(column.type, node.type) else None

    def _column(self, node: Node) -> Column | None:
        return self.stream.find(node.name) if node.kind == "AttributeReference" else None


def conjuncts(conditions: Sequence[Node]) -> Iterator[Node]:
    for node in conditions:
        if node.kind == "And":
            yield from conjuncts(node.children)
        else:
            yield node


def _flat(predicate: Predicate, kind: type[And] | type[Or]) -> tuple[Predicate, ...]:
    return predicate.items if isinstance(predicate, kind) else (predicate,)


def _is_exact(from_: str, to: str) -> bool:
    """Whether every value of a type is itself in another, so that order and equality stay."""
    if from_ == to or from_ in _EXACT_AS.get(to, ()):
        return True
    if from_ in _DIGITS and to in _DIGITS:
        return _DIGITS[from_] <= _DIGITS[to]
    wide, narrow = decimal_of(to), decimal_of(from_)
    if wide is None:
        return False
    if from_ in _DIGITS:
        return wide[0] - wide[1] >= _DIGITS[from_]
    if narrow is None:
        return False
    return wide[1] >= narrow[1] and wide[0] - wide[1] >= narrow[0] - narrow[1]


def _cuts(column: Column, constant: Node) -> tuple[Bound, Bound] | None:
    """Where a constant cuts the column's order: at its first and just after its last equal value.

    None where its type has another order than the column's.
    """
    if column.type in _TIMES or column.type == "boolean":
        if constant.type != column.type:
            return None
        at = int(constant.value)
        return at, at + 1
    if column.domain == "string":
        if constant.type != "string":
            return None
        text = str(constant.value).encode()
        return text, text + b"\x00"
    exact = _number(constant)
    if exact is None:
        return None
    if column.domain == "float":
        return _float_cuts(exact, np.float32 if column.type == "float" else np.float64)
    if column.domain != "integer":
        return None
    decimal = decimal_of(column.type)
    scaled = exact * 10 ** (decimal[1] if decimal else 0)
    low = math.ceil(scaled)
    high = low + 1 if low == scaled else low
    if max(abs(low), abs(high)) >= 2**63:
        return None
    return low, high


def _float_cuts(
    exact: Fraction, kind: type[np.float32] | type[np.float64]
) -> tuple[Bound, Bound] | None:
    """The first float of a kind that is not below a number, and the first above it."""
    at = kind(float(exact))
    if not np.isfinite(at):
        return None
    if Fraction(float(at)) < exact:
        at = np.nextafter(at, kind(math.inf))
    after = np.nextafter(at, kind(math.inf)) if Fraction(float(at)) == exact else at
    return float(at), float(after)


def _number(constant: Node) -> Fraction | None:
    """A number's exact value; NaN and infinities have none."""
    if constant.type in _FRACTIONS:
        value = float(constant.value)
        if constant.type == "float":
            value = float(np.float32(value))  # told by the shortest text that reads as that float
        return Fraction(value) if math.isfinite(value) else None
    if constant.type in _DIGITS or decimal_of(constant.type) is not None:
        return Fraction(str(constant.value))
    return None


def may_raise(node: Node) -> bool:
    """Whether evaluating an expression could raise for some tuple; unknown means yes."""
    return any(_raises(n) for n in node.walk())


def _raises(node: Node) -> bool:
    if node.kind in NEVER_RAISE:
        return False
    if node.kind == "Cast":
        return node.mode == "ANSI" and not _casts_safely(node.children[0].type, node.type)
    if node.kind in OVERFLOW:
        return node.mode in _RAISING and node.type not in _FRACTIONS
    return node.kind not in RAISE_IN_ANSI_MODE or node.mode in _RAISING


def _casts_safely(from_: str, to: str) -> bool:
    numbers = from_ in _DIGITS or from_ in _FRACTIONS or decimal_of(from_) is not None
    if to.startswith("string") or (numbers and to in _FRACTIONS):
        return True
    return _is_exact(from_, to) or (from_ == "date" and to in _TIMES)
