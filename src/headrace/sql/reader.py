"""`Reader`: an analyzed statement over one stream to a `LogicalQuery`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from headrace.errors import QueryError, UnsupportedQuery
from headrace.query.accuracy import Accuracy
from headrace.query.arrow import has_arrow_type
from headrace.query.expression import Expression
from headrace.query.logical import (
    LogicalQuery,
    OrderItem,
    Output,
    Parameter,
)
from headrace.query.predicate import Predicate
from headrace.query.schema import StreamSchema, decimal_of, quoted
from headrace.query.window import Window
from headrace.sql.aggregates import AggregateReader, instead, is_keyable
from headrace.sql.approx import Hint, check_bounded, with_bounds
from headrace.sql.judge import refuse_unlisted
from headrace.sql.predicates import COMPARISONS, PredicateReader, may_raise
from headrace.sql.text import Span, error_at
from headrace.sql.tree import Node, Operator, Shown, Statement, Writer

log = logging.getLogger("headrace")

WINDOW = "_w"
"""The window among the columns of results."""
_BOUND = "__headrace_bound_"
_PARAMETERS = {"int"}


class Unfaithful(UnsupportedQuery):
    """Spark writes an expression in a way that it does not read as the same."""

    def told(self) -> UnsupportedQuery:
        """For the caller, who has no other way to write it left."""
        return UnsupportedQuery(
            self.reason,
            line=self.line,
            column=self.column,
            construct=self.construct,
            choices=self.choices,
        )


@dataclass(slots=True)
class Reader:
    """Working state while one analyzed statement is read."""

    text: str
    stream: StreamSchema
    statement: Statement
    writer: Writer
    window: Window | None = None
    over: Span | None = None
    """Where the time stands that the window is over."""
    hint: Hint | None = None
    where_sql: str | None = None
    constants: list[Node] = field(default_factory=list)

    def read(self) -> LogicalQuery:
        """The query of the statement."""
        statement = self.statement
        shape = Shape.of(self.text, statement)
        shown = [o.node for o in statement.outputs]
        refuse_unlisted(self.text, [*shown, *shape.nodes])
        self._check_window()
        where = self.keeps(shape.where)
        query = LogicalQuery(
            text=self.text, stream=self.stream.name, where=where, where_sql=self.where_sql
        )
        if shape.aggregate is None:
            query = self._selection(query, shape)
        else:
            query = self._aggregation(query, shape, shape.aggregate)
        self.check_types(query.outputs)
        query = self._approximate(query, shape)
        self.check_faithful([*shown, *shape.nodes])
        return query

    def keeps(self, conditions: Sequence[Node]) -> Predicate:
        """Which tuples take part; expressions are read after it, which may raise of others."""
        reader = PredicateReader(self.stream, self.sql_of)
        predicate = reader.read(conditions, lambda: self.whole(conditions, []))
        if conditions:
            self.where_sql = self.whole(conditions, reader.bounds)
        self.constants += _literals(reader.bounds)
        return predicate

    # -- the two kinds of query ---------------------------------------------------------------

    def _selection(self, query: LogicalQuery, shape: Shape) -> LogicalQuery:
        if self.window is not None:
            raise self.error(
                None,
                "a window is used in SELECT but the query is not grouped by it",
                "add it to GROUP BY",
                kind=UnsupportedQuery,
            )
        if shape.order or shape.limit is not None:
            at = shape.order[0] if shape.order else shape.limit
            raise self.error(
                at,
                "ORDER BY and LIMIT work within each window; a selection has none",
                kind=UnsupportedQuery,
            )
        shown = self.statement.outputs
        return replace(
            query,
            selected=tuple(
                self.expression(self.sql_of(o.node), o.node.type, [o.node]) for o in shown
            ),
            outputs=tuple(Output(o.name, o.node.type, "key", n) for n, o in enumerate(shown)),
        )

    def _aggregation(self, query: LogicalQuery, shape: Shape, aggregate: Operator) -> LogicalQuery:
        shown = [o.node for o in self.statement.outputs]
        keys = distinct(n for n in aggregate.expressions if n.kind != "Window")
        calls = distinct(
            n
            for top in (*shown, *shape.having, *shape.order)
            for n in top.walk()
            if n.kind == "AggregateExpression"
        )
        for key in keys:
            if any(n.kind == "Window" for n in key.walk()):
                raise self.error(
                    key,
                    "a key that is made of a window is not supported",
                    "GROUP BY window(…) itself, and select its start and end",
                    kind=UnsupportedQuery,
                )
        if len(keys) == len(aggregate.expressions) or self.window is None:
            at = calls[0] if calls else aggregate.expressions[0] if keys else None
            raise self.error(
                at,
                "there is no event-time window around this aggregate",
                f"add GROUP BY window({self.stream.event_time}, '10 seconds')",
                kind=UnsupportedQuery,
            )
        for key in keys:
            if not is_keyable(key.type):
                raise self.error(
                    key,
                    f"GROUP BY a value of type {key.type} is not supported",
                    instead(key.type),
                    kind=UnsupportedQuery,
                )
        results = Results(self.writer, tuple(keys), tuple(calls), _windows(shown, shape))
        having, parameters = self.having_of(results, shape.having)
        reader = AggregateReader(self.text, self.sql_of, self.expression)
        return replace(
            query,
            window=self.window,
            keys=tuple(self.expression(self.sql_of(k), k.type, [k]) for k in keys),
            aggregates=tuple(reader.read(c) for c in calls),
            outputs=tuple(results.output(o) for o in self.statement.outputs),
            having=having,
            parameters=parameters,
            order_by=tuple(
                OrderItem(f"{results.sql(o.children[0])} {o.name}") for o in shape.order
            ),
            limit=self.limit_of(shape.limit),
        )

    def having_of(
        self, results: Results, conditions: Sequence[Node]
    ) -> tuple[str | None, tuple[Parameter, ...]]:
        """HAVING with the numbers it compares with as columns ``_p0, _p1, …``: queries that differ
        in nothing else are finished together."""
        if not conditions:
            return None, ()
        compared = [n for c in conditions for n in _compared_numbers(c)]
        self.constants += compared
        standing = [(n, f"_p{at}") for at, n in enumerate(compared)]
        written = " AND ".join(f"({results.sql(c, standing)})" for c in conditions)
        return written, tuple(_parameter(n) for n in compared)

    def limit_of(self, limit: Node | None) -> int | None:
        if limit is None:
            return None
        if limit.kind != "Literal" or limit.type not in ("int", "bigint") or int(limit.value) < 0:
            raise self.error(limit, "LIMIT takes a whole number", kind=UnsupportedQuery)
        self.constants.append(limit)
        return int(limit.value)

    def _approximate(self, query: LogicalQuery, shape: Shape) -> LogicalQuery:
        if self.hint is None:
            return query
        accuracy: Accuracy = self.hint.accuracy(self.text)
        chosen = next(iter([*shape.having, *shape.order, *filter(None, [shape.limit])]), None)
        if chosen is not None:
            raise self.error(
                chosen,
                "HAVING, ORDER BY and LIMIT choose by values that are not known yet under APPROX",
                "leave them out, or the hint",
                kind=UnsupportedQuery,
            )
        check_bounded(self.text, self.hint, query)
        return replace(query, outputs=with_bounds(query.outputs), accuracy=accuracy)

    # -- expressions --------------------------------------------------------------------------

    def sql_of(self, node: Node) -> str:
        if node.kind == "AttributeReference":
            return quoted(node.name)
        return self.writer.sql(node)

    def expression(self, sql: str, type_: str, parts: Sequence[Node]) -> Expression:
        if len(parts) == 1 and parts[0].kind == "AttributeReference" and sql[:1] == "`":
            return Expression(sql, type_, parts[0].name)
        risky = any(may_raise(p) for p in parts)
        return Expression(sql, type_, None, self.where_sql if risky else None)

    def whole(self, conditions: Sequence[Node], bounds: Sequence[Node]) -> str:
        """All of WHERE, written so that only its bounds have to be exchanged in another text."""
        literals = _literals(bounds)
        standing = [(n, f"{_BOUND}{at}__") for at, n in enumerate(literals)]
        written = [self.writer.sql(c, standing) for c in conditions]
        whole = written[0] if len(written) == 1 else " AND ".join(f"({w})" for w in written)
        for node, name in standing:
            whole = whole.replace(name, _literal_sql(node))
        return whole

    # -- what may not be ----------------------------------------------------------------------

    def _check_window(self) -> None:
        over = self.statement.window_over
        if self.window is not None and over != (self.stream.event_time,):
            raise error_at(
                self.text,
                self.over,
                f"the window is over {', '.join(over) or 'nothing'}, "
                f"which is not the event time of {self.stream.name!r}",
                f"the event time is {self.stream.event_time!r}",
                kind=UnsupportedQuery,
            )

    def check_types(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            if not has_arrow_type(output.type):
                raise QueryError(
                    f"the result column {output.name!r} is a {output.type}, which has no equal in "
                    "Arrow",
                    choices=("cast it to a string",),
                )

    def check_faithful(self, nodes: Iterable[Node]) -> None:
        found = self.writer.unfaithful()
        if found is None:
            return
        number, why = found
        log.debug("not read again as it was written: %s", why)
        node = next((n for top in nodes for n in top.walk() if n.number == number), None)
        if "too complex to parse" in why or "StackOverflowError" in why:
            # Written again, every operation has parentheses of its own.
            raise self.error(
                node,
                "this expression has too many operations one after the other for Spark's parser",
                "fewer of them, or a column of the source that has the result",
                kind=Unfaithful,
            )
        raise self.error(
            node,
            "Spark does not write this expression in a way that it reads again as the same",
            "write it in another way",
            kind=Unfaithful,
        )

    def error(
        self, node: Node | None, message: str, *choices: str, kind: type[QueryError] = QueryError
    ) -> QueryError:
        return error_at(self.text, node.span if node else None, message, *choices, kind=kind)


@dataclass(frozen=True, slots=True)
class Shape:
    """The operators of a statement by what they are for."""

    where: tuple[Node, ...]
    aggregate: Operator | None
    having: tuple[Node, ...]
    order: tuple[Node, ...]
    limit: Node | None

    @property
    def nodes(self) -> tuple[Node, ...]:
        keys = self.aggregate.expressions if self.aggregate is not None else ()
        limit = () if self.limit is None else (self.limit,)
        return (*self.where, *keys, *self.having, *self.order, *limit)

    @classmethod
    def of(cls, text: str, statement: Statement) -> Shape:
        filters: list[Node] = []
        having: list[Node] = []
        order: list[Node] = []
        limit: Node | None = None
        aggregate: Operator | None = None
        for operator in statement.operators:
            match operator.kind:
                case "GlobalLimit" | "LocalLimit":
                    limit = operator.expressions[0]
                case "Sort":
                    order = list(operator.expressions)
                case "Filter":
                    filters += operator.expressions
                case "Aggregate":
                    aggregate, having, filters = operator, filters, []
                case "Join":
                    break
                case _ if operator.kind not in HARMLESS or operator.branches:
                    reason = REFUSED.get(operator.kind, f"{operator.kind} is not supported")
                    raise error_at(text, operator.span, reason, kind=UnsupportedQuery)
        if statement.window_over:
            drop_timed(filters, statement.window_over)
        return cls(tuple(filters), aggregate, tuple(having), tuple(order), limit)


HARMLESS = {
    "Project",
    "LimitAll",
    "SubqueryAlias",
    "View",
    "LogicalRDD",
    "LocalRelation",
    "LogicalRelation",
}
REFUSED = {
    "Generate": "a generator such as explode makes several rows of one",
    "Window": "OVER (…) is not supported",
    "Expand": "GROUPING SETS is not supported",
}


def drop_timed(filters: list[Node], over: Sequence[str]) -> None:
    """Spark itself adds that the time of a window is known: the first such condition is its own."""
    for at, node in enumerate(filters):
        if node.kind == "IsNotNull" and node.children[0].name in over:
            del filters[at]
            return


@dataclass(frozen=True, slots=True)
class Results:
    """Writes expressions over the columns of combined results."""

    writer: Writer
    keys: tuple[Node, ...]
    calls: tuple[Node, ...]
    windows: tuple[Node, ...]

    def sql(self, node: Node, standing: Sequence[tuple[Node, str]] = ()) -> str:
        """With keys as ``_k0 …``, aggregates as ``_a0 …`` and the window as ``_w``."""
        columns = [(n, f"_a{at}") for at, n in enumerate(self.calls)]
        columns += [(n, f"_k{at}") for at, n in enumerate(self.keys)]
        columns += [(n, WINDOW) for n in self.windows]
        return self.writer.sql(node, [*columns, *standing], over_stream=False)

    def output(self, shown: Shown) -> Output:
        """Take the result column as it is where it is just that; else Spark computes it."""
        node, name, type_ = shown.node, shown.name, shown.node.type
        for at, call in enumerate(self.calls):
            if node.same == call.same:
                return Output(name, type_, "aggregate", at)
        for at, key in enumerate(self.keys):
            if node.same == key.same:
                return Output(name, type_, "key", at)
        windows = {w.same for w in self.windows}
        if node.same in windows:
            return Output(name, type_, "window")
        if node.kind == "GetStructField" and node.children[0].same in windows:
            return Output(name, type_, "window_end" if node.ordinal else "window_start")
        return Output(name, type_, "computed", sql=self.sql(node))


def distinct(nodes: Iterable[Node]) -> list[Node]:
    """The first of those that mean the same."""
    found: dict[int, Node] = {}
    for node in nodes:
        found.setdefault(node.same, node)
    return list(found.values())


def _windows(shown: Sequence[Node], shape: Shape) -> tuple[Node, ...]:
    every = (n for t in (*shown, *shape.nodes) for n in t.walk() if n.kind == "Window")
    return tuple(distinct(every))


def _compared_numbers(node: Node) -> Iterable[Node]:
    """Numbers on the right side of comparisons, where they may stand as columns."""
    if node.kind in ("And", "Or", "Not"):
        for child in node.children:
            yield from _compared_numbers(child)
    elif node.kind in COMPARISONS:
        literal = _literal_of(node.children[1])
        if literal is not None and (literal.type in _PARAMETERS or decimal_of(literal.type)):
            yield literal


def _literal_of(node: Node) -> Node | None:
    while node.kind == "Cast":
        node = node.children[0]
    return node if node.kind == "Literal" and node.value is not None else None


def _literals(bounds: Sequence[Node]) -> list[Node]:
    """The numbers as they were written that some bounds were made from."""
    found = [_literal_of(b) for b in bounds]
    return [n for n in found if n is not None and (n.type == "int" or decimal_of(n.type))]


def _parameter(node: Node) -> Parameter:
    if node.type == "int":
        return Parameter("int", int(node.value))
    return Parameter(node.type, Decimal(node.value))


def _literal_sql(node: Node) -> str:
    """A number as Spark types it the same again."""
    return str(node.value) if node.type == "int" else f"{node.value}BD"
