"""A checkpoint that is opened twice, damaged, moved or does not fit: a sentence, nothing twice."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runtime import faults
from tests.spark.helpers import SCHEMA, at, pairs, rows

pytestmark = [pytest.mark.spark]

COUNT = (
    "SELECT window.start AS start, k, COUNT(*) AS n FROM s GROUP BY window(time, '10 seconds'), k"
)


@dataclasses.dataclass
class World:
    """A source that outlives sessions, a checkpoint, and a folder of results."""

    spark: SparkSession
    path: Path
    name: str = "s"
    schema: pa.Schema = SCHEMA
    partitions: int = 1
    text: str = COUNT

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def log(self) -> Path:
        return self.checkpoint / "streams" / "s" / "log"

    def session(self, **options: object) -> hr.Session:
        session = hr.Session(self.spark, checkpoint=str(self.checkpoint), **options)  # type: ignore[arg-type]
        stream = hr.testing.MemoryStream(
            self.schema, path=self.path / "stream", partitions=self.partitions
        )
        session.stream(self.name, stream, event_time="time")
        return session

    def ask(self, session: hr.Session) -> hr.Query:
        out = {"path": str(self.path / "out")}
        return session.sql(self.text, name="q", sink="parquet", options=out)

    def run(self, *batches: list[float]) -> None:
        """A session that processes these batches and closes."""
        stream = hr.testing.MemoryStream(SCHEMA, path=self.path / "stream")
        with self.session() as session:
            self.ask(session)
            session.start()
            for batch in batches:
                stream.push(rows(batch))
                session.process_all_available()

    @property
    def written(self) -> list[tuple[object, ...]]:
        return pairs(pq.read_table(self.path / "out"), "start", "n")


@pytest.fixture
def world(spark: SparkSession, tmp_path: Path) -> World:
    return World(spark, tmp_path)


# -- who owns it -------------------------------------------------------------------------------


def test_a_second_session_is_refused_with_who_and_since_when(world: World) -> None:
    with (
        world.session(),
        pytest.raises(
            hr.ExecutionError,
            match=rf"used by another session: process {os.getpid()} on .*since .* UTC.*last seen",
        ),
    ):
        world.session()
    world.session().close()  # once it was let go


def test_the_checkpoint_of_a_process_that_is_dead_is_taken_over(world: World) -> None:
    program = (
        "import os; from headrace.connectors.store import Store; "
        "from headrace.runtime.checkpoint import Checkpoint; "
        "from headrace.types import SystemClock; "
        f"Checkpoint(Store({str(world.checkpoint)!r}), SystemClock()); os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", program], check=False)
    world.run([1, 12])
    assert world.written == [(at(0), 1)]


def test_a_session_that_was_taken_over_writes_nothing_more(world: World) -> None:
    stream = hr.testing.MemoryStream(SCHEMA, path=world.path / "stream")
    with world.session() as slow:
        query = world.ask(slow)
        slow.start()
        stream.push(rows([1, 12]))
        slow.process_all_available()
        # As if it had stood still for longer than its lease lasts, and been taken for dead.
        lease = max(world.checkpoint.glob("lease-*.json"))
        successor = lease.with_name(f"lease-{int(lease.stem.split('-')[1]) + 1:010d}.json")
        shutil.copy(lease, successor)
        stream.push(rows([25]))
        with pytest.raises(hr.ExecutionError, match="no longer owns checkpoint"):
            slow.process_all_available()
        assert query.status == "failed"
        successor.unlink()
    assert world.written == [(at(0), 1)]


# -- what is damaged ---------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 40, 300], ids=lambda n: f"first {n} bytes")
def test_a_commit_that_was_cut_short_is_made_up_for_by_the_one_before(
    world: World, keep: int
) -> None:
    world.run([1, 12], [25, 31])
    newest = max(world.log.glob("*.commit.json"))
    newest.write_bytes(newest.read_bytes()[:keep])
    world.run([45, 55])
    assert world.written == [(at(s), 1) for s in (0, 10, 20, 30, 40)]


def test_a_batch_that_spark_takes_for_done_is_done_again_where_its_commit_is_lost(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = world.path / "files"
    files.mkdir()

    def run(number: int, *seconds: float) -> None:
        table = pa.Table.from_pylist(rows(seconds), schema=SCHEMA)
        pq.write_table(table, files / f"{number}.parquet")
        frame = world.spark.readStream.schema("k string, v bigint, s string, time timestamp")
        with hr.Session(world.spark, checkpoint=str(world.checkpoint)) as session:
            session.stream("s", frame.parquet(str(files)), event_time="time")
            world.ask(session)
            session.start()
            session.process_all_available()

    begins = []

    def die(point: str) -> None:
        """When the transaction after the batch begins: the batch's commit is the newest."""
        begins.extend([point] if point == "before WriteBegin" else [])
        if len(begins) > 1:
            raise hr.ExecutionError("killed")

    run(0, 1, 12)
    with monkeypatch.context() as patch:
        patch.setattr(faults, "at", die)
        with pytest.raises(hr.ExecutionError, match="killed"):
            run(1, 25, 31)
    newest = max(world.log.glob("*.commit.json"))
    assert b'"batch_id":1' in newest.read_bytes()
    assert (world.log.parent / "spark" / "commits" / "1").exists()
    newest.write_bytes(b"")
    run(2, 45, 55)
    assert world.written == [(at(s), 1) for s in (0, 10, 20, 30, 40)]


