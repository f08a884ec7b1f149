"""runtime/outbox.py: what is written is read back, and damage is noticed."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.runtime.outbox import Outbox, Parcel


def rows(*values: int) -> pa.Table:
    return pa.table({"v": pa.array(values, pa.int64()), "s": [str(v) for v in values]})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "outbox"))


@pytest.fixture
def outbox(store: Store) -> Outbox:
    return Outbox(store)


def test_parcels_come_back_in_order_from_the_writer_and_from_a_later_process(store: Store) -> None:
    writer = Outbox(store)
    parcels = [
        Parcel(7, (0, 10), rows(1, 2)),
        Parcel(3, (0, 10), pa.table({"x": pa.array([None], pa.float32())})),
        Parcel(7, (10, 20), rows()),
    ]
    written = writer.write(12, parcels)
    assert store.names() == ["0000000012.arrow"]
    assert written == Path(store.path("0000000012.arrow")).stat().st_size
    for reader in (writer, Outbox(store)):
        contents = reader.contents(12)
        assert [(w.txn, w.uid, w.span, w.rows) for w in contents] == [
            (12, 7, (0, 10), 2),
            (12, 3, (0, 10), 1),
            (12, 7, (10, 20), 0),
        ]
        for waiting, parcel in zip(contents, parcels, strict=True):
            assert reader.read(waiting).equals(parcel.table)
    assert writer.contents(12) == Outbox(store).contents(12)


def test_nothing_is_written_without_parcels(outbox: Outbox, store: Store) -> None:
    assert outbox.write(1, []) == 0
    assert store.names() == []
    assert outbox.contents(1) == ()
    assert outbox.txns() == []


def test_a_second_attempt_replaces_the_first(outbox: Outbox) -> None:
    outbox.write(1, [Parcel(1, (0, 1), rows(1))])
    outbox.write(1, iter([Parcel(2, (0, 1), rows(2))]))
    (waiting,) = outbox.contents(1)
    assert outbox.read(waiting).equals(rows(2))
    outbox.write(1, [])
    assert outbox.txns() == []
    assert outbox.contents(1) == ()


def test_files_are_dropped_one_by_one_or_after_a_transaction(outbox: Outbox, store: Store) -> None:
    for txn in (3, 11, 2, 7):
        outbox.write(txn, [Parcel(1, (0, 1), rows(txn))])
    store.write("notes.arrow", b"not ours")
    store.write("0000000001.txt", b"not ours either")
    assert outbox.txns() == [2, 3, 7, 11]
    outbox.drop(3)
    outbox.drop(3)
    outbox.drop_after(6)
    assert outbox.txns() == [2]
    assert outbox.contents(7) == outbox.contents(3) == ()


def test_rows_stay_readable_after_their_file_is_dropped(outbox: Outbox) -> None:
    outbox.write(1, [Parcel(1, (0, 1), rows(*range(1000)))])
    table = outbox.read(outbox.contents(1)[0])
    outbox.drop(1)
    assert table.equals(rows(*range(1000)))


def test_a_slice_costs_its_own_rows_only(outbox: Outbox) -> None:
    large = pa.table({"v": pa.array(range(100_000), pa.int64())})
    assert outbox.write(1, [Parcel(1, (0, 1), large.slice(500, 10))]) < 2000
    assert outbox.read(outbox.contents(1)[0]).equals(large.slice(500, 10))


def test_a_local_file_is_mapped_not_read(outbox: Outbox) -> None:
    outbox.write(1, [Parcel(1, (0, 1), pa.table({"v": pa.array(range(500_000), pa.int64())}))])
    before = pa.total_allocated_bytes()
    table = outbox.read(outbox.contents(1)[0])
    assert table.num_rows == 500_000
    assert pa.total_allocated_bytes() - before < 100_000


DAMAGE = {
    "a byte of the first parcel": lambda d: _flipped(d, 40),
    "a byte of the last parcel": lambda d: _flipped(d, len(d) // 2),
    "a byte of the index": lambda d: _flipped(d, len(d) - 20),
    "the length": lambda d: _flipped(d, len(d) - 9),
    "the checksum": lambda d: _flipped(d, len(d) - 1),
    "the end": lambda d: d[:-3],
    "almost all": lambda d: d[:5],
    "all": lambda d: d[:0],
}


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_named(store: Store, damage: str) -> None:
    Outbox(store).write(5, [Parcel(1, (0, 1), rows(1, 2)), Parcel(2, (0, 1), rows(3))])
    path = Path(store.path("0000000005.arrow"))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(ExecutionError, match=r"outbox file '.*0000000005\.arrow'"):
        Outbox(store).contents(5)


@pytest.mark.parametrize("damage", ["a byte of the first parcel", "almost all", "all"])
def test_a_damaged_parcel_is_noticed_when_it_is_read(
    outbox: Outbox, store: Store, damage: str
) -> None:
    outbox.write(5, [Parcel(1, (0, 1), rows(1, 2)), Parcel(2, (0, 1), rows(3))])
    path = Path(store.path("0000000005.arrow"))
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(ExecutionError, match=r"0000000005\.arrow"):
        outbox.read(outbox.contents(5)[0])


def test_a_parcel_beside_the_damage_can_still_be_read(outbox: Outbox, store: Store) -> None:
    outbox.write(5, [Parcel(1, (0, 1), rows(1, 2)), Parcel(2, (0, 1), rows(3))])
    path = Path(store.path("0000000005.arrow"))
    path.write_bytes(_flipped(path.read_bytes(), 40))
    assert outbox.read(outbox.contents(5)[1]).equals(rows(3))


def test_a_parcel_whose_file_is_gone_is_an_error(outbox: Outbox) -> None:
    outbox.write(5, [Parcel(1, (0, 1), rows(1))])
    (waiting,) = outbox.contents(5)
    outbox.drop(5)
    with pytest.raises(ExecutionError, match=r"0000000005\.arrow.* cannot be read"):
        outbox.read(waiting)


def test_a_file_that_cannot_be_opened_is_named(outbox: Outbox, store: Store) -> None:
    store.sub("0000000005.arrow").make()
    with pytest.raises(ExecutionError, match=r"0000000005\.arrow.* cannot be read"):
        outbox.contents(5)


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(-9, 9), max_size=5)), max_size=6))
def test_any_parcels_come_back(
    tmp_path_factory: pytest.TempPathFactory, parcels: list[tuple[int, list[int]]]
) -> None:
    store = Store(str(tmp_path_factory.mktemp("outbox")))
    Outbox(store).write(1, [Parcel(u, (u, u + 1), rows(*v)) for u, v in parcels])
    again = Outbox(store)
    found = [(w.uid, again.read(w).column("v").to_pylist()) for w in again.contents(1)]
    assert found == parcels
