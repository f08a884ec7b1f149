"""runtime/records.py: a record is read as it was written, or refused with the reason."""

from __future__ import annotations

import errno
import json
import os
import pickle
import uuid
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.runtime import records
from headrace.runtime.records import (
    FORMAT,
    RESTORE,
    Damaged,
    Missing,
    OtherFormat,
    RecordError,
    create_record,
    decode,
    disk_errors,
    disk_sentence,
    encode,
    read_record,
    write_record,
)

SMALL = encode("commit", b'{"txn":12}\n\x00')
FULL = "the disk of the checkpoint is full (/c): free some space and start the session again; "
FULL += "what was committed is safe"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path))


# -- there and back ---------------------------------------------------------------------------


@given(st.text(max_size=10), st.binary(max_size=200))
def test_a_record_is_read_as_it_was_written(kind: str, payload: bytes) -> None:
    assert decode(encode(kind, payload), kind, "x") == payload


def test_a_record_is_a_line_of_json_and_the_payload() -> None:
    line, payload = encode("begin", b"a\nb").split(b"\n", 1)
    crc32 = zlib.crc32(b"a\nb")
    assert json.loads(line) == {"headrace": 2, "kind": "begin", "crc32": crc32, "bytes": 3}
    assert payload == b"a\nb"


def test_records_are_files(store: Store) -> None:
    write_record(store, "a", "commit", b"1")
    write_record(store, "a", "commit", b"2")
    assert read_record(store, "a", "commit") == b"2"
    assert not create_record(store, "a", "commit", b"3")
    assert create_record(store, "b", "commit", b"")
    assert (read_record(store, "a", "commit"), read_record(store, "b", "commit")) == (b"2", b"")


# -- damage -----------------------------------------------------------------------------------


@pytest.mark.parametrize("payload", [b'{"txn":12}\n\x00', b"", b"{}", b"\n"])
def test_every_cut_is_noticed(payload: bytes) -> None:
    whole = encode("commit", payload)
    for end in range(len(whole)):
        with pytest.raises(Damaged):
            decode(whole[:end], "commit", "x")


def test_every_cut_of_a_file_is_noticed(store: Store) -> None:
    for end in range(len(SMALL)):
        Path(store.path("a")).write_bytes(SMALL[:end])
        with pytest.raises(Damaged):
            read_record(store, "a", "commit")


@pytest.mark.parametrize("payload", [b'{"txn":12}\n\x00', b"", b"{}", b" ", b"\n"])
def test_every_flipped_bit_is_noticed(payload: bytes) -> None:
    whole = encode("commit", payload)
    number = whole.index(b":") + 1
    for bit in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[bit // 8] ^= 1 << bit % 8
        # Another digit in the place of the format's is another format, for all one can know.
        is_format = bit // 8 == number and changed[number] in b"0123456789"
        with pytest.raises(OtherFormat if is_format else Damaged):
            decode(bytes(changed), "commit", "x")


@given(st.binary(max_size=60), st.data())
def test_bytes_of_others_are_never_believed(payload: bytes, data: st.DataObject) -> None:
    whole = encode("k", payload)
    at = data.draw(st.integers(0, len(whole)))
    extra = data.draw(st.binary(min_size=1, max_size=9))
    with pytest.raises(RecordError):
        decode(whole[:at] + extra + whole[at:], "k", "x")


HEADER = b'{"headrace":2,"kind":"commit","crc32":907060870,"bytes":5}\n'
FOREIGN = "a header was expected, its first line is something else"
UNLIKE = "its header is not one that Headrace writes"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "a header was expected, the file is empty"),
        (b"\x00" * 100, FOREIGN),
        (b"\xff\xfe", FOREIGN),
        (b"PAR1", FOREIGN),
        (b'["headrace"]\n', FOREIGN),
        (b"[" * 100_000, FOREIGN),
        (b'{"head": 1}\n{}', FOREIGN),
        (b'{"txn":1,"sta', FOREIGN),
        (b'{"headrace":true}\n', FOREIGN),
        (b'{"headrace":"2"}\n', FOREIGN),
        (b'{"headrace":2}\n', UNLIKE),
        (HEADER.replace(b"2,", b"2, ") + b"hello", UNLIKE),
        (HEADER.replace(b'"bytes"', b'"length"') + b"hello", UNLIKE),
        (HEADER[:-1], "the file ends within its header"),
        (HEADER + b"hell", "5 bytes were announced, 4 are there"),
        (HEADER + b"hello!", "5 bytes were announced, 6 are there"),
        (HEADER.replace(b"5}", b'"5"}') + b"hello", "5 bytes were announced, 5 are there"),
        (HEADER + b"jello", "the checksum 907060870 was announced, 1288762854 is there"),
        (
            HEADER.replace(b"commit", b"begin") + b"hello",
            "a record of kind 'commit' was expected, one of 'begin' is there",
        ),
    ],
)
def test_the_damage_is_named(store: Store, data: bytes, found: str) -> None:
    Path(store.path("0000000012.commit.json")).write_bytes(data)
    with pytest.raises(Damaged) as caught:
        read_record(store, "0000000012.commit.json", "commit")
    assert str(caught.value) == (
        f"checkpoint record {store.address}/0000000012.commit.json is damaged: {found}; {RESTORE}"
    )


def test_the_reader_may_know_better_what_to_do(store: Store) -> None:
    Path(store.path("a")).touch()
    with pytest.raises(Damaged, match=r"; stand on your head$"):
        read_record(store, "a", "commit", "stand on your head")
    with pytest.raises(Missing, match=r"/b is missing; stand on your head$"):
        read_record(store, "b", "commit", advice="stand on your head")