def test_without_any_commit_that_can_be_read_it_says_so(world: World) -> None:
    world.run([1, 12])
    for path in world.log.glob("*.commit.json"):
        path.write_bytes(path.read_bytes()[:50])
    _refused(world, r"no commit in .*/log can be read.*restore the folder from a copy")
    assert world.written == [(at(0), 1)]


def test_a_log_folder_that_is_gone_is_noticed(world: World) -> None:
    world.run([1, 12])
    shutil.rmtree(world.log)
    _refused(world, r"/log has no commit, though other folders of the checkpoint are in use")
    assert world.written == [(at(0), 1)]


@pytest.mark.parametrize("folder", ["streams", "streams/s"])
def test_state_of_a_stream_that_is_gone_is_noticed(world: World, folder: str) -> None:
    world.run([1, 12])
    shutil.rmtree(world.checkpoint / folder)
    _refused(world, r"/streams/s is missing, though the checkpoint has stream 's'")
    assert world.written == [(at(0), 1)]


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_spark_that_cannot_go_on_is_noticed(world: World, damage: str) -> None:
    world.run([1, 12], [25, 31])
    newest = max((world.log.parent / "spark" / "offsets").glob("[0-9]*"), key=lambda p: int(p.name))
    if damage == "cut":
        newest.write_bytes(newest.read_bytes()[:20])
    else:
        newest.unlink()
    stream = hr.testing.MemoryStream(SCHEMA, path=world.path / "stream")
    with world.session() as session:
        query = world.ask(session)
        session.start()
        stream.push(rows([45, 55]))
        try:
            session.process_all_available()
        except hr.ExecutionError:
            assert query.status == "failed"
            assert "/spark/offsets/" in str(query.error) or damage == "gone"
        else:
            assert damage == "gone", "a file that cannot be read is not passed over"
            assert query.status == "active"
            assert world.written == [(at(s), 1) for s in (0, 10, 20, 30, 40)]


@pytest.mark.parametrize("name", ["metadata", "offsets/0", "commits/0"])
def test_damage_of_sparks_own_files_is_told_with_what_to_do(world: World, name: str) -> None:
    world.run([1, 12])
    damaged = world.log.parent / "spark" / name
    damaged.write_bytes(damaged.read_bytes()[:-3] + b"###")

    def run() -> None:
        stream = hr.testing.MemoryStream(SCHEMA, path=world.path / "stream")
        with world.session() as session:
            world.ask(session)
            session.start()
            stream.push(rows([25, 31]))
            session.process_all_available()

    told = ""
    try:
        run()
    except hr.ExecutionError as error:
        told = str(error)
    if name == "metadata" or told:
        assert f"Spark cannot go on with its own checkpoint {world.log.parent / 'spark'}" in told
        assert "restore the folder from a copy" in told
    else:
        # Of older batches Spark may not ask.
        assert world.written == [(at(s), 1) for s in (0, 10, 20)]


