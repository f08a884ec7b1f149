"""The sides of a join as queries over one stream each, which feed it and answer nothing."""

from __future__ import annotations

from dataclasses import replace

from headrace.query.logical import LogicalQuery


def sides_of(query: LogicalQuery) -> tuple[LogicalQuery, ...]:
    """What a join asks of each of its streams: keys, and partial results by them."""
    assert query.join is not None
    return tuple(
        LogicalQuery(
            text=query.text,
            stream=side.stream,
            where=side.where,
            where_sql=side.where_sql,
            window=query.window,
            keys=side.keys,
            aggregates=tuple(
                replace(call, side=None) for call in query.aggregates if call.side == number
            ),
            feeds=True,
        )
        for number, side in enumerate(query.join.sides)
    )


def uid_of_side(uid: int, side: int) -> int:
    """A side has a number of its own, right after that of its join."""
    return uid + 1 + side
