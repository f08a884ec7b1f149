"""Shapes: queries whose results are finished together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.needs import Need, column_name, counted_by, needs_of
from headrace.query.plan import Partial


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What queries with the same result columns, computed the same way, have in common.

    The same object for all of them, so that it is cheap to tell them apart by it.
    """

    query: LogicalQuery
    """Any one of them."""
    keys: tuple[str, ...]
    """The columns that carry the keys."""
    needs: tuple[Need, ...]
    read: frozenset[Partial]
    """What exact answers are made from."""

    @classmethod
    def of(cls, query: LogicalQuery) -> Shape:
        """The shape of one query by itself."""
        needs = needs_of(query)
        read = {n.partial for n in needs if n.partial is not None}
        if query.accuracy is not None:
            read |= {counted_by(call) for call in query.aggregates}
        return cls(query, tuple(column_name(k) for k in query.keys), needs, frozenset(read))


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as it is answered."""

    uid: int
    query: LogicalQuery
    shape: Shape
    partial_before_us: int | None = None


def asked_of(queries: Mapping[int, LogicalQuery]) -> dict[int, Asked]:
    """Queries with their shapes."""
    shapes: dict[tuple[object, ...], Shape] = {}
    out = {}
    for uid, query in queries.items():
        shape = shapes.setdefault(shape_of(query), Shape.of(query))
        out[uid] = Asked(uid, query, shape)
    return out


def shape_of(query: LogicalQuery) -> tuple[object, ...]:
    """Queries of one shape have the same result columns, computed the same way.

    They may differ in what HAVING compares with and in how many rows LIMIT leaves.
    """
    return (
        query.is_session,
        query.keys,
        query.aggregates,
        query.outputs,
        query.having,
        tuple(p.type for p in query.parameters),
        query.order_by,
        query.limit is None,
        query.accuracy,
    )


def with_parameters(
    table: pa.Table, queries: Mapping[int, LogicalQuery], time_zone: str
) -> pa.Table:
    """Combined rows of one shape with what their queries differ in, row by row."""
    uids, place = np.unique(table.column("_q").to_numpy(), return_inverse=True)
    some = [queries[int(u)] for u in uids]
    for number, first in enumerate(some[0].parameters):
        values = [q.parameters[number].value for q in some]
        column = pa.array(values, type=arrow_type(first.type, time_zone))
        table = table.append_column(f"_p{number}", column.take(pa.array(place)))
    limits = pa.array([q.limit for q in some], type=pa.int64())
    return table.append_column("_limit", limits.take(pa.array(place)))
