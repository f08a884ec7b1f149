"""Sections: cells as bytes. Two Arrow IPC tables, the distinct keys and the cells."""

from __future__ import annotations

import json
from dataclasses import astuple

import numpy as np
import pyarrow as pa

from headrace.kernels.cells import Cells
from headrace.kernels.columns import Array, Bools, Values, flat, narrow, to_arrow, values_of
from headrace.kernels.keys import KEY_GROUPS
from headrace.kernels.states import State
from headrace.query.plan import Partial

_META = b"headrace"
_CLASSES = b"classes"
"""The query-set of every column, where classes are made as they occur."""
_QUERIES = b"queries"
"""How many bits each of them has."""


def encode(cells: Cells) -> bytes:
    """The bytes of a section."""
    columns: dict[str, pa.Array] = {"rows": pa.array(narrow(cells.rows))}
    if cells.index is not None:
        columns["index"] = pa.array(narrow(cells.index))
    described = []
    for number, state in enumerate(cells.states):
        described.append(list(astuple(state.partial)))
        for name, part in state.parts.items():
            if name == "v" and state.dictionary is not None:
                kind = state.dictionary.type
                columns[f"{number}.v"] = to_arrow(_pickable(state), kind)
            else:
                columns[f"{number}.{name}"] = pa.array(narrow(part))
    meta = {
        "columns": cells.columns,
        "partials": described,
        "slices": cells.slices.tolist(),
        "dense": cells.is_dense,
    }
    keys = cells.keys.append_column("_group", pa.array(cells.key_groups.astype(np.int16)))
    header = {_META: json.dumps(meta).encode()}
    if cells.query_sets is not None:
        header[_CLASSES] = np.packbits(cells.query_sets, axis=1).tobytes()
        header[_QUERIES] = str(cells.query_sets.shape[1]).encode()
    table = pa.table(columns).replace_schema_metadata(header)
    sink = pa.BufferOutputStream()
    for part in (keys, table):
        with pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_table(part)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _pickable(state: State) -> Values:
    """Ranks that are identities (no value in the cell) point at the first word instead."""
    ranks = state.parts["v"]
    assert state.dictionary is not None
    inside = (ranks >= 0) & (ranks < len(state.dictionary))
    return Values(np.where(inside, ranks, 0), inside, state.dictionary)


def decode(data: pa.Buffer | bytes, key_groups: tuple[int, int] = (0, KEY_GROUPS)) -> Cells:
    """The cells of a section, as far as their keys are in the key groups [low, high)."""
    source = pa.BufferReader(data)
    keys = pa.ipc.open_stream(source).read_all()
    table = pa.ipc.open_stream(source).read_all()
    meta = json.loads(table.schema.metadata[_META])
    groups = keys.column("_group").to_numpy().astype(np.int64)
    first, last = 0, len(groups)
    if meta["dense"]:
        # Cut before anything is widened: a task wants its part of the keys only.
        first, last = (int(n) for n in np.searchsorted(groups, key_groups))

    def cut(values: Array) -> Array:
        return values.reshape(-1, max(len(groups), 1))[:, first:last]

    def whole(name: str) -> Array:
        """Whole numbers, still narrow where sums will widen them anyway."""
        found = cut(flat(table.column(name)).to_numpy())
        return (found.astype(np.int64) if name.endswith(".v") else found).reshape(-1)

    states = []
    for number, described in enumerate(meta["partials"]):
        parts: dict[str, Array] = {}
        dictionary = None
        for name in table.column_names:
            owner, _, part = name.partition(".")
            if owner != str(number):
                continue
            kind = table.schema.field(name).type
            if pa.types.is_integer(kind):
                parts[part] = whole(name) if meta["dense"] else values_of(table.column(name)).data
                continue
            values = values_of(table.column(name))
            if values.dictionary is not None:
                dictionary = values.dictionary
            data_ = values.data.astype(bool) if pa.types.is_boolean(kind) else values.data
            parts[part] = cut(data_).reshape(-1) if meta["dense"] else data_
        states.append(State(Partial(*described), parts, dictionary))
    cells = Cells(
        np.array(meta["slices"], dtype=np.int64),
        meta["columns"],
        keys.drop_columns(["_group"]).slice(first, last - first),
        groups[first:last],
        None if meta["dense"] else table.column("index").to_numpy().astype(np.int64),
        whole("rows") if meta["dense"] else table.column("rows").to_numpy().astype(np.int64),
        tuple(states),
        _query_sets(table.schema.metadata, meta["columns"]),
    )
    return cells if cells.is_dense else cells.of_key_groups(*key_groups)


def _query_sets(header: dict[bytes, bytes], columns: int) -> Bools | None:
    if _CLASSES not in header:
        return None
    packed = np.frombuffer(header[_CLASSES], np.uint8).reshape(columns, -1)
    return np.unpackbits(packed, axis=1, count=int(header[_QUERIES])).astype(bool)
