"""Points of several coordinates as one column, so that they are kept like any other value."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.columns import flat

Floats = npt.NDArray[np.float64]
_BYTES = 8


def packed(columns: Sequence[pa.ChunkedArray]) -> pa.Array:
    """The coordinates of every tuple as bytes; null where one of them is."""
    arrays = [flat(c).cast(pa.float64(), safe=False) for c in columns]
    known = reduce(pc.and_, [a.is_valid() for a in arrays])
    data = np.column_stack([a.fill_null(0.0).to_numpy(zero_copy_only=False) for a in arrays])
    # There is one zero, as Spark has it in keys.
    data = np.ascontiguousarray(data + 0.0)
    kind = pa.binary(_BYTES * len(arrays))
    whole = pa.Array.from_buffers(kind, len(data), [None, pa.py_buffer(data)])
    return pc.if_else(known, whole.cast(pa.binary()), pa.scalar(None, pa.binary()))


def unpacked(points: pa.Array | pa.ChunkedArray, coordinates: int) -> Floats:
    """Coordinates of points that are not null, a row a point. A single one was kept as it is."""
    array = flat(points)
    if not pa.types.is_binary(array.type):
        single: Floats = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        return single.reshape(-1, 1)
    joined = b"".join(array.to_pylist())
    return np.frombuffer(joined, dtype=np.float64).reshape(-1, coordinates)