def test_a_changelog_that_was_cut_short_is_told(world: World) -> None:
    world.run([1, 12])
    newest = max((world.log.parent / "changelog").glob("*.json"))
    newest.write_bytes(newest.read_bytes()[:-20])
    _refused(world, r"checkpoint record .*/changelog/\d+.json is damaged: \d+ bytes were announced")


def test_a_changelog_that_is_missing_is_told(world: World) -> None:
    with world.session() as session:
        world.ask(session)
        session.start()
        for name in ("a", "b"):
            session.sql(COUNT, name=name).await_active()
    changelogs = sorted((world.log.parent / "changelog").glob("*.json"))
    for lost in changelogs[:2]:
        kept = lost.read_bytes()
        lost.unlink()
        _refused(world, rf"/changelog lacks changelog {int(lost.stem)}: without it")
        lost.write_bytes(kept)


@pytest.mark.parametrize("place", [0.1, 0.5, 0.98])
def test_a_flipped_bit_in_the_state_gives_no_answer_rather_than_a_wrong_one(
    world: World, place: float
) -> None:
    world.run([1, 2, 3])
    (bucket,) = (world.log.parent / "buckets").glob("*.bucket")
    data = bytearray(bucket.read_bytes())
    data[int(len(data) * place)] ^= 4
    bucket.write_bytes(data)
    stream = hr.testing.MemoryStream(SCHEMA, path=world.path / "stream")
    with world.session() as session:
        query = world.ask(session)
        session.start()
        stream.push(rows([12]))
        with pytest.raises(hr.ExecutionError, match=r"\.bucket is damaged: its checksum differs"):
            session.process_all_available()
        assert query.status == "failed"
    assert not list((world.path / "out").rglob("*.parquet"))


def test_state_that_is_missing_is_told(world: World) -> None:
    world.run([1, 2, 3])
    (bucket,) = (world.log.parent / "buckets").glob("*.bucket")
    bucket.unlink()
    stream = hr.testing.MemoryStream(SCHEMA, path=world.path / "stream")
    with world.session() as session:
        world.ask(session)
        session.start()
        stream.push(rows([12]))
        with pytest.raises(hr.ExecutionError, match=r"\.bucket is missing"):
            session.process_all_available()


def test_a_checkpoint_of_an_earlier_version_is_refused(world: World) -> None:
    world.run([1, 12])
    for path in world.log.glob("*.json"):
        path.write_bytes(path.read_bytes().partition(b"\n")[2])
    _refused(world, r"was written by an earlier version of Headrace \(format 1; this one reads 2\)")


def test_without_its_session_record_it_is_refused(world: World) -> None:
    world.run([1, 12])
    (world.checkpoint / "session.json").unlink()
    _refused(world, r"has no session.json, though it is in use")


# -- what does not fit -------------------------------------------------------------------------


def _refused(world: World, why: str, **options: object) -> None:
    session = world.session(**options)
    with pytest.raises(hr.ExecutionError, match=why):
        session.start()
    with pytest.raises(hr.ExecutionError, match="the session is closed"):
        session.sql(COUNT)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"partitions": 1}, r"stream 's' has no partition '1' any more \(2 before, 1 now\)"),
        (
            {"schema": pa.schema([pa.field("k", pa.int64()), *list(SCHEMA)[1:]])},
            r"column 'k' of stream 's' was string and is bigint now",
        ),
        ({"schema": pa.schema(list(SCHEMA)[1:])}, r"column 'k' of stream 's' was .* and is gone"),
        ({"name": "renamed"}, r"it has stream 's' with its queries, which is not declared"),
    ],
    ids=["partitions", "key type", "column gone", "stream renamed"],
)
def test_what_does_not_fit_is_refused_with_a_sentence(
    world: World, change: dict[str, object], why: str
) -> None:
    world = dataclasses.replace(world, partitions=2)
    _run_all(world, [1, 12])
    _refused(dataclasses.replace(world, **change), why)  # type: ignore[arg-type]
    _run_all(world, [25, 31])
    assert world.written == [(at(s), 2) for s in (0, 10, 20)]


