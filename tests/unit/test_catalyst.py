"""spark/ingest/catalyst_task.py: what Catalyst and what the kernels have reduced is of one form."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from headrace.kernels.combine import combine_sparse
from headrace.kernels.compiled import CompiledPlan
from headrace.kernels.dense import can_be_dense, combine_dense
from headrace.kernels.ingest import ingest
from headrace.optimizer import Statistics, read_by_spark, share
from headrace.registry.changelog import ActiveQuery
from headrace.spark.ingest.catalyst_task import cells_of
from headrace.types import BEGINNING, QueryUid, Version

from .analyzer import PURCHASES, read

SQL = (
    "SELECT COUNT(*) FROM purchases WHERE price <> 5 "
    "GROUP BY window(time, '10 seconds', '5 seconds'), user_id"
)
SECOND = 1_000_000
FEW = Statistics(tuples_per_slice=10.0, keys=1000.0)
"""Fewer tuples than keys: then classes are as cheap as queries, and these have two."""


def test_giving_up_files_changes_the_lane_and_nothing_else() -> None:
    queries = [ActiveQuery(QueryUid(1), "q", 0, read(SQL), BEGINNING)]
    made = {
        reads: share(
            Version(4), PURCHASES, queries, rows_in_jvm=True, reads_files=reads, statistics=FEW
        )
        for reads in (True, False)
    }
    assert (made[True].lane, made[False].lane) == ("kernel", "catalyst")
    assert read_by_spark(made[True], queries) == made[False]
    both = [*queries, ActiveQuery(QueryUid(2), "p", 1, read(SQL), BEGINNING)]
    shared = share(Version(4), PURCHASES, both, rows_in_jvm=True, reads_files=True)
    assert read_by_spark(shared, both).lane == "kernel"
    assert read_by_spark(shared, both).why == "2 queries share one scan"


@pytest.mark.parametrize("catalyst_first", [True, False])
def test_sections_of_both_lanes_are_combined(catalyst_first: bool) -> None:
    query = ActiveQuery(QueryUid(1), "q", 0, read(SQL), BEGINNING)
    plan = CompiledPlan(share(Version(4), PURCHASES, [query], rows_in_jvm=True, statistics=FEW))
    group = plan.groups[0]
    assert (group.group.representation, group.columns) == ("cells", 2)
    tuples = pa.table({"user_id": [1, 1, 2, 2], "price": pa.array([1, 9, 9, 5], pa.int32())})
    times = np.array([1, 2, 6, 7], dtype=np.int64) * SECOND
    cells = [ingest(plan, tuples, times, BEGINNING).cells[0]]
    reduced = pa.table({"__hr_slice": [0, 5 * SECOND], "__hr_k0": [1, 2], "__hr_rows": [10, 20]})
    cells.insert(0 if catalyst_first else 1, cells_of(reduced, group))
    blocks = group.blocks(cells)
    due = [((0, 10 * SECOND), (1,))]
    assert can_be_dense(blocks)
    for combine in (combine_sparse, combine_dense):
        (answer,) = combine(blocks, due)
        users = answer.keys.column(0).to_pylist()
        found = {users[k]: int(n) for k, n in zip(answer.key, answer.rows, strict=True)}
        assert found == {1: 12, 2: 21}
