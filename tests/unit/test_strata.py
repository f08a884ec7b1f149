"""kernels/strata.py: partial results of a window by stretches of event time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.blocks import Block
from headrace.kernels.cells import Cells
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.ingest import ingest
from headrace.kernels.strata import stratified
from headrace.optimizer import share
from headrace.query.needs import spread_of
from headrace.registry.changelog import ActiveQuery
from headrace.types import QueryUid, Version

from .analyzer import PURCHASES, read

HINT = "/*+ APPROX(error => 0.1) */"
BY_PACK = f"SELECT {HINT} gem_pack, COUNT(weight) AS n, AVG(weight) AS mean FROM purchases"


def blocks_of(texts: list[str], tables: list[pa.Table]) -> tuple[CompiledPlan, list[Block]]:
    queries = [
        ActiveQuery(QueryUid(n + 1), f"q{n + 1}", n, read(text)) for n, text in enumerate(texts)
    ]
    compiled = CompiledPlan(share(Version(1), PURCHASES, queries, rows_in_jvm=False))
    made: dict[int, list[Cells]] = {}
    for table in tables:
        times = table.column("time").cast(pa.int64()).to_numpy()
        for number, cells in ingest(compiled, table, times, -(2**62)).cells.items():
            made.setdefault(number, []).append(cells)
    return compiled, [b for n, some in made.items() for b in compiled.groups[n].blocks(some)]


def tuples(seed: int, count: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    weight = [None if rng.random() < 0.1 else float(rng.normal(1e6, 2.0)) for _ in range(count)]
    return pa.table(
        {
            "gem_pack": pa.array(rng.choice(["bag", "chest", None], count).tolist(), pa.string()),
            "price": pa.array(rng.integers(0, 10, count), pa.int32()),
            "amount": pa.array([None] * count, pa.decimal128(10, 2)),
            "weight": pa.array(weight, pa.float64()),
            "time": pa.array(rng.integers(0, 4_000_000, count)).cast(pa.timestamp("us", "UTC")),
        }
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_stratum_has_the_moments_of_its_tuples(seed: int) -> None:
    window = "GROUP BY window(time, '4 seconds', '2 seconds'), gem_pack"
    texts = [f"{BY_PACK} {window}", f"{BY_PACK} WHERE price > 4 {window}"]
    tables = [tuples(10 * seed + n, 400) for n in range(3)]
    _, blocks = blocks_of(texts, tables)
    counted, mean = read(texts[0]).aggregates
    strata = [(0, 2_000_000), (2_000_000, 4_000_000)]
    found = stratified(blocks, strata, [1, 2], {spread_of(counted), spread_of(mean)})
    assert found is not None
    every = pa.concat_tables(tables).to_pylist()
    packs = found.keys.column(0).to_pylist()
    seen = set()
    for column, (uid, key) in enumerate(zip(found.uids, found.key, strict=True)):
        seen.add((int(uid), packs[key]))
        for row, (low, high) in enumerate(strata):
            values = [
                t["weight"]
                for t in every
                if t["gem_pack"] == packs[key]
                and low <= t["time"].timestamp() * 1e6 < high
                and (uid == 1 or t["price"] > 4)
                and t["weight"] is not None
            ]
            spread = found.spreads[spread_of(mean)]
            assert spread.n[row, column] == len(values)
            assert found.spreads[spread_of(counted)].n[row, column] == len(values)
            assert spread.mean[row, column] == pytest.approx(np.mean(values))
            squares = ((np.array(values) - np.mean(values)) ** 2).sum()
            assert spread.squares[row, column] == pytest.approx(squares, rel=1e-6)
    assert seen == {(u, p) for u in (1, 2) for p in ("bag", "chest", None)}


def test_without_keys_there_is_one_group_and_strata_without_tuples_are_empty() -> None:
    text = f"SELECT {HINT} COUNT(*) AS n FROM purchases GROUP BY window(time, '8 seconds')"
    _, blocks = blocks_of([text], [tuples(1, 100), tuples(2, 50)])
    (call,) = read(text).aggregates
    strata = [(0, 2_000_000), (2_000_000, 4_000_000), (4_000_000, 8_000_000)]
    found = stratified(blocks, strata, [1], {spread_of(call)})
    assert found is not None
    assert found.uids.tolist() == [1]
    n = found.spreads[spread_of(call)].n
    assert n.sum() == 150
    assert n[2, 0] == 0.0
    assert stratified([], strata, [1], {spread_of(call)}) is None


def test_moments_of_decimals_are_of_the_numbers_they_are() -> None:
    text = f"SELECT {HINT} SUM(amount) AS n FROM purchases GROUP BY window(time, '4 seconds')"
    table = tuples(1, 3).drop_columns("amount")
    amount = pa.array([1.25, 3.75, None]).cast(pa.decimal128(10, 2))
    _, blocks = blocks_of([text], [table.append_column("amount", amount)])
    (call,) = read(text).aggregates
    found = stratified(blocks, [(0, 4_000_000)], [1], {spread_of(call)})
    assert found is not None
    spread = found.spreads[spread_of(call)]
    assert (spread.n[0, 0], spread.mean[0, 0], spread.squares[0, 0]) == (2.0, 2.5, 3.125)


@pytest.mark.parametrize("beside", [[], ["SELECT SUM(price) AS t FROM purchases WHERE price < 7"]])
def test_whole_numbers_have_their_moments_from_sums_of_squares(beside: list[str]) -> None:
    by_pack = "GROUP BY window(time, '4 seconds', '2 seconds'), gem_pack"
    text = f"SELECT {HINT} gem_pack, SUM(price) AS total FROM purchases WHERE price > 1 {by_pack}"
    tables = [tuples(7, 300), tuples(8, 300)]
    compiled, blocks = blocks_of([text, *(f"{t} {by_pack}" for t in beside)], tables)
    assert len(compiled.groups) == 1, "exact queries share it"
    (call,) = read(text).aggregates
    strata = [(0, 2_000_000), (2_000_000, 4_000_000)]
    found = stratified(blocks, strata, [1], {spread_of(call)})
    assert found is not None
    spread, packs = found.spreads[spread_of(call)], found.keys.column(0).to_pylist()
    every = pa.concat_tables(tables).to_pylist()
    for column, key in enumerate(found.key):
        for row, (low, high) in enumerate(strata):
            values = np.array(
                [
                    t["price"]
                    for t in every
                    if t["gem_pack"] == packs[key]
                    and low <= t["time"].timestamp() * 1e6 < high
                    and t["price"] > 1
                ]
            )
            assert spread.n[row, column] == len(values)
            assert spread.mean[row, column] == pytest.approx(values.mean())
            squares = ((values - values.mean()) ** 2).sum()
            assert spread.squares[row, column] == pytest.approx(squares, abs=1e-9)


@pytest.mark.parametrize(("value", "rounded"), [(7, False), (10**15, True)])
def test_equal_values_have_no_deviation_beyond_what_squares_lose(value: int, rounded: bool) -> None:
    text = f"SELECT {HINT} AVG(user_id) AS m FROM purchases GROUP BY window(time, '4 seconds')"
    table = tuples(3, 50).append_column("user_id", pa.array([value] * 50))
    _, blocks = blocks_of([text], [table])
    (call,) = read(text).aggregates
    found = stratified(blocks, [(0, 4_000_000)], [1], {spread_of(call)})
    assert found is not None
    spread = found.spreads[spread_of(call)]
    assert spread.mean[0, 0] == value
    relative = spread.squares[0, 0] / (50 * float(value) ** 2)
    assert (0.0 < relative < 1e-14) if rounded else relative == 0.0
