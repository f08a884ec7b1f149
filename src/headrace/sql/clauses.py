"""A SELECT statement cut into its clauses; every other construct is refused with its place."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import Token, TokenType

from headrace.errors import QueryError, UnsupportedQuery
from headrace.sql.functions import NON_DETERMINISTIC
from headrace.sql.text import Piece, place, tokenize

_CLAUSES = {
    TokenType.SELECT: "select",
    TokenType.FROM: "from",
    TokenType.WHERE: "where",
    TokenType.GROUP_BY: "group",
    TokenType.HAVING: "having",
    TokenType.ORDER_BY: "order",
    TokenType.LIMIT: "limit",
}
_ORDER = tuple(_CLAUSES.values())
_SHAPE = "SELECT … FROM stream [WHERE …] [GROUP BY window(…), …] [HAVING …] [ORDER BY … LIMIT n]"
_JOINS = {"join", "lateral", "inner", "cross", "left", "right", "full", "semi", "anti", "natural"}
_REFUSED = {
    "with": "common table expressions",
    "union": "set operations",
    "intersect": "set operations",
    "except": "set operations",
    "minus": "set operations",
    "distinct": "SELECT DISTINCT",
    "offset": "OFFSET",
    "qualify": "QUALIFY",
    "pivot": "PIVOT",
    "unpivot": "UNPIVOT",
    "tablesample": "TABLESAMPLE",
    "sort by": "SORT BY",
    "cluster by": "CLUSTER BY",
    "distribute by": "DISTRIBUTE BY",
    "rollup": "ROLLUP",
    "cube": "CUBE",
    "grouping sets": "GROUPING SETS",
}


@dataclass(frozen=True, slots=True)
class Clauses:
    """The pieces of one statement; absent clauses are None."""

    select: tuple[Piece, ...]
    stream: Piece
    alias: str | None
    where: Piece | None
    group: tuple[Piece, ...]
    having: Piece | None
    order: tuple[Piece, ...]
    limit: int | None
    hint: Token | None = None


def split_clauses(text: str) -> Clauses:
    """Cut a statement into clauses, or say which construct is not run here."""
    whole = Piece(text, tokenize(text))
    if not whole.tokens:
        raise QueryError("the query is empty", choices=(_SHAPE,))
    if whole.tokens[0].token_type != TokenType.SELECT:
        name = _REFUSED.get(whole.tokens[0].text.lower(), whole.tokens[0].text.upper())
        raise whole.error(f"{name} cannot begin a query", _SHAPE, kind=UnsupportedQuery)
    hint: Token | None = None
    if len(whole.tokens) > 1 and whole.tokens[1].token_type == TokenType.HINT:
        hint, whole = whole.tokens[1], Piece(text, (whole.tokens[0], *whole.tokens[2:]))
    _refuse_nested(whole)
    _refuse_anywhere(whole)
    found = _find_clauses(whole)
    if "from" not in found:
        raise whole.error("there is no FROM", _SHAPE)
    stream, alias = _stream_of(found["from"])
    return Clauses(
        select=tuple(_items(found["select"], "SELECT")),
        stream=stream,
        alias=alias,
        where=_nonempty(found.get("where"), "WHERE"),
        group=tuple(_items(found["group"], "GROUP BY")) if "group" in found else (),
        having=_nonempty(found.get("having"), "HAVING"),
        order=tuple(_items(found["order"], "ORDER BY")) if "order" in found else (),
        limit=_limit(found.get("limit")),
        hint=hint,
    )


def _find_clauses(whole: Piece) -> dict[str, Piece]:
    found: dict[str, Piece] = {}
    starts: list[tuple[str, int]] = []
    for index, token in whole.outermost():
        name = _CLAUSES.get(token.token_type)
        if name is None or (name == "from" and _word(whole, index - 1) == "distinct"):
            continue
        if starts and _ORDER.index(name) <= _ORDER.index(starts[-1][0]):
            raise whole.part(index).error(f"{token.text.upper()} is out of place", _SHAPE)
        starts.append((name, index))
    for (name, begin), (_, end) in zip(starts, [*starts[1:], ("", len(whole.tokens))], strict=True):
        found[name] = whole.part(begin + 1, end)
        if not found[name].tokens:
            raise whole.part(begin).error(f"{whole.tokens[begin].text.upper()} is empty", _SHAPE)
    return found


def _refuse_nested(whole: Piece) -> None:
    for index, token in enumerate(whole.tokens[1:], 1):
        if token.token_type == TokenType.SELECT and (
            whole.tokens[index - 1].token_type == TokenType.L_PAREN
        ):
            raise whole.part(index).error("subqueries are not supported", kind=UnsupportedQuery)


def _refuse_anywhere(whole: Piece) -> None:
    """Constructs that are refused wherever they stand, as words that are not column names."""
    tokens = whole.tokens
    for index, token in enumerate(tokens):
        word = token.text.lower()
        after_dot = index > 0 and tokens[index - 1].token_type == TokenType.DOT
        if token.token_type in {TokenType.STRING, TokenType.IDENTIFIER} or after_dot:
            continue
        called = index + 1 < len(tokens) and tokens[index + 1].token_type == TokenType.L_PAREN
        line, column = place(whole.source, token.start)
        if word in NON_DETERMINISTIC and (called or token.token_type != TokenType.VAR):
            raise UnsupportedQuery(
                f"{word} is not deterministic",
                line=line,
                column=column,
                construct=word,
                choices=(
                    "a replay after a failure must give the same answer: use the tuple's columns",
                ),
            )
        if token.token_type == TokenType.OVER:
            raise UnsupportedQuery(
                "OVER (…) is not supported", line=line, column=column, construct="OVER"
            )
        is_plain_name = token.token_type == TokenType.VAR
        if word == "offset":
            is_plain_name = _word(whole, index - 2) != "limit"
        if word == "distinct" and _word(whole, index - 1) != "select":
            continue
        if word in _REFUSED and (not is_plain_name or called):
            raise UnsupportedQuery(
                f"{_REFUSED[word]} is not supported",
                line=line,
                column=column,
                construct=word.upper(),
                choices=(_SHAPE,),
            )


def _word(piece: Piece, index: int) -> str:
    """A token's text when it is a word of the language, not a quoted name."""
    if index < 0 or piece.tokens[index].token_type == TokenType.IDENTIFIER:
        return ""
    return piece.tokens[index].text.lower()


