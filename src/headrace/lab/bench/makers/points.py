"""Points of the plane around some centres, to be clustered."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headrace.lab.bench.makers.settings import setting

_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


@dataclass(frozen=True)
class Points:
    """`x` and `y`: normal with deviation `spread` around one of `clusters` centres.

    The centres lie on a spiral, like the seeds of a sunflower: spread evenly over a disk of radius
    `extent`, the same for everyone who knows the two numbers.
    """

    clusters: int = setting(5, 1, 2**15)
    extent: float = setting(100.0, 0.0)
    spread: float = setting(15.0, 0.0)

    @cached_property
    def centres(self) -> npt.NDArray[np.float64]:
        """One row of x and y for every cluster."""
        nth = np.arange(self.clusters)
        radius = self.extent * np.sqrt((nth + 0.5) / self.clusters)
        return np.column_stack(
            (radius * np.cos(nth * _GOLDEN_ANGLE), radius * np.sin(nth * _GOLDEN_ANGLE))
        )

    def columns(
        self,
        rng: np.random.Generator,
        number: npt.NDArray[np.int64],
        at_s: npt.NDArray[np.float64],
    ) -> dict[str, pa.Array]:
        """Each point belongs to a cluster drawn at random."""
        cluster = rng.integers(0, self.clusters, len(number), dtype=np.int16)
        off = self.spread * rng.standard_normal((2, len(number)))
        return {
            "x": pa.array(self.centres[:, 0][cluster] + off[0]),
            "y": pa.array(self.centres[:, 1][cluster] + off[1]),
        }
