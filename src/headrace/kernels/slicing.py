"""Slices: event time cut at every start and end of the active windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headrace.kernels.columns import Ints
from headrace.query.window import TimeWindow
from headrace.types import BEGINNING

_MANY = 1 << 20


def slice_times(
    times_us: Ints, windows: Sequence[TimeWindow], cuts_us: Iterable[int] = ()
) -> tuple[Ints, Ints]:
    """Slice number of each time, and the start of each slice, in order.

    ``cuts`` are further boundaries (changelog times). The cost is one binary search per tuple.
    """
    if times_us.size == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    low, high = int(times_us.min()), int(times_us.max())
    cuts = np.array(sorted(set(cuts_us)), dtype=np.int64)
    specs = sorted({(w.slide_us, r) for w in windows for r in w.residues})
    if sum((high - low) // slide for slide, _ in specs) > _MANY:
        starts, numbers = np.unique(_start_of(times_us, specs, cuts), return_inverse=True)
        return numbers.astype(np.int64), starts
    # The first slice begins at the edge before the first tuple, not at the tuple.
    edges = [_start_of(times_us[:1] * 0 + low, specs, cuts), cuts[(cuts > low) & (cuts <= high)]]
    for slide, residue in specs:
        edges.append(np.arange(low + (residue - low) % slide, high + 1, slide))
    starts = np.unique(np.concatenate(edges))
    return _used(np.searchsorted(starts, times_us, side="right") - 1, starts)


def _start_of(times_us: Ints, specs: Sequence[tuple[int, int]], cuts: Ints) -> Ints:
    """The last edge or cut at or before each time, without listing the edges in between."""
    best = np.full(len(times_us), BEGINNING, dtype=np.int64)
    for slide, residue in specs:
        best = np.maximum(best, times_us - (times_us - residue) % slide)
    if cuts.size:
        place = np.searchsorted(cuts, times_us, side="right")
        best = np.where(place > 0, np.maximum(best, cuts[np.maximum(place - 1, 0)]), best)
    return best


def _used(numbers: Ints, starts: Ints) -> tuple[Ints, Ints]:
    """Drop slices that hold no tuple."""
    seen = np.zeros(len(starts), dtype=bool)
    seen[numbers] = True
    if seen.all():
        return numbers, starts
    place = np.cumsum(seen) - 1
    return place[numbers], starts[seen]
