"""kernels/keys.py: group keys as small integers, and key groups that never change."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.columns import Ints
from headrace.kernels.keys import (
    KEY_GROUPS,
    VALUE,
    compress,
    encode_keys,
    key_order,
    unify_keys,
)

KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [-5, 0, 1, 7, None]),
    "wide": (pa.int64(), [-(2**63), 0, 2**63 - 1, None]),
    "double": (pa.float64(), [0.0, -0.0, 1.5, math.nan, -math.nan, math.inf, None]),
    "float": (pa.float32(), [0.0, -0.0, 1.5, math.nan, None]),
    "string": (pa.string(), ["", "a", "A", "ä", "\x00", None]),
    "binary": (pa.binary(), [b"", b"a", b"\xff\xfe", None]),
    "boolean": (pa.bool_(), [False, True, None]),
    "date": (pa.date32(), [dt.date(1970, 1, 1), dt.date(2024, 2, 29), None]),
    "timestamp": (pa.timestamp("us", "UTC"), [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), None]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.00"), Decimal("-0.01"), None]),
    "long decimal": (pa.decimal128(30, 2), [Decimal("1.00"), Decimal(10**25), None]),
}


def spark_key(value: Any) -> Any:
    """What Spark groups by: one NaN, one zero, null equal to null."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


def column(rng: random.Random, name: str, rows: int, *, nulls: bool = True) -> pa.Array:
    kind, values = KINDS[name]
    some = values if nulls else [v for v in values if v is not None]
    return pa.array([rng.choice(some) for _ in range(rows)], kind)


def rows_of(columns: list[Any]) -> list[tuple[Any, ...]]:
    listed = [c.to_pylist() for c in columns]
    return [tuple(spark_key(v) for v in row) for row in zip(*listed, strict=True)]


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("nulls", [True, False], ids=["with nulls", "without nulls"])
def test_one_column_is_coded_by_its_distinct_values(name: str, nulls: bool) -> None:
    values = column(random.Random(1), name, 40, nulls=nulls)
    codes, keys = encode_keys([values], 40)
    decoded = keys.column(0).take(pa.array(codes)).to_pylist()
    assert [spark_key(v) for v in decoded] == [spark_key(v) for v in values.to_pylist()]
    assert keys.num_rows == len({spark_key(v) for v in values.to_pylist()})
    assert keys.schema.types == [values.type]


@pytest.mark.parametrize("seed", range(40))
def test_rows_have_the_same_code_exactly_when_spark_groups_them_together(seed: int) -> None:
    rng = random.Random(seed)
    names = [rng.choice(list(KINDS)) for _ in range(rng.randint(1, 4))]
    columns: list[Any] = [column(rng, n, 50) for n in names]
    if rng.random() < 0.5:
        columns[0] = pa.chunked_array([columns[0].slice(0, 20), columns[0].slice(20)])
    codes, keys = encode_keys(columns, 50)
    expected = rows_of(columns)
    distinct = rows_of(keys.columns)
    assert [distinct[c] for c in codes.tolist()] == expected
    assert len(set(distinct)) == len(distinct) == len(set(expected))


def test_dictionary_columns_are_keys_like_plain_ones() -> None:
    words = pa.array(["b", None, "a", "b"])
    codes, keys = encode_keys([words.dictionary_encode()], 4)
    assert keys.column(0).take(pa.array(codes)).to_pylist() == words.to_pylist()
    assert keys.schema.types == [pa.string()]


def test_without_key_columns_all_rows_have_one_key() -> None:
    codes, keys = encode_keys([], 3)
    assert codes.tolist() == [0, 0, 0]
    assert keys.num_rows == 1


def test_no_rows_have_no_keys() -> None:
    for columns in (
        [pa.array([], pa.int64())],
        [pa.array([], pa.int64()), pa.array([], pa.string())],
    ):
        codes, keys = encode_keys(columns, 0)
        assert len(codes) == 0
        assert keys.num_rows == 0


def test_many_columns_with_many_values_do_not_overflow_their_codes() -> None:
    rng = np.random.default_rng(5)
    columns = [pa.array(rng.permutation(1000)) for _ in range(8)]  # 1000**8 combinations
    codes, keys = encode_keys(columns, 1000)
    assert keys.num_rows == 1000
    assert sorted(codes.tolist()) == list(range(1000))
    assert rows_of([c.take(pa.array(codes)) for c in keys.columns]) == rows_of(columns)


@pytest.mark.parametrize("size", [50, 2**40], ids=["table", "sort"])
def test_compressing_renumbers_codes_densely_in_their_order(size: int) -> None:
    rng = np.random.default_rng(size)
    codes = rng.choice(rng.integers(0, size, 10), 30)
    numbers, used = compress(codes, size)
    assert used.tolist() == sorted(set(codes.tolist()))
    assert used[numbers].tolist() == codes.tolist()


