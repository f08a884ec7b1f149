"""kernels/columns.py: Arrow columns as numbers or ranks in their own order, and back again."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.columns import Values, concat_values, flat, is_ranked, to_arrow, values_of

from .aggregation import TYPES, order, random_values, same


def column(type_: str, seed: int, nulls: float = 0.3) -> pa.Array:
    values = random_values(random.Random(seed), type_, 40, nulls)
    # A slice of something larger: offsets must be respected.
    return pa.array([None, *values, None], TYPES[type_][0]).slice(1, 40)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("nulls", [0.0, 0.3, 1.0], ids=["no nulls", "nulls", "only nulls"])
def test_values_come_back_as_they_were(type_: str, nulls: float) -> None:
    array = column(type_, 1, nulls)
    again = to_arrow(values_of(array), array.type)
    assert again.type == array.type
    assert all(same(a, b) for a, b in zip(again.to_pylist(), array.to_pylist(), strict=True))


@pytest.mark.parametrize("type_", TYPES)
def test_numbers_and_ranks_keep_the_order_of_the_values(type_: str) -> None:
    array = column(type_, 2, 0.0)
    data = values_of(array).data
    by_data = sorted(range(40), key=lambda n: (np.isnan(data[n]), data[n], n))
    listed = array.to_pylist()
    by_value = sorted(range(40), key=lambda n: (order(listed[n]), n))
    assert [order(listed[n]) for n in by_data] == [order(listed[n]) for n in by_value]


@pytest.mark.parametrize("type_", TYPES)
def test_a_column_without_nulls_carries_no_mask(type_: str) -> None:
    assert values_of(column(type_, 3, 0.0)).valid is None
    known = [v is not None for v in column(type_, 3).to_pylist()]
    valid = values_of(column(type_, 3)).valid
    assert valid is not None
    assert valid.tolist() == known


@pytest.mark.parametrize(
    ("kind", "ranked"),
    [
        (pa.string(), True),
        (pa.large_string(), True),
        (pa.binary(), True),
        (pa.decimal128(19, 2), True),
        (pa.decimal128(18, 2), False),
        (pa.int8(), False),
        (pa.timestamp("us"), False),
        (pa.null(), False),
    ],
)
def test_what_has_an_order_but_no_number_is_ranked(kind: pa.DataType, ranked: bool) -> None:
    assert is_ranked(kind) is ranked
    assert (values_of(pa.nulls(2, kind)).dictionary is not None) is ranked


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_times_of_every_unit_are_microseconds(unit: str) -> None:
    seconds = pa.array([1, None, -1], pa.int64()).cast(pa.timestamp("s", "UTC"))
    assert values_of(seconds.cast(pa.timestamp(unit, "UTC"))).data.tolist() == [
        1_000_000,
        0,
        -1_000_000,
    ]


def test_dictionary_and_chunked_columns_are_read_like_plain_ones() -> None:
    plain = pa.array(["b", None, "a", "b"])
    for guise in (plain.dictionary_encode(), pa.chunked_array([plain.slice(0, 1), plain.slice(1)])):
        values = values_of(guise)
        assert to_arrow(values, pa.string()).to_pylist() == plain.to_pylist()
    assert flat(pa.chunked_array([plain])).equals(plain)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("seed", range(3))
def test_joined_columns_share_one_order(type_: str, seed: int) -> None:
    arrays = [column(type_, 10 * seed + n, nulls) for n, nulls in enumerate([0.0, 0.3, 1.0])]
    joined = concat_values([values_of(a) for a in arrays])
    wanted = [v for a in arrays for v in a.to_pylist()]
    again = to_arrow(joined, arrays[0].type).to_pylist()
    assert all(same(a, b) for a, b in zip(again, wanted, strict=True))
    if joined.dictionary is not None:
        words = joined.dictionary.to_pylist()
        assert words == sorted(set(words), key=order)


def test_taking_rows_takes_their_mask_with_them() -> None:
    values = values_of(pa.array([1, None, 3])).take(np.array([1, 2]))
    assert to_arrow(values, pa.int64()).to_pylist() == [None, 3]
    plain: Any = Values(np.array([4, 5])).take(np.array([1]))
    assert plain.data.tolist() == [5]
    assert plain.valid is None


def test_a_type_without_an_order_is_refused() -> None:
    with pytest.raises(TypeError, match="list"):
        values_of(pa.array([[1]]))
