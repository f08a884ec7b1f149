"""kernels/compiled.py: sections whose classes were found apart answer together.

Every batch is ingested by a process of its own, so each has numbered the classes in its own way.
The slow twin filters, groups and aggregates plain rows, query by query.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels import sections
from headrace.kernels.answers import combined
from headrace.kernels.cells import Cells
from headrace.kernels.compact import merge_same, to_queries
from headrace.kernels.compiled import CompiledGroup
from headrace.kernels.dense import laid_together
from headrace.kernels.ingest import ingest
from headrace.query.logical import Function
from headrace.query.plan import Group
from headrace.query.predicate import And, IsNull, Not, Or, Predicate, Ranges
from headrace.types import BEGINNING
from tests.amounts import seeds

from .aggregation import call_of
from .events import CALLS, Events, Row, count_of_rows
from .shared import WINDOWS, Told, all_due, compiled, group_of, obvious, told

KINDS: list[tuple[pa.DataType, list[Any], list[Any]]] = [
    (pa.int32(), [-3, -1, 0, 2, 5], [-1, 0, 3]),
    (pa.float64(), [-math.inf, -0.0, 0.0, 0.5, math.nan], [0.0, 0.25]),
    (pa.string(), ["", "a", "b", "é"], [b"a", "é".encode()]),
]

FLOATS = (
    count_of_rows(),
    *(call_of(f, "double") for f in (Function.SUM, Function.MIN, Function.MAX)),
)


def kind_of(column: str) -> tuple[pa.DataType, list[Any], list[Any]]:
    return KINDS[int(column[1:]) % len(KINDS)]


def atom(rng: random.Random, column: str) -> Predicate:
    if rng.random() < 0.15:
        return IsNull(column)
    bounds = [None, *kind_of(column)[2]]
    found: Predicate = Ranges(column, ((rng.choice(bounds), rng.choice(bounds)),))
    return Not(found) if rng.random() < 0.2 else found


def predicate(rng: random.Random, columns: list[str]) -> Predicate:
    found = atom(rng, columns[0])
    for column in columns[1:]:
        found = rng.choice([And, Or])((found, atom(rng, column)))
    return found


def events(rng: random.Random, columns: list[str], count: int) -> Events:
    """Tuples with a value or null in each column; rows have them in their discrete order."""
    rows: list[Row] = []
    data: dict[str, list[Any]] = {name: [] for name in ("k", "x", *columns)}
    for _ in range(count):
        row: Row = {"k": rng.choice("abc"), "x": rng.choice([1, 2, -7]), "time": rng.randrange(60)}
        for name in ("k", "x"):
            data[name].append(row[name])
        for name in columns:
            value = rng.choice([*kind_of(name)[1], None])
            data[name].append(value)
            row[name] = value.encode() if isinstance(value, str) else value
        rows.append(row)
    kinds = {"k": pa.string(), "x": pa.int64()} | {n: kind_of(n)[0] for n in columns}
    table = pa.table({n: pa.array(v, kinds[n]) for n, v in data.items()})
    return Events(table, np.array([r["time"] for r in rows], dtype=np.int64), rows)


def group_over(rng: random.Random, queries: int, columns: list[str], width: int) -> Group:
    members = [
        (3 * n + 1, predicate(rng, rng.sample(columns, width)), rng.choice(WINDOWS))
        for n in range(queries)
    ]
    return group_of(members, CALLS)


def written(group: Group, batches: list[Events]) -> list[Cells]:
    """Sections from as many processes as there are batches, through their bytes."""
    out = []
    for batch in batches:
        made = ingest(compiled(group), batch.table, batch.times, BEGINNING).cells
        out += [sections.decode(sections.encode(cells)) for cells in made.values()]
    return out


def answers(group: Group, cells: list[Cells]) -> Told:
    blocks = CompiledGroup(group).blocks(cells)
    return told(combined(blocks, all_due(group.members)), CALLS)


def expected(group: Group, batches: list[Events], calls: Any = CALLS) -> Told:
    rows = [r for b in batches for r in b.rows]
    return obvious(rows, group.members, all_due(group.members), calls)


# Queries, columns, columns of one query.
SIZES = [(5, 2, 2), (12, 5, 3), (8, 9, 2), (25, 14, 3), (3, 14, 14), (2, 40, 40), (1, 40, 40)]


@pytest.mark.parametrize(("queries", "count", "width"), SIZES)
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_sections_of_different_processes_answer_as_each_query_by_itself(
    queries: int, count: int, width: int, seed: int
) -> None:
    rng = random.Random(f"{queries} {count} {seed}")
    columns = [f"c{n}" for n in range(count)]
    group = group_over(rng, queries, columns, width)
    batches = [events(rng, columns, rng.choice([3, 60, 600])) for _ in range(4)]
    assert answers(group, written(group, batches)) == expected(group, batches)


@pytest.mark.parametrize(("queries", "count", "width"), SIZES)
@pytest.mark.parametrize("seed", seeds(1, 2))
def test_they_do_so_after_they_were_merged(queries: int, count: int, width: int, seed: int) -> None:
    rng = random.Random(f"{queries} {count} {seed} merged")
    columns = [f"c{n}" for n in range(count)]
    group = group_over(rng, queries, columns, width)
    batches = [events(rng, columns, rng.choice([3, 60, 600])) for _ in range(4)]
    cells = written(group, batches)
    alike = CompiledGroup(group).alike(cells[:3])
    merged = merge_same(alike, group.windows, (), BEGINNING)  # type: ignore[arg-type]
    again = sections.decode(sections.encode(merged.narrowed()))
    assert answers(group, [again, *cells[3:]]) == expected(group, batches)


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_they_do_so_after_they_were_turned_into_queries(seed: int) -> None:
    rng = random.Random(seed)
    columns = [f"c{n}" for n in range(6)]
    group = group_over(rng, 10, columns, 2)
    batches = [events(rng, columns, 200) for _ in range(3)]
    reader = CompiledGroup(group)
    merged = merge_same(reader.alike(written(group, batches)), group.windows, (), BEGINNING)  # type: ignore[arg-type]
    turned = to_queries(merged, reader.layout_of(merged), reader.uids)
    assert turned is not None
    assert answers(group, [turned]) == expected(group, batches)


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_a_chunk_of_too_many_classes_is_kept_per_query_and_meets_the_others(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    columns = [f"c{n}" for n in range(6)]
    group = group_over(rng, 12, columns, 2)
    batches = [events(rng, columns, n) for n in (300, 4, 300, 6)]
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 12 * 20)
    monkeypatch.setattr("headrace.kernels.ingest._PAIRS", 500)
    cells = written(group, batches)
    assert [c.query_sets is None for c in cells] == [True, False, True, False]
    assert answers(group, cells) == expected(group, batches)
    alike = CompiledGroup(group).alike(cells)
    assert all(c.query_sets is None for c in alike)
    merged = merge_same(alike, group.windows, (), BEGINNING)  # type: ignore[arg-type]
    assert answers(group, [merged]) == expected(group, batches)


@pytest.mark.parametrize("seed", seeds(2, 4))
def test_sections_whose_classes_find_no_room_beside_the_others_are_read_per_query(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    columns = [f"c{n}" for n in range(6)]
    group = group_over(rng, 12, columns, 2)
    batches = [events(rng, columns, 12) for _ in range(5)]
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 12 * 14)
    cells = written(group, batches)
    reader = CompiledGroup(group)
    aligned = reader.aligned(cells)
    assert {c.query_sets is None for c in aligned} == {True, False}
    assert answers(group, cells) == expected(group, batches)


def test_a_section_tells_of_no_more_classes_than_it_has_cells() -> None:
    rng = random.Random(1)
    columns = [f"c{n}" for n in range(6)]
    plan = compiled(group_over(rng, 12, columns, 2))
    many, few = (events(rng, columns, n) for n in (600, 2))
    first = ingest(plan, many.table, many.times, BEGINNING).cells[0]
    last = ingest(plan, few.table, few.times, BEGINNING).cells[0]
    assert first.classes is not None
    assert last.classes is not None
    assert first.classes > 20
    assert last.classes <= len(last.rows) <= 2


def test_cells_that_were_aligned_stay_right_while_classes_come() -> None:
    rng = random.Random(3)
    columns = ["c0", "c1", "c2"]
    group = group_over(rng, 8, columns, 2)
    batches = [events(rng, columns, n) for n in (5, 40, 400)]
    reader = CompiledGroup(group)
    early = [c for cells in written(group, batches) for c in reader.aligned([cells])]
    assert early[0].columns < early[-1].columns
    blocks = [(c, reader.layout_of(c)) for c in early]
    found = told(combined(blocks, all_due(group.members)), CALLS)
    assert found == expected(group, batches)


@pytest.mark.parametrize("order", [(0, 1, 0), (1, 0, 1)])
@pytest.mark.parametrize("calls", [CALLS, FLOATS], ids=["whole numbers", "fractions"])
def test_dense_blocks_are_laid_together_though_one_has_more_classes(
    order: tuple[int, ...], calls: Any
) -> None:
    predicates: list[Predicate] = [
        Ranges("c0", ((-1, None),)),
        Ranges("c0", ((3, None),)),
        Ranges("c3", ((0, None),)),
    ]
    group = group_of([(n, p, WINDOWS[0]) for n, p in enumerate(predicates)], calls)
    every = events(random.Random(8), ["c0", "c3"], 4000)
    if calls is FLOATS:
        floats = every.table.column("x").cast(pa.float64())
        every = replace(every, table=every.table.set_column(1, "x", floats))
    # The same slices and keys, but nothing that the second query wants.
    rows = [r for r in every.rows if r["c0"] != 5]
    kept = every.table.filter(pa.array([r["c0"] != 5 for r in every.rows]))
    less = Events(kept, np.array([r["time"] for r in rows]), rows)
    batches = [(every, less)[n] for n in order]
    reader = CompiledGroup(group)
    aligned = reader.aligned(written(group, batches))
    assert len({c.columns for c in aligned}) == 2
    (together,) = laid_together(aligned)
    found = told(combined([(together, reader.layout_of(together))], all_due(group.members)), calls)
    assert found == expected(group, batches, calls)
