"""Partial results of tuples that each count several times.

Where a tuple meets so many others it is in so many rows of a join: counts and sums are multiplied,
and the least, the greatest, the first and the last stay what they are.
"""

from __future__ import annotations

import numpy as np

from headrace.kernels.columns import Array, Ints
from headrace.kernels.states import (
    NO_TIME_FIRST,
    NO_TIME_LAST,
    State,
    about,
    identity,
)

_SAFE = 2.0**62
_MOST = 2.0**150
"""Sums beyond are not told apart from each other; no type of Spark holds a ten-thousandth of it."""
_LOW = np.int64(0xFFFFFFFF)
_HALF = np.int64(0xFFFF)


class TooMany(ArithmeticError):
    """A join has more rows than can be counted."""


def multiplied(counts: Ints, times: Ints) -> Ints:
    """Counts, each so many times; raises TooMany where they do not fit."""
    most = float(counts.max(initial=0)) * float(times.max(initial=0))
    if most >= _SAFE and bool((counts.astype(np.float64) * times >= _SAFE).any()):
        raise TooMany("a window of the join has more rows than a bigint counts")
    return counts * times


def scaled(state: State, times: Ints) -> State:
    """Each partial result as if its tuples came so many times, once or more."""
    parts, op = dict(state.parts), state.partial.op
    if op.startswith(("first", "last")):
        return state
    if "n" in parts:
        parts["n"] = multiplied(parts["n"].astype(np.int64), times)
    if op == "moments":
        parts["m2"] = parts["m2"] * times
    if op in ("sum", "squares"):
        parts |= _sums(state, times)
        if "l0" in parts:
            parts.pop("s", None)
    return State(state.partial, parts, state.dictionary)


def _sums(state: State, times: Ints) -> dict[str, Array]:
    sums = {name: part for name, part in state.parts.items() if name != "n"}
    if "s" in sums and sums["s"].dtype == np.float64:
        return {"s": sums["s"] * times}
    most = float(times.max(initial=1))
    widest = max((_widest(part) for part in sums.values()), default=0.0)
    if widest * most < _SAFE:
        return {name: part * times for name, part in sums.items()}
    if bool((np.abs(about(state)) * times >= _MOST).any()):
        raise TooMany("a sum over the join has more digits than any type of Spark")
    if "s" in sums:
        sums = {"l0": sums["s"] & _LOW, "l1": sums["s"] >> 32}
    return _long(_carried(sums), times)


def _widest(part: Array) -> float:
    return max(float(part.max(initial=0)), -float(part.min(initial=0)))


def _carried(limbs: dict[str, Array]) -> list[Ints]:
    """Four limbs of 32 bits, the last with the sign."""
    found: list[Ints] = []
    carry: Ints = np.zeros(len(limbs["l0"]), dtype=np.int64)
    for number in range(4):
        whole = limbs.get(f"l{number}", np.int64(0)) + carry
        found.append(whole & _LOW if number < 3 else whole)
        carry = whole >> 32
    return found


def _long(limbs: list[Ints], times: Ints) -> dict[str, Array]:
    """Multiplication as on paper, the times in digits of 16 bits."""
    out = [np.zeros(len(times), dtype=np.int64) for _ in range(4)]
    for place, limb in enumerate(limbs):
        for digit in range(4):
            product = limb * ((times >> (16 * digit)) & _HALF)
            at = place + digit // 2
            if digit % 2 == 0:
                _put(out, at, product)
            else:
                _put(out, at, (product & _HALF) << 16)
                _put(out, at + 1, product >> 16)
    return {f"l{number}": limb for number, limb in enumerate(out)}


def _put(out: list[Ints], at: int, amount: Ints) -> None:
    """What lies beyond the last limb is in it: the sum was seen to fit."""
    beyond = 32 * (at - len(out) + 1)
    if beyond <= 0:
        out[at] += amount
    elif beyond < 64:  # what is further to the left cancels out
        out[-1] += amount << beyond


def counted(state: State, rows: Ints) -> State:
    """The same with the number of its values told, though none of them was null."""
    if "n" in state.parts or state.partial.op == "rows":
        return state
    return State(state.partial, {**state.parts, "n": rows}, state.dictionary)


def absent(state: State, size: int) -> State:
    """Partial results of no value at all, in the components of a state that tells their number."""
    parts: dict[str, Array] = {}
    for name, part in state.parts.items():
        if name == "t":
            nothing = NO_TIME_FIRST if state.partial.op.startswith("first") else NO_TIME_LAST
            parts[name] = np.full(size, nothing, dtype=np.int64)
        else:
            empty = identity(state.partial, name, part.dtype)
            parts[name] = np.full(size, empty, dtype=part.dtype)
    return State(state.partial, parts, state.dictionary)
