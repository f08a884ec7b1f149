"""kernels/sections.py: cells survive being bytes, whatever they hold."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.cells import Cells, merge_cells, reduce_cells
from headrace.kernels.finish import finish
from headrace.kernels.keys import encode_keys
from headrace.kernels.sections import decode, encode
from headrace.kernels.states import Partials, lift
from headrace.query.logical import AggregateCall, Function
from headrace.query.needs import need_of
from headrace.query.plan import ROWS

from .aggregation import NUMBERS, TYPES, call_of, random_values, same


def calls_of(type_: str) -> list[AggregateCall]:
    functions = [Function.COUNT, Function.MIN, Function.FIRST, Function.LAST]
    if type_ != "double":  # a NaN warns in MAX; see test_states
        functions.append(Function.MAX)
    if type_ in NUMBERS:
        functions.append(Function.SUM)
    calls = [call_of(f, type_) for f in functions]
    calls.append(call_of(Function.LAST, type_, ignore_nulls=True))
    if type_ == "double":
        calls.append(call_of(Function.VAR_POP, type_))
    return calls


def made(type_: str, nulls: float, *, dense: bool, seed: int = 0) -> Cells:
    rng = random.Random(f"{type_}{nulls}{dense}{seed}")
    rows = 200 if dense else 12
    column = pa.array(random_values(rng, type_, rows, nulls), TYPES[type_][0])
    if type_ == "double":  # without NaN, so that LAST does not warn either
        column = pa.array([None if v is None else float(v) for v in rng.choices([1, None], k=rows)])
    times = np.array([rng.randint(-5, 5) for _ in range(rows)])
    keys = [pa.array(rng.choices(["a", "b", None], k=rows)), pa.array(rng.choices([1, 2], k=rows))]
    partials = [need_of(c).partial for c in calls_of(type_)]
    states = [lift(p, column, times) for p in partials if p is not None]
    slices = 2 if dense else 40
    return reduce_cells(
        (np.array(rng.choices(range(slices), k=rows)), np.arange(slices) * 10 - 100),
        (np.array(rng.choices(range(3), k=rows)), 3),
        encode_keys(keys, rows),
        Partials([lift(ROWS, None, times), *states]),
    )


def values(cells: Cells, type_: str) -> list[list[Any]]:
    sparse = cells.sparse()
    return [
        finish(call, state, sparse.rows, time_zone="UTC", ansi=True).to_pylist()
        for call, state in zip(calls_of(type_), sparse.states[1:], strict=True)
    ]


def assert_same(one: Cells, other: Cells, type_: str) -> None:
    assert one.is_dense == other.is_dense
    assert one.slices.tolist() == other.slices.tolist()
    assert one.columns == other.columns
    assert one.rows.tolist() == other.rows.tolist()
    assert one.key_groups.tolist() == other.key_groups.tolist()
    assert one.keys.equals(other.keys)
    assert [s.partial for s in one.states] == [s.partial for s in other.states]
    for a, b in zip(one.coordinates, other.coordinates, strict=True):
        assert a.tolist() == b.tolist()
    for found, wanted in zip(values(one, type_), values(other, type_), strict=True):
        assert all(same(f, w) for f, w in zip(found, wanted, strict=True))


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
@pytest.mark.parametrize("nulls", [0.0, 0.5, 1.0], ids=["no nulls", "nulls", "only nulls"])
def test_a_section_decodes_to_the_cells_it_was_made_from(
    type_: str, dense: bool, nulls: float
) -> None:
    cells = made(type_, nulls, dense=dense)
    assert cells.is_dense is dense
    again = decode(encode(cells))
    assert_same(again, cells, type_)
    assert_same(decode(encode(again)), cells, type_)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("seed", range(2))
def test_decoded_sections_merge_like_the_cells_in_memory(type_: str, seed: int) -> None:
    blocks = [made(type_, nulls, dense=d, seed=seed) for nulls, d in [(0.5, True), (0.0, False)]]
    plain = merge_cells(blocks)
    decoded = merge_cells([decode(encode(b)) for b in blocks])
    assert_same(decoded, plain, type_)


@pytest.mark.parametrize("dense", [True, False], ids=["dense", "sparse"])
def test_a_section_tells_what_its_columns_stand_for(dense: bool) -> None:
    sets = np.array([[n >> b & 1 for b in range(11)] for n in (1, 5, 2047)], dtype=bool)
    cells = replace(made("int", 0.2, dense=dense), query_sets=sets)
    again = decode(encode(cells), (0, 20))
    assert again.query_sets is not None
    assert again.query_sets.tolist() == sets.tolist()
    assert decode(encode(made("int", 0.2, dense=dense))).query_sets is None


def test_a_section_may_be_read_from_a_buffer_without_copying() -> None:
    cells = made("int", 0.2, dense=True)
    assert_same(decode(pa.py_buffer(encode(cells))), cells, "int")


def test_numbers_beyond_32_bits_keep_their_width_and_small_ones_need_fewer_bytes() -> None:
    small, wide = made("int", 0.0, dense=True), made("bigint", 0.0, dense=True)
    assert decode(encode(wide)).states[2].parts["v"].tolist() == wide.states[2].parts["v"].tolist()
    assert decode(encode(small)).rows.dtype == np.int8
    assert len(encode(small)) < len(encode(wide))


def test_the_part_of_some_key_groups_survives_too() -> None:
    cells = made("string", 0.3, dense=False)
    middle = int(cells.key_groups[len(cells.key_groups) // 2])
    for part in (cells.of_key_groups(0, middle), cells.of_key_groups(middle, 64)):
        assert_same(decode(encode(part)), part, "string")
    nothing = cells.of_key_groups(middle, middle)
    assert decode(encode(nothing)).keys.num_rows == 0
