"""Constants that queries may differ in and still be finished together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

from sqlglot import Token, TokenType

from headrace.query.logical import Parameter
from headrace.sql.text import Piece, tokenize

_COMPARISONS = {
    TokenType.EQ,
    TokenType.NEQ,
    TokenType.GT,
    TokenType.GTE,
    TokenType.LT,
    TokenType.LTE,
    TokenType.NULLSAFE_EQ,
}
_AFTER = {TokenType.AND, TokenType.OR, TokenType.R_PAREN}
_LONGEST_DECIMAL = 38


def parametrised(sql: str) -> tuple[str, tuple[Parameter, ...]]:
    """A condition with the numbers it compares with replaced by columns ``_p0, _p1, …``.

    Only a number that is the whole right side of a comparison: anywhere else Spark may want a
    constant, or give it another meaning than a column of its type.
    """
    piece = Piece(sql, tokenize(sql))
    found = list(_compared_with(piece))
    edits = [(start, stop, f"_p{n}") for n, (start, stop, _) in enumerate(found)]
    return piece.edited(edits), tuple(parameter for _, _, parameter in found)


def neutral(sql: str) -> str:
    """A condition with such numbers replaced by one constant of the same type, for its analysis."""
    piece = Piece(sql, tokenize(sql))
    return piece.edited((a, b, f"CAST(1 AS {p.type})") for a, b, p in _compared_with(piece))


def _compared_with(piece: Piece) -> Iterator[tuple[int, int, Parameter]]:
    """Numbers on the right side of a comparison, as runs of tokens."""
    for index, token in enumerate(piece.tokens):
        if token.token_type not in _COMPARISONS:
            continue
        start = stop = index + 1
        if _kind(piece, stop) == TokenType.DASH:
            stop += 1
        if _kind(piece, stop) != TokenType.NUMBER:
            continue
        if _kind(piece, stop + 1) not in {*_AFTER, None}:
            continue
        parameter = _parameter("-" * (stop - start), piece.tokens[stop])
        if parameter is not None:
            yield start, stop + 1, parameter


def _kind(piece: Piece, index: int) -> TokenType | None:
    return piece.tokens[index].token_type if index < len(piece.tokens) else None


def _parameter(sign: str, token: Token) -> Parameter | None:
    """The number with Spark's type for it; None if it is neither an int nor a decimal."""
    if re.fullmatch(r"\d+", token.text):
        return Parameter("int", int(sign + token.text)) if int(token.text) < 2**31 else None
    if not re.fullmatch(r"\d+\.\d+", token.text):
        return None
    value = Decimal(sign + token.text)
    _, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    precision = max(len(digits), -exponent)
    if precision > _LONGEST_DECIMAL:
        return None
    return Parameter(f"decimal({precision},{-exponent})", value)
