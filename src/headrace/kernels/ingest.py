"""Ingest: one table of tuples to cells for every group, rows for every selection, and counts."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.axes import Columns
from headrace.kernels.cells import Cells, merge_cells, reduce_cells
from headrace.kernels.classes import NOBODY
from headrace.kernels.columns import Bools, Ints, flat, values_of
from headrace.kernels.combinations import Combinations
from headrace.kernels.compiled import CompiledGroup, CompiledPlan
from headrace.kernels.holistic import hll_registers
from headrace.kernels.keys import VALUE, encode_keys, in_key_order
from headrace.kernels.packing import Packing, Tuples
from headrace.kernels.points import packed
from headrace.kernels.sampling import Sample
from headrace.kernels.sessions import cut_runs
from headrace.kernels.slicing import slice_times
from headrace.kernels.states import State, lift, squared
from headrace.kernels.truth import matching
from headrace.query.needs import sum_beside
from headrace.query.plan import LAST_TIME, RANK, Group, Partial, SharedPlan, parts_of
from headrace.query.window import SessionWindow, TimeWindow
from headrace.types import BEGINNING

_PAIRS = 1 << 22
"""Tuples, each with a query that wants it, that are reduced at a time."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one table of tuples became."""

    cells: dict[int, Cells]
    selected: dict[int, pa.Table]
    late: dict[int, int]
    late_rows: Bools | None = None


@dataclass(slots=True)
class _Shared:
    """Work that groups of one table share: key codes, slices and tuples as partial results."""

    table: dict[str, pa.ChunkedArray]
    times: Ints
    plan: SharedPlan
    cuts: tuple[int, ...]
    keys: dict[tuple[tuple[str, ...], str | None], tuple[Ints, pa.Table]] = field(
        default_factory=dict
    )
    slices: dict[Any, tuple[Ints, Ints]] = field(default_factory=dict)
    states: dict[Partial, State] = field(default_factory=dict)
    packing: Packing = field(default_factory=Packing)

    def keys_of(self, names: tuple[str, ...], value: str | None) -> tuple[Ints, pa.Table]:
        """Keys, and the value that is kept with each, if any."""
        if (names, value) not in self.keys:
            columns = [self.table[n] for n in (names if value is None else (*names, value))]
            codes, table = encode_keys(columns, len(self.times))
            if value is not None:
                table = table.rename_columns([*table.column_names[:-1], VALUE])
            self.keys[names, value] = in_key_order(codes, table)[:2]
        return self.keys[names, value]

    def slices_of(self, windows: tuple[TimeWindow, ...]) -> tuple[Ints, Ints]:
        """Tuples are searched for once, among the slices of all groups: every slice of one group
        is made of these."""
        if not self.slices:
            groups = (_time_windows(g) for g in self.plan.groups if not g.is_session)
            every = tuple(sorted({w for some in groups for w in some}, key=repr))
            self.slices[()] = slice_times(self.times, every, self.cuts)
        if windows not in self.slices:
            finest, first = self.slices[()]
            numbers, starts = slice_times(first, windows, self.cuts)
            self.slices[windows] = finest if len(starts) == len(first) else numbers[finest], starts
        return self.slices[windows]

    def lifted(self, partial: Partial) -> State:
        if partial not in self.states:
            self.states[partial] = _lifted(partial, self)
        return self.states[partial]


