"""Parquet streams as others write them: the answers of Spark in batch, whoever reads the files."""

from __future__ import annotations

import contextlib
import datetime as dt
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from tests.spark.helpers import SCHEMA, at, pairs, rows

DECLARED = "k string, v bigint, s string, time timestamp"
BY_TASKS = "read by: tasks, from parquet files"
TABLE = pa.Table.from_pylist(
    [*rows([1, 2.5, 3], "a"), *rows([4, 4.000_001], "ü", "zz"), *rows([60])], SCHEMA
)
ANCIENT = rows([n * -86400 * 365 for n in (1, 200, 600, 1000)])
Writer = Callable[[SparkSession, Path], object]


def write(folder: Path, name: str, table: pa.Table = TABLE, **options: Any) -> Path:
    pq.write_table(table, folder / name, **options)
    return folder / name


def spark_default(spark: SparkSession, folder: Path) -> None:
    made = spark.createDataFrame(TABLE)
    made.repartition(3).write.mode("append").parquet(str(folder))
    found = [pq.ParquetFile(f) for f in folder.glob("*.parquet")]
    assert {f.schema.column(3).physical_type for f in found} == {"INT96"}
    assert {f.metadata.row_group(0).column(3).compression for f in found} == {"SNAPPY"}


def database(spark: SparkSession, folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("given", TABLE)
        connection.execute("SET TimeZone = 'Asia/Tokyo'")
        for number, time in enumerate(("time", "time AT TIME ZONE 'UTC'", "time::TIMESTAMP_MS")):
            path = folder / f"{number}.parquet"
            asked = f"SELECT * REPLACE ({time} AS time) FROM given"
            connection.execute(f"COPY ({asked}) TO '{path}' (FORMAT parquet)")


def pandas(spark: SparkSession, folder: Path) -> None:
    frame = TABLE.to_pandas()
    frame.to_parquet(folder / "a.parquet", coerce_timestamps="us")
    frame["k"] = frame["k"].astype("category")
    frame["time"] = frame["time"].dt.tz_localize(None)
    options = {"coerce_timestamps": "ms", "allow_truncated_timestamps": True}
    frame.to_parquet(folder / "b.parquet", index=False, compression="gzip", **options)
    frame.to_parquet(folder / "c.parquet", use_deprecated_int96_timestamps=True)


def encodings(spark: SparkSession, folder: Path) -> None:
    for codec in ("none", "gzip", "zstd", "lz4"):
        write(folder, f"{codec}.parquet", compression=codec)
    write(folder, "plain.parquet", use_dictionary=False, data_page_version="2.0")
    packed = {"k": "DELTA_BYTE_ARRAY", "v": "DELTA_BINARY_PACKED", "s": "DELTA_LENGTH_BYTE_ARRAY"}
    write(folder, "delta.parquet", use_dictionary=False, column_encoding=packed)
    write(folder, "groups.parquet", row_group_size=2)
    write(folder, "rows.parquet", TABLE.slice(0, 0))
    (folder / "bytes.parquet").touch()


def many(spark: SparkSession, folder: Path) -> None:
    for number in range(100):
        table = pa.Table.from_pylist(rows([number / 20, number / 20 + 0.01]), SCHEMA)
        write(folder, f"{number}.parquet", table)


def columns(spark: SparkSession, folder: Path) -> None:
    write(folder, "order.parquet", TABLE.select(["time", "s", "k", "v"]))
    write(folder, "case.parquet", TABLE.rename_columns(["K", "V", "s", "TIME"]))
    write(folder, "fewer.parquet", TABLE.select(["time", "k"]))
    nested = pa.array([{"k": 1, "v": [1]}] * TABLE.num_rows)
    write(folder, "more.parquet", TABLE.append_column("x", nested).append_column("k2", TABLE["k"]))
    place, narrow = TABLE.column_names.index("v"), TABLE["v"].cast(pa.int32())
    write(folder, "narrow.parquet", TABLE.set_column(place, "v", narrow))
    large = TABLE.set_column(0, "k", TABLE["k"].cast(pa.large_string()).dictionary_encode())
    write(folder, "large.parquet", large)


def names(spark: SparkSession, folder: Path) -> None:
    for name in ("a b", "100%", "%20", "a+b", "ü𝄞", "#?&", "x=y", "[a]", "{b}", "a", "q'"):
        write(folder, f"{name}.parquet")
    inner = folder / "a folder %20 ü"
    inner.mkdir()
    write(inner, "c d.parquet")


def zones(spark: SparkSession, folder: Path) -> None:
    for zone in ("America/New_York", "Asia/Kolkata"):
        kind = pa.timestamp("us", zone)
        write(folder, f"{zone[:4]}.parquet", TABLE.set_column(3, "time", TABLE["time"].cast(kind)))


def ancient(spark: SparkSession, folder: Path) -> None:
    old = pa.Table.from_pylist(ANCIENT, SCHEMA)
    write(folder, "1.parquet", old, use_deprecated_int96_timestamps=True)
    write(folder, "2.parquet", old)


def legacy(spark: SparkSession, folder: Path) -> None:
    told = {"org.apache.spark.version": "2.4.8"}
    table = pa.Table.from_pylist(ANCIENT, SCHEMA).replace_schema_metadata(told)
    write(folder, "2.4.parquet", table, use_deprecated_int96_timestamps=True)


def partitioned(spark: SparkSession, folder: Path) -> None:
    for key in ("x", "y"):
        (folder / f"k={key}").mkdir()
        write(folder / f"k={key}", "a.parquet", TABLE.drop_columns(["k"]))


@dataclass(frozen=True, slots=True)
class Kind:
    """Folders that one stream reads, and who has to read it."""

    name: str
    writers: tuple[Writer, ...]
    read_by: str = BY_TASKS
    option: str = "recursiveFileLookup"


KINDS = (
    Kind("readable", (spark_default, database, pandas, encodings, columns, zones, ancient)),
    Kind("many", (many,)),
    Kind("names", (names,)),
    Kind("legacy", (legacy,), "2.4.parquet: column time may have days of the old calendar)"),
    Kind("folders", (partitioned,), "Spark (the names of folders are columns)", "mergeSchema"),
)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_tuple_is_what_spark_in_batch_makes_of_it(
    spark: SparkSession, tmp_path: Path, kind: Kind
) -> None:
    for writer in kind.writers:
        folder = tmp_path if len(kind.writers) == 1 else tmp_path / writer.__name__
        folder.mkdir(exist_ok=True)
        writer(spark, folder)
    reader = spark.readStream.schema(DECLARED).option(kind.option, "true")
    with hr.Session(spark) as session:
        session.stream("s", reader.parquet(str(tmp_path)), event_time="time", max_ahead=None)
        query = session.sql("SELECT k, v, s, time FROM s")
        session.start()
        session.process_all_available()
        batch = spark.read.schema(DECLARED).option(kind.option, "true").parquet(str(tmp_path))
        assert _sorted(query.collect()) == _sorted(batch.select("k", "v", "s", "time").toArrow())
        assert kind.read_by in query.explain()


def _sorted(table: pa.Table) -> list[tuple[Any, ...]]:
    numbers = table.set_column(3, "time", table["time"].cast(pa.int64()))
    return sorted((tuple(row.values()) for row in numbers.to_pylist()), key=repr)


def test_types_of_spark_that_the_file_does_not_have(spark: SparkSession, tmp_path: Path) -> None:
    declared = "k binary, v smallint, s string, time timestamp_ntz, d decimal(12, 4), day date"
    cents = pa.array([n * 100_001 for n in range(TABLE.num_rows)]).cast(pa.decimal128(21, 2))
    table = TABLE.set_column(1, "v", TABLE["v"].cast(pa.int16()))
    table = table.append_column("d", cents.cast(pa.decimal128(9, 2)))
    table = table.append_column("day", TABLE["time"].cast(pa.date32()))
    write(tmp_path, "a.parquet", table, use_deprecated_int96_timestamps=True)
    wide = TABLE["v"].cast(pa.int32())
    truncated = table.set_column(1, "v", pa.chunked_array([[n.as_py() + 70_000 for n in wide]]))
    truncated = truncated.set_column(1, "v", truncated["v"].cast(pa.int32()))
    with hr.Session(spark) as session:
        frame = spark.readStream.schema(declared).parquet(str(tmp_path))
        session.stream("s", frame, event_time="time")
        query = session.sql("SELECT k, v, s, time, d, day FROM s")
        session.start()
        session.process_all_available()
        assert BY_TASKS in query.explain()
        write(tmp_path, "b.parquet", truncated)  # Spark takes the lower bits
        session.process_all_available()
        assert "b.parquet: column v is INT32, not smallint" in session.explain()
        wanted = spark.read.schema(declared).parquet(str(tmp_path)).toArrow()
        assert _sorted(query.collect()) == _sorted(wanted)


@pytest.mark.parametrize("read_by", [BY_TASKS, "Spark"])
def test_names_that_differ_in_case_only(spark: SparkSession, tmp_path: Path, read_by: str) -> None:
    both = TABLE.append_column("K", pa.array(["other"] * TABLE.num_rows))
    session_of_spark = spark.newSession()
    if read_by == BY_TASKS:
        session_of_spark.conf.set("spark.sql.caseSensitive", "true")
    write(tmp_path, "a.parquet", both)
    with hr.Session(session_of_spark) as session:
        frame = session_of_spark.readStream.schema(DECLARED).parquet(str(tmp_path))
        session.stream("s", frame, event_time="time")
        query = session.sql("SELECT k, v, s, time FROM s")
        session.start()
        if read_by == BY_TASKS:
            session.process_all_available()
            assert BY_TASKS in query.explain()
            wanted = session_of_spark.read.schema(DECLARED).parquet(str(tmp_path)).toArrow()
            assert _sorted(query.collect()) == _sorted(wanted)
        else:
            with pytest.raises(hr.ExecutionError, match=r"a\.parquet"):
                session.process_all_available()
            assert "a.parquet: there are several columns k" in session.explain()


@pytest.mark.parametrize(
    ("column", "kind"), [("time", pa.timestamp("ns", "UTC")), ("v", pa.float64())]
)
def test_what_spark_cannot_read_fails_in_its_words(
    spark: SparkSession, tmp_path: Path, column: str, kind: pa.DataType
) -> None:
    place = TABLE.column_names.index(column)
    write(tmp_path, "bad.parquet", TABLE.set_column(place, column, TABLE[column].cast(kind)))
    with hr.Session(spark) as session:
        frame = spark.readStream.schema(DECLARED).parquet(str(tmp_path))
        session.stream("s", frame, event_time="time")
        query = session.sql("SELECT COUNT(v) AS n FROM s GROUP BY window(time, '10 seconds')")
        session.start()
        with contextlib.suppress(hr.ExecutionError):  # a column that only one query reads
            session.process_all_available()
        assert query.status == "failed"
        assert "bad.parquet" in str(query.error)
        assert f"bad.parquet: column {column} is" in session.explain()


COUNTS = (
    "SELECT window.start AS start, k, COUNT(*) AS n, SUM(v) AS total FROM s WHERE v <> 1 "
    "GROUP BY window(time, '40 seconds', '20 seconds'), k"
)


def odd(folder: Path, name: str, seconds: list[float]) -> None:
    """A file that only Spark reads as Spark does: one value lies before 1900."""
    told = {"org.apache.spark.version": "2.4.8"}
    first = {"k": "old", "v": 0, "s": "", "time": dt.datetime(1800, 1, 1, tzinfo=dt.UTC)}
    table = pa.Table.from_pylist([first, *rows(seconds)], SCHEMA)
    write(folder, f"_{name}", table.replace_schema_metadata(told))
    (folder / f"_{name}").rename(folder / name)


def even(folder: Path, name: str, seconds: list[float]) -> None:
    write(folder, f"_{name}", pa.Table.from_pylist(rows(seconds), SCHEMA))
    (folder / f"_{name}").rename(folder / name)


def in_batch(spark: SparkSession, folder: Path, upto: dt.datetime) -> list[tuple[Any, ...]]:
    spark.read.schema(DECLARED).parquet(str(folder)).createOrReplaceTempView("s")
    table = spark.sql(COUNTS).where(f"start < '{upto - dt.timedelta(seconds=40)}'").toArrow()
    return [row for row in pairs(table, "start", "k", "n", "total") if row[1] != "old"]


def found(query: hr.Query) -> list[tuple[Any, ...]]:
    table = query.collect()
    return [row for row in pairs(table, "start", "k", "n", "total") if row[1] != "old"]


def test_giving_up_is_told_and_a_query_alone_goes_to_catalyst(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "headrace"), hr.Session(spark) as session:
        frame = spark.readStream.schema(DECLARED).parquet(str(tmp_path))
        session.stream("s", frame, event_time="time", max_ahead=None)
        query = session.sql(COUNTS)
        session.start()
        even(tmp_path, "1.parquet", [1, 2, 3, 4, 19, 20])
        session.process_all_available()
        assert BY_TASKS in session.explain()
        assert "lane: kernel (tuples are fetched" in session.explain()
        version = session.explain().split("plan version ")[1].split(",")[0]
        assert not caplog.records
        odd(tmp_path, "2.parquet", [21, 22, 23, 24, 39])
        session.process_all_available()
        told = session.explain()
        assert f"read by: Spark ({tmp_path / '2.parquet'}: column time may have" in told
        assert "lane: catalyst (one query alone" in told
        assert "lane: catalyst" in query.explain()
        assert f"plan version {version}," in told, "sections of both lanes are of one version"
        for number in range(3, 6):
            odd(tmp_path, f"{number}.parquet", [10.0 * number + n for n in range(8)])
            session.process_all_available()
        even(tmp_path, "6.parquet", [200, 201])
        session.process_all_available()
        assert found(query) == in_batch(spark, tmp_path, at(201))
        assert len(found(query)) > 3
        second = session.sql("SELECT COUNT(*) FROM s GROUP BY window(time, '7 seconds')")
        second.await_active(10)
        assert "lane: kernel (2 queries share one scan)" in session.explain()
        assert "read by: Spark (" in session.explain()
    warned = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warned) == 1
    assert "2.parquet" in warned[0]
    assert "old calendar" in warned[0]


