"""Rows of a real file as an endless stream."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa


@dataclass(frozen=True)
class Replay:
    """The rows in the order of the file, over and over; event time is the driver's."""

    rows: pa.Table

    def columns(self, number: npt.NDArray[np.int64]) -> dict[str, pa.Array]:
        """The rows of the tuples with these numbers."""
        taken = self.rows.take(pa.array(number % self.rows.num_rows)).combine_chunks()
        return {name: _single(taken.column(name)) for name in self.rows.column_names}


def _single(column: pa.ChunkedArray) -> pa.Array:
    """The one array of a column whose chunks were combined; there is none when it is empty."""
    return column.chunk(0) if column.num_chunks else pa.array([], column.type)