def _stream_of(clause: Piece) -> tuple[Piece, str | None]:
    for index, token in clause.outermost():
        word = token.text.lower()
        if token.token_type == TokenType.COMMA or (
            word in _JOINS and token.token_type != TokenType.IDENTIFIER and index > 0
        ):
            raise clause.part(index).error(
                "joins are not supported yet", "name one stream in FROM", kind=UnsupportedQuery
            )
    if clause.tokens[0].token_type == TokenType.L_PAREN:
        raise clause.error("FROM takes a stream's name", kind=UnsupportedQuery)
    rest = [t for t in clause.tokens[1:] if t.token_type != TokenType.ALIAS]
    if len(rest) > 1:
        raise clause.part(1).error("FROM takes one stream and at most an alias", _SHAPE)
    return clause.part(0, 1), rest[0].text if rest else None


def _items(clause: Piece, what: str) -> list[Piece]:
    items = clause.split(TokenType.COMMA)
    for item in items:
        if not item.tokens:
            raise clause.error(f"an item of {what} is empty", _SHAPE)
    return items


def _nonempty(clause: Piece | None, what: str) -> Piece | None:
    if clause is not None and not clause.tokens:
        raise clause.error(f"{what} is empty", _SHAPE)
    return clause


def _limit(clause: Piece | None) -> int | None:
    if clause is None:
        return None
    if len(clause.tokens) != 1 or not clause.text.isdigit():
        raise clause.error("LIMIT takes a whole number", kind=UnsupportedQuery)
    return int(clause.text)
