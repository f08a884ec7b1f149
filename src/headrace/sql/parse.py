"""`parse`: one statement to a typed `LogicalQuery`, or a QueryError that names the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import Token, TokenType, exp

from headrace.errors import QueryError, UnsupportedQuery, near
from headrace.query.logical import (
    AggregateCall,
    Expression,
    Function,
    LogicalQuery,
    OrderItem,
    Output,
    Parameter,
)
from headrace.query.predicate import Always, Predicate, truths_of
from headrace.query.schema import Column, StreamSchema, decimal_of, quoted
from headrace.query.window import SessionWindow, Window
from headrace.sql.aggregates import FoundAggregate, find_aggregates
from headrace.sql.analyzer import Analyzer
from headrace.sql.approx import check_bounded, read_accuracy, with_bounds
from headrace.sql.clauses import Clauses, split_clauses
from headrace.sql.combinations import combination_sql
from headrace.sql.parameters import neutral, parametrised
from headrace.sql.predicates import may_raise, parsed, read_predicate
from headrace.sql.rewrite import Rewriter
from headrace.sql.text import Piece, tokenize
from headrace.sql.windows import is_window_call, read_window

_NUMERIC = {"tinyint", "smallint", "int", "bigint", "float", "double"}
_TIMES = {"date", "timestamp", "timestamp_ntz"}
_KEYABLE = _NUMERIC | _TIMES | {"boolean", "string", "binary"}
_MOMENTS = {Function.VAR_SAMP, Function.VAR_POP, Function.STDDEV_SAMP, Function.STDDEV_POP}
_POINTS = {Function.KMEANS, Function.KMEANS_COST}
_NEEDS_NUMBER = _MOMENTS | {Function.SUM, Function.AVG, Function.PERCENTILE_APPROX}
_DIRECTIONS = {"asc", "desc", "nulls", "first", "last"}
_NAME = re.compile(r"\s*(?:[A-Za-z_][A-Za-z_0-9]*|`[^`]+`)\s*")


def parse(text: str, streams: Mapping[str, StreamSchema], analyzer: Analyzer) -> LogicalQuery:
    """Read one query over the declared streams; nothing is run."""
    clauses = split_clauses(text)
    name = clauses.stream.text.strip("`")
    by_folded = {s.lower(): s for s in streams}
    if name.lower() not in by_folded:
        raise clauses.stream.error(f"there is no stream {name!r}", *near(name, streams))
    stream = streams[by_folded[name.lower()]]
    return _Reader(text, clauses, stream, analyzer).read()


@dataclass(frozen=True, slots=True)
class _Item:
    """A SELECT item: its expression without the alias."""

    piece: Piece
    alias: str | None

    @property
    def is_star(self) -> bool:
        return self.piece.text.endswith("*") and len(self.piece.tokens) in (1, 3)

    @property
    def suffix(self) -> str:
        return f" AS {quoted(self.alias)}" if self.alias is not None else ""


class _Reader:
    """Working state while one statement is read."""

    def __init__(
        self, text: str, clauses: Clauses, stream: StreamSchema, analyzer: Analyzer
    ) -> None:
        self.text = text
        self.clauses = clauses
        self.stream = stream
        self.analyzer = analyzer
        qualifiers = {stream.name.lower(), (clauses.alias or stream.name).lower()}
        self.rewriter = Rewriter(frozenset(qualifiers))
        self.items = [_item(p) for p in clauses.select]
        self.window: Window | None = None
        self.predicate: Predicate = Always()
        self.where_sql: str | None = None

    def read(self) -> LogicalQuery:
        hint = self.clauses.hint
        accuracy = None if hint is None else read_accuracy(self.text, hint)
        self._read_group()
        self._check_names()
        self._read_where()
        query = self._selection() if self.window is None else self._aggregation()
        if hint is None:
            return query
        finished = self.clauses.having or next(iter(self.clauses.order), None)
        if finished is not None or query.limit is not None:
            raise (finished or self.clauses.select[0]).error(
                "HAVING, ORDER BY and LIMIT choose by values that are not known yet under APPROX",
                "leave them out, or the hint",
                kind=UnsupportedQuery,
            )
        at = Piece(self.text, (hint,))
        check_bounded(at, query.window, query.aggregates, query.outputs)
        return replace(query, outputs=with_bounds(query.outputs), accuracy=accuracy)

    # -- reading the clauses ------------------------------------------------------------------

    def _read_group(self) -> None:
        keys: list[Piece] = []
        for piece in self.clauses.group:
            target = self._group_target(piece)
            if not is_window_call(target):
                if target.text.lower() in {"window", "session_window"}:
                    continue
                words = self.rewriter.words(target)
                if all(words != self.rewriter.words(k) for k in keys):
                    keys.append(target)
                continue
            if self.window is not None:
                raise piece.error("a query has one window", kind=UnsupportedQuery)
            end = target.close_of(1) + 1
            call = target.part(0, end)
            self.window = read_window(call, self.stream, self.rewriter.on_stream)
            rest = [t for t in target.tokens[end:] if t.token_type != TokenType.ALIAS]
            self.rewriter.window_words = call.words
            self.rewriter.window_alias = rest[0].text if rest else None
            if isinstance(self.window, SessionWindow):
                self.rewriter.window_column = "session_window"
        self.rewriter.keys = keys

    def _group_target(self, piece: Piece) -> Piece:
        """What a GROUP BY item stands for: itself, or the SELECT item it numbers or names."""
        while piece.tokens[0].token_type == TokenType.L_PAREN and (
            piece.close_of(0) == len(piece.tokens) - 1 > 1
        ):
            piece = piece.part(1, -1)
        if piece.text.isdigit():
            position = int(piece.text)
            if not 1 <= position <= len(self.items):
                raise piece.error(f"GROUP BY {position} names no item of SELECT")
            return self.items[position - 1].piece
        if len(piece.tokens) == 1 and self.stream.find(piece.tokens[0].text) is None:
            alias = piece.tokens[0].text.lower()
            return next(
                (i.piece for i in self.items if i.alias and i.alias.lower() == alias), piece
            )
        return piece

    def _check_names(self) -> None:
        """Unknown columns and misplaced aggregates, each with its place."""
        aliases = {i.alias.lower(): i.piece for i in self.items if i.alias}
        self.rewriter.aliases = aliases
        clauses = self.clauses
        over_results = [*clauses.order, *([clauses.having] if clauses.having else [])]
        over_stream = [i.piece for i in self.items if not i.is_star]
        over_stream += self.rewriter.keys
        if clauses.where is not None:
            over_stream.append(clauses.where)
            if misplaced := find_aggregates(clauses.where):
                raise misplaced[0].piece.error("an aggregate may not be in WHERE", "use HAVING")
        for piece in over_stream:
            self._check_columns(piece, frozenset())
        for piece in over_results:
            self._check_columns(piece, frozenset(aliases))
        for piece in [*over_stream, *over_results]:
            if piece is not clauses.where:
                self.rewriter.note(piece)

    def _check_columns(self, piece: Piece, aliases: frozenset[str]) -> None:
        window_names = {"window", "session_window"} if self.window is not None else set()
        if self.rewriter.window_alias is not None:
            window_names.add(self.rewriter.window_alias.lower())
        known = aliases | window_names | self.rewriter.qualifiers
        tree = parsed(_readable(piece))
        names: set[str] = set()
        for column in tree.find_all(exp.Column) if tree is not None else ():
            names |= {part.name for part in column.parts}
        for index, token in enumerate(piece.tokens):
            if token.text not in names or token.token_type == TokenType.STRING:
                continue
            if index + 1 < len(piece.tokens):
                following = piece.tokens[index + 1].token_type
                if following == TokenType.L_PAREN:
                    continue
            before = piece.tokens[index - 1].token_type if index else None
            qualified = before == TokenType.DOT
            if qualified and piece.tokens[index - 2].text.lower() not in self.rewriter.qualifiers:
                continue
            if token.text.lower() in known or self.stream.find(token.text) is not None:
                continue
            raise piece.part(index, index + 1).error(
                f"stream {self.stream.name!r} has no column {token.text!r}",
                *near(token.text, [c.name for c in self.stream.columns]),
            )

    def _read_where(self) -> None:
        where = self.clauses.where
        if where is None:
            return
        self.where_sql = self.rewriter.on_stream(where)
        self.predicate = read_predicate(where, self.stream, self.analyzer, self.rewriter.on_stream)
        truths = truths_of(self.predicate)
        if truths:
            joined = " AND ".join(f"({t})" for t in sorted(truths))
            self._analyzed(f"SELECT 1 FROM {self._from} WHERE {joined}")

    @property
    def _from(self) -> str:
        return quoted(self.stream.name)

    # -- the two kinds of query ---------------------------------------------------------------

    def _selection(self) -> LogicalQuery:
        self._refuse_ungrouped()
        bodies: list[str] = []
        shown: list[str] = []
        for item in self.items:
            if item.is_star:
                columns = [quoted(c.name) for c in self.stream.columns]
                bodies += columns
                shown += columns
            else:
                bodies.append(self.rewriter.on_stream(item.piece))
                shown.append(bodies[-1] + item.suffix)
        types = self._analyzed(f"SELECT {', '.join(shown)} FROM {self._from}")
        return LogicalQuery(
            text=self.text,
            stream=self.stream.name,
            where=self.predicate,
            where_sql=self.where_sql,
            selected=tuple(
                self._expression(body, column.type)
                for body, column in zip(bodies, types, strict=True)
            ),
            outputs=tuple(Output(c.name, c.type, "key", n) for n, c in enumerate(types)),
        )

    def _refuse_ungrouped(self) -> None:
        clauses, found = self.clauses, self.rewriter.aggregates
        misplaced = found[0].piece if found else clauses.having
        if misplaced is None and clauses.group:
            misplaced = clauses.group[0]
        if misplaced is not None:
            raise misplaced.error(
                "there is no event-time window around this aggregate",
                f"add GROUP BY window({self.stream.event_time}, '10 seconds')",
                kind=UnsupportedQuery,
            )
        for item in self.items:
            for index in range(len(item.piece.tokens)):
                if is_window_call(item.piece.part(index)):
                    raise item.piece.part(index).error(
                        "a window is used in SELECT but the query is not grouped by it",
                        "add it to GROUP BY",
                        kind=UnsupportedQuery,
                    )
        if clauses.order or clauses.limit is not None:
            at = clauses.order[0] if clauses.order else clauses.select[-1]
            raise at.error(
                "ORDER BY and LIMIT work within each window; a selection has none",
                kind=UnsupportedQuery,
            )

    def _aggregation(self) -> LogicalQuery:
        rewriter, clauses = self.rewriter, self.clauses
        star = next((i for i in self.items if i.is_star), None)
        if star is not None:
            raise star.piece.error("SELECT * cannot stand beside GROUP BY", kind=UnsupportedQuery)
        key_sql = [rewriter.on_stream(k) for k in rewriter.keys]
        keys_at = len(self.items)
        calls_at = keys_at + len(key_sql)
        types = self._analyzed(self._typing_statement(key_sql))
        keys = self._keys(key_sql, types[keys_at:calls_at])
        rewriter.key_names = [
            k.column if k.column is not None else f"_k{n}" for n, k in enumerate(keys)
        ]
        having, parameters = None, tuple[Parameter, ...]()
        if clauses.having is not None:
            having, parameters = parametrised(
                rewriter.on_results(clauses.having, with_aliases=True)
            )
        return LogicalQuery(
            text=self.text,
            stream=self.stream.name,
            where=self.predicate,
            where_sql=self.where_sql,
            window=self.window,
            keys=keys,
            key_names=tuple(rewriter.key_names),
            aggregates=self._calls(types[calls_at:]),
            outputs=tuple(
                self._output(item, column)
                for item, column in zip(self.items, types[:keys_at], strict=True)
            ),
            having=having,
            parameters=parameters,
            order_by=tuple(OrderItem(self._order(p)) for p in clauses.order),
            limit=clauses.limit,
        )

    def _typing_statement(self, key_sql: list[str]) -> str:
        """A statement whose result columns are the items, then the keys, then the aggregates.

        It leaves out WHERE and the window's real size, so that queries which differ only in
        constants are analysed once.
        """
        rewriter, clauses = self.rewriter, self.clauses
        listed = [rewriter.on_stream(i.piece) + i.suffix for i in self.items]
        listed += [f"{k} AS _k{n}" for n, k in enumerate(key_sql)]
        listed += [
            f"{rewriter.on_stream(a.piece)} AS _a{n}" for n, a in enumerate(rewriter.aggregates)
        ]
        window = f"{rewriter.window_column}({quoted(self.stream.event_time)}, '1 second')"
        grouped = ", ".join([window, *key_sql])
        statement = f"SELECT {', '.join(listed)} FROM {self._from} GROUP BY {grouped}"
        if clauses.having is not None:
            statement += f" HAVING {neutral(rewriter.on_stream(clauses.having))}"
        if clauses.order:
            statement += f" ORDER BY {', '.join(rewriter.on_stream(p) for p in clauses.order)}"
        return statement

    def _keys(self, key_sql: list[str], types: tuple[Column, ...]) -> tuple[Expression, ...]:
        for piece, column in zip(self.rewriter.keys, types, strict=True):
            if column.type not in _KEYABLE and decimal_of(column.type) is None:
                raise piece.error(
                    f"GROUP BY a value of type {column.type} is not supported",
                    f"types: {', '.join(sorted(_KEYABLE))}, decimal",
                    kind=UnsupportedQuery,
                )
        return tuple(
            self._expression(sql, column.type) for sql, column in zip(key_sql, types, strict=True)
        )

    def _calls(self, types: tuple[Column, ...]) -> tuple[AggregateCall, ...]:
        found = self.rewriter.aggregates
        bodies = [self._argument_sql(f) for f in found]
        others = [[self.rewriter.on_stream(_piece(c)) for c in f.coordinates] for f in found]
        every = [b for body, more in zip(bodies, others, strict=True) for b in (body, *more)]
        listed = [f"{b} AS _c{n}" for n, b in enumerate(every) if b is not None]
        inputs = iter(
            self._analyzed(f"SELECT {', '.join(listed)} FROM {self._from}") if listed else ()
        )
        return tuple(
            AggregateCall(
                function=f.function,
                argument=self._argument(f, body, next(inputs).type) if body is not None else None,
                result_type=result.type,
                percentages=f.percentages,
                single_percentage=f.single_percentage,
                relative_sd=f.relative_sd,
                ignore_nulls=f.ignore_nulls,
                condition=self._condition(f),
                clusters=f.clusters,
                coordinates=tuple(self._argument(f, c, next(inputs).type) for c in more),
            )
            for f, body, more, result in zip(found, bodies, others, types, strict=True)
        )

    def _condition(self, found: FoundAggregate) -> Expression | None:
        """FIRST and LAST tell a null inside their FILTER from a tuple outside it."""
        if found.condition is None or found.function not in (Function.FIRST, Function.LAST):
            return None
        sql = self.rewriter.on_stream(_piece(found.condition))
        return self._expression(f"({sql})", "boolean")

    def _argument_sql(self, found: FoundAggregate) -> str | None:
        body = self._combination_sql(found) if found.combined else found.argument
        timed = found.function in (Function.FIRST, Function.LAST)
        plain = timed and body is not None and _NAME.fullmatch(body)
        if found.condition is not None and not plain:
            body = f"CASE WHEN {found.condition} THEN {'1' if body is None else body} END"
        if body is None:
            return None
        return self.rewriter.on_stream(_piece(body))

    def _combination_sql(self, found: FoundAggregate) -> str:
        parts = [p for p in (found.argument, *found.combined) if p is not None]
        listed = [f"{self.rewriter.on_stream(_piece(p))} AS _c{n}" for n, p in enumerate(parts)]
        types = self._analyzed(f"SELECT {', '.join(listed)} FROM {self._from}")
        for part, column in zip(parts, types, strict=True):
            if column.type not in _KEYABLE and decimal_of(column.type) is None:
                raise found.piece.error(
                    f"COUNT(DISTINCT …) of {part}, a {column.type}, is not supported",
                    kind=UnsupportedQuery,
                )
        return combination_sql(parts, [c.type for c in types])

    def _argument(self, found: FoundAggregate, body: str, type_: str) -> Expression:
        numeric = type_ in _NUMERIC or decimal_of(type_) is not None
        sortable = found.function is Function.PERCENTILE_APPROX and type_ in _TIMES
        supported = type_ in _KEYABLE or numeric
        if found.function in _NEEDS_NUMBER:
            supported = numeric or sortable or type_ == "string"
        if found.function in _POINTS:
            supported = numeric
        if not supported:
            raise found.piece.error(
                f"{found.function} over the type {type_} is not supported", kind=UnsupportedQuery
            )
        needs_double = found.function in _NEEDS_NUMBER and type_ == "string"
        if needs_double or (found.function in _MOMENTS and type_ != "double"):
            body, type_ = f"CAST({body} AS DOUBLE)", "double"
        return self._expression(body, type_)

    def _output(self, item: _Item, column: Column) -> Output:
        """Take the result column as it is where the item is just that; else Spark computes it."""
        rewriter = self.rewriter
        sql = rewriter.on_results(item.piece)
        plain = sql.replace("`", "").replace(" ", "").lower()
        window = rewriter.window_column
        if match := re.fullmatch(r"_a(\d+)", sql.strip()):
            return Output(column.name, column.type, "aggregate", int(match.group(1)))
        for number, name in enumerate(rewriter.key_names):
            if sql.strip() == quoted(name):
                return Output(column.name, column.type, "key", number)
        if plain == window:
            return Output(column.name, column.type, "window")
        if plain == f"{window}.start":
            return Output(column.name, column.type, "window_start")
        if plain == f"{window}.end":
            return Output(column.name, column.type, "window_end")
        return Output(column.name, column.type, "computed", sql=sql)

    def _order(self, piece: Piece) -> str:
        first = piece.tokens[0].text
        direction = {word for t in piece.tokens[1:] for word in t.text.lower().split()}
        if first.isdigit() and direction <= _DIRECTIONS:
            position = int(first)
            if not 1 <= position <= len(self.items):
                raise piece.error(f"ORDER BY {position} names no item of SELECT")
            item = self.rewriter.on_results(self.items[position - 1].piece)
            return f"({item}) {piece.part(1).text}".strip()
        return self.rewriter.on_results(piece, with_aliases=True)

    # -- expressions and analysis -------------------------------------------------------------

    def _expression(self, sql: str, type_: str) -> Expression:
        column = self.stream.find(sql.strip().strip("`")) if _NAME.fullmatch(sql) else None
        if column is not None:
            return Expression(quoted(column.name), type_, column.name)
        risky = may_raise(parsed(sql), self.stream, ansi=self.analyzer.ansi)
        return Expression(sql, type_, None, self.where_sql if risky else None)

    def _analyzed(self, statement: str) -> tuple[Column, ...]:
        try:
            return self.analyzer.columns(self.stream, statement)
        except QueryError as error:
            self._reanalyze(error)
            raise

    def _reanalyze(self, first: QueryError) -> None:
        """Ask Spark again about the user's own text: then its places are the user's places."""
        try:
            self.analyzer.columns(self.stream, self.text)
        except QueryError as error:
            raise error from first


def _piece(text: str) -> Piece:
    return Piece(text, tokenize(text))


def _readable(piece: Piece) -> str:
    """The piece for sqlglot's parser, which reads the word `window` as a keyword."""
    return piece.edited(
        (n, n + 1, quoted(t.text))
        for n, t in enumerate(piece.tokens)
        if t.token_type == TokenType.WINDOW
    )


