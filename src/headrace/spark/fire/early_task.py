"""Answers of approximate queries inside a fire task: early ones with bounds, and exact ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.approximate.bounds import Bounded, Flags, Floats, Strata
from headrace.approximate.closing import weak
from headrace.approximate.early import EarlyDue
from headrace.approximate.estimates import Estimated, estimated
from headrace.connectors.store import Store
from headrace.kernels.answers import Blocks, Failure, Result, Setting
from headrace.kernels.keys import match_keys
from headrace.kernels.shapes import Asked, Shape
from headrace.query.accuracy import Accuracy
from headrace.query.arrow import arrow_type
from headrace.query.logical import Function
from headrace.query.window import Span
from headrace.runtime.messages import EarlyAnswers, Message, ipc_bytes
from headrace.types import BEGINNING, to_datetime

_BOUNDS = ("lower", "upper", "sample", "input", "met")


@dataclass(frozen=True)
class EarlyKnown:
    """What was answered early before, and who wants to learn."""

    closed_upto_us: Mapping[int, int] = field(default_factory=dict)
    """By query: windows that end up to here were answered early."""
    answered: tuple[str, ...] = ()
    """Files with the groups that were."""
    learners: frozenset[int] = frozenset()
    """Queries that want to know how strong their groups are."""


@dataclass
class EarlyTask:
    """The approximate side of one fire task."""

    known: EarlyKnown
    buckets: Store
    setting: Setting
    strengths: dict[int, tuple[float, float]] = field(default_factory=dict)
    """By query: how strong the weaker groups are, and those in the middle."""
    met: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Query, window, rows and those of them whose guarantee is met."""
    files: list[tuple[str, int]] = field(default_factory=list)
    pending: list[tuple[int, int, int]] = field(default_factory=list)
    """Queries and windows of which some groups wait."""

    # -- exact rows ---------------------------------------------------------------------------

    def exact(self, result: Result | Failure, blocks: Blocks) -> Result | Failure | None:
        """Rows that are complete, less those that were answered early; None where none is left."""
        if isinstance(result, Failure) or result.shape.query.accuracy is None:
            return result
        query, table = result.shape.query, result.table
        accuracy = query.accuracy
        assert accuracy is not None
        self._learn(result, blocks)
        if not accuracy.refine:
            upto = self.known.closed_upto_us
            ends = table.column("_end").to_numpy()
            uids = table.column("_q").to_numpy().tolist()
            if (ends <= np.array([upto.get(u, BEGINNING) for u in uids])).any():
                table = self._not_answered(table, len(query.keys))
        if not table.num_rows:
            return None
        columns = {name: table.column(name) for name in table.column_names}
        for place in range(len(query.aggregates)):
            value = _as_bound(table.column(f"a{place}"))
            n = table.column(f"a{place}_n")
            sure = pa.array(np.ones(table.num_rows, bool))
            told = (value, value, n.cast(pa.int64()), n, sure)
            columns |= _named(place, told)
        columns["_exact"] = pa.array(np.ones(table.num_rows, bool))
        made = pa.table(columns)
        self._note_met(made, np.ones(table.num_rows, bool))
        return Result(result.shape, made)

    def _learn(self, result: Result, blocks: Blocks) -> None:
        """What the last complete window of a query tells that was not closed early."""
        shape, table = result.shape, result.table
        accuracy = shape.query.accuracy
        assert accuracy is not None
        uids, starts, ends = (table.column(n).to_numpy() for n in ("_q", "_start", "_end"))
        fresh: dict[Span, list[int]] = {}
        for uid in self.known.learners & set(np.unique(uids).tolist()):
            mine = uids == uid
            last = np.argmax(ends[mine])
            span = int(starts[mine][last]), int(ends[mine][last])
            if self.known.closed_upto_us.get(uid, BEGINNING) < span[1]:
                fresh.setdefault(span, []).append(uid)
        for span, some in fresh.items():
            made = estimated(shape, some, blocks, [span], Strata.complete(), accuracy.confidence)
            if made is not None:
                self._note_strengths(made)

    def _not_answered(self, table: pa.Table, keys: int) -> pa.Table:
        """Rows of groups that were not answered early."""
        names = ["_q", "_end", *(f"k{n}" for n in range(keys))]
        known = [pa.ipc.open_stream(self.buckets.read(f)).read_all() for f in self.known.answered]
        alike = [k for k in known if k.schema.equals(table.select(names).schema)]
        if not alike:
            return table
        done = pa.concat_tables(alike)
        return _without(table, done, names)

    # -- early rows ---------------------------------------------------------------------------

    def early(
        self, due: EarlyDue, asked: Mapping[int, Asked], blocks: Blocks, name: str
    ) -> Iterator[Result | Failure]:
        """Rows of one window from what is there, and what has to be remembered of them."""
        shapes: dict[Shape, list[int]] = {}
        for uid in due.uids:
            if uid in asked:
                shapes.setdefault(asked[uid].shape, []).append(uid)
        spans = [due.span] if due.strata is None else [(s.start_us, s.end_us) for s in due.strata]
        strata = Strata.complete() if due.strata is None else Strata.of(due.strata)
        for number, (shape, uids) in enumerate(shapes.items()):
            accuracy = shape.query.accuracy
            assert accuracy is not None
            made = estimated(shape, uids, blocks, spans, strata, accuracy.confidence)
            if made is not None:
                self._note_strengths(made)
                yield from self._answered(due, shape, made, f"{name}-{number:04d}.answered")

    def _answered(
        self, due: EarlyDue, shape: Shape, made: Estimated, name: str
    ) -> Iterator[Result | Failure]:
        accuracy, found = shape.query.accuracy, made.groups
        assert accuracy is not None
        bounded = [estimate.bounded for estimate in made.estimates]
        table = self._table(due, shape, made, accuracy)
        met = _all_met(bounded, accuracy) if due.strata is not None else None
        if met is not None and accuracy.fallback != "best_effort":
            if accuracy.fallback == "exact":
                self.pending += [(u, *due.span) for u in np.unique(found.uids[~met]).tolist()]
            if accuracy.fallback == "error" and not met.all():
                yield from _failures(table, met, accuracy)
                kept = np.isin(found.uids, np.unique(found.uids[~met]), invert=True)
            else:
                kept = met
            table, met = table.filter(pa.array(kept)), met[kept]
        if accuracy.fallback == "exact":
            # What is left of them is met.
            table = self._not_answered(table, len(shape.query.keys))
            met = None
        if not table.num_rows:
            return
        self._note_met(table, np.ones(table.num_rows, bool) if met is None else met)
        if accuracy.fallback == "exact":
            names = ["_q", "_end", *(f"k{n}" for n in range(len(shape.query.keys)))]
            self.buckets.write(name, ipc_bytes(table.select(names)))
            self.files.append((name, due.span[1]))
        yield Result(shape, table)

    def _table(
        self,
        due: EarlyDue,
        shape: Shape,
        made: Estimated,
        accuracy: Accuracy,
    ) -> pa.Table:
        found = made.groups
        size, zone = len(found.uids), self.setting.time_zone
        columns: dict[str, pa.Array] = {
            "_q": pa.array(found.uids),
            "_start": pa.array(np.full(size, due.span[0])),
            "_end": pa.array(np.full(size, due.span[1])),
        }
        taken = found.keys.take(pa.array(found.key)) if shape.query.keys else None
        for place, expression in enumerate(shape.query.keys):
            assert taken is not None
            kind = arrow_type(expression.type, zone)
            columns[f"k{place}"] = taken.column(place).combine_chunks().cast(kind)
        calls = zip(shape.query.aggregates, made.estimates, strict=True)
        for place, (call, estimate) in enumerate(calls):
            one = estimate.bounded
            empty = one.sample <= 0.0
            null = empty if call.function is not Function.COUNT else np.zeros(size, bool)
            kind = arrow_type(call.result_type, zone)
            if estimate.centres:
                columns[f"a{place}"] = pa.array(estimate.centres, type=kind)
            else:
                columns[f"a{place}"] = _typed(one.value, null, kind)
            stated = due.strata is not None
            hidden = null if stated else np.ones(size, bool)
            told = (
                pa.array(one.lower, mask=hidden),
                pa.array(one.upper, mask=hidden),
                pa.array(np.round(one.sample).astype(np.int64)),
                pa.array(one.input),
                pa.array(one.within(accuracy.error), mask=None if stated else hidden),
            )
            columns |= _named(place, told)
        whole = due.complete and due.strata is not None and Strata.of(due.strata).is_whole
        columns["_exact"] = pa.array(np.full(size, whole))
        return pa.table(columns)

    # -- what is remembered -------------------------------------------------------------------

    def _note_strengths(self, made: Estimated) -> None:
        for uid in np.unique(made.groups.uids).tolist():
            mine = made.groups.uids == uid
            for estimate in made.estimates:
                there = estimate.strengths[mine & (estimate.bounded.sample > 0.0)]
                weaker, middle = weak(there), weak(there, 0.5)
                if weaker is not None and middle is not None:
                    known = self.strengths.get(uid, (math.inf, math.inf))
                    self.strengths[uid] = min(known[0], weaker), min(known[1], middle)

    def _note_met(self, table: pa.Table, met: Flags) -> None:
        uids, starts, ends = (table.column(n).to_numpy() for n in ("_q", "_start", "_end"))
        # Rows of one query and window are next to each other.
        other = np.flatnonzero((uids[1:] != uids[:-1]) | (ends[1:] != ends[:-1])) + 1
        firsts = np.concatenate([[0], other])
        rows = np.diff([*firsts, len(uids)])
        good = np.add.reduceat(met.astype(np.int64), firsts)
        runs = (uids[firsts], starts[firsts], ends[firsts], rows, good)
        self.met += zip(*(part.tolist() for part in runs), strict=True)

    def message(self) -> Message | None:
        """What the driver must know."""
        if not (self.strengths or self.met or self.files or self.pending):
            return None
        return Message.of(
            EarlyAnswers(self.strengths, tuple(self.met), tuple(self.files), tuple(self.pending))
        )


