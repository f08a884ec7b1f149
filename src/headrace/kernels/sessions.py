"""Session windows shared by queries with different gaps.

Ingest cuts each (class, key) into runs: stretches without a gap longer than the smallest gap of any
query, so every query's sessions are unions of runs. A run's slice label is its first event time;
its last event time is a partial result. `advance` then replays the batches in the order of their
arrival, as Spark's session operator does: tuples later than the watermark are dropped for the
queries that are past them, and a session that was emitted is never joined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headrace.kernels.columns import Bools, Ints
from headrace.kernels.states import State, concat, count_rows, merge


def cut_runs(
    times: Ints, columns: Ints, keys: Ints, gap_us: int, cuts_us: Sequence[int]
) -> tuple[Ints, Ints]:
    """Run number of each tuple, and each run's first event time.

    Runs never cross a cut: changelog times, and the times before which a tuple is late for a gap.
    """
    order = np.lexsort((times, keys, columns))
    t, c, k = times[order], columns[order], keys[order]
    begins = np.ones(len(t), dtype=bool)
    begins[1:] = (c[1:] != c[:-1]) | (k[1:] != k[:-1]) | (t[1:] - t[:-1] > gap_us)
    if cuts_us:
        band = np.searchsorted(np.array(sorted(cuts_us)), t, side="right")
        begins[1:] |= band[1:] != band[:-1]
    numbers = np.empty(len(t), dtype=np.int64)
    numbers[order] = np.cumsum(begins) - 1
    return numbers, t[begins]


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions, or pieces of them: per query and key, first and last event time."""

    query: Ints
    key: Ints
    first: Ints
    last: Ints
    rows: Ints
    states: tuple[State, ...]

    def take(self, rows: Ints | Bools) -> Sessions:
        """Some of them."""
        return Sessions(
            self.query[rows],
            self.key[rows],
            self.first[rows],
            self.last[rows],
            self.rows[rows],
            tuple(s.take(rows) for s in self.states),
        )

    @staticmethod
    def concat(pieces: Sequence[Sessions]) -> Sessions:
        """One after the other."""
        if len(pieces) == 1:
            return pieces[0]
        rows = [p.rows for p in pieces]
        count = len(pieces[0].states)
        return Sessions(
            np.concatenate([p.query for p in pieces]),
            np.concatenate([p.key for p in pieces]),
            np.concatenate([p.first for p in pieces]),
            np.concatenate([p.last for p in pieces]),
            np.concatenate(rows),
            tuple(concat([p.states[i] for p in pieces], rows) for i in range(count)),
        )


def advance(
    arrivals: Sequence[tuple[int, Sessions]], gaps_us: Ints, emitted_upto_us: int
) -> Sessions | None:
    """Sessions not yet emitted, after the arrivals (watermark before the batch, its pieces).

    ``gaps`` is per query number; ``emitted_upto`` is the watermark of the last emission.
    """
    held: Sessions | None = None
    for watermark, pieces in arrivals:
        pieces = pieces.take(pieces.first + gaps_us[pieces.query] > watermark)
        if held is not None:
            held = held.take(held.last + gaps_us[held.query] > watermark)
            pieces = Sessions.concat([held, pieces])
        held = join_pieces(pieces, gaps_us)
    if held is not None:
        held = held.take(held.last + gaps_us[held.query] > emitted_upto_us)
    return held


def join_pieces(pieces: Sessions, gaps_us: Ints) -> Sessions:
    """Join what lies within a gap of each other; a piece exactly a gap later still belongs."""
    if pieces.query.size == 0:
        return pieces
    order = np.lexsort((pieces.first, pieces.key, pieces.query))
    p = pieces.take(order)
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (p.query[1:] != p.query[:-1]) | (p.key[1:] != p.key[:-1])
    reach = _running_max(p.last, fresh)
    begins = fresh.copy()
    begins[1:] |= p.first[1:] > reach[:-1] + gaps_us[p.query[1:]]
    number = np.cumsum(begins) - 1
    size = int(number[-1]) + 1
    last = np.full(size, np.iinfo(np.int64).min, dtype=np.int64)
    np.maximum.at(last, number, p.last)
    return Sessions(
        p.query[begins],
        p.key[begins],
        p.first[begins],
        last,
        count_rows(p.rows, number, size),
        tuple(merge(s, number, size, p.rows) for s in p.states),
    )


def _running_max(values: Ints, fresh: Bools) -> Ints:
    """Running maximum that begins anew at every fresh position."""
    low = int(values.min())
    span = int(values.max()) - low + 1
    section = np.cumsum(fresh) - 1
    if span * (int(section[-1]) + 1) < 2**62:
        lifted = values - low + section * span
        reached: Ints = np.maximum.accumulate(lifted) - section * span + low
        return reached
    out = values.copy()
    edges = [*np.flatnonzero(fresh).tolist(), len(values)]
    for begin, end in pairwise(edges):
        out[begin:end] = np.maximum.accumulate(values[begin:end])
    return out
