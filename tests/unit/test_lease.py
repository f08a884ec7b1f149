"""runtime/lease.py: a checkpoint has one owner, and one that lost it finds out."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.connectors.store import Store
from headrace.errors import ExecutionError
from headrace.runtime import lease as module
from headrace.runtime.lease import CheckpointInUse, Fenced, Holder, Lease, Process, claim
from headrace.runtime.lease_files import create_lease, lease_name, read_lease, tokens, write_lease
from headrace.runtime.process import Alive
from headrace.runtime.records import Damaged, Missing, OtherFormat, encode, write_record

NOON = 1_794_981_600.0  # 2026-11-18 06:00:00 UTC
A = Process("east", 123, 4.5, "boot")
B = Process("west", 456)


def is_(answer: bool | None) -> Alive:
    return lambda _process, _here: answer


GONE, LIVES, UNSEEN = is_(False), is_(True), is_(None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(f"{tmp_path}/c")


def held(store: Store, now_s: float = NOON, me: Process = A, ttl_s: float = 30.0) -> Holder:
    return Holder(store, claim(store, now_s, me, ttl_s, alive=GONE))


# -- claims -----------------------------------------------------------------------------------


def test_a_new_checkpoint_is_claimed_with_the_first_token(store: Store) -> None:
    lease = claim(store, NOON, A, 20.0)
    assert lease == Lease(
        lease.owner, 1, "east", 123, 4.5, "boot", since_s=NOON, beat_s=NOON, ttl_s=20.0
    )
    assert len(lease.owner) == 32
    assert lease.process == A
    assert store.names() == ["lease-0000000001.json"]
    assert read_lease(store, 1) == lease


@pytest.mark.parametrize("seen", [LIVES, UNSEEN])
def test_a_living_owner_keeps_it(store: Store, seen: Alive) -> None:
    claim(store, NOON, A)
    with pytest.raises(CheckpointInUse) as caught:
        claim(store, NOON + 2, B, alive=seen)
    assert str(caught.value) == (
        f"checkpoint {store.address} is used by another session: process 123 on east, since "
        "2026-11-18 06:00:00 UTC, last seen 2 s ago; close that session, or wait until it is gone "
        "(it is taken over 30 s after its last sign of life)"
    )
    assert tokens(store) == [1]


def test_a_process_refuses_itself_too(store: Store) -> None:
    me = Process.current()
    claim(store, NOON, me)
    with pytest.raises(CheckpointInUse, match=rf"process {os.getpid()} on .* \(this one\), since"):
        claim(store, NOON, me)


def test_a_dead_process_is_followed_at_once(store: Store) -> None:
    first = claim(store, NOON, A)
    second = claim(store, NOON, B, alive=GONE)
    assert (second.token, second.host) == (2, "west")
    assert second.owner != first.owner
    assert store.names() == ["lease-0000000002.json"]


def test_a_killed_process_is_followed_at_once(store: Store) -> None:
    code = (
        "import sys, os, signal\n"
        "from headrace.connectors.store import Store\n"
        "from headrace.runtime.lease import Process, claim\n"
        f"claim(Store(sys.argv[1]), {NOON}, Process.current())\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    child = subprocess.run([sys.executable, "-c", code, store.address], check=False)
    assert child.returncode == -9
    assert read_lease(store, 1).pid != os.getpid()
    assert claim(store, NOON, Process.current()).token == 2


@pytest.mark.parametrize("seen", [LIVES, UNSEEN])
def test_a_silent_owner_is_followed_after_its_own_time_to_live(store: Store, seen: Alive) -> None:
    claim(store, NOON, A, 10.0)
    with pytest.raises(CheckpointInUse):
        claim(store, NOON + 10, B, 1.0, alive=seen)
    assert claim(store, NOON + 10.1, B, 99.0, alive=seen).token == 2


def test_a_clock_that_is_behind_makes_nobody_dead(store: Store) -> None:
    claim(store, NOON, A)
    with pytest.raises(CheckpointInUse, match="last seen 0 s ago"):
        claim(store, NOON - 1_000, B, alive=UNSEEN)


def test_what_was_let_go_is_free(store: Store) -> None:
    holder = held(store)
    holder.release(NOON + 1)
    lease = claim(store, NOON + 1, B, alive=LIVES)
    assert lease.token == 2
    assert tokens(store) == [2]


def test_files_of_others_are_no_leases(store: Store) -> None:
    store.make()
    for name in ("lease.json", "lease-1.json", "lease-0000000009.json.bak", "offsets"):
        store.write(name, b"")
    assert claim(store, NOON, A).token == 1
    assert len(store.names()) == 5


# -- races ------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["nothing", "a dead owner", "one that let go"])
def test_of_many_claimants_one_succeeds(store: Store, before: str) -> None:
    if before != "nothing":
        holder = held(store, NOON - 60)
        if before == "one that let go":
            holder.release(NOON - 60)
    start = threading.Barrier(8)
    won: list[Lease] = []
    refused: list[CheckpointInUse] = []

    def run(number: int) -> None:
        start.wait()
        try:
            won.append(claim(store, NOON, Process("h", number), alive=UNSEEN))
        except CheckpointInUse as error:
            refused.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 7)
    assert won[0].token == (1 if before == "nothing" else 2)
    assert tokens(store) == [won[0].token]
    Holder(store, won[0]).check()


def test_claimants_that_follow_each_other_have_growing_tokens(store: Store) -> None:
    """Everybody takes it from everybody: all but the last are fenced."""
    won: list[Lease] = []

    def run(number: int) -> None:
        me = Process("h", number)
        won.extend(claim(store, NOON, me, alive=GONE) for _ in range(8))

    threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({lease.token for lease in won}) == len(won) == 24
    last = max(won, key=lambda lease: lease.token)
    assert read_lease(store, last.token).owner == last.owner
    Holder(store, last).check()
    for lease in won:
        if lease.owner != last.owner:
            with pytest.raises(Fenced):
                Holder(store, lease).check()


def after_the_first_look(
    monkeypatch: pytest.MonkeyPatch, what: Callable[[], object], where: str = "tokens"
) -> None:
    """Let something happen between what a claim sees first and what it does then."""
    real, done = getattr(module, where), []

    def look(*args: object) -> object:
        seen = real(*args)
        if not done:
            done.append(True)
            what()
        return seen

    monkeypatch.setattr(module, where, look)


def test_a_claimant_overtaken_by_two_gives_its_token_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(store)

    def two_others() -> None:
        held(store, me=B)
        held(store, me=B)

    after_the_first_look(monkeypatch, two_others)
    with pytest.raises(CheckpointInUse, match="process 456 on west"):
        claim(store, NOON, A, alive=lambda process, _: process == B)
    assert tokens(store) == [3], "the file of token 2 was free again and is not left behind"


def test_a_lease_that_goes_away_while_it_is_looked_at_is_looked_for_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    held(store)
    after_the_first_look(monkeypatch, lambda: (held(store), store.delete(lease_name(1))))
    assert claim(store, NOON, B, alive=GONE).token == 3


def test_a_damaged_lease_that_goes_away_is_looked_for_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.make()
    Path(store.path(lease_name(1))).touch()
    real = Store.modified_s

    def gone(self: Store, name: str) -> float | None:
        monkeypatch.setattr(Store, "modified_s", real)
        self.delete(name)
        return real(self, name)

    monkeypatch.setattr(Store, "modified_s", gone)
    assert claim(store, NOON, B).token == 1


def test_a_claim_does_not_go_on_for_ever(store: Store) -> None:
    store.sub(lease_name(1)).make()
    with pytest.raises(CheckpointInUse, match=r"lease-0000000001\.json in it is not a file"):
        claim(store, NOON, A)


# -- damage and disks -------------------------------------------------------------------------


def damage(store: Store, age_s: float, data: bytes = b"") -> None:
    store.make()
    path = Path(store.path(lease_name(4)))
    path.write_bytes(data)
    os.utime(path, (NOON - age_s, NOON - age_s))


def test_a_damaged_lease_counts_while_it_is_young(store: Store) -> None:
    damage(store, 29.0)
    with pytest.raises(CheckpointInUse) as caught:
        claim(store, NOON, A, alive=GONE)
    assert str(caught.value) == (
        f"checkpoint {store.address} may be used by another session: checkpoint record "
        f"{store.address}/lease-0000000004.json is damaged: a header was expected, the file is "
        "empty; close the session that uses the checkpoint, if there is one, and delete the file, "
        "or try again 30 s after it was last written (29 s ago)"
    )
    assert isinstance(caught.value.__cause__, Damaged)


@pytest.mark.parametrize("data", [b"", b"\x00", encode("lease", b"[]"), encode("lease", b"{")])
def test_an_old_damaged_lease_is_dead_and_that_is_logged(
    store: Store, caplog: pytest.LogCaptureFixture, data: bytes
) -> None:
    damage(store, 31.0, data)
    assert claim(store, NOON, A, alive=LIVES).token == 5
    (line,) = caplog.messages
    assert "lease-0000000004.json is damaged and was not renewed for 31 s" in line
    assert tokens(store) == [5]


def test_a_record_that_is_no_lease_says_what_it_holds(store: Store) -> None:
    store.make()
    write_record(store, lease_name(1), "lease", b'{"owner":1}')
    with pytest.raises(Damaged, match=r"a lease was expected, it holds b'\{\"owner\":1\}'"):
        read_lease(store, 1)
    with pytest.raises(Missing):
        read_lease(store, 2)


def test_the_lease_of_a_newer_version_is_not_taken(store: Store) -> None:
    damage(store, 1_000.0, b'{"headrace":3}\n')
    with pytest.raises(OtherFormat, match="newer version"):
        claim(store, NOON, A)


def test_disks_that_refuse(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> list[str]:
        raise OSError(errno.EACCES, "no")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "make", refuse)
        with pytest.raises(ExecutionError, match="cannot be written: permission denied"):
            claim(store, NOON, A)
    held(store)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "delete", refuse)
        assert claim(store, NOON, A, alive=GONE).token == 2
    assert tokens(store) == [1, 2], "what could not be deleted is not the lease"
    assert held(store).lease.token == 3
    assert tokens(store) == [3]
    monkeypatch.setattr(Store, "names", refuse)
    with pytest.raises(ExecutionError, match=r"cannot be read: .*: Permission denied"):
        claim(store, NOON, A)


# -- holders ----------------------------------------------------------------------------------


def test_a_sign_of_life_keeps_the_lease(store: Store) -> None:
    holder = held(store)
    holder.renew(NOON + 25)
    assert holder.lease.beat_s == NOON + 25
    assert read_lease(store, 1) == holder.lease
    with pytest.raises(CheckpointInUse, match="last seen 5 s ago"):
        claim(store, NOON + 30, B, alive=UNSEEN)
    holder.check()


def test_who_was_overtaken_is_fenced_and_writes_nothing(store: Store) -> None:
    holder = held(store)
    second = held(store, NOON + 60, B)
    for act in (holder.check, lambda: holder.renew(NOON + 61)):
        with pytest.raises(Fenced) as caught:
            act()
        assert str(caught.value) == (
            f"this session no longer owns checkpoint {store.address}: process 456 on west took it "
            "over at 2026-11-18 06:01:00 UTC; nothing more is written by this one"
        )
    holder.release(NOON + 62)
    assert tokens(store) == [2]
    assert read_lease(store, 2) == second.lease
    second.check()


def test_who_was_overtaken_by_many_is_fenced(store: Store) -> None:
    holder = held(store)
    held(store)
    held(store)
    assert tokens(store) == [3], "there is no file of the next token any more"
    with pytest.raises(Fenced):
        holder.check()


def test_a_successor_that_cannot_be_read_fences_too(store: Store) -> None:
    holder = held(store)
    Path(store.path(lease_name(2))).touch()
    with pytest.raises(Fenced, match="another session took it over;"):
        holder.check()


def test_a_late_sign_of_life_of_who_was_overtaken_takes_nothing_back(store: Store) -> None:
    first = held(store)
    second = held(store, me=B)
    write_lease(store, replace(first.lease, beat_s=NOON + 99))  # between its look and its write
    second.check()
    with pytest.raises(Fenced):
        first.check()
    assert held(store).lease.token == 3
    assert tokens(store) == [3]


def test_a_deleted_checkpoint_is_noticed(store: Store) -> None:
    holder = held(store)
    store.delete_all()
    for act in (holder.check, lambda: holder.renew(NOON)):
        with pytest.raises(Fenced, match="its lease was deleted; nothing more"):
            act()
    holder.release(NOON)
    assert store.names() == []


def test_a_checkpoint_deleted_and_begun_anew_is_not_overwritten(store: Store) -> None:
    holder = held(store)
    store.delete_all()
    other = held(store, me=B)
    with pytest.raises(Fenced, match="process 456 on west took it over"):
        holder.renew(NOON + 1)
    holder.release(NOON + 1)
    assert read_lease(store, 1) == other.lease


def test_a_lease_deleted_at_the_last_moment_is_noticed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = held(store)
    after_the_first_look(monkeypatch, store.delete_all)
    with pytest.raises(Fenced, match="its lease was deleted"):
        holder.renew(NOON)


def test_a_listing_that_misses_the_file_fences_nobody(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = held(store)
    monkeypatch.setattr(module, "tokens", lambda _store: [])
    holder.check()


def test_a_damaged_lease_is_mended_by_the_next_sign_of_life(store: Store) -> None:
    holder = held(store)
    Path(store.path(lease_name(1))).write_bytes(b"")
    holder.check()
    holder.renew(NOON + 1)
    assert read_lease(store, 1) == holder.lease


def test_who_let_go_owns_nothing(store: Store) -> None:
    holder = held(store)
    holder.release(NOON + 1)
    released = read_lease(store, 1)
    assert released.released
    assert released == holder.lease
    holder.renew(NOON + 2)
    holder.release(NOON + 3)
    assert read_lease(store, 1) == released, "a beat that comes late does not take it back"
    with pytest.raises(Fenced, match="it let go of it"):
        holder.check()


def test_a_disk_that_is_full_is_told_and_the_lease_stays(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    holder = held(store)

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(Store, "write", full)
    for act in (holder.renew, holder.release):
        with pytest.raises(ExecutionError, match="disk of the checkpoint is full"):
            act(NOON + 1)
    assert holder.lease.beat_s == NOON
    assert not holder.lease.released
    assert read_lease(store, 1) == holder.lease


def test_looks_and_signs_of_life_of_several_threads_do_not_disturb_each_other(
    store: Store,
) -> None:
    holder = held(store)
    errors: list[Exception] = []

    def run(act: Callable[[], None]) -> None:
        try:
            for _ in range(50):
                act()
        except Exception as error:
            errors.append(error)

    acts = (holder.check, holder.check, lambda: holder.renew(NOON + 1))
    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# -- in general -------------------------------------------------------------------------------


@given(
    st.builds(
        Lease,
        owner=st.uuids().map(lambda u: u.hex),
        token=st.integers(1, 10**10),
        host=st.text(),
        pid=st.integers(1, 2**22),
        process_started=st.none() | st.floats(0, 1e9),
        namespace=st.text(),
        since_s=st.floats(0, 1e10),
        beat_s=st.floats(0, 1e10),
        ttl_s=st.floats(0.1, 1e6),
        released=st.booleans(),
    )
)
def test_a_lease_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, lease: Lease
) -> None:
    store = Store(str(tmp_path_factory.mktemp("c")))
    assert create_lease(store, lease)
    assert tokens(store) == [lease.token]
    assert read_lease(store, lease.token) == lease
    assert asdict(lease)["host"] == lease.process.host


STEP = st.sampled_from(["claim", "renew", "release", "check", "die", "wait", "wait long"])


@given(st.lists(st.tuples(st.integers(0, 2), STEP), max_size=25))
def test_whatever_three_sessions_do_at_most_one_owns_the_checkpoint(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]]
) -> None:
    """Against an obvious model: the owner is whoever claimed last and has not let go since."""
    store = Store(str(tmp_path_factory.mktemp("c")))
    now_s, owner, token = NOON, None, 0
    holders: dict[int, Holder] = {}
    dead: set[int] = set()
    beats: dict[int, float] = {}

    def seen(process: Process, _here: Process) -> bool:
        return process.pid not in dead

    for who, step in steps:
        if step.startswith("wait"):
            now_s += 10.0 if step == "wait" else 31.0
        elif step == "claim":
            dead.discard(who)
            free = owner is None or owner in dead or now_s - beats[owner] > 30.0
            try:
                lease = claim(store, now_s, Process("h", who), alive=seen)
            except CheckpointInUse:
                assert not free
                continue
            assert free
            token += 1
            assert lease.token == token
            holders[who], owner, beats[who] = Holder(store, lease), who, now_s
        elif step == "die":
            dead.add(who)
        elif who in holders and who not in dead:
            holder, owns = holders[who], owner == who
            try:
                if step == "renew":
                    holder.renew(now_s)
                    beats[who] = now_s
                elif step == "check":
                    holder.check()
                else:
                    holder.release(now_s)
                    owner = None if owns else owner
                    continue
            except Fenced:
                assert not owns
            else:
                assert owns or holder.lease.released
        assert len(tokens(store)) == (token > 0)
