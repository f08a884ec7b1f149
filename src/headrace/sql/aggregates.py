"""Finds aggregate calls in a piece of SQL and reads their arguments."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import TokenType

from headrace.errors import UnsupportedQuery
from headrace.query.logical import Function
from headrace.sql.functions import AGGREGATES, OTHER_AGGREGATES, SUPPORTED_AGGREGATES
from headrace.sql.text import Piece


@dataclass(frozen=True, slots=True)
class FoundAggregate:
    """An aggregate call as written: where it stands and what it takes.

    ``argument`` is the SQL to aggregate (None for COUNT(*)); ``condition`` is its FILTER. Where
    combinations of values are counted, they are the argument and ``combined``.
    """

    start: int
    stop: int
    piece: Piece
    function: Function
    argument: str | None
    condition: str | None
    percentages: tuple[float, ...] = ()
    single_percentage: bool = True
    relative_sd: float = 0.05
    ignore_nulls: bool = False
    clusters: int = 0
    coordinates: tuple[str, ...] = ()
    combined: tuple[str, ...] = ()


def find_aggregates(piece: Piece) -> list[FoundAggregate]:
    """Outermost aggregate calls, left to right; unsupported ones are refused with their place."""
    found: list[FoundAggregate] = []
    index = 0
    while index < len(piece.tokens) - 1:
        token = piece.tokens[index]
        name = token.text.lower()
        called = piece.tokens[index + 1].token_type == TokenType.L_PAREN
        if called and token.token_type != TokenType.IDENTIFIER:
            if name in AGGREGATES:
                aggregate = _read(piece, index, name)
                found.append(aggregate)
                index = aggregate.stop
                continue
            if name in OTHER_AGGREGATES:
                raise piece.part(index).error(
                    f"the aggregate {name} is not supported",
                    f"supported: {SUPPORTED_AGGREGATES}",
                    kind=UnsupportedQuery,
                )
        index += 1
    return found


def _read(piece: Piece, start: int, name: str) -> FoundAggregate:
    close = piece.close_of(start + 1)
    inside = piece.part(start + 2, close)
    call = piece.part(start, close + 1)
    function = AGGREGATES[name]
    distinct = bool(inside.tokens) and inside.tokens[0].token_type == TokenType.DISTINCT
    if distinct:
        inside = inside.part(1)
    arguments = inside.split(TokenType.COMMA)
    if not arguments[0].tokens:
        raise call.error(f"{name} needs an argument")
    first = arguments[0].text
    argument: str | None = first
    percentages: tuple[float, ...] = ()
    single, relative_sd = True, 0.05
    stop, ignore_nulls = close + 1, False
    clusters, coordinates, combined = 0, tuple[str, ...](), tuple[str, ...]()

    if distinct:
        if function is not Function.COUNT or name == "count_if":
            raise call.error(
                f"{name}(DISTINCT …) is not supported",
                "DISTINCT works in COUNT(DISTINCT x)",
                kind=UnsupportedQuery,
            )
        function = Function.COUNT_DISTINCT
        combined = tuple(a.text for a in arguments[1:])
    elif function is Function.COUNT and first == "*":
        argument = None
    elif name == "count_if":
        argument = f"CASE WHEN {first} THEN 1 END"
    elif function is Function.PERCENTILE_APPROX:
        if len(arguments) not in (2, 3):
            raise call.error(f"{name} takes a value, the percentages and at most an accuracy")
        percentages, single = _percentages(arguments[1])
    elif function in (Function.KMEANS, Function.KMEANS_COST):
        if len(arguments) < 2:
            raise call.error(f"{name} takes the number of clusters and the coordinates of a point")
        clusters = _clusters(arguments[0])
        argument, coordinates = arguments[1].text, tuple(a.text for a in arguments[2:])
    elif function is Function.APPROX_COUNT_DISTINCT and len(arguments) == 2:
        relative_sd = _number(arguments[1])
    elif function in (Function.FIRST, Function.LAST):
        if len(arguments) == 2:
            ignore_nulls = arguments[1].text.lower() == "true"
    elif len(arguments) > 1:
        raise call.error(f"{name} takes one argument", kind=UnsupportedQuery)

    stop, nulls = _nulls(piece, stop)
    condition = None
    if stop < len(piece.tokens) and piece.tokens[stop].token_type == TokenType.FILTER:
        end = piece.close_of(stop + 1)
        where = piece.part(stop + 2, end)
        if not where.tokens or where.tokens[0].token_type != TokenType.WHERE:
            raise where.error("FILTER takes (WHERE …)")
        condition = where.part(1).text
        stop, more = _nulls(piece, end + 1)
        nulls = nulls or more
    if nulls is not None:
        ignore_nulls = nulls == "ignore"
    return FoundAggregate(
        start=start,
        stop=stop,
        piece=piece.part(start, stop),
        function=function,
        argument=argument,
        condition=condition,
        percentages=percentages,
        single_percentage=single,
        relative_sd=relative_sd,
        ignore_nulls=ignore_nulls,
        clusters=clusters,
        coordinates=coordinates,
        combined=combined,
    )


def _nulls(piece: Piece, at: int) -> tuple[int, str | None]:
    """IGNORE NULLS or RESPECT NULLS at a position: where it ends, and its first word."""
    words = " ".join(t.text.lower() for t in piece.tokens[at : at + 2]).split()
    if len(words) < 2 or words[0] not in {"ignore", "respect"} or words[1] != "nulls":
        return at, None
    return at + (1 if " " in piece.tokens[at].text else 2), words[0]


def _percentages(argument: Piece) -> tuple[tuple[float, ...], bool]:
    tokens = argument.tokens
    if len(tokens) > 2 and tokens[0].text.lower() == "array":
        parts = argument.part(2, argument.close_of(1)).split(TokenType.COMMA)
        return tuple(_fraction(p) for p in parts), False
    return (_fraction(argument),), True


_MOST_CLUSTERS = 1_000


def _clusters(argument: Piece) -> int:
    if not argument.text.isdigit() or not 1 <= int(argument.text) <= _MOST_CLUSTERS:
        raise argument.error(f"the number of clusters is a constant from 1 to {_MOST_CLUSTERS}")
    return int(argument.text)


def _fraction(argument: Piece) -> float:
    value = _number(argument)
    if not 0.0 <= value <= 1.0:
        raise argument.error("a percentage lies between 0.0 and 1.0")
    return value


def _number(argument: Piece) -> float:
    try:
        return float(argument.text)
    except ValueError:
        raise argument.error(
            f"{argument.text!r} must be a constant number", kind=UnsupportedQuery
        ) from None
