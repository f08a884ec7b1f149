"""Random queries: all that the SQL of section 3 allows, for Spark and for DuckDB.

A query keeps its clauses apart, so that the reference can put its own window join in FROM.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from tests.oracle.aggregates import Aggregate, any_call
from tests.oracle.expressions import TYPES, Sql, column, expression, predicate, wide_predicate
from tests.oracle.workload import SCHEMA, WIDE

STREAM = "events"

Kind = Literal["window", "session", "selection"]


@dataclass(frozen=True, slots=True)
class Column:
    """One result column; `exact` is False for an estimate."""

    sql: Sql
    alias: str | None = None
    exact: bool = True


@dataclass(frozen=True, slots=True)
class RandomQuery:
    """A query and the pieces it was made of. Times are in milliseconds."""

    text: str
    kind: Kind
    columns: tuple[Column, ...]
    keys: tuple[Sql, ...] = ()
    where: Sql | None = None
    having: Sql | None = None
    order: tuple[Sql, ...] = ()
    limit: int | None = None
    size_ms: int = 0
    slide_ms: int = 0
    offset_ms: int = 0

    @property
    def gap_us(self) -> int:
        """Of a session."""
        return self.size_ms * 1000

    @property
    def is_ordered(self) -> bool:
        """Whether rows of a window come in a given order; its start is then the first column."""
        return bool(self.order)


def make_query(rng: random.Random, kind: Kind | None = None) -> RandomQuery:
    """Any query."""
    kind = kind or rng.choices(("window", "session", "selection"), (7, 2, 1))[0]
    where = _where(rng)
    if kind == "selection":
        return _selection(rng, where)
    return _aggregation(rng, kind, where)


def _where(rng: random.Random) -> Sql | None:
    how = rng.random()
    if how < 0.12:
        return wide_predicate(rng, rng.sample(WIDE, rng.randint(1, len(WIDE))))
    return predicate(rng, rng.choice((0, 1, 2, 3))) if how < 0.82 else None


def _selection(rng: random.Random, where: Sql | None) -> RandomQuery:
    kinds = rng.choices(TYPES, k=rng.randint(1, 4))
    columns = [Column(Sql.same("id"))]
    columns += [Column(expression(rng, k, 2), f"c{n}") for n, k in enumerate(kinds)]
    text = f"SELECT {_listed(columns)} FROM {STREAM}"
    if rng.random() < 0.2:
        columns = [Column(Sql.same(n)) for n in SCHEMA.names]
        text = f"SELECT * FROM {STREAM}"
    if where is not None:
        text += f" WHERE {where.spark}"
    return RandomQuery(text, "selection", tuple(columns), where=where)


def _aggregation(rng: random.Random, kind: Kind, where: Sql | None) -> RandomQuery:
    size, slide, offset, window = _window(rng, kind)
    keys = _keys(rng)
    calls = [any_call(rng) for _ in range(rng.randint(1, 3))]
    word = "window" if kind == "window" else "session_window"
    having = _having(rng, calls) if rng.random() < 0.25 else None
    order, limit = (), None
    # Beside HAVING, Spark orders by result columns only: there the names of columns are used.
    named = having is not None or rng.random() < 0.3
    if rng.random() < 0.25:
        order = _order(rng, calls, keys, named=named)
        limit = rng.randint(1, 4) if order and rng.random() < 0.8 else None
    named = named and bool(order)
    start = Sql(f"{word}.start", "w_start")
    columns = [Column(start, "w_from")]
    # Without its window in SELECT a row cannot be told apart by an order within the window.
    if not order and rng.random() < 0.3:
        columns = []
    if rng.random() < 0.4:
        columns.append(Column(Sql(f"{word}.end", "w_end"), rng.choice((None, "w_upto"))))
    if rng.random() < 0.2:
        columns.append(Column(Sql(word, "{'start': w_start, 'end': w_end}"), None))
    for number, key in enumerate(keys):
        if named or rng.random() < 0.85:
            columns.append(Column(key, f"key{number}" if named or rng.random() < 0.7 else None))
    for number, call in enumerate(calls):
        alias = f"v{number}" if named or rng.random() < 0.8 else None
        columns.append(Column(call.sql, alias, call.exact))
    if rng.random() < 0.15:
        rng.shuffle(columns)
        columns = _start_first(columns, start) if order else columns
    group = _group_text(rng, window, keys, columns)
    text = f"SELECT {_listed(columns)} FROM {STREAM}"
    if where is not None:
        text += f" WHERE {where.spark}"
    text += f" GROUP BY {group}"
    if having is not None:
        text += f" HAVING {having.spark}"
    if order:
        text += f" ORDER BY {', '.join(o.spark for o in order)}"
    if limit is not None:
        text += f" LIMIT {limit}"
    return RandomQuery(
        text, kind, tuple(columns), keys, where, having, order, limit, size, slide, offset
    )


def _start_first(columns: list[Column], start: Sql) -> list[Column]:
    return sorted(columns, key=lambda c: c.sql != start)


def _listed(columns: list[Column]) -> str:
    return ", ".join(c.sql.spark + (f" AS {c.alias}" if c.alias else "") for c in columns)


def _window(rng: random.Random, kind: Kind) -> tuple[int, int, int, str]:
    if kind == "session":
        gap = rng.choice((250, 500, 1000, 2000, 3500))
        return gap, gap, 0, f"session_window(time, '{gap} milliseconds')"
    size = rng.choice((1000, 2000, 3000, 4000, 5000, 7000, 10000, 12000))
    if rng.random() < 0.45:
        return size, size, 0, f"window(time, '{size // 1000} seconds')"
    slide = rng.choice([s for s in (500, 1000, 1500, 2000, 3000, 4000) if s <= size])
    if rng.random() < 0.6:
        return size, slide, 0, f"window(time, '{size} milliseconds', '{slide} milliseconds')"
    offset = rng.choice([o for o in (-250, 250, 500, 700, 1000) if abs(o) < slide])
    durations = ", ".join(f"'{ms} milliseconds'" for ms in (size, slide, offset))
    return size, slide, offset, f"window(time, {durations})"


def _keys(rng: random.Random) -> tuple[Sql, ...]:
    found: list[Sql] = []
    for _ in range(rng.choices((0, 1, 2, 3), (2, 5, 3, 1))[0]):
        kind = rng.choice(("string", "string", "int", "boolean", "date", "decimal"))
        key = column(rng, kind) if rng.random() < 0.6 else expression(rng, kind, 1)
        if key not in found:
            found.append(key)
    return tuple(found)


def _group_text(
    rng: random.Random, window: str, keys: tuple[Sql, ...], columns: list[Column]
) -> str:
    """GROUP BY items: written out, by alias, or by number."""
    items = []
    for key in keys:
        place = next((n for n, c in enumerate(columns) if c.sql == key), None)
        how = rng.random()
        if place is not None and how < 0.15:
            items.append(str(place + 1))
        elif place is not None and how < 0.3 and columns[place].alias:
            items.append(str(columns[place].alias))
        else:
            items.append(key.spark)
    items.insert(rng.randint(0, len(items)), window)
    return ", ".join(items)


def _having(rng: random.Random, calls: list[Aggregate]) -> Sql:
    forms = [
        Sql.same("COUNT(*) > 2"),
        Sql.same("COUNT(*) BETWEEN 2 AND 9"),
        Sql.same("SUM(i) > 10 OR MAX(k) IS NULL"),
        Sql.same("MIN(x) < 0 AND COUNT(d) > 1"),
        Sql.same("NOT (MAX(i) = 40)"),
    ]
    counted = [c for c in calls if c.kind == "count"]
    if counted:
        forms.append(Sql.of("{0} >= 2", counted[0].sql))
    return rng.choice(forms)


def _order(
    rng: random.Random, calls: list[Aggregate], keys: tuple[Sql, ...], *, named: bool
) -> tuple[Sql, ...]:
    """A total order: some aggregate, then every key; DuckDB is told where Spark puts nulls."""
    by: list[Sql] = []
    for number, call in enumerate(calls):
        if call.kind == "count":
            by.append(Sql(f"v{number}", call.sql.duck) if named else call.sql)
    if not by and not named:
        by.append(Sql.same(rng.choice(("COUNT(*)", "SUM(i)", "MAX(day)"))))
    by += [Sql(f"key{n}", k.duck) if named else k for n, k in enumerate(keys)]
    items = []
    for one in by:
        word, nulls = rng.choice(
            (("", "NULLS FIRST"), ("DESC", "NULLS LAST"), ("ASC", "NULLS LAST"))
        )
        shown = nulls if (word, nulls) == ("ASC", "NULLS LAST") or rng.random() < 0.2 else ""
        spark = " ".join(w for w in (one.spark, word, shown) if w)
        items.append(Sql(spark, f"{one.duck} {word} {nulls}"))
    return tuple(items)