def test_a_partition_that_is_new_is_read_from_its_beginning(world: World) -> None:
    world.run([1, 12])
    _run_all(dataclasses.replace(world, partitions=2), [25, 31])
    assert world.written == [(at(0), 1), (at(10), 1), (at(20), 2)]


def _run_all(world: World, seconds: list[float]) -> None:
    """A session in which the same tuples come in every partition."""
    stream = hr.testing.MemoryStream(
        SCHEMA, path=world.path / "stream", partitions=world.partitions
    )
    with world.session() as session:
        world.ask(session)
        session.start()
        for partition in range(world.partitions):
            stream.push(rows(seconds), partition=partition)
        session.process_all_available()


@pytest.mark.parametrize(
    ("setting", "value", "why"),
    [
        ("spark.sql.session.timeZone", "Asia/Kolkata", "the time zone 'UTC'"),
        ("spark.sql.ansi.enabled", "false", "ANSI mode True"),
    ],
)
def test_settings_that_answers_depend_on_stay(
    world: World, setting: str, value: str, why: str
) -> None:
    world.run([1, 12])
    before = world.spark.conf.get(setting)
    world.spark.conf.set(setting, value)
    try:
        _refused(world, why)
    finally:
        world.spark.conf.set(setting, before)


def test_sharing_stays(world: World) -> None:
    world.run([1, 12])
    _refused(world, "it was made with sharing 'auto', this session has 'off'", sharing="off")


def test_another_text_under_the_name_of_a_query_that_runs_is_refused(world: World) -> None:
    world.run([1, 12])
    with world.session() as session:
        session.sql("SELECT k FROM s", name="q")
        with pytest.raises(hr.QueryError, match="the checkpoint runs another query named 'q'"):
            session.start()


def test_a_checkpoint_may_be_moved_and_copied(world: World) -> None:
    world.run([1, 12])
    shutil.copytree(world.checkpoint, world.path / "copy")
    shutil.rmtree(world.checkpoint)
    shutil.move(world.path / "copy", world.checkpoint)
    world.run([25])
    assert world.written == [(at(0), 1), (at(10), 1)]


# -- a full disk -------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["begin", "commit", "buckets"])
def test_a_full_disk_is_told_and_nothing_is_lost_when_it_is_free_again(
    world: World, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    world.run([1, 12])
    stream = hr.testing.MemoryStream(SCHEMA, path=world.path / "stream")
    with world.session() as session:
        query = world.ask(session)
        session.start()
        _fill(monkeypatch, world, part)
        stream.push(rows([25]))
        with pytest.raises(
            hr.ExecutionError, match=r"the disk of the checkpoint is full .*: free some space"
        ):
            session.process_all_available()
        assert query.status == "failed"
        assert "free some space" in str(query.error)
    monkeypatch.undo()
    _free(world)
    world.run([35])
    assert world.written == [(at(0), 1), (at(10), 1), (at(20), 1)]


def _fill(monkeypatch: pytest.MonkeyPatch, world: World, part: str) -> None:
    """No more room for some files; for buckets, which tasks write, a disk that is really full."""
    if part == "buckets":
        folder = world.log.parent / "buckets"
        size = ["-o", "size=8k"]
        mounted = subprocess.run(["mount", "-t", "tmpfs", *size, "tmpfs", folder], check=False)
        if mounted.returncode:
            pytest.skip("a small disk cannot be mounted here")
        (folder / "filler").write_bytes(b"x" * 8192)
        return
    from headrace.connectors.store import Store

    write: Callable[..., object] = Store.write
    create: Callable[..., object] = Store.create

    def full(to: Callable[..., object]) -> Callable[..., object]:
        def refuse(store: Store, name: str, data: object) -> object:
            if f".{part}." in name:
                raise OSError(28, "No space left on device")
            return to(store, name, data)

        return refuse

    monkeypatch.setattr(Store, "write", full(write))
    monkeypatch.setattr(Store, "create", full(create))


def _free(world: World) -> None:
    folder = world.log.parent / "buckets"
    if os.path.ismount(folder):
        subprocess.run(["umount", folder], check=True)