def ingest(
    compiled: CompiledPlan,
    table: pa.Table,
    times: Ints,
    watermark_us: int,
    sample: Sample | None = None,
    joined_upto_us: int = BEGINNING,
) -> Ingested:
    """Reduce tuples under a plan. ``watermark`` is the one from before this batch; groups that are
    made of a sample see only its tuples. Joins may have gone on without this stream, up to
    ``joined_upto``."""
    plan = compiled.plan
    columns = {name: table.column(name) for name in table.column_names}
    shared = chosen = _Shared(columns, times, plan, plan.cuts)
    if sample is not None and any(g.sampled for g in plan.groups):
        some = table.filter(pa.array(sample.kept))
        chosen = _Shared(
            {name: some.column(name) for name in some.column_names},
            times[sample.kept],
            plan,
            (*plan.cuts, *sample.cuts_us),
        )
    cells: dict[int, Cells] = {}
    late: dict[int, int] = {}
    late_rows: Bools | None = None
    is_late = times < max(watermark_us, joined_upto_us)
    any_late = bool(is_late.any())
    # Those that keep most first: what they pack often has all that others need.
    for number, group in sorted(compiled.groups.items(), key=lambda g: -len(g[1].group.partials)):
        seen = chosen if group.group.sampled else shared
        classes = group.space.classify(seen.table, len(seen.times))
        if any_late and group.group.value is None and not group.group.sampled:
            sets = _late_sets(group, classes, columns, is_late)
            missed = _count_late(group, sets, times, (watermark_us, joined_upto_us), late)
            late_rows = missed if late_rows is None else late_rows | missed
        made = _reduce(group, classes, seen, watermark_us)
        if made is not None:
            cells[number] = made
    selected = {}
    for selector in plan.selectors:
        kept = matching(selector.where, columns, len(times)) & (times >= selector.since_us)
        if kept.any():
            picked = pa.array(np.flatnonzero(kept))
            selected[int(selector.uid)] = table.select(list(selector.columns)).take(picked)
    return Ingested(cells, selected, late, late_rows)


def _reduce(
    compiled: CompiledGroup, classes: Ints | None, shared: _Shared, watermark_us: int
) -> Cells | None:
    """The cells of one group; without classes, query by query."""
    reduction = _Reduction(compiled.group, shared, watermark_us)
    if classes is None:
        return _reduce_each(compiled, reduction)
    wanted = reduction.with_value(classes != NOBODY)
    rows = None if wanted.all() else np.flatnonzero(wanted)
    if rows is not None and not len(rows):
        return None
    column = classes if rows is None else classes[rows]
    if compiled.per_query and len(compiled.uids) == 1:
        column = np.zeros_like(column)
    elif compiled.per_query:
        pair, column = np.nonzero(compiled.space.query_sets[column])
        rows = pair if rows is None else rows[pair]
    cells = reduction.cells(rows, column, compiled.columns)
    if compiled.per_query or compiled.space.ordered:
        return cells
    return replace(cells, query_sets=compiled.space.query_sets).narrowed()