# -- key groups -----------------------------------------------------------------------------------


def key_groups_of(keys: pa.Table) -> Ints:
    order, groups = key_order(keys)
    out = np.empty(len(order), dtype=np.int64)
    out[order] = groups
    return out


@pytest.mark.parametrize("seed", range(10))
def test_the_same_keys_are_in_the_same_order_however_they_came(seed: int) -> None:
    rng = random.Random(200 + seed)
    names = [rng.choice(list(KINDS)) for _ in range(rng.randint(1, 3))]
    _, keys = encode_keys([column(rng, n, 30) for n in names], 30)
    shuffled = keys.take(pa.array(rng.sample(range(keys.num_rows), keys.num_rows)))
    order, groups = key_order(keys)
    again, groups_again = key_order(shuffled)
    assert [repr(r) for r in keys.take(order).to_pylist()] == [
        repr(r) for r in shuffled.take(again).to_pylist()
    ]
    assert groups.tolist() == groups_again.tolist() == sorted(groups.tolist())


@pytest.mark.parametrize("seed", range(30))
def test_a_key_has_the_same_key_group_whatever_else_is_in_its_batch(seed: int) -> None:
    rng = random.Random(100 + seed)
    names = [rng.choice(list(KINDS)) for _ in range(rng.randint(1, 3))]
    _, keys = encode_keys([column(rng, n, 30) for n in names], 30)
    together = key_groups_of(keys).tolist()
    alone = [int(key_groups_of(keys.slice(n, 1))[0]) for n in range(keys.num_rows)]
    assert together == alone
    backwards = keys.take(pa.array(range(keys.num_rows - 1, -1, -1)))
    assert key_groups_of(backwards).tolist() == together[::-1]
    copied = pa.Table.from_pylist(keys.to_pylist(), schema=keys.schema)
    assert key_groups_of(copied).tolist() == together


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (math.nan, -math.nan)])
def test_values_that_are_one_key_have_one_key_group(one: float, other: float) -> None:
    groups = [key_groups_of(encode_keys([pa.array([v])], 1)[1]).tolist() for v in (one, other)]
    assert groups[0] == groups[1]


@pytest.mark.parametrize(
    "keys",
    [
        pa.table({"k0": range(6400)}),
        pa.table({"k0": [f"user-{n}" for n in range(6400)]}),
        pa.table({"k0": [n / 8 for n in range(6400)]}),
        pa.table({"k0": [1 << (n % 60) for n in range(6400)], "k1": range(6400)}),
    ],
    ids=["whole numbers", "strings", "floats", "pairs"],
)
def test_keys_spread_over_all_key_groups(keys: pa.Table) -> None:
    counts = np.bincount(key_groups_of(keys), minlength=KEY_GROUPS)
    assert len(counts) == KEY_GROUPS
    assert counts.min() > 40
    assert counts.max() < 200


def test_key_groups_are_fixed_for_the_life_of_a_checkpoint() -> None:
    """State on disk is laid out by these numbers: a change of them is a change of format."""
    keys = pa.table({"k0": pa.array([0, 1, None, -1]), "k1": pa.array(["", "a", "ä", None])})
    assert key_groups_of(keys).tolist() == [0, 59, 13, 2]
    narrow = keys.set_column(0, "k0", keys.column(0).cast(pa.int32()))
    assert key_groups_of(narrow).tolist() == [0, 59, 13, 2]


def test_values_kept_with_a_key_are_in_its_key_group() -> None:
    rng = np.random.default_rng(3)
    users = pa.array(rng.integers(0, 50, 500))
    kept = pa.table({"k0": users, VALUE: pa.array(rng.random(500))})
    assert key_groups_of(kept).tolist() == key_groups_of(kept.select(["k0"])).tolist()
    bare = encode_keys([], 1)[1]
    only_values = kept.select([VALUE])
    assert set(key_groups_of(only_values).tolist()) == set(key_groups_of(bare).tolist())


# -- unifying -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_unified_codes_mean_the_same_key_in_every_table(seed: int) -> None:
    rng = random.Random(200 + seed)
    names = [rng.choice(list(KINDS)) for _ in range(rng.randint(1, 2))]
    tables = []
    for _ in range(rng.randint(1, 4)):
        rows = rng.randint(1, 8)
        tables.append(encode_keys([column(rng, n, rows) for n in names], rows)[1])
    codes, whole = unify_keys(tables)
    distinct = rows_of(whole.columns)
    assert len(set(distinct)) == len(distinct)
    for code, one in zip(codes, tables, strict=True):
        assert [distinct[c] for c in code.tolist()] == rows_of(one.columns)


def test_equal_tables_are_unified_without_work() -> None:
    table = pa.table({"k0": ["a", None]})
    codes, whole = unify_keys([table, pa.table({"k0": ["a", None]}), table])
    assert whole is table
    assert [c.tolist() for c in codes] == [[0, 1]] * 3