def _item(piece: Piece) -> _Item:
    """Split an item into expression and alias, which may come without AS."""
    tokens = piece.tokens
    for index, token in piece.outermost():
        if token.token_type == TokenType.ALIAS and index > 0:
            if index != len(tokens) - 2:
                raise piece.part(index).error("AS takes one name")
            return _Item(piece.part(0, index), tokens[index + 1].text)
    if len(tokens) > 1 and _may_be_alias(tokens[-1]) and _ends_value(tokens[:-1]):
        return _Item(piece.part(0, len(tokens) - 1), tokens[-1].text)
    return _Item(piece, None)


_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_NO_ALIAS = {"null", "true", "false", "end", "nulls"}
_OPERATORS = set(
    """and or not in is like ilike rlike regexp between case when then else div distinct select
    interval escape as from collate exists any all some""".split()
)


def _may_be_alias(token: Token) -> bool:
    if token.token_type == TokenType.IDENTIFIER:
        return True
    is_word = _WORD.fullmatch(token.text) and "STRING" not in token.token_type.name
    return bool(is_word) and token.text.lower() not in _NO_ALIAS


def _ends_value(tokens: tuple[Token, ...]) -> bool:
    """Whether an expression may end here, so that a word after it is its alias."""
    last = tokens[-1]
    if len(tokens) > 1 and tokens[-2].token_type == TokenType.INTERVAL:
        return False
    if last.token_type in {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.NUMBER}:
        return True
    if last.token_type == TokenType.IDENTIFIER or "STRING" in last.token_type.name:
        return True
    return bool(_WORD.fullmatch(last.text)) and last.text.lower() not in _OPERATORS
