"""connectors/store.py: a file is absent or whole, created once, and on the disk when it must be."""

from __future__ import annotations

import errno
import os
import pickle
import threading
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import fs

from headrace.connectors import store as module
from headrace.connectors.store import Store

FULL = Path("/dev/full")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A filesystem that is not a local disk, as far as can be told."""
    away = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr(module, "_filesystem", lambda address: (away, address.split("://")[1]))
    made = Store("away://folder", sync=True)
    made.make()
    return made


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was flushed, by the name it had then."""
    told: list[str] = []
    real = os.fsync

    def fsync(handle: int) -> None:
        told.append(os.readlink(f"/proc/self/fd/{handle}"))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return told


def raising(error: BaseException) -> Callable[..., Any]:
    def stand_in(*_args: object, **_named: object) -> Any:
        raise error

    return stand_in


def everything(store: Store) -> list[str]:
    return sorted(os.listdir(store.address))


# -- what was there before --------------------------------------------------------------------


def test_what_is_written_is_read_whole_or_in_part(store: Store) -> None:
    store.write("a", b"0123456789")
    store.write("b", pa.py_buffer(b"xyz"))
    assert store.read("a").to_pybytes() == b"0123456789"
    assert store.read_range("a", 2, 3).to_pybytes() == b"234"
    assert store.names() == ["a", "b"]


def test_a_range_is_mapped_and_outlives_the_name(store: Store) -> None:
    store.write("a", b"0123456789")
    part = store.read_range("a", 5, 5)
    store.write("a", b"other")
    store.delete("a")
    store.delete("a")
    assert part.to_pybytes() == b"56789"


def test_folders_and_files_are_told_apart_and_hidden_ones_left_out(store: Store) -> None:
    store.sub("x", "y").make()
    store.write("f", b"")
    for hidden in (".h", "_h"):
        Path(store.path(hidden)).touch()
    assert (store.names(), store.folders()) == (["f"], ["x"])
    assert store.sub("nowhere").names() == []
    store.sub("x").delete_all()
    store.sub("x").delete_all()
    assert store.folders() == []


def test_an_address_may_be_a_uri(tmp_path: Path) -> None:
    store = Store(f"file://{tmp_path}/a b".replace(" ", "%20"), sync=True)
    store.make()
    store.write("n", b"1")
    assert not store.create("n", b"2")
    assert (tmp_path / "a b" / "n").read_bytes() == b"1"


# -- flushing ---------------------------------------------------------------------------------


def test_nothing_is_flushed_unless_asked_for(store: Store, flushed: list[str]) -> None:
    store.sub("s").make()
    store.write("a", b"1")
    store.create("b", b"1")
    assert flushed == []


def test_a_file_is_flushed_before_it_has_its_name_and_its_folder_afterwards(
    store: Store, flushed: list[str]
) -> None:
    synced = Store(store.address, sync=True)
    for write in (synced.write, synced.create):
        flushed.clear()
        name = write.__name__
        write(name, b"1")
        file, folder = flushed
        assert Path(file).name.startswith(f".{name}.")
        assert folder == store.address
        assert name in store.names()


@pytest.mark.parametrize("how", ["write", "create"])
def test_the_name_comes_between_the_two_flushes(
    store: Store, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    named: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _handle: named.append("a" in store.names()))
    getattr(Store(store.address, sync=True), how)("a", b"1")
    assert named == [False, True]


def test_a_name_that_is_taken_flushes_no_folder(store: Store, flushed: list[str]) -> None:
    synced = Store(store.address, sync=True)
    synced.write("a", b"1")
    flushed.clear()
    assert not synced.create("a", b"2")
    assert flushed == []


def test_new_folders_are_flushed_into_the_ones_above(store: Store, flushed: list[str]) -> None:
    Store(store.address, sync=True).sub("x", "y").make()
    assert flushed == [f"{store.address}/x", store.address]


