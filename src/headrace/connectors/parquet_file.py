"""A parquet file, read by Arrow as Spark would read it; or the reason why Spark has to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.connectors.parquet_types import Calendar, calendar_of, reads_alike
from headrace.query.arrow import arrow_type

BATCH_ROWS = 1 << 20
"""So many rows are decoded at a time, however large a row group is: as many as are reduced."""

_VERSION = b"org.apache.spark.version"
_OLD = {
    "datetime": (b"org.apache.spark.legacyDateTime", "3.0.0"),
    "int96": (b"org.apache.spark.legacyINT96", "3.1.0"),
}
"""The mark of files with days of the old calendar, and the first version that wrote new ones."""
_SAME_SINCE_DAYS = -25_567
"""From 1900 on, a day or an instant is the same number in both calendars and all time zones."""


class Unreadable(Exception):
    """A file that only Spark reads as Spark does, with its name and the reason."""


@dataclass(frozen=True, slots=True)
class ReadRules:
    """Settings of a session that Spark's reader goes by."""

    case_sensitive: bool = False
    datetime_mode: str = "CORRECTED"
    int96_mode: str = "CORRECTED"
    """For files that do not say which version of Spark wrote them."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A declared column, and where it is in the file."""

    name: str
    type: pa.DataType
    found: str | None
    """Its name in the file; None where the file does not have it, which makes it NULL."""
    old: bool = False
    """Whether values from before 1900 are of the old calendar, or might be."""


class ParquetFile:
    """The declared columns of one file: `types` has Spark's type of each."""

    def __init__(
        self, path: str, types: Mapping[str, str], rules: ReadRules, time_zone: str
    ) -> None:
        self._path = path
        with self._reasons():
            # Spark has no task for a file without a byte; for Arrow it is no parquet file.
            self._file = _opened(path) if os.path.getsize(path) else None
            self._columns = self._resolved(types, rules, time_zone) if self.row_groups else ()

    def __enter__(self) -> ParquetFile:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file is not None:
            self._file.close(force=True)

    @property
    def row_groups(self) -> int:
        """How many there are."""
        return 0 if self._file is None else int(self._file.num_row_groups)

    def read(self, group: int) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, by and by."""
        assert self._file is not None
        names = [c.found for c in self._columns if c.found is not None]
        with self._reasons():
            for batch in self._file.iter_batches(BATCH_ROWS, [group], names, use_threads=False):
                arrays = [self._values(c, batch) for c in self._columns]
                yield pa.RecordBatch.from_arrays(arrays, names=[c.name for c in self._columns])

    # -- columns ------------------------------------------------------------------------------

    def _resolved(
        self, types: Mapping[str, str], rules: ReadRules, time_zone: str
    ) -> tuple[_Column, ...]:
        def folded(name: str) -> str:
            return name if rules.case_sensitive else name.lower()

        assert self._file is not None
        held: dict[str, list[pa.Field]] = {}
        for field in self._file.schema_arrow:
            held.setdefault(folded(field.name), []).append(field)
        leaves: dict[str, list[Any]] = {}
        for number in range(len(self._file.schema)):
            leaf = self._file.schema.column(number)
            leaves.setdefault(leaf.path, []).append(leaf)
        columns = []
        for name, wanted in types.items():
            try:
                kind = arrow_type(wanted, time_zone)
            except TypeError as error:
                raise Unreadable(f"column {name}: {error}") from error
            fields = held.get(folded(name), [])
            if not fields:
                columns.append(_Column(name, kind, None))
                continue
            alike = leaves.get(fields[0].name, [])
            if len(fields) > 1 or len(alike) > 1:
                raise Unreadable(f"there are several columns {name}")
            if not alike or pa.types.is_nested(fields[0].type):
                raise Unreadable(f"column {name} is nested")
            if not reads_alike(alike[0], wanted):
                raise Unreadable(f"column {name} is {_shown(alike[0])}, not {wanted}")
            calendar = calendar_of(alike[0], wanted)
            old = calendar is not None and self._has_old_days(calendar, rules)
            columns.append(_Column(name, kind, fields[0].name, old))
        return tuple(columns)

    def _has_old_days(self, calendar: Calendar, rules: ReadRules) -> bool:
        assert self._file is not None
        told = self._file.metadata.metadata or {}
        mark, first = _OLD[calendar]
        if _VERSION in told:  # compared as text, as Spark does
            return mark in told or bool(told[_VERSION].decode() < first)
        mode = rules.int96_mode if calendar == "int96" else rules.datetime_mode
        return mode.upper() != "CORRECTED"

    def _values(self, column: _Column, batch: pa.RecordBatch) -> pa.Array:
        if column.found is None:
            return pa.nulls(batch.num_rows, column.type)
        array = batch.column(column.found)
        try:
            if pa.types.is_timestamp(column.type):
                # The number alone counts: to Spark it is an instant, or a time without a zone,
                # as declared, whatever the file says.
                array = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64())
            array = array.cast(column.type)
        except pa.ArrowException as error:
            raise Unreadable(f"column {column.name}: {error}") from error
        if column.old and _has_before_1900(array):
            raise Unreadable(f"column {column.name} may have days of the old calendar")
        return array

    @contextmanager
    def _reasons(self) -> Iterator[None]:
        try:
            yield
        except (Unreadable, OSError, pa.ArrowException) as error:
            raise Unreadable(f"{self._path}: {error}") from error


def _opened(path: str) -> Any:
    # Nanoseconds, which Arrow makes of INT96 by itself, reach from 1677 to 2262 only.
    return pq.ParquetFile(pa.memory_map(path), coerce_int96_timestamp_unit="us")


def _has_before_1900(values: pa.Array) -> bool:
    days = pa.types.is_date32(values.type)
    first = pc.min(values.cast(pa.int32() if days else pa.int64())).as_py()
    same_since = _SAME_SINCE_DAYS * (1 if days else 86_400_000_000)
    return first is not None and first < same_since


def _shown(leaf: Any) -> str:
    kind = leaf.logical_type.type
    return f"{leaf.physical_type} {leaf.logical_type}" if kind != "NONE" else leaf.physical_type
