"""Aggregate calls of an analyzed statement, as the kernels know them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.expression import Expression
from headrace.query.logical import AggregateCall, Function
from headrace.query.schema import decimal_of
from headrace.sql.combinations import combination_sql
from headrace.sql.kinds import SUPPORTED_AGGREGATES
from headrace.sql.text import error_at
from headrace.sql.tree import Node

_FUNCTIONS = {
    "Count": Function.COUNT,
    "CountIf": Function.COUNT,
    "Sum": Function.SUM,
    "Average": Function.AVG,
    "Min": Function.MIN,
    "Max": Function.MAX,
    "BoolAnd": Function.MIN,
    "BoolOr": Function.MAX,
    "StddevSamp": Function.STDDEV_SAMP,
    "StddevPop": Function.STDDEV_POP,
    "VarianceSamp": Function.VAR_SAMP,
    "VariancePop": Function.VAR_POP,
    "First": Function.FIRST,
    "Last": Function.LAST,
    "HyperLogLogPlusPlus": Function.APPROX_COUNT_DISTINCT,
    "ApproximatePercentile": Function.PERCENTILE_APPROX,
}
_CLUSTERS = {"kmeans": Function.KMEANS, "kmeans_cost": Function.KMEANS_COST}
_NUMERIC = {"tinyint", "smallint", "int", "bigint", "float", "double"}
_TIMES = {"date", "timestamp", "timestamp_ntz"}
KEYABLE = _NUMERIC | _TIMES | {"boolean", "string", "binary"}
"""Beside decimals: what can be grouped by, and told apart."""
_MOMENTS = {Function.VAR_SAMP, Function.VAR_POP, Function.STDDEV_SAMP, Function.STDDEV_POP}
_NEEDS_NUMBER = _MOMENTS | {Function.SUM, Function.AVG, Function.PERCENTILE_APPROX}
_SAME_WITHOUT_DISTINCT = {Function.MIN, Function.MAX}
_TIMED = {Function.FIRST, Function.LAST}
_MOST_CLUSTERS = 1_000


def is_keyable(type_: str) -> bool:
    """Whether values of a type can be grouped by."""
    return type_ in KEYABLE or decimal_of(type_) is not None


def instead(type_: str, taken: Collection[str] = KEYABLE) -> str:
    """What to write where a type is not taken."""
    if type_ == "void":
        return "give NULL a type: CAST(NULL AS INT)"
    if type_.startswith(("struct", "array", "map")):
        return "name a field or an element of it"
    return f"types: {', '.join(sorted(taken))}, decimal"


@dataclass(frozen=True, slots=True)
class AggregateReader:
    """Reads calls; `expression` makes one of SQL over the stream, its type and its parts."""

    text: str
    sql_of: Callable[[Node], str]
    expression: Callable[[str, str, Sequence[Node]], Expression]

    def read(self, node: Node) -> AggregateCall:
        """One call; one that is not run here is refused with its place."""
        called = node.children[0]
        condition = node.children[1] if len(node.children) > 1 else None
        if called.kind == "PythonUDAF":
            return self._clusters(node, called, condition)
        function = _FUNCTIONS[called.kind]
        if called.name.startswith("try_"):
            raise self._refused(node, f"the aggregate {called.name} is not supported")
        if node.distinct and function not in _SAME_WITHOUT_DISTINCT:
            if function is not Function.COUNT or called.kind == "CountIf":
                raise error_at(
                    self.text, node.span, f"{called.name}(DISTINCT …) is not supported",
                    "DISTINCT works in COUNT(DISTINCT x)", kind=UnsupportedQuery,
                )  # fmt: skip
            function = Function.COUNT_DISTINCT
        argument, timed = self._argument(node, called, function, condition)
        percentages, single = _percentages(self.text, called, function)
        return AggregateCall(
            function=function,
            argument=argument,
            result_type=node.type,
            percentages=percentages,
            single_percentage=single,
            relative_sd=called.relative_sd,
            ignore_nulls=called.ignore_nulls,
            condition=timed,
        )

    def _argument(
        self, node: Node, called: Node, function: Function, condition: Node | None
    ) -> tuple[Expression | None, Expression | None]:
        """What is aggregated; and the FILTER of FIRST and LAST by itself: they tell a null inside
        it from a tuple outside it."""
        value = called.children[0]
        if function is Function.COUNT and called.kind == "Count":
            known = [c for c in called.children if not _never_null(c)]
            if not known and condition is None:
                return None, None
            if len(known) == 1 and _is_column(known[0]) and is_keyable(known[0].type):
                return self._filtered(self.sql_of(known[0]), known[0].type, condition, known)
            sql = f"CASE WHEN {self._all_known(known)} THEN 1 END" if known else "1"
            return self._filtered(sql, "int", condition, known)
        if called.kind == "CountIf":
            sql = f"CASE WHEN {self.sql_of(value)} THEN 1 END"
            return self._filtered(sql, "int", condition, called.children)
        if function is Function.COUNT_DISTINCT and len(called.children) > 1:
            sql = self._combined(node, called)
            return self._filtered(sql, "binary", condition, called.children)
        self._check(node, called, function, value.type)
        sql = self.sql_of(value)
        if function in _TIMED and condition is not None:
            kept = self.expression(f"({self.sql_of(condition)})", "boolean", [condition])
            if _is_column(value):
                return self.expression(sql, value.type, [value]), kept
            return self._filtered(sql, value.type, condition, [value])[0], kept
        return self._filtered(sql, value.type, condition, [value])

    def _filtered(
        self, sql: str, type_: str, condition: Node | None, parts: Sequence[Node]
    ) -> tuple[Expression, None]:
        if condition is None:
            return self.expression(sql, type_, parts), None
        filtered = f"CASE WHEN {self.sql_of(condition)} THEN {sql} END"
        return self.expression(filtered, type_, [*parts, condition]), None

    def _all_known(self, nodes: list[Node]) -> str:
        return " AND ".join(f"({self.sql_of(n)}) IS NOT NULL" for n in nodes)

    def _combined(self, node: Node, called: Node) -> str:
        for part in called.children:
            if not is_keyable(part.type):
                raise self._unfit(node, called, part.type)
        parts = [self.sql_of(c) for c in called.children]
        return combination_sql(parts, [c.type for c in called.children])

    def _check(self, node: Node, called: Node, function: Function, type_: str) -> None:
        numeric = type_ in _NUMERIC or decimal_of(type_) is not None
        supported = is_keyable(type_)
        if function in _NEEDS_NUMBER:
            sortable = function is Function.PERCENTILE_APPROX and type_ in _TIMES
            supported = numeric or sortable
        if not supported:
            raise self._unfit(
                node, called, type_, _NUMERIC if function in _NEEDS_NUMBER else KEYABLE
            )

    def _unfit(
        self, node: Node, called: Node, type_: str, taken: Collection[str] = KEYABLE
    ) -> QueryError:
        name = f"{called.name.upper()}(DISTINCT …)" if node.distinct else called.name
        return error_at(
            self.text, node.span, f"{name} over the type {type_} is not supported",
            instead(type_, taken), kind=UnsupportedQuery,
        )  # fmt: skip

    def _clusters(self, node: Node, called: Node, condition: Node | None) -> AggregateCall:
        function = _CLUSTERS.get(called.name.lower())
        if function is None:
            raise self._refused(node, f"the aggregate {called.name} is not supported")
        if len(called.children) < 2:
            raise error_at(
                self.text, node.span,
                f"{called.name} takes the number of clusters and the coordinates of a point",
            )  # fmt: skip
        count, *coordinates = called.children
        clusters = int(count.value) if count.is_constant and count.type == "int" else 0
        if not 1 <= clusters <= _MOST_CLUSTERS:
            raise error_at(
                self.text, count.span or node.span,
                f"the number of clusters is a constant from 1 to {_MOST_CLUSTERS}",
            )  # fmt: skip
        for one in coordinates:
            if one.type not in _NUMERIC and decimal_of(one.type) is None:
                raise self._refused(
                    node, f"{called.name} over the type {one.type} is not supported"
                )
        points = [self._filtered(self.sql_of(c), c.type, condition, [c])[0] for c in coordinates]
        return AggregateCall(
            function=function,
            argument=points[0],
            result_type=node.type,
            clusters=clusters,
            coordinates=tuple(points[1:]),
        )

    def _refused(self, node: Node, reason: str) -> QueryError:
        return error_at(
            self.text,
            node.span,
            reason,
            f"supported: {SUPPORTED_AGGREGATES}",
            kind=UnsupportedQuery,
        )


def _is_column(node: Node) -> bool:
    return node.kind == "AttributeReference"


def _never_null(node: Node) -> bool:
    return node.kind == "Literal" and node.value is not None


def _percentages(text: str, called: Node, function: Function) -> tuple[tuple[float, ...], bool]:
    if function is not Function.PERCENTILE_APPROX:
        return (), True
    value = called.children[1].value
    if value is None:
        raise error_at(text, called.span, f"the percentage of {called.name} is no constant number")
    if isinstance(value, tuple):
        return tuple(float(v) for v in value), False
    return (float(value),), True
