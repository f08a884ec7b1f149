"""The Catalyst lane: Spark SQL has reduced the tuples; here its rows become a section."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.cells import Cells, reduce_cells
from headrace.kernels.columns import flat, values_of
from headrace.kernels.compiled import CompiledGroup
from headrace.kernels.keys import encode_keys
from headrace.kernels.states import Partials, State, lift
from headrace.query.plan import Group, Partial
from headrace.query.window import TimeWindow
from headrace.runtime.messages import Ingested, Message, as_batch
from headrace.spark.ingest.task import PARTITION, BatchFrame, SectionWriter
from headrace.spark.worker.plans import PlanHandle

UNTIMED, AHEAD, UNWANTED = (-(2**63) + n for n in (1, 2, 3))
"""In the place of the slice: no event time, one from the far future, or WHERE does not hold."""


def aggregates_sql(group: Group, sql_of: Callable[[str], str]) -> list[str]:
    """The aggregates Catalyst computes per slice and key, as named columns."""
    columns = ["count(1) AS __hr_rows"]
    for number, partial in enumerate(group.partials):
        if partial.op == "rows" or partial.column is None:
            continue
        name = f"if(__hr_code IS NULL, {sql_of(partial.column)}, NULL)"
        columns.append(f"count({name}) AS _n{number}")
        if partial.op in ("sum", "min", "max"):
            columns.append(f"{partial.op}({name}) AS _v{number}")
        elif partial.op == "moments":
            columns.append(f"avg({name}) AS _v{number}")
            columns.append(f"var_pop({name}) * count({name}) AS _m{number}")
    return columns


def slice_sql(window: TimeWindow, time: str, cuts: Sequence[int] = ()) -> str:
    """The start of the slice a time falls into; slices also begin where they are cut."""
    starts = [f"{time} - pmod({time} - {r}L, {window.slide_us}L)" for r in window.residues]
    starts += [f"if({time} >= {cut}L, {cut}L, NULL)" for cut in cuts]
    return starts[0] if len(starts) == 1 else f"greatest({', '.join(starts)})"


@dataclass(frozen=True)
class WriteSections:
    """Write Catalyst's partial results as a section of the query's group."""

    handle: PlanHandle
    frame: BatchFrame

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held = [b for b in batches if b.num_rows]
        writer = SectionWriter(self.frame)
        task = self.handle.get()
        group = task.compiled.plan.groups[0]
        info = Ingested()
        if held:
            table = pa.Table.from_batches(held)
            info = _progress(table)
            table = table.filter(pc.greater(table.column("__hr_slice"), UNWANTED))
            if table.num_rows:
                cells = cells_of(table, task.compiled.groups[group.number])
                writer.add(task.compiled.plan, group, cells)
                late = self._late(group, table)
                info = replace(info, keys=cells.keys.num_rows, late=late)
        yield as_batch([Message.of(replace(info, sections=writer.close()))])

    def _late(self, group: Group, table: pa.Table) -> dict[int, int]:
        """A slice lies in the same windows as its tuples, so its start tells whether it is late."""
        member = group.members[0]
        assert isinstance(member.window, TimeWindow)
        starts, rows = table.column("__hr_slice").to_numpy(), table.column("__hr_rows").to_numpy()
        end = member.window.first_end_after(starts)
        upto_us = self.frame.passed_us(feeds=member.feeds)
        closed = (end > starts) & (end <= upto_us) & (starts >= member.since_us)
        count = int(rows[closed].sum())
        return {int(member.uid): count} if count else {}


def _progress(table: pa.Table) -> Ingested:
    """How many tuples there were, wanted or not, and how far event time has come."""
    codes, rows = table.column("__hr_slice").to_numpy(), table.column("__hr_rows").to_numpy()
    untimed, ahead = codes == UNTIMED, codes == AHEAD
    seen = table.filter(pa.array(~(untimed | ahead)))
    highest = seen.group_by(PARTITION).aggregate([("__hr_highest", "max")])
    names, times = (highest.column(n).to_pylist() for n in (PARTITION, "__hr_highest_max"))
    return Ingested(
        highest_us=dict(zip(map(str, names), times, strict=True)),
        tuples=int(rows.sum()),
        without_time=int(rows[untimed].sum()),
        from_future=int(rows[ahead].sum()),
    )


def cells_of(table: pa.Table, compiled: CompiledGroup) -> Cells:
    """As wide as the kernels' cells, which may be of the same version: a query that is alone has
    all columns of its group, and its tuples may lie in any of them."""
    group = compiled.group
    rows = table.column("__hr_rows").to_numpy().astype(np.int64)
    starts, slice_of = np.unique(table.column("__hr_slice").to_numpy(), return_inverse=True)
    key_of, keys = encode_keys(
        [table.column(f"__hr_k{n}") for n in range(len(group.keys))], table.num_rows
    )
    states = [_state(p, n, table) for n, p in enumerate(group.partials)]
    return reduce_cells(
        (slice_of.astype(np.int64), starts),
        (np.zeros(len(rows), dtype=np.int64), compiled.columns),
        (key_of, keys),
        Partials(states, rows),
    )


def _state(partial: Partial, number: int, table: pa.Table) -> State:
    if partial.op == "rows" or partial.column is None:
        return State(partial, {})
    known = table.column(f"_n{number}").to_numpy().astype(np.int64)
    if partial.op == "count":
        return State(partial, {"n": known})
    column = flat(table.column(f"_v{number}"))
    if partial.op == "sum":
        lifted = lift(partial, column, np.empty(0, np.int64))
        return State(partial, {**lifted.parts, "n": known})
    values = values_of(column)
    if partial.op == "moments":
        m2 = values_of(table.column(f"_m{number}")).data
        return State(partial, {"n": known, "mean": values.data, "m2": m2})
    return State(partial, {"n": known, "v": values.data}, values.dictionary)
