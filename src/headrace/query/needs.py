"""What a query's aggregates need to be kept per slice."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from headrace.query.expression import Expression
from headrace.query.logical import AggregateCall, Function, LogicalQuery
from headrace.query.plan import Op, Partial, composed, derived_name, of_side, sided
from headrace.query.predicate import truths_of

_OPS: dict[Function, Op] = {
    Function.COUNT: "count",
    Function.SUM: "sum",
    Function.AVG: "sum",
    Function.MIN: "min",
    Function.MAX: "max",
    Function.VAR_SAMP: "moments",
    Function.VAR_POP: "moments",
    Function.STDDEV_SAMP: "moments",
    Function.STDDEV_POP: "moments",
    Function.FIRST: "first",
    Function.LAST: "last",
}


@dataclass(frozen=True, slots=True)
class Need:
    """One aggregate's partial, or the column whose distinct values it needs."""

    partial: Partial | None = None
    value: str | None = None
    sketch: int | None = None


def column_name(expression: Expression) -> str:
    """The column that carries an expression into the kernels."""
    return expression.column or derived_name(expression.computed_sql)


def need_of(call: AggregateCall) -> Need:
    """What one aggregate needs; of a join, as the join calls it."""
    need, side = _need_of(call), call.side
    if side is None:
        return need
    return replace(
        need,
        partial=None if need.partial is None else sided(side, need.partial),
        value=None if need.value is None else of_side(side, need.value),
    )


def _need_of(call: AggregateCall) -> Need:
    if call.argument is None:
        return Need(partial=Partial("rows"))
    argument = call.argument
    if call.function in (Function.COUNT_DISTINCT, Function.PERCENTILE_APPROX):
        return Need(value=column_name(argument))
    if call.function in (Function.KMEANS, Function.KMEANS_COST):
        return Need(value=composed([column_name(e) for e in (argument, *call.coordinates)]))
    if call.function is Function.APPROX_COUNT_DISTINCT:
        precision = math.ceil(2.0 * math.log(1.106 / call.relative_sd) / math.log(2.0))
        return Need(value=column_name(hashed(argument)), sketch=precision)
    op = _OPS[call.function]
    if call.ignore_nulls:
        op = "first_known" if op == "first" else "last_known"
    condition = None if call.condition is None else column_name(call.condition)
    return Need(partial=Partial(op, column_name(argument), argument.type, condition))


def hashed(argument: Expression) -> Expression:
    """Spark's own hash of an expression, null where it is null."""
    sql = f"CASE WHEN ({argument.sql}) IS NOT NULL THEN xxhash64({argument.sql}) END"
    return Expression(sql, "bigint", None, argument.guard)


def needs_of(query: LogicalQuery) -> tuple[Need, ...]:
    """What each aggregate needs, in order."""
    return tuple(need_of(call) for call in query.aggregates)


def spread_of(call: AggregateCall) -> Partial:
    """What the bounds of an aggregate need: how many tuples it counts, or their moments."""
    if call.argument is None or kept_of(call) is not None:
        return Partial("rows")
    if call.function is Function.COUNT:
        partial = need_of(call).partial
        assert partial is not None
        return partial
    # Squares of whole numbers add up exactly, beside the sum that is kept anyway.
    op: Op = "squares" if call.argument.type in _WHOLE else "moments"
    return Partial(op, column_name(call.argument), call.argument.type)


def counted_by(call: AggregateCall) -> Partial:
    """The partial that tells how many tuples an aggregate of an approximate query counts."""
    spread = spread_of(call)
    return sum_beside(spread) if spread.op == "squares" else spread


def sum_beside(squares: Partial) -> Partial:
    """The sum that is kept with some squares."""
    return replace(squares, op="sum")


_WHOLE = ("tinyint", "smallint", "int", "bigint")
_SPREADS = (Function.VAR_SAMP, Function.VAR_POP, Function.STDDEV_SAMP, Function.STDDEV_POP)
_RANKS = (Function.PERCENTILE_APPROX, Function.KMEANS, Function.KMEANS_COST)


def kept_of(call: AggregateCall) -> str | None:
    """The value whose tuples the bounds of an aggregate are made from; None where moments do."""
    if call.function in _SPREADS:
        assert call.argument is not None
        return column_name(call.argument)
    return need_of(call).value if call.function in _RANKS else None


def values_of(query: LogicalQuery) -> set[tuple[str, int | None]]:
    """Every value that is kept for a query, with the precision of its sketch."""
    found = {(n.value, n.sketch) for n in needs_of(query) if n.value is not None}
    if query.accuracy is not None:
        found |= {(v, None) for c in query.aggregates if (v := kept_of(c)) is not None}
    return found


def partials_of(query: LogicalQuery) -> set[Partial]:
    """Every partial that is kept for a query."""
    found = {n.partial for n in needs_of(query) if n.partial is not None}
    return found | ({spread_of(c) for c in query.aggregates} if query.accuracy else set())


def is_sampled(query: LogicalQuery, *, rows_in_jvm: bool) -> bool:
    """Whether a query is made of a sample: tuples need an identity, which they lose in the JVM."""
    return (
        query.accuracy is not None
        and query.accuracy.sample
        and not rows_in_jvm
        and not truths_of(query.where)
        and all(e.column is not None for e in expressions_of(query))
    )


def expressions_of(query: LogicalQuery) -> tuple[Expression, ...]:
    """Every expression the kernels read for a query, beside its predicate."""
    arguments = [
        hashed(c.argument) if c.function is Function.APPROX_COUNT_DISTINCT else c.argument
        for c in query.aggregates
        if c.argument is not None
    ]
    arguments += [e for c in query.aggregates for e in c.coordinates]
    conditions = [c.condition for c in query.aggregates if c.condition is not None]
    return (*query.keys, *query.selected, *arguments, *conditions)
