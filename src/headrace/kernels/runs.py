"""Runs: the classes of a query as stretches of the class axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.kernels.columns import Array, Bools

_FEW_RUNS = 4


@dataclass(frozen=True, slots=True)
class Runs:
    """Each query's classes as runs along the class axis."""

    classes: int
    runs: tuple[tuple[tuple[int, int], ...], ...]

    @classmethod
    def of(cls, sets: Bools) -> Runs:
        padded = np.zeros((sets.shape[0] + 2, sets.shape[1]), dtype=np.int8)
        padded[1:-1] = sets
        edges = np.diff(padded, axis=0)
        runs = []
        for member in range(sets.shape[1]):
            begins = np.flatnonzero(edges[:, member] == 1)
            ends = np.flatnonzero(edges[:, member] == -1)
            runs.append(tuple((int(a), int(b)) for a, b in zip(begins, ends, strict=True)))
        return cls(sets.shape[0], tuple(runs))

    def gather(self, total: Array, members: Sequence[int], ufunc: np.ufunc, identity: Any) -> Array:
        """members × keys: the total over each member's classes."""
        out = np.empty((len(members), total.shape[1]), dtype=total.dtype)
        prefix, suffix = [], []
        for row, member in enumerate(members):
            runs = self.runs[member]
            if len(runs) == 1 and runs[0][1] - runs[0][0] == 1:
                out[row] = total[runs[0][0]]
            elif len(runs) == 1 and runs[0][0] == 0:
                prefix.append((row, runs[0][1] - 1))
            elif len(runs) == 1 and runs[0][1] == self.classes:
                suffix.append((row, runs[0][0]))
            elif len(runs) > _FEW_RUNS:
                classes = np.concatenate([np.arange(a, b) for a, b in runs])
                out[row] = ufunc.reduce(total[classes], axis=0)
            else:
                value = identity
                for a, b in runs:
                    value = ufunc(value, ufunc.reduce(total[a:b], axis=0))
                out[row] = value
        if prefix:
            rows, ends = zip(*prefix, strict=True)
            out[list(rows)] = ufunc.accumulate(total, axis=0)[list(ends)]
        if suffix:
            rows, begins = zip(*suffix, strict=True)
            backwards = ufunc.accumulate(total[::-1], axis=0)
            out[list(rows)] = backwards[self.classes - 1 - np.array(begins)]
        return out

    def between(self, running: Array, members: Sequence[int]) -> Array:
        """The same from sums over all classes before each one."""
        edges = [(row, *run) for row, member in enumerate(members) for run in self.runs[member]]
        if not edges:
            return np.zeros((len(members), running.shape[1]), dtype=running.dtype)
        row, begin, end = (np.array(e) for e in zip(*edges, strict=True))
        found: Array = running[end]
        found -= running[begin]
        if np.array_equal(row, np.arange(len(members))):
            return found
        out = np.zeros((len(members), running.shape[1]), dtype=running.dtype)
        np.add.at(out, row, found)
        return out
