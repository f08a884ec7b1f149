"""The algebra of partial results: lift a tuple, merge partial results, nothing else.

A `State` holds one partial for many cells as numpy components. Counting, summing, extremes,
moments and first/last are all `lift` (tuples as singletons) followed by `merge` (by group number),
so ingest, compaction and fire use the same code.

| op      | components                  | merge                                     |
|---------|-----------------------------|-------------------------------------------|
| rows    | n                           | sum                                       |
| count   | n                           | sum                                       |
| sum     | n, s (or limbs l0..l3)      | sum                                       |
| squares | n, s                        | sum                                       |
| min/max | n, v                        | extreme                                   |
| moments | n, mean, m2                 | Chan's pairwise update, grouped           |
| first   | t, n, v                     | smallest time, then smallest value        |
| last    | t, n, v                     | largest time, then largest value          |
| …_known | t, n, v                     | the same among tuples that are not null   |

A missing ``n`` means that no tuple of the cell was null: it equals the cell's ``rows``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from headrace.kernels.columns import (
    Array,
    Bools,
    Ints,
    Values,
    concat_values,
    decimal_words,
    flat,
    values_of,
)
from headrace.query.plan import Partial
from headrace.query.schema import decimal_of

_NARROW = 2**31
_SHORT = 2**15
"""The squares of shorter numbers can be added up billions of times."""
_LOW = np.int64(0xFFFFFFFF)
NO_TIME_FIRST = np.iinfo(np.int64).max
NO_TIME_LAST = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True)
class State:
    """One partial for a run of cells."""

    partial: Partial
    parts: dict[str, Array]
    dictionary: pa.Array | None = None

    def take(self, rows: Array) -> State:
        """The state of some cells."""
        parts = {name: part[rows] for name, part in self.parts.items()}
        return State(self.partial, parts, self.dictionary)

    @property
    def size(self) -> int:
        """How many cells, when it has any component."""
        return next((len(p) for p in self.parts.values()), 0)


def lift(
    partial: Partial,
    column: pa.Array | pa.ChunkedArray | None,
    times: Ints,
    condition: Bools | None = None,
) -> State:
    """Each tuple as a partial result of its own; FIRST and LAST leave out where not `condition`."""
    if partial.op == "rows" or column is None:
        return State(partial, {})
    if partial.op == "count":
        array = flat(column)
        if not array.null_count:
            return State(partial, {})
        return State(partial, {"n": array.is_valid().to_numpy(zero_copy_only=False)})
    if partial.op == "sum":
        return _lift_sum(partial, column)
    if partial.op == "squares":
        return squared(partial, _lift_sum(partial, column))
    if partial.op == "moments":
        # A decimal as the number it is, not as its unscaled digits.
        column = flat(column).cast(pa.float64(), safe=False)
    values = values_of(column)
    counted: dict[str, Array] = {} if values.valid is None else {"n": values.valid}
    if partial.op in ("min", "max"):
        return State(partial, counted | {"v": values.data}, values.dictionary)
    if partial.op == "moments":
        return State(partial, counted | {"mean": values.data, "m2": np.zeros(len(values.data))})
    known = np.ones(len(values.data), bool) if values.valid is None else values.valid
    nothing = NO_TIME_FIRST if partial.op.startswith("first") else NO_TIME_LAST
    if partial.op.endswith("_known"):
        times = np.where(known, times, nothing)
    if condition is not None:
        times, known = np.where(condition, times, nothing), known & condition
    return State(partial, {"t": times, "n": known, "v": values.data}, values.dictionary)


def _lift_sum(partial: Partial, column: pa.Array | pa.ChunkedArray) -> State:
    array = flat(column)
    if pa.types.is_decimal(array.type):
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        parts: dict[str, Array] = {} if valid is None else {"n": valid}
        words = decimal_words(array)
        short = array.type.precision <= 18
        count = 2 if short else 4
        for limb in range(count):
            data = words[:, limb].astype(np.int64)
            if limb == count - 1:
                data = words[:, limb].view(np.int32).astype(np.int64)
            parts[f"l{limb}"] = data if valid is None else np.where(valid, data, 0)
        return State(partial, parts)
    values = values_of(array)
    counted: dict[str, Array] = {} if values.valid is None else {"n": values.valid}
    data = values.data
    if data.dtype == np.int64 and len(data) and _widest(data) >= _NARROW:
        return State(partial, counted | {"l0": data & _LOW, "l1": data >> 32})
    return State(partial, counted | {"s": data})


def squared(partial: Partial, tuples: State) -> State:
    """The squares of tuples that were lifted to be summed up; exact ones of short numbers."""
    data = tuples.parts.get("s")
    if data is None or (len(data) and _widest(data) >= _SHORT):
        data = about(tuples)
    counted = {name: part for name, part in tuples.parts.items() if name == "n"}
    return State(partial, counted | {"s": data * data})


def _widest(data: Ints) -> int:
    return max(abs(int(data.min())), abs(int(data.max())))


def merge(state: State, groups: Ints, size: int, rows: Ints | None = None) -> State:
    """Combine partial results that carry the same group number, 0 … size-1.

    ``rows`` are the tuple counts of the cells being merged, for components that are left out
    because nothing was null; None means single tuples.
    """
    parts, op = state.parts, state.partial.op
    if op in ("rows", "count"):
        if "n" not in parts:
            return state
        return State(state.partial, {"n": _total(parts["n"], groups, size)})
    merged: dict[str, Array] = {}
    if op in ("sum", "squares"):
        for name, part in parts.items():
            merged[name] = _total(part, groups, size)
    elif op in ("min", "max"):
        if "n" in parts:
            merged["n"] = _total(parts["n"], groups, size)
        merged["v"] = _extreme(op, parts["v"], groups, size, parts.get("n"))
    elif op == "moments":
        merged = _merge_moments(parts, groups, size, rows)
    else:
        merged = _merge_timed(op, parts, groups, size)
    return State(state.partial, merged, state.dictionary)


@dataclass(frozen=True, slots=True)
class Partials:
    """Partial results that are merged together. ``rows`` are the tuples behind each, None for
    single tuples."""

    states: Sequence[State]
    rows: Ints | None = None

    def merge(self, groups: Ints, size: int) -> tuple[Ints, tuple[State, ...]]:
        """Tuples by group number, and their states."""
        states = tuple(merge(s, groups, size, self.rows) for s in self.states)
        return count_rows(self.rows, groups, size), states


class Mergeable(Protocol):
    """What can be merged by group number: `Partials`, or tuples in a quicker way."""

    def merge(self, groups: Ints, size: int) -> tuple[Ints, tuple[State, ...]]:
        """Tuples by group number, 0 … size-1, and their states."""
        ...


def count_rows(rows: Ints | None, groups: Ints, size: int) -> Ints:
    """Tuples per group."""
    if rows is None:
        return np.bincount(groups, minlength=size)
    return _total(rows, groups, size)


def _total(part: Array, groups: Ints, size: int) -> Array:
    if part.dtype == np.bool_:
        return np.bincount(groups[part], minlength=size)
    if part.dtype == np.float64:
        return np.bincount(groups, weights=part, minlength=size)
    out = np.zeros(size, dtype=np.int64)
    np.add.at(out, groups, part)
    return out


def identity(partial: Partial | None, name: str, dtype: np.dtype[Any]) -> Any:
    """A component's value where there is no tuple, if it is one that adds up."""
    return 0 if name != "v" or partial is None else _no_extreme(partial.op, dtype)


