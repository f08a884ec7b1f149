"""k-means over weighted points: seeding by distance, Lloyd's steps, the best of a few starts.

Starts are tried on every so manieth point, and the best one goes on with all of them. The same
points give the same centres in whatever order they come: they are sorted first, and chance has a
seed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STARTS = 4
_SOME = 2_000
"""So many points are enough to choose a start by."""
_STEPS = 30
_STILL = 1e-4
"""Steps end when they make the cost smaller by no more than this share of it."""
_SEED = 20_140_000


def kmeans(points: Floats, weights: Floats, clusters: int) -> tuple[Floats, Floats]:
    """Centres in lexical order, at most as many as there are points, and the squared distance of
    every point to the nearest of them.

    >>> centres, off = kmeans(np.array([[0.0], [1.0], [9.0]]), np.ones(3), 2)
    >>> centres.ravel().tolist(), off.tolist()
    ([0.5, 9.0], [0.25, 0.25, 0.0])
    """
    order = _ordered(points)
    step = max(len(points) // _SOME, 1)
    # Coordinates in rows: what is done for all points runs along memory.
    every, mass = np.ascontiguousarray(points[order].T), weights[order]
    some, some_mass = np.ascontiguousarray(every[:, ::step]), mass[::step]
    rng = np.random.default_rng(_SEED)
    starts = [
        _settled(some, some_mass, _seeded(some, some_mass, clusters, rng)) for _ in range(_STARTS)
    ]
    best = min(starts, key=lambda start: start[1])[0]
    centres = best if step == 1 else _settled(every, mass, best)[0]
    centres = centres[np.lexsort(centres.T[::-1])]
    off = np.empty(len(points))
    off[order] = _nearest(every, centres)[1]
    return centres, off


def _ordered(points: Floats) -> npt.NDArray[np.intp]:
    """Points in lexical order. Their first coordinates are seldom alike, and sorted much faster."""
    order = np.argsort(points[:, 0])
    first = points[order, 0]
    alike = not (first[1:] > first[:-1]).all()
    return np.lexsort(points.T[::-1]) if alike else order


def _nearest(coordinates: Floats, centres: Floats) -> tuple[npt.NDArray[np.intp], Floats]:
    """Which centre is nearest to each point, the first of several, and its squared distance."""
    nearest = np.zeros(coordinates.shape[1], np.intp)
    least = _squares(coordinates, centres[0])
    for number, centre in enumerate(centres[1:], 1):
        squares = _squares(coordinates, centre)
        np.copyto(nearest, number, where=squares < least)
        np.minimum(least, squares, out=least)
    return nearest, least


def _squares(coordinates: Floats, centre: Floats) -> Floats:
    """Squared distances to one centre."""
    out: Floats = np.zeros(coordinates.shape[1])
    for axis, at in zip(coordinates, centre, strict=True):
        off = axis - at
        off *= off
        out += off
    return out


def _seeded(
    coordinates: Floats, weights: Floats, clusters: int, rng: np.random.Generator
) -> Floats:
    """Each next centre far from those before, by chance in proportion to its squared distance."""
    chosen = [_drawn(weights, rng)]
    nearest = _squares(coordinates, coordinates[:, chosen[0]])
    while len(chosen) < clusters and (nearest * weights).any():
        chosen.append(_drawn(nearest * weights, rng))
        nearest = np.minimum(nearest, _squares(coordinates, coordinates[:, chosen[-1]]))
    return np.ascontiguousarray(coordinates[:, chosen].T)


def _drawn(weights: Floats, rng: np.random.Generator) -> int:
    upto = np.cumsum(weights)
    return int(np.searchsorted(upto, rng.random() * upto[-1], side="right").clip(0, len(upto) - 1))


def _settled(coordinates: Floats, weights: Floats, centres: Floats) -> tuple[Floats, float]:
    """Centres that no longer move, and the summed squared distance to them."""
    cost = np.inf
    for _ in range(_STEPS):
        nearest, squares = _nearest(coordinates, centres)
        now = float(squares @ weights)
        if now >= cost * (1.0 - _STILL):
            return centres, now
        cost = now
        mass = np.bincount(nearest, weights, minlength=len(centres))
        kept = mass > 0.0
        centres = centres.copy()
        for number, axis in enumerate(coordinates):
            sums = np.bincount(nearest, weights * axis, minlength=len(centres))
            centres[kept, number] = sums[kept] / mass[kept]
    return centres, cost
