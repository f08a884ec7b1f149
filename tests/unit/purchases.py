"""Random purchases, the plan of many SQL queries over them, and what each query alone would say."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels import sections
from headrace.kernels.answers import Result, Setting
from headrace.kernels.blocks import Block
from headrace.kernels.cells import Cells
from headrace.kernels.columns import Ints
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.ingest import ingest
from headrace.kernels.keys import KEY_GROUPS
from headrace.kernels.shapes import Asked, asked_of
from headrace.optimizer import share
from headrace.query.arrow import arrow_type
from headrace.query.logical import LogicalQuery
from headrace.query.plan import derived_name
from headrace.registry.changelog import ActiveQuery
from headrace.types import BEGINNING, QueryUid, Version

from .aggregation import EPOCH, expected
from .analyzer import PURCHASES, read
from .hll import hash_of, tables
from .naive import discrete, truth

SETTING = Setting("UTC", ansi=True, hll=tables())
HASHED = {
    derived_name(f"CASE WHEN (`{c.name}`) IS NOT NULL THEN xxhash64(`{c.name}`) END"): c.name
    for c in PURCHASES.columns
}
"""Columns that Spark would compute for sketches."""
Row = dict[str, Any]


def random_purchases(rng: random.Random, rows: int, *, high: int = 60) -> list[Row]:
    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.15 else value

    return [
        {
            "user_id": maybe(rng.randrange(6)),
            "gem_pack": maybe(rng.choice(["a", "b", "ä"])),
            "price": maybe(rng.randrange(12)),
            "amount": maybe(Decimal(rng.randrange(-500, 500)) / 100),
            "weight": maybe(rng.choice([0.5, 1.25, -2.0, 0.0])),
            "ratio": maybe(rng.choice([0.5, 1.25])),
            "paid": maybe(rng.random() < 0.5),
            "day": maybe(dt.date(2024, 1, rng.randint(1, 4))),
            "time": EPOCH + dt.timedelta(microseconds=rng.randrange(high)),
            "local": None,
            "tags": None,
            "start": maybe(rng.choice("xy")),
            "total": maybe(Decimal(rng.choice([-1, 1, 7]) * 10**20) / 100),
        }
        for _ in range(rows)
    ]


def table_of(rows: Sequence[Row]) -> tuple[pa.Table, Ints]:
    schema = pa.schema([(c.name, arrow_type(c.type)) for c in PURCHASES.columns])
    times = np.array([discrete(r["time"]) for r in rows], dtype=np.int64)
    table = pa.Table.from_pylist(list(rows), schema=schema)
    for name, column in HASHED.items():
        values = [r[column] for r in rows]
        hashes = [None if v is None else hash_of(v) for v in values]
        table = table.append_column(name, pa.array(hashes, pa.int64()))
    return table, times


def active(texts: Sequence[str], since: Sequence[int] = ()) -> list[ActiveQuery]:
    """The queries of some SQL texts, with uids that are not positions."""
    return [
        ActiveQuery(QueryUid(10 * n + 3), f"q{n}", n, read(sql), since[n] if since else BEGINNING)
        for n, sql in enumerate(texts)
    ]


def planned(queries: Sequence[ActiveQuery]) -> CompiledPlan:
    return CompiledPlan(share(Version(1), PURCHASES, queries, rows_in_jvm=False))


def asked(queries: Sequence[ActiveQuery]) -> dict[int, Asked]:
    return asked_of({int(q.uid): q.logical for q in queries})


def blocks_of(
    plan: CompiledPlan,
    batches: Iterable[Sequence[Row]],
    key_groups: tuple[int, int] = (0, KEY_GROUPS),
) -> dict[tuple[tuple[str, ...], str | None, int | None], list[Block]]:
    """Ingested batches, through the bytes that are stored between the two halves; or the part of
    them that one of several tasks reads."""
    read: dict[int, list[Cells]] = {}
    for rows in batches:
        table, times = table_of(rows)
        for number, cells in ingest(plan, table, times, BEGINNING).cells.items():
            kept = sections.decode(sections.encode(cells), key_groups)
            read.setdefault(number, []).append(kept)
    found: dict[Any, list[Block]] = {}
    for number, some in read.items():
        group = plan.groups[number].group
        place = (group.keys, group.value, group.sketch)
        found.setdefault(place, []).extend(plan.groups[number].blocks(some))
    return found


def alone(query: LogicalQuery, rows: Sequence[Row]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Keys and aggregates of one query over tuples already cut to a window."""
    by_key: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        if truth(query.where, {k: discrete(v) for k, v in row.items()}) is True:
            key = tuple(row[k.column] for k in query.keys if k.column is not None)
            by_key.setdefault(key, []).append(row)
    return {key: aggregates(query, some) for key, some in by_key.items()}


def aggregates(query: LogicalQuery, rows: Sequence[Row]) -> tuple[Any, ...]:
    return tuple(
        len(rows)
        if call.argument is None
        else expected(call, [(discrete(r["time"]), r[call.argument.column or ""]) for r in rows])
        for call in query.aggregates
    )


def told(results: Iterable[Any], queries: Sequence[ActiveQuery]) -> dict[tuple[Any, ...], Any]:
    """Result tables as (uid, start, end, key) → aggregates."""
    by_uid = {int(q.uid): q.logical for q in queries}
    out: dict[tuple[Any, ...], Any] = {}
    for result in results:
        assert isinstance(result, Result), result
        for row in result.table.to_pylist():
            query = by_uid[row["_q"]]
            key = tuple(row[f"k{n}"] for n in range(len(query.keys)))
            place = (row["_q"], row["_start"], row["_end"], key)
            assert place not in out, "the same row twice"
            out[place] = tuple(row[f"a{n}"] for n in range(len(query.aggregates)))
    return out