def _no_extreme(op: str, dtype: np.dtype[Any]) -> Any:
    if dtype == np.float64:
        return np.nan if op == "min" else -np.inf
    return np.iinfo(np.int64).max if op == "min" else np.iinfo(np.int64).min


def _extreme(op: str, values: Array, groups: Ints, size: int, n: Array | None) -> Array:
    """Smallest or largest value; a NaN is larger than every number, as in Spark."""
    if n is not None:
        known = n.astype(bool)
        values, groups = values[known], groups[known]
    ufunc: np.ufunc = np.maximum
    if op == "min":
        ufunc = np.fmin if values.dtype == np.float64 else np.minimum
    out = np.full(size, _no_extreme(op, values.dtype), dtype=values.dtype)
    with np.errstate(invalid="ignore"):
        ufunc.at(out, groups, values)
    return out


def _merge_moments(
    parts: dict[str, Array], groups: Ints, size: int, rows: Ints | None
) -> dict[str, Array]:
    counts = parts.get("n", rows)
    if counts is None:
        return _moments_of(parts["mean"], groups, size)
    n = counts.astype(np.float64)
    weighted = np.where(n > 0, parts["mean"] * n, 0.0)
    total = np.bincount(groups, weights=n, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(groups, weights=weighted, minlength=size) / total
        spread = np.where(n > 0, n * (parts["mean"] - mean[groups]) ** 2 + parts["m2"], 0.0)
    m2 = np.bincount(groups, weights=spread, minlength=size)
    merged = {"mean": mean, "m2": m2}
    if "n" in parts:
        merged["n"] = total.astype(np.int64)
    return merged


def _moments_of(values: Array, groups: Ints, size: int) -> dict[str, Array]:
    """Of single tuples, none of them null."""
    total = np.maximum(np.bincount(groups, minlength=size), 1)
    mean = np.bincount(groups, weights=values, minlength=size) / total
    with np.errstate(invalid="ignore"):  # infinite values have no deviation
        off = values - mean[groups]
    return {"mean": mean, "m2": np.bincount(groups, weights=off * off, minlength=size)}


def _merge_timed(op: str, parts: dict[str, Array], groups: Ints, size: int) -> dict[str, Array]:
    """The value at the smallest (largest) time; among equal times the smallest (largest) value.

    A null is smaller than every value, as in Spark's ordering of structs.
    """
    first = op.startswith("first")
    edge = np.full(size, NO_TIME_FIRST if first else NO_TIME_LAST, dtype=np.int64)
    (np.minimum if first else np.maximum).at(edge, groups, parts["t"])
    tied: Bools = parts["t"] == edge[groups]
    tied_groups, values, known = groups[tied], parts["v"][tied], parts["n"][tied].astype(bool)
    nulls = np.bincount(tied_groups[~known], minlength=size)
    valued = np.bincount(tied_groups[known], minlength=size)
    value = _extreme("min" if first else "max", values, tied_groups, size, known)
    is_known = (valued > 0) & ((nulls == 0) if first else True)
    return {"t": edge, "n": is_known, "v": value}


def alike(states: list[State], rows: list[Ints]) -> list[State]:
    """States of one partial, brought to the same components (values apart)."""
    names = {name for s in states for name in s.parts}
    if states[0].partial.op == "sum" and "s" in names and "l0" in names:
        states = [_limbed(s) for s in states]
        names = {name for s in states for name in s.parts}
    out = []
    for state, count in zip(states, rows, strict=True):
        missing = {n: count if n == "n" else np.zeros(len(count), np.int64) for n in names}
        parts = {n: state.parts.get(n, missing[n]) for n in sorted(names)}
        out.append(State(state.partial, parts, state.dictionary))
    return out


def concat(states: list[State], rows: list[Ints]) -> State:
    """States one after the other, brought to the same components."""
    states = alike(states, rows)
    parts = {
        name: np.concatenate([s.parts[name] for s in states])
        for name in states[0].parts
        if name != "v"
    }
    dictionary = None
    if "v" in states[0].parts:
        merged = concat_values([Values(s.parts["v"], None, s.dictionary) for s in states])
        parts["v"], dictionary = merged.data, merged.dictionary
    return State(states[0].partial, parts, dictionary)


def _limbed(state: State) -> State:
    if "s" not in state.parts:
        return state
    parts = {n: p for n, p in state.parts.items() if n != "s"}
    data = state.parts["s"].astype(np.int64)
    return State(state.partial, parts | {"l0": data & _LOW, "l1": data >> 32})


def about(state: State) -> Array:
    """Sums as floats; those of decimals in units of their last digit."""
    if "s" in state.parts:
        return state.parts["s"].astype(np.float64)
    limbs = [state.parts[f"l{i}"] for i in range(4) if f"l{i}" in state.parts]
    total = np.zeros(len(limbs[0]))
    for i, limb in enumerate(limbs):
        total += limb.astype(np.float64) * 2.0 ** (32 * i)
    return total


def is_decimal(partial: Partial) -> bool:
    """Whether the input is a decimal."""
    return decimal_of(partial.type) is not None