def test_a_relative_folder_is_flushed(
    store: Store, flushed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(store.address)
    Store("x", sync=True).make()
    assert flushed == [store.address]


def test_the_setting_goes_to_folders_inside_and_to_executors(store: Store) -> None:
    synced = Store(store.address, sync=True)
    assert synced.sub("a", "b") == Store(f"{store.address}/a/b", sync=True)
    assert not store.sub("a").sync
    assert pickle.loads(pickle.dumps(synced)) == synced


def test_other_filesystems_flush_by_themselves(remote: Store, flushed: list[str]) -> None:
    remote.write("a", b"1")
    remote.create("b", b"1")
    assert remote.names() == ["a", "b"]
    assert flushed == []


@pytest.mark.parametrize("code", [errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_flushed_is_no_error_but_a_broken_disk_is(
    store: Store, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    real = os.fsync

    def fsync(handle: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(code, os.strerror(code))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    synced = Store(store.address, sync=True)
    if code == errno.EINVAL:
        synced.write("a", b"1")
    else:
        with pytest.raises(OSError, match="Input/output"):
            synced.write("a", b"1")
    assert everything(store) == ["a"]


# -- failures leave nothing behind ------------------------------------------------------------


@pytest.mark.parametrize("how", ["write", "create"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), KeyboardInterrupt()])
def test_a_failed_flush_leaves_no_file(
    store: Store, monkeypatch: pytest.MonkeyPatch, how: str, error: BaseException
) -> None:
    monkeypatch.setattr(os, "fsync", raising(error))
    with pytest.raises(type(error)):
        getattr(Store(store.address, sync=True), how)("a", b"1")
    assert everything(store) == []


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full")
@pytest.mark.parametrize("how", ["write", "create"])
def test_a_disk_that_is_full_leaves_no_temporary_file(
    store: Store, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    known = uuid.uuid4()
    monkeypatch.setattr(uuid, "uuid4", lambda: known)
    name = "old" if how == "write" else "new"
    Path(store.path("old")).write_bytes(b"kept")
    os.symlink(FULL, store.path(f".{name}.{known.hex[:8]}"))
    with pytest.raises(OSError, match="No space left") as caught:
        getattr(store, how)(name, b"more")
    assert caught.value.errno == errno.ENOSPC
    assert everything(store) == ["old"]
    assert store.read("old").to_pybytes() == b"kept"


def test_a_failed_rename_leaves_no_temporary_file(store: Store) -> None:
    store.sub("taken").make()
    with pytest.raises(OSError, match="taken"):
        store.write("taken", b"1")
    assert everything(store) == ["taken"]


def test_the_first_error_is_told_when_the_temporary_file_cannot_be_removed(store: Store) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        store.sub("nowhere").write("a", b"1")


# -- create -----------------------------------------------------------------------------------


def test_a_file_is_created_once(store: Store) -> None:
    assert store.create("a", b"first")
    assert not store.create("a", b"second")
    assert store.read("a").to_pybytes() == b"first"
    assert everything(store) == ["a"]


def test_elsewhere_the_name_is_looked_for_first(remote: Store) -> None:
    assert remote.create("a", b"first")
    assert not remote.create("a", b"second")
    assert remote.read("a").to_pybytes() == b"first"


def without_links(_source: str, _target: str) -> None:
    raise OSError(errno.EPERM, "no links here")


@pytest.mark.parametrize("links", [True, False])
def test_of_many_that_create_at_once_one_succeeds(
    store: Store, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(Store, "modified_s", lambda *_: None)  # all have looked before
    for turn in range(10):
        start = threading.Barrier(6)
        won: list[int] = []

        def run(who: int, start: threading.Barrier, won: list[int], name: str) -> None:
            start.wait()
            if store.create(name, b"%d" % who):
                won.append(who)

        threads = [threading.Thread(target=run, args=(n, start, won, f"f{turn}")) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert store.read(f"f{turn}").to_pybytes() == b"%d" % won[0]
    assert everything(store) == [f"f{turn}" for turn in range(10)]


def test_without_links_a_failure_leaves_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", without_links)
    monkeypatch.setattr(os, "replace", raising(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        store.create("a", b"1")
    assert everything(store) == []


def test_a_link_that_fails_otherwise_is_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "link", raising(OSError(errno.EIO, "broken")))
    with pytest.raises(OSError, match="broken"):
        store.create("a", b"1")
    assert everything(store) == []


def test_a_link_that_was_made_although_its_answer_was_lost_counts(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def link(source: str, target: str) -> None:
        real(source, target)
        raise FileExistsError(errno.EEXIST, "there is one")

    monkeypatch.setattr(os, "link", link)
    assert store.create("a", b"1")
    assert everything(store) == ["a"]


# -- what is left over ------------------------------------------------------------------------


def test_tidy_deletes_what_a_killed_process_left_and_nothing_else(store: Store) -> None:
    left = [".a.json.0123abcd", ".b.ffffffff"]
    kept = [".hidden", ".a.0123ABCD", ".a.0123abc", ".0123abcd", "a.0123abcd", "_a", ".x.0.crc"]
    for name in (*left, *kept):
        Path(store.path(name)).touch()
    os.mkdir(store.path(".d.0123abcd"))
    assert store.tidy() == 2
    assert everything(store) == sorted([*kept, ".d.0123abcd"])
    assert store.sub("nowhere").tidy() == 0


@given(st.text("abc.-_09", min_size=1, max_size=12).filter(lambda n: n.strip(".")))
def test_tidy_finds_every_temporary_file_whatever_its_name(name: str) -> None:
    assert module._HIDDEN.fullmatch(f".{name}.{uuid.uuid4().hex[:8]}")


def test_tidy_works_elsewhere_too(remote: Store, tmp_path: Path) -> None:
    (tmp_path / "folder" / ".a.0123abcd").touch()
    assert remote.tidy() == 1
    assert os.listdir(tmp_path / "folder") == []


def test_when_a_file_was_written(store: Store) -> None:
    assert store.modified_s("a") is None
    store.write("a", b"1")
    os.utime(store.path("a"), (1_000.5, 2_000.5))
    assert store.modified_s("a") == 2_000.5


def test_a_file_without_a_time_is_as_old_as_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    class Timeless:
        def get_file_info(self, _path: str) -> fs.FileInfo:
            return fs.FileInfo("a", fs.FileType.File)

    monkeypatch.setattr(module, "_filesystem", lambda address: (Timeless(), address))
    assert Store("x").modified_s("a") == 0.0
