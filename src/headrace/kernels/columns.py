"""Arrow columns as numpy arrays in a discrete order, and back.

Whole numbers, booleans, dates, times and short decimals become int64; floats become float64. What
has an order but no number (strings, bytes, long decimals) becomes ranks in a sorted dictionary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Array = npt.NDArray[Any]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Values:
    """A column's values; ``valid`` is None when nothing is null.

    ``dictionary`` (sorted) is present when the values are ranks in it.
    """

    data: Array
    valid: Bools | None = None
    dictionary: pa.Array | None = None

    def take(self, rows: Array) -> Values:
        """The values at some rows."""
        valid = None if self.valid is None else self.valid[rows]
        return Values(self.data[rows], valid, self.dictionary)


def flat(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array."""
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def values_of(column: pa.Array | pa.ChunkedArray) -> Values:
    """Values in their discrete order."""
    array = flat(column)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    kind = array.type
    if is_ranked(kind):
        return _ranked(array, valid)
    return Values(_numbers(array, kind), valid)


def comparable(column: pa.Array | pa.ChunkedArray) -> Array:
    """Numbers to compare with those of the discrete order, in the width that they have; something
    where they are null."""
    array = flat(column)
    if pa.types.is_integer(array.type):
        return _filled(array)
    return values_of(array).data


def is_ranked(kind: pa.DataType) -> bool:
    """Whether values of the type are carried as ranks in a dictionary."""
    if pa.types.is_decimal(kind):
        return bool(kind.precision > 18)
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )


def _numbers(array: pa.Array, kind: pa.DataType) -> Array:
    if pa.types.is_boolean(kind):
        return _filled(array.cast(pa.uint8())).astype(np.int64)
    if pa.types.is_timestamp(kind):
        return _filled(array.cast(pa.timestamp("us", kind.tz)).view(pa.int64()))
    if pa.types.is_date32(kind):
        return _filled(array.view(pa.int32())).astype(np.int64)
    if pa.types.is_decimal(kind):
        words = decimal_words(array)
        low: Ints = words.view(np.int64)[:, 0]
        return low if not array.null_count else np.where(_valid(array), low, 0)
    if pa.types.is_floating(kind):
        return _filled(array).astype(np.float64, copy=False)
    if pa.types.is_integer(kind):
        return _filled(array).astype(np.int64, copy=False)
    if pa.types.is_null(kind):
        return np.zeros(len(array), dtype=np.int64)
    raise TypeError(f"no kernel order for {kind}")


def _filled(array: pa.Array) -> Array:
    if array.null_count:
        array = pc.fill_null(array, pa.scalar(0, array.type))
    filled: Array = array.to_numpy(zero_copy_only=False)
    return filled


def _valid(array: pa.Array) -> Bools:
    valid: Bools = array.is_valid().to_numpy(zero_copy_only=False)
    return valid


def decimal_words(array: pa.Array) -> npt.NDArray[np.uint32]:
    """The four 32-bit words of each 128-bit decimal, lowest first."""
    buffer = array.buffers()[1]
    words = np.frombuffer(buffer, dtype=np.uint32).reshape(-1, 4)
    picked: npt.NDArray[np.uint32] = words[array.offset : array.offset + len(array)]
    return picked


def _ranked(array: pa.Array, valid: Bools | None) -> Values:
    encoded = array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(order))
    codes = pc.fill_null(encoded.indices, 0).to_numpy(zero_copy_only=False)
    data = rank[codes] if len(rank) else np.zeros(len(array), dtype=np.int64)
    return Values(data, valid, encoded.dictionary.take(order))


def to_arrow(values: Values, kind: pa.DataType) -> pa.Array:
    """Back to an Arrow array of the type, null where not valid."""
    mask = None if values.valid is None else ~values.valid
    if values.dictionary is not None:
        if not len(values.dictionary):
            return pa.nulls(len(values.data), kind)
        indices = pa.array(values.data, type=pa.int64(), mask=mask)
        return values.dictionary.take(indices).cast(kind)
    if pa.types.is_decimal(kind):
        return decimals_of(values.data, mask, kind)
    if pa.types.is_boolean(kind):
        return pa.array(values.data.astype(bool), mask=mask)
    if pa.types.is_date32(kind):
        return pa.array(values.data.astype(np.int32), mask=mask).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values.data.astype(np.int64), mask=mask).view(pa.timestamp("us", kind.tz))
    return pa.array(values.data, mask=mask).cast(kind, safe=False)


def decimals_of(unscaled: Ints, mask: Bools | None, kind: pa.DataType) -> pa.Array:
    """Decimals from unscaled int64 values."""
    words = np.empty((len(unscaled), 2), dtype=np.int64)
    words[:, 0] = unscaled
    words[:, 1] = np.where(unscaled < 0, -1, 0)
    validity = None
    if mask is not None:
        validity = pa.array(~mask).buffers()[1]
    return pa.Array.from_buffers(kind, len(unscaled), [validity, pa.py_buffer(words.tobytes())])


def concat_values(parts: list[Values]) -> Values:
    """One after the other, over one common dictionary."""
    if len(parts) == 1:
        return parts[0]
    valid = None
    if any(p.valid is not None for p in parts):
        valid = np.concatenate(
            [p.valid if p.valid is not None else np.ones(len(p.data), bool) for p in parts]
        )
    if parts[0].dictionary is None:
        return Values(np.concatenate([p.data for p in parts]), valid)
    merged = pc.unique(pa.concat_arrays([p.dictionary for p in parts]))
    merged = merged.take(pc.sort_indices(merged))
    data = []
    for part in parts:
        place = pc.index_in(part.dictionary, value_set=merged).to_numpy(zero_copy_only=False)
        # A cell without a value carries no rank but an identity; it stays as it is.
        inside = (part.data >= 0) & (part.data < len(place))
        ranks = part.data.astype(np.int64)
        ranks[inside] = place[part.data[inside]]
        data.append(ranks)
    return Values(np.concatenate(data), valid, merged)


def narrow(part: Array) -> Array:
    """Whole numbers in as few bytes as they fit in: most counts in one, most sums in two."""
    if part.dtype.kind == "i" and part.size:
        low, high = part.min(), part.max()
        for kind in (np.int8, np.int16, np.int32):
            info = np.iinfo(kind)
            if info.min <= low and high <= info.max:
                return part.astype(kind, copy=False)
    return part