def test_an_error_survives_the_way_from_an_executor() -> None:
    for kind in (Damaged, OtherFormat, Missing):
        assert issubclass(kind, RecordError)
        assert issubclass(kind, ExecutionError)
        assert str(pickle.loads(pickle.dumps(kind("why")))) == "why"


# -- other formats ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "version", "number"),
    [
        (b'{"txn":12,"sections":[]}', "an earlier", 1),
        (b"{}", "an earlier", 1),
        (b'{"headrace":3,"anything":"else"}\npayload', "a newer", 3),
        (b'{"headrace":3}', "a newer", 3),
        (b'{"headrace":0}\n', "an earlier", 0),
    ],
)
def test_another_format_is_named(store: Store, data: bytes, version: str, number: int) -> None:
    Path(store.path("a")).write_bytes(data)
    with pytest.raises(OtherFormat) as caught:
        read_record(store, "a", "commit")
    assert str(caught.value) == (
        f"checkpoint record {store.path('a')} was written by {version} version of Headrace (format "
        f"{number}; this one reads {FORMAT}): use that version, or begin with a new checkpoint"
    )


def test_what_earlier_versions_wrote_is_known_as_such(store: Store) -> None:
    Path(store.path("a")).write_bytes(json.dumps({"text": "a\nb"}, separators=(",", ":")).encode())
    with pytest.raises(OtherFormat, match="an earlier version"):
        read_record(store, "a", "commit")


# -- the disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("write", [write_record, create_record])
@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "x"), FULL),
        (OSError(errno.EDQUOT, "x"), FULL),
        (
            OSError(errno.EACCES, "x"),
            "the checkpoint /c cannot be written: permission denied; let this process write "
            "there, or use another folder",
        ),
        (
            OSError(errno.EPERM, "x"),
            "the checkpoint /c cannot be written: permission denied; let this process write "
            "there, or use another folder",
        ),
        (
            OSError(errno.EROFS, "x"),
            "the checkpoint /c cannot be written: permission denied (the file system is "
            "read-only); let this process write there, or use another folder",
        ),
        (OSError(errno.EIO, "x"), "the checkpoint /c cannot be written: Input/output error"),
        (OSError("the wire is cut"), "the checkpoint /c cannot be written: the wire is cut"),
        (OSError("[errno 28] of the far end"), FULL),
    ],
)
def test_what_the_disk_refuses_is_told_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, write: object, error: OSError, sentence: str
) -> None:
    def refuse(*_args: object) -> bool:
        raise error

    monkeypatch.setattr(Store, "write", refuse)
    monkeypatch.setattr(Store, "create", refuse)
    with pytest.raises(ExecutionError) as caught:
        write(Store("/c"), "a", "commit", b"1")  # type: ignore[operator]
    assert str(caught.value) == sentence
    assert caught.value.__cause__ is error
    assert disk_sentence(error, "/c") == sentence


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize("write", [write_record, create_record])
def test_a_disk_that_is_really_full(
    store: Store, monkeypatch: pytest.MonkeyPatch, write: object
) -> None:
    known = uuid.uuid4()
    monkeypatch.setattr(uuid, "uuid4", lambda: known)
    os.symlink("/dev/full", store.path(f".a.{known.hex[:8]}"))
    with pytest.raises(ExecutionError, match="disk of the checkpoint is full") as caught:
        write(store, "a", "commit", b"1")  # type: ignore[operator]
    assert store.address in str(caught.value)
    assert os.listdir(store.address) == []


def test_a_folder_that_is_gone(store: Store) -> None:
    with pytest.raises(ExecutionError, match="/gone cannot be written: No such file or directory"):
        write_record(store.sub("gone"), "a", "commit", b"1")


def test_a_file_that_cannot_be_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> pa.Buffer:
        raise OSError(errno.EIO, "long words of pyarrow")

    monkeypatch.setattr(Store, "read", refuse)
    with pytest.raises(ExecutionError) as caught:
        read_record(store, "a", "commit")
    assert str(caught.value) == (
        f"the checkpoint cannot be read: {store.path('a')}: Input/output error"
    )
    assert not isinstance(caught.value, RecordError)


@pytest.mark.parametrize(
    "text",
    [
        "Job aborted … OSError: [Errno 28] Error writing bytes to file",
        "java.io.IOException: No space left on device",
        "[errno 28]",
        f"[Errno {errno.EDQUOT}]",
        "Disk quota exceeded",
    ],
)
def test_a_full_disk_is_known_by_its_text_wherever_it_stands(text: str) -> None:
    assert disk_sentence(RuntimeError(text), "/c") == FULL
    caused = RuntimeError("the stream stopped")
    caused.__cause__ = ValueError("why?")
    caused.__cause__.__context__ = KeyError(text)
    assert disk_sentence(caused, "/c") == FULL


def test_a_full_disk_is_known_by_its_number_in_the_chain() -> None:
    error = RuntimeError("the task failed")
    error.__cause__ = OSError(errno.ENOSPC, "voll")
    assert disk_sentence(error, "/c") == FULL


def test_other_errors_say_nothing_about_the_disk() -> None:
    error = RuntimeError("[Errno 280] elsewhere")
    error.__cause__ = ConnectionRefusedError(errno.ECONNREFUSED, "no")
    assert disk_sentence(error, "/c") is None


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert disk_sentence(one, "/c") is None
    assert len(list(records._chain(one))) == 2


def test_errors_that_are_not_the_disks_pass() -> None:
    with pytest.raises(ValueError, match="mine"), disk_errors("/c"):
        raise ValueError("mine")