def _all_met(bounded: Sequence[Bounded], accuracy: Accuracy) -> Flags:
    met: Flags = np.logical_and.reduce([one.within(accuracy.error) for one in bounded])
    return met


def _failures(table: pa.Table, met: Flags, accuracy: Accuracy) -> Iterator[Failure]:
    """One for each query: the first row that is not as it asked."""
    off = table.filter(pa.array(~met))
    uids = off.column("_q").to_numpy()
    for uid in np.unique(uids).tolist():
        row = off.filter(pa.array(uids == uid)).slice(0, 1).to_pylist()[0]
        keys = [str(v) for n, v in row.items() if n.startswith("k")]
        where = f" of group {', '.join(keys)}" if keys else ""
        yield Failure(
            uid,
            f"the window that ends at {to_datetime(row['_end'])}{where} cannot be answered within "
            f"{accuracy.error:g} at confidence {accuracy.confidence:g}, and its fallback is "
            "'error' (choices: 'exact', 'best_effort')",
        )


def _typed(values: Floats, null: Flags, kind: pa.DataType) -> pa.Array:
    """Estimates in the type of the exact answer."""
    if pa.types.is_integer(kind):
        return pa.array(np.round(values).astype(np.int64), mask=null).cast(kind)
    array = pa.array(values, mask=null)
    if pa.types.is_decimal(kind):
        # Through the widest decimal, which rounds; the result's own precision is checked.
        return pc.round(array, ndigits=min(kind.scale, 15)).cast(kind, safe=False)
    return array.cast(kind)


def _named(place: int, told: Sequence[pa.Array]) -> dict[str, pa.Array]:
    return {f"a{place}_{word}": part for word, part in zip(_BOUNDS, told, strict=True)}


def _as_bound(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """An exact value as its own bound; centres have none."""
    if pa.types.is_list(column.type):
        return pa.chunked_array([pa.nulls(len(column), pa.float64())])
    return column.cast(pa.float64(), safe=False)


def _without(table: pa.Table, done: pa.Table, names: list[str]) -> pa.Table:
    """Rows whose names are not among those done; nulls equal each other."""
    (mine, others), _ = match_keys([table.select(names), done.select(names)])
    return table.filter(pa.array(np.isin(mine, others, invert=True)))
