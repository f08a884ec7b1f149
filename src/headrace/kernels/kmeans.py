"""k-means over weighted points: seeding by distance, Lloyd's steps, the best of a few starts.

The same points give the same centres in whatever order they come: they are sorted first, and chance
has a seed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STARTS = 3
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
    order = np.lexsort(points.T[::-1])
    ordered, mass = points[order], weights[order]
    rng = np.random.default_rng(_SEED)
    best: tuple[float, Floats] | None = None
    for _ in range(_STARTS):
        centres, cost = _settled(ordered, mass, _seeded(ordered, mass, clusters, rng))
        if best is None or cost < best[0]:
            best = cost, centres
    assert best is not None
    centres = best[1][np.lexsort(best[1].T[::-1])]
    return centres, _squares(points, centres).min(axis=1)


def _squares(points: Floats, centres: Floats) -> Floats:
    """Squared distances, a row a point."""
    out = np.zeros((len(points), len(centres)))
    for axis in range(points.shape[1]):
        out += (points[:, axis, None] - centres[None, :, axis]) ** 2
    return out


def _seeded(points: Floats, weights: Floats, clusters: int, rng: np.random.Generator) -> Floats:
    """Each next centre far from those before, by chance in proportion to its squared distance."""
    chosen = [_drawn(weights, rng)]
    nearest = _squares(points, points[chosen])[:, 0]
    while len(chosen) < clusters and (nearest * weights).any():
        chosen.append(_drawn(nearest * weights, rng))
        nearest = np.minimum(nearest, _squares(points, points[chosen[-1:]])[:, 0])
    return points[chosen]


def _drawn(weights: Floats, rng: np.random.Generator) -> int:
    upto = np.cumsum(weights)
    return int(np.searchsorted(upto, rng.random() * upto[-1], side="right").clip(0, len(upto) - 1))


def _settled(points: Floats, weights: Floats, centres: Floats) -> tuple[Floats, float]:
    cost = np.inf
    for _ in range(_STEPS):
        squares = _squares(points, centres)
        nearest = squares.argmin(axis=1)
        now = float(squares[np.arange(len(points)), nearest] @ weights)
        if now >= cost * (1.0 - _STILL):
            return centres, now
        cost = now
        mass = np.bincount(nearest, weights, minlength=len(centres))
        sums = [
            np.bincount(nearest, weights * points[:, axis], minlength=len(centres))
            for axis in range(points.shape[1])
        ]
        kept = mass > 0.0
        moved = np.column_stack(sums)[kept] / mass[kept, None]
        centres = np.where(kept[:, None], 0.0, centres)
        centres[kept] = moved
    return centres, cost