def _reduce_each(compiled: CompiledGroup, reduction: _Reduction) -> Cells | None:
    """One column per query, for tuples of too many classes: so many pairs at a time that memory
    does not grow with the queries."""
    assert isinstance(compiled.space, Combinations)
    shared, queries = reduction.shared, len(compiled.uids)
    kept = compiled.space.each(shared.table, len(shared.times))
    made: list[Cells] = []
    waiting: list[tuple[Ints, Ints]] = []
    for number, mine in enumerate(kept):
        rows = np.flatnonzero(reduction.with_value(mine))
        waiting.append((rows, np.full(len(rows), number)))
        pairs = sum(len(r) for r, _ in waiting)
        if pairs and (pairs > _PAIRS or number == queries - 1):
            every, column = (np.concatenate(part) for part in zip(*waiting, strict=True))
            made.append(reduction.cells(every, column, queries))
            waiting = []
    if len(made) > 1:
        return merge_cells(made)
    return made[0] if made else None


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Reduces tuples of one table for one group."""

    group: Group
    shared: _Shared
    watermark_us: int

    @property
    def _value(self) -> pa.Array:
        name, table = self.group.value, self.shared.table
        assert name is not None
        if name not in table:
            table[name] = packed([table[n] for n in parts_of(name)])
        return flat(table[name])

    def with_value(self, wanted: Bools) -> Bools:
        """Of the tuples that are wanted, those that have the value that is kept, if one is."""
        if self.group.value is None or not self._value.null_count:
            return wanted
        known: Bools = self._value.is_valid().to_numpy(zero_copy_only=False)
        return wanted & known

    def cells(self, rows: Ints | None, column: Ints, columns: int) -> Cells:
        """The cells of some tuples, each in its column; None stands for all tuples."""
        group, shared = self.group, self.shared
        ranks: Ints | None = None
        if group.sketch is not None:
            key_of, keys = shared.keys_of(group.keys, None)
            hashes = self._value.fill_null(0).to_numpy(zero_copy_only=False)
            values, ranks = hll_registers(hashes, group.sketch)
            key_of, keys = _with_value(key_of, keys, values)
        else:
            key_of, keys = shared.keys_of(group.keys, group.value)
        states = [
            State(p, {"v": ranks}) if p == RANK and ranks is not None else shared.lifted(p)
            for p in group.partials
        ]
        if rows is not None:
            key_of = key_of[rows]
        if group.is_session:
            times = shared.times if rows is None else shared.times[rows]
            slices = _runs(group, times, column, key_of, shared.cuts, self.watermark_us)
        else:
            numbers, starts = shared.slices_of(_time_windows(group))
            slices = (numbers if rows is None else numbers[rows], starts)
        tuples = Tuples(states, rows, shared.packing)
        return reduce_cells(slices, (column, columns), (key_of, keys), tuples)


def _time_windows(group: Group) -> tuple[TimeWindow, ...]:
    return tuple(w for w in group.windows if isinstance(w, TimeWindow))


def _lifted(partial: Partial, shared: _Shared) -> State:
    if partial == LAST_TIME:
        return State(partial, {"v": shared.times})
    if partial.op == "squares":
        return squared(partial, shared.lifted(sum_beside(partial)))
    column = shared.table[partial.column] if partial.column is not None else None
    condition = None
    if partial.condition is not None:
        condition = values_of(shared.table[partial.condition]).data.astype(bool)
    return lift(partial, column, shared.times, condition)


def _with_value(key_of: Ints, keys: pa.Table, values: Ints) -> tuple[Ints, pa.Table]:
    """Keys extended by a small integer."""
    code, table = encode_keys([pa.array(key_of), pa.array(values)], len(key_of))
    base = keys.take(table.column(0))
    return code, base.append_column(VALUE, table.column(1))


def _runs(
    group: Group, times: Ints, column: Ints, key: Ints, cuts: tuple[int, ...], watermark_us: int
) -> tuple[Ints, Ints]:
    gaps = [w.gap_us for w in group.windows if isinstance(w, SessionWindow)]
    late_cuts = [watermark_us - gap + 1 for gap in gaps]
    numbers, firsts = cut_runs(times, column, key, min(gaps), [*cuts, *late_cuts])
    starts, place = np.unique(firsts, return_inverse=True)
    return place[numbers], starts


def _late_sets(
    compiled: CompiledGroup, classes: Ints | None, columns: Columns, is_late: Bools
) -> tuple[Ints, Bools]:
    """Late tuples that somebody may want, and the query-set of each."""
    if classes is not None:
        rows = np.flatnonzero(is_late & (classes != NOBODY))
        return rows, compiled.space.query_sets[classes[rows]]
    assert isinstance(compiled.space, Combinations)
    rows = np.flatnonzero(is_late)
    some = {n: columns[n].take(pa.array(rows)) for n in compiled.group.axes}
    return rows, np.stack(list(compiled.space.each(some, len(rows))), axis=1)


def _count_late(
    compiled: CompiledGroup,
    late_sets: tuple[Ints, Bools],
    times: Ints,
    passed_us: tuple[int, int],
    late: dict[int, int],
) -> Bools:
    """Count, per query, the tuples that miss at least one window already emitted: up to the
    watermark, or up to where joins have gone."""
    rows, sets = late_sets
    t = times[rows]
    missed_any = np.zeros(len(rows), dtype=bool)
    closed: dict[object, Bools] = {}
    for number, member in enumerate(compiled.group.members):
        window, upto_us = member.window, max(passed_us) if member.feeds else passed_us[0]
        if (window, upto_us) not in closed:
            if isinstance(window, TimeWindow):
                end = window.first_end_after(t)
                closed[window, upto_us] = (end > t) & (end <= upto_us)
            else:
                assert isinstance(window, SessionWindow)
                closed[window, upto_us] = t + window.gap_us <= upto_us
        missed = sets[:, number] & closed[window, upto_us] & (t >= member.since_us)
        count = int(np.count_nonzero(missed))
        if count:
            late[int(member.uid)] = late.get(int(member.uid), 0) + count
            missed_any |= missed
    out = np.zeros(len(times), dtype=bool)
    out[rows[missed_any]] = True
    return out