def test_a_replay_may_be_read_and_reduced_by_others(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()

    def session(goal: str) -> hr.Session:
        made = hr.Session(spark, checkpoint=str(tmp_path / "checkpoint"))
        frame = spark.readStream.schema(DECLARED).parquet(str(folder))
        made.stream("s", frame, event_time="time", max_ahead=None)
        if goal == "begin":
            made.sql(COUNTS, name="q", sink="parquet", options={"path": str(out)})
        made.start()
        return made

    def results() -> list[tuple[Any, ...]]:
        table = pq.read_table(out) if out.exists() else pa.table({})
        return [row for row in pairs(table, "start", "k", "n", "total") if row[1] != "old"]

    with session("begin") as first:
        odd(folder, "1.parquet", [1, 2, 3, 4, 19, 20])
        first.process_all_available()
        assert "lane: catalyst" in first.explain()
        with monkeypatch.context() as patch:
            patch.setattr("headrace.runtime.journal.Journal.commit", _killed)
            even(folder, "2.parquet", [21, 22, 23, 24, 39, 90])
            with pytest.raises(hr.ExecutionError, match="killed"):
                first.process_all_available()
    with session("again") as second:
        second.process_all_available()  # the same batch, of a version that Catalyst reduced
        assert BY_TASKS in second.explain()
        assert "lane: kernel" in second.explain()
        odd(folder, "3.parquet", [91, 92, 93])
        second.process_all_available()
        assert "lane: catalyst" in second.explain()
        even(folder, "4.parquet", [94, 200])
        second.process_all_available()
    assert results() == in_batch(spark, folder, at(200))
    assert len(results()) > 3


def _killed(*arguments: object) -> None:
    raise OSError("killed before the commit")


def test_a_folder_of_nothing_but_empty_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").touch()
    write(tmp_path, "b.parquet", TABLE.slice(0, 0))
    with hr.Session(spark) as session:
        frame = spark.readStream.schema(DECLARED).parquet(str(tmp_path))
        session.stream("s", frame, event_time="time")
        query = session.sql("SELECT * FROM s")
        session.start()
        session.process_all_available()
        assert (query.collect().num_rows, session.metrics().tuples) == (0, 0)
        assert BY_TASKS in session.explain()
