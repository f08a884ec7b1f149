"""Ingest: one table of tuples to cells for every group, rows for every selection, and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from headrace.kernels.blocks import Layout
from headrace.kernels.cells import Cells, reduce_cells
from headrace.kernels.classify import NOBODY, ClassSpace, class_space, matching
from headrace.kernels.columns import Bools, Ints, flat, values_of
from headrace.kernels.holistic import hll_registers
from headrace.kernels.keys import VALUE, encode_keys, in_key_order
from headrace.kernels.packing import Packing, Tuples
from headrace.kernels.points import packed
from headrace.kernels.sampling import Sample
from headrace.kernels.sessions import cut_runs
from headrace.kernels.slicing import slice_times
from headrace.kernels.states import State, lift, squared
from headrace.query.needs import sum_beside
from headrace.query.plan import LAST_TIME, RANK, Group, Partial, SharedPlan, parts_of
from headrace.query.window import SessionWindow, TimeWindow


@dataclass(frozen=True)
class CompiledGroup:
    """A group with its class space; cheap to make, cached by the plan's version."""

    group: Group

    @cached_property
    def space(self) -> ClassSpace:
        return class_space(self.group)

    @cached_property
    def layout(self) -> Layout:
        """What the columns of its cells stand for."""
        uids = [m.uid for m in self.group.members]
        if self.group.representation == "vectors":
            return Layout.vectors(uids)
        return Layout.of(uids, self.space.query_sets, ordered=self.space.ordered)

    @property
    def columns(self) -> int:
        """How many columns its cells have."""
        vectors = self.group.representation == "vectors"
        return len(self.group.members) if vectors else self.space.classes


class CompiledPlan:
    """A plan ready to run: what is derived from it once and used for every batch."""

    def __init__(self, plan: SharedPlan) -> None:
        self.plan = plan
        self.groups = {g.number: CompiledGroup(g) for g in plan.groups}


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
) -> Ingested:
    """Reduce tuples under a plan. ``watermark`` is the one from before this batch; groups that are
    made of a sample see only its tuples."""
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
    is_late = times < watermark_us
    any_late = bool(is_late.any())
    # Those that keep most first: what they pack often has all that others need.
    for number, group in sorted(compiled.groups.items(), key=lambda g: -len(g[1].group.partials)):
        seen = chosen if group.group.sampled else shared
        classes = group.space.classify(seen.table, len(seen.times))
        if any_late and group.group.value is None and not group.group.sampled:
            missed = _count_late(group, classes, times, is_late, watermark_us, late)
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
    compiled: CompiledGroup, classes: Ints, shared: _Shared, watermark_us: int
) -> Cells | None:
    group = compiled.group
    wanted = classes != NOBODY
    value: str | None = None
    values: Ints | None = None
    ranks: Ints | None = None
    if group.value is not None:
        if group.value not in shared.table:
            shared.table[group.value] = packed([shared.table[n] for n in parts_of(group.value)])
        array = flat(shared.table[group.value])
        if array.null_count:
            wanted &= array.is_valid().to_numpy(zero_copy_only=False)
        if group.sketch is not None:
            hashes = array.fill_null(0).to_numpy(zero_copy_only=False)
            values, ranks = hll_registers(hashes, group.sketch)
        else:
            value = group.value
    rows = None if wanted.all() else np.flatnonzero(wanted)
    if rows is not None and not len(rows):
        return None
    key_of, keys = shared.keys_of(group.keys, value)
    if values is not None:
        key_of, keys = _with_value(key_of, keys, values)
    states = [
        State(p, {"v": ranks}) if p == RANK and ranks is not None else shared.lifted(p)
        for p in group.partials
    ]
    column = classes if rows is None else classes[rows]
    if group.representation == "vectors" and len(group.members) == 1:
        column = np.zeros_like(column)
    elif group.representation == "vectors":
        pair, column = np.nonzero(compiled.space.query_sets[column])
        rows = pair if rows is None else rows[pair]
    if rows is not None:
        key_of = key_of[rows]
    if group.is_session:
        times = shared.times if rows is None else shared.times[rows]
        slices = _runs(group, times, column, key_of, shared.cuts, watermark_us)
    else:
        numbers, starts = shared.slices_of(_time_windows(group))
        slices = (numbers if rows is None else numbers[rows], starts)
    tuples = Tuples(states, rows, shared.packing)
    return reduce_cells(slices, (column, compiled.columns), (key_of, keys), tuples)


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


def _count_late(
    compiled: CompiledGroup,
    classes: Ints,
    times: Ints,
    is_late: Bools,
    watermark_us: int,
    late: dict[int, int],
) -> Bools:
    """Count, per query, the tuples that miss at least one window already emitted."""
    rows = np.flatnonzero(is_late & (classes != NOBODY))
    t, sets = times[rows], compiled.space.query_sets[classes[rows]]
    missed_any = np.zeros(len(rows), dtype=bool)
    closed: dict[object, Bools] = {}
    for number, member in enumerate(compiled.group.members):
        window = member.window
        if window not in closed:
            if isinstance(window, TimeWindow):
                end = window.first_end_after(t)
                closed[window] = (end > t) & (end <= watermark_us)
            else:
                assert isinstance(window, SessionWindow)
                closed[window] = t + window.gap_us <= watermark_us
        missed = sets[:, number] & closed[window] & (t >= member.since_us)
        count = int(np.count_nonzero(missed))
        if count:
            late[int(member.uid)] = late.get(int(member.uid), 0) + count
            missed_any |= missed
    out = np.zeros(len(times), dtype=bool)
    out[rows[missed_any]] = True
    return out
