"""spark/parquet_file.py: every value as Spark's own reader gives it, or the file is Spark's."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from headrace.connectors.parquet_file import ParquetFile, ReadRules, Unreadable

NOON = dt.datetime(2024, 3, 1, 12, 0, 0, 123_456)
ANCIENT = [dt.datetime(1, 1, 1), dt.datetime(1500, 2, 28, 1), dt.datetime(1899, 12, 31, 23)]
MODERN = [dt.datetime(1900, 1, 1), NOON, dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)]
STAMPS = [*ANCIENT, *MODERN, None]
MILLIS = [t and t.replace(microsecond=t.microsecond // 1000 * 1000) for t in STAMPS]

FOUND = {
    "boolean": pa.array([True, False, None]),
    "int8": pa.array([-128, 127, None], pa.int8()),
    "int16": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
    "int32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
    "int64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
    "uint8": pa.array([0, 255, None], pa.uint8()),
    "uint16": pa.array([0, 2**16 - 1, None], pa.uint16()),
    "uint32": pa.array([0, 2**32 - 1, None], pa.uint32()),
    "uint64": pa.array([0, 2**64 - 1, None], pa.uint64()),
    "float": pa.array([1.1, float("-inf"), None], pa.float32()),
    "double": pa.array([1.1, float("inf"), None], pa.float64()),
    "half": pa.array([1.5, None], pa.float16()),
    "string": pa.array(["ä", "", None]),
    "large": pa.array(["ä", "", None], pa.large_string()),
    "codes": pa.array(["ä", "", None]).dictionary_encode(),
    "bytes": pa.array([b"text", b"", None]),
    "four": pa.array([b"abcd", None], pa.binary(4)),
    "date": pa.array([t and t.date() for t in STAMPS]),
    "us": pa.array(STAMPS, pa.timestamp("us")),
    "us zone": pa.array(STAMPS, pa.timestamp("us", "UTC")),
    "ms": pa.array(MILLIS, pa.timestamp("ms")),
    "ms zone": pa.array(MILLIS, pa.timestamp("ms", "Europe/Berlin")),
    "ns": pa.array([NOON, None], pa.timestamp("ns")),
    "time": pa.array([dt.time(1, 2, 3), None], pa.time64("us")),
    "duration": pa.array([dt.timedelta(1), None], pa.duration("us")),
    "decimal 9": pa.array([Decimal("-1234567.89"), None], pa.decimal128(9, 2)),
    "decimal 18": pa.array([Decimal("1234567.89"), None], pa.decimal128(18, 2)),
    "decimal 38": pa.array([Decimal("1234567.89"), None], pa.decimal128(38, 2)),
    "nothing": pa.array([None, None], pa.null()),
    "list": pa.array([[1], None]),
}
WANTED = (
    "boolean tinyint smallint int bigint float double string binary date timestamp timestamp_ntz "
    "decimal(8,2) decimal(9,2) decimal(10,0) decimal(12,4) decimal(18,2) decimal(20,0) "
    "decimal(20,2) decimal(24,4) decimal(38,2)"
).split()


def read(
    path: Path, types: Mapping[str, str], rules: ReadRules | None = None, zone: str = "UTC"
) -> pa.Table:
    with ParquetFile(str(path), types, rules or ReadRules(), zone) as file:
        batches = [b for g in range(file.row_groups) for b in file.read(g)]
    return pa.Table.from_batches(batches)


def refusal(path: Path, types: Mapping[str, str]) -> str | None:
    try:
        read(path, types)
    except Unreadable as error:
        return str(error)
    return None


def by_spark(spark: SparkSession, path: Path, types: Mapping[str, str]) -> pa.Table:
    schema = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    return spark.read.schema(schema).parquet(str(path)).toArrow()


def values(table: pa.Table) -> dict[str, list[Any]]:
    """Instants as numbers: Python has no dates before the year 1 in every zone."""
    found = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        number = pa.types.is_timestamp(column.type)
        found[name] = (column.cast(pa.int64()) if number else column).to_pylist()
    return found


@pytest.mark.parametrize("int96", [False, True])
def test_every_column_that_tasks_take_has_sparks_values(
    spark: SparkSession, tmp_path: Path, int96: bool
) -> None:
    longest = max(len(a) for a in FOUND.values())
    padded = {
        n: pa.concat_arrays([a, pa.nulls(longest - len(a), a.type)]) if len(a) < longest else a
        for n, a in FOUND.items()
        if not pa.types.is_dictionary(a.type)
    }
    padded["codes"] = pa.array(["ä", "", None, "ä"] + [None] * (longest - 4)).dictionary_encode()
    held = {n: a for n, a in padded.items() if not int96 or pa.types.is_timestamp(a.type)}
    probe = tmp_path / "probe.parquet"
    pq.write_table(pa.table(held), probe, use_deprecated_int96_timestamps=int96)
    taken: dict[str, tuple[str, str]] = {}
    for found, wanted in itertools.product(held, WANTED):
        reason = refusal(probe, {found: wanted})
        if reason is None:
            taken[f"{found} as {wanted}"] = found, wanted
        else:
            assert reason.startswith(f"{probe}: column {found}")
    assert len(taken) == (10 if int96 else 76)
    columns = {name: held[found] for name, (found, _) in taken.items()}
    types = {name: wanted for name, (_, wanted) in taken.items()}
    path = tmp_path / "all.parquet"
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=int96)
    mine, theirs = read(path, types), by_spark(spark, path, types)
    assert values(mine) == values(theirs)
    assert mine.schema.types == theirs.schema.types


@pytest.mark.parametrize("int96", [False, True])
@pytest.mark.parametrize(
    ("version", "mark", "days_are_old"),
    [
        (None, None, False),
        (b"2.4.8", None, True),
        (b"3.0.1", None, None),  # INT96 was corrected later than the others
        (b"3.2.0", None, False),
        (b"4.3.0", b"org.apache.spark.legacyDateTime", None),
        (b"4.3.0", b"org.apache.spark.legacyINT96", None),
        (None, b"org.apache.spark.legacyINT96", False),  # Spark does not look without a version
    ],
)
def test_days_of_the_old_calendar_are_left_to_spark(
    spark: SparkSession,
    tmp_path: Path,
    int96: bool,
    version: bytes | None,
    mark: bytes | None,
    days_are_old: bool | None,
) -> None:
    if days_are_old is None:
        days_are_old = int96 == (version == b"3.0.1" or mark == b"org.apache.spark.legacyINT96")
    told = {b"org.apache.spark.version": version, mark: b""}
    metadata = {k: v for k, v in told.items() if k is not None and v is not None}
    types = {"time": "timestamp", "local": "timestamp_ntz"}
    for name, stamps in (("modern", MODERN), ("ancient", [*MODERN, *ANCIENT])):
        path = tmp_path / f"{name}.parquet"
        table = pa.table({n: pa.array(stamps, pa.timestamp("us")) for n in types})
        pq.write_table(
            table.replace_schema_metadata(metadata), path, use_deprecated_int96_timestamps=int96
        )
        if name == "ancient" and days_are_old:
            with pytest.raises(Unreadable, match=r"ancient\.parquet: column time .* old calendar"):
                read(path, types)
        else:
            assert values(read(path, types)) == values(by_spark(spark, path, types))
        only_local = {"local": "timestamp_ntz"}
        assert values(read(path, only_local)) == values(by_spark(spark, path, only_local))


@pytest.mark.parametrize("mode", ["LEGACY", "EXCEPTION"])
def test_files_that_do_not_tell_go_by_the_settings(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"day": pa.array([t.date() for t in ANCIENT])}), path)
    assert read(path, {"day": "date"}, ReadRules(int96_mode=mode)).num_rows == 3
    with pytest.raises(Unreadable, match="old calendar"):
        read(path, {"day": "date"}, ReadRules(datetime_mode=mode))


def test_what_spark_writes_by_default(spark: SparkSession, tmp_path: Path) -> None:
    made = spark.createDataFrame(
        [(n, f"k{n % 3}", t) for n, t in enumerate([*ANCIENT, *MODERN, None])],
        "v int, k string, time timestamp",
    )
    made.coalesce(1).write.parquet(str(tmp_path / "out"))
    path = next((tmp_path / "out").glob("*.parquet"))
    assert pq.ParquetFile(path).schema.column(2).physical_type == "INT96"
    types = {"k": "string", "v": "bigint", "time": "timestamp"}
    mine = read(path, types, zone="America/New_York")
    assert values(mine) == values(by_spark(spark, path, types))
    assert mine.schema.field("time").type == pa.timestamp("us", "America/New_York")


def test_columns_are_found_as_spark_finds_them(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    nested = pa.array([{"k": 1, "v": [1, 2]}])
    pq.write_table(pa.table({"V": [1], "k": ["x"], "a.k": ["y"], "a": nested, "b": nested}), path)
    types = {"K": "string", "v": "bigint", "b.k": "string", "gone": "timestamp", "none": "double"}
    assert values(read(path, types)) == values(by_spark(spark, path, types))
    exact = read(path, types, ReadRules(case_sensitive=True))
    assert exact.select(["K", "v"]).to_pylist() == [{"K": None, "v": None}]
    nothing = {"gone": "timestamp"}
    assert values(read(path, nothing)) == values(by_spark(spark, path, nothing)) == {"gone": [None]}
    for name, reason in (("a.k", "several columns"), ("A", "nested")):
        with pytest.raises(Unreadable, match=reason):
            read(path, {name: "string"})
    pq.write_table(pa.table({"k": ["x"], "K": ["y"]}), path)
    with pytest.raises(Unreadable, match="several columns"):
        read(path, {"k": "string"})


def test_a_row_group_is_read_by_and_by_however_large_it_is(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.connectors.parquet_file.BATCH_ROWS", 10_000)
    path = tmp_path / "a.parquet"
    rows = 30_007
    stamps = pa.array(range(rows)).cast(pa.timestamp("us"))
    table = pa.table({"v": range(rows), "s": [f"{n % 1000}" for n in range(rows)], "time": stamps})
    pq.write_table(table, path, row_group_size=rows, use_deprecated_int96_timestamps=True)
    types = {"v": "bigint", "s": "string", "time": "timestamp"}
    with ParquetFile(str(path), types, ReadRules(), "UTC") as file:
        assert file.row_groups == 1
        batches = list(file.read(0))
    assert [b.num_rows for b in batches] == [10_000, 10_000, 10_000, 7]
    assert pa.Table.from_batches(batches).equals(by_spark(spark, path, types))
