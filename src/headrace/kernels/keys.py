"""Group keys as small integers: distinct key rows, their codes, and their key groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headrace.kernels.columns import Ints, flat, is_ranked, values_of

KEY_GROUPS = 64
"""Fixed for the life of a checkpoint: changing parallelism re-maps key groups, never keys."""

ALL = "_all"
"""The one key of tuples that have none."""
VALUE = "value"
"""The column beside the keys that holds a value whose tuples are kept."""

_DENSE = 1 << 22
_PRIME = np.uint64(1099511628211)

Words = npt.NDArray[np.uint64]


def encode_keys(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> tuple[Ints, pa.Table]:
    """Codes of each row's key, and the distinct keys in code order.

    Nulls are keys like any other; floats are normalised as Spark groups them (one NaN, one zero).
    """
    if not columns:
        return np.zeros(rows, dtype=np.int64), pa.table({ALL: pa.array([True])})
    codes, distinct = _factorize(columns[0])
    taken = [distinct]
    for column in columns[1:]:
        more, values = _factorize(column)
        width = max(len(values), 1)
        # Renumbered column by column, so that the product of all columns is never needed.
        codes, used = compress(codes * width + more, max(len(taken[0]), 1) * width)
        above, place = np.divmod(used, width)
        taken = [*(t.take(pa.array(above)) for t in taken), values.take(pa.array(place))]
    names = [f"k{n}" for n in range(len(columns))]
    return codes, pa.table(taken, names=names)


def compress(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """Renumber codes densely; also returns the code that each new number stands for."""
    if size <= max(_DENSE, 4 * len(codes)):
        seen = np.zeros(size, dtype=bool)
        seen[codes] = True
        used = np.flatnonzero(seen)
        place = np.empty(size, dtype=np.int64)
        place[used] = np.arange(len(used))
        return place[codes], used
    used, inverse = np.unique(codes, return_inverse=True)
    return inverse.astype(np.int64), used


def _factorize(column: pa.Array | pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    array = flat(column)
    if pa.types.is_floating(array.type):
        array = _normalised(array)
    if pa.types.is_integer(array.type) and not array.null_count and len(array):
        data = array.to_numpy(zero_copy_only=False)
        low, high = int(data.min()), int(data.max())
        if high - low < min(_DENSE, 4 * len(array)):
            codes, used = compress(data.astype(np.int64) - low, high - low + 1)
            return codes, pa.array(used + low).cast(array.type)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    encoded = array.dictionary_encode(null_encoding="encode")
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, encoded.dictionary


def _normalised(array: pa.Array) -> pa.Array:
    plain = pc.add(array, pa.scalar(0.0, array.type))
    return pc.if_else(pc.is_nan(plain), pa.scalar(float("nan"), array.type), plain)


def key_order(keys: pa.Table) -> tuple[Ints, Ints]:
    """Distinct keys in the order in which cells keep them, and the key groups in that order.

    A key's group is the same in every process, batch and version, and whatever values are kept
    beside it: who answers for a key needs all of them. Within a group keys are ordered by hash: the
    same keys are in the same order wherever they come from, so that blocks can be laid over each
    other as they are.
    """
    hashed = _key_hashes(keys)
    groups = hashed % np.uint64(KEY_GROUPS)
    if VALUE in keys.column_names:
        bare = keys.drop_columns([VALUE])
        if not bare.num_columns:
            bare = pa.table({ALL: pa.repeat(True, keys.num_rows)})
        groups = _key_hashes(bare) % np.uint64(KEY_GROUPS)
    bits = np.uint64(KEY_GROUPS.bit_length() - 1)
    order = np.argsort(groups << (np.uint64(64) - bits) | hashed >> bits, kind="stable")
    return order, groups[order].astype(np.int64)


def in_key_order(codes: Ints, keys: pa.Table) -> tuple[Ints, pa.Table, Ints]:
    """Codes and distinct keys in `key_order`, and the key groups."""
    order, groups = key_order(keys)
    place = np.arange(len(order))
    if np.array_equal(order, place):
        return codes, keys, groups
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = place
    return rank[codes], keys.take(order), groups


def _key_hashes(keys: pa.Table) -> Words:
    hashed = np.zeros(keys.num_rows, dtype=np.uint64)
    for column in keys.columns:
        hashed = _mixed(hashed * np.uint64(31) + _hashes(flat(column)))
    return hashed


def _hashes(array: pa.Array) -> Words:
    """A stable 64-bit hash of each value."""
    if is_ranked(array.type):
        words = _byte_hashes(array.cast(pa.string()) if pa.types.is_decimal(array.type) else array)
    else:
        data = values_of(array).data
        words = data.view(np.uint64) if data.dtype != np.uint64 else data
    if array.null_count:
        known = array.is_valid().to_numpy(zero_copy_only=False)
        words = np.where(known, words, np.uint64(0x9E3779B97F4A7C15))
    return words


def _byte_hashes(array: pa.Array) -> Words:
    """A polynomial over the bytes of each string, all strings at once."""
    plain = array.cast(pa.large_binary())
    _, offsets_buffer, data_buffer = plain.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)
    offsets = offsets[plain.offset : plain.offset + len(plain) + 1]
    lengths = np.diff(offsets)
    hashed = lengths.astype(np.uint64)
    if data_buffer is None or not lengths.any():
        return hashed
    data = np.frombuffer(data_buffer, dtype=np.uint8)[offsets[0] : offsets[-1]]
    powers = np.cumprod(np.full(int(lengths.max()), _PRIME, dtype=np.uint64))
    place = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    filled = np.flatnonzero(lengths)
    terms = (data.astype(np.uint64) + np.uint64(1)) * powers[place]
    hashed[filled] += np.add.reduceat(terms, offsets[:-1][filled] - offsets[0])
    return hashed


def _mixed(words: Words) -> Words:
    """Spread the bits (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def unify_keys(tables: Sequence[pa.Table]) -> tuple[list[Ints], pa.Table]:
    """One code space over the distinct keys of several tables."""
    if len(tables) == 1:
        return [np.arange(tables[0].num_rows, dtype=np.int64)], tables[0]
    if all(t is tables[0] or t.equals(tables[0]) for t in tables):
        return [np.arange(tables[0].num_rows, dtype=np.int64)] * len(tables), tables[0]
    return match_keys(tables)


def match_keys(tables: Sequence[pa.Table]) -> tuple[list[Ints], pa.Table]:
    """The same for tables whose rows need not be distinct."""
    whole = pa.concat_tables(tables)
    codes, distinct = encode_keys(whole.columns, whole.num_rows)
    distinct = distinct.rename_columns(whole.column_names)
    ends = np.cumsum([t.num_rows for t in tables])[:-1]
    return list(np.split(codes, ends)), distinct
