"""runtime/life.py and runtime/journal.py: create, stop, fail, batch, tick, crash and restart in any
order, against a reference that only remembers what was confirmed.

The disk is real, the work of a transaction is made up. A crash may come before or after everything
that is written; what was not written is then as if it had never been asked for.
"""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from headrace.connectors.store import Store
from headrace.progress.watermark import Progress
from headrace.query.logical import LogicalQuery
from headrace.query.plan import Group, Member, SharedPlan
from headrace.query.predicate import Always
from headrace.query.window import TimeWindow
from headrace.runtime import life as lives
from headrace.runtime.emitted import Emitted
from headrace.runtime.entries import QueryRecord, SinkRecord
from headrace.runtime.journal import Journal
from headrace.runtime.life import Create, Life, Move, Request, Step, Stop
from headrace.runtime.messages import Failed, Ingested, Message, SectionRef
from headrace.runtime.outcome import Outcome
from headrace.runtime.state import InputState, PipelineState
from headrace.types import BEGINNING, QueryUid

SECOND = 1_000_000
WINDOW = TimeWindow(10 * SECOND, 10 * SECOND)
WRITES = (lives.WriteChange, lives.WriteBegin, lives.WriteCommit)


class Killed(BaseException):
    """The process is gone."""


def logical(window: TimeWindow | None = WINDOW) -> LogicalQuery:
    return LogicalQuery("SELECT 1", "s", where=Always(), window=window)


def created(uid: int, name: str = "") -> Create:
    record = QueryRecord(uid, name or f"q{uid}", "SELECT 1", SinkRecord("memory"), False, BEGINNING)
    return Create(record, logical())


def fresh() -> PipelineState:
    return PipelineState({"s": InputState(Progress.start(0, 30.0, ("0",), 0.0))})


def plans_of(life: Life) -> dict[int, SharedPlan]:
    """One group with all queries of each edition."""
    made = {}
    for version, edition in life.editions.items():
        members = tuple(
            Member(q.uid, q.position, q.logical.where, q.logical.window) for q in edition.queries
        )
        group = Group(0, ("k",), None, (), members, (), (WINDOW,))
        made[version] = SharedPlan(life.registry.version, "kernel", (group,))
    return made


class Machine:
    """Does what the life says, on a real disk; dies where it is told to."""

    def __init__(self, path: Path) -> None:
        self.journal = Journal(Store(str(path)))
        self.life = Life(fresh())
        self.told: list[lives.Instruction] = []
        self.dies: Callable[[], bool] = lambda: False
        self.files = 0

    def start(self) -> None:
        self.journal.make()
        found = self.journal.found()
        state = found.state or fresh()
        known = {r.uid: logical() for change in found.changes for r in change.created}
        restored = lives.restored(Life(state), found.changes, known, found.begun, found.before)
        self.life = replace(restored, status="running")
        self.journal.drop_orphans(state.files | self.life.doomed)
        if found.state is None:
            self.journal.commit(state)  # from now on, who has no commit has lost them
        if self.life.begun is not None:
            self.transact()

    def do(self, step: Step) -> None:
        for instruction in step.todo:
            if isinstance(instruction, WRITES):
                self._point()
                match instruction:
                    case lives.WriteChange(change):
                        self.journal.change(change)
                    case lives.WriteBegin(begin):
                        self.journal.begin(begin)
                    case lives.WriteCommit(state):
                        self.journal.commit(state)
                self._point()
        self.life = step.life
        for instruction in step.todo:
            match instruction:
                case lives.DeleteFiles(names):
                    self.journal.delete(names)
                case lives.ReplaceChanges(snapshot):
                    self.journal.replace_changes(snapshot)
                case lives.TellBegun() | lives.TellEnded():
                    self.told.append(instruction)
                case _:
                    pass

    def _point(self) -> None:
        if self.dies():
            raise Killed

    def ask(self, *requests: Request) -> None:
        self.do(lives.drained(self.life, requests, plans_of(self.life)))

    def batch(self, second: int, fails: frozenset[int] = frozenset()) -> None:
        self.do(lives.begins(self.life, "batch", float(second), batch_id=second))
        self.transact(fails)

    def tick(self) -> None:
        self.do(lives.begins(self.life, "tick", 0.0))
        self.transact()

    def transact(self, fails: frozenset[int] = frozenset()) -> None:
        """A batch leaves one section of its second; windows before it are done with."""
        begun, state = self.life.begun, self.life.state
        assert begun is not None
        sections, upto = list(state.sections), state.emitted_upto_us
        used = {s.file for s in sections}
        given = state.only
        told: tuple[Ingested, ...] = ()
        if begun.kind == "batch":
            at_us = begun.batch_id * SECOND
            self.files += 1
            name = f"{begun.txn:010d}-{self.files}.bucket"
            self.journal.buckets.write(name, b"cells")
            made = section(name, begun.txn, begun.version, at_us)
            sections.append(made)
            used.add(name)
            told = (Ingested(sections=(made,), tuples=1, keys=1),)
            progress = given.progress.heard({"0": at_us}, begun.now_s)
            given = replace(given, progress=progress, tuples=given.tuples + 1)
            upto = max(upto, progress.watermark_us)
        kept = [s for s in sections if max(s.slices) + WINDOW.size_us > upto]
        emitted = Emitted()
        emitted.take(Message.of(Failed("it raised"), uid) for uid in fails)
        then = replace(
            state.after_input("s", given),
            txn=begun.txn,
            emitted_upto_us=upto,
            sections=tuple(kept),
        )
        outcome = Outcome(then, told, emitted, frozenset(used), 0.0, None)
        self.do(lives.finished(self.life, outcome, {}, plans_of(self.life), purged=True))


def section(name: str, txn: int, version: int, at_us: int) -> SectionRef:
    return SectionRef(
        stream="s",
        kind="cells",
        file=name,
        offset=0,
        length=5,
        crc32=0,
        txn=txn,
        watermark_us=BEGINNING,
        version=version,
        group=0,
        keys=("k",),
        value=None,
        sketch=None,
        slices=(at_us - at_us % WINDOW.size_us,),
        cells=1,
        dense=True,
    )


def consistent(machine: Machine) -> None:
    """What must hold whenever nothing runs."""
    life, state = machine.life, machine.life.state
    needed = {s.version for s in state.sections if s.uids is None}
    assert needed <= life.editions.keys()
    assert life.version in life.editions
    served = {int(q.uid) for e in life.editions.values() for q in e.queries}
    assert served == life.records.keys()
    there = set(machine.journal.buckets.names())
    assert state.files <= there, "every section can be read"
    committed = life.committed.files if life.committed is not None else frozenset()
    assert committed <= there, "and after a crash, too"
    assert there <= committed | life.doomed | state.files, "nothing else is left"


class Lives(RuleBasedStateMachine):
    """Random sequences against a reference: the queries that were confirmed, and not ended."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp())
        self.machine = Machine(self.path)
        self.confirmed: set[int] = set()
        self.moved: dict[int, QueryRecord] = {}
        self.second = self.uid = 0
        self.rng = random.Random(0)

    def teardown(self) -> None:
        shutil.rmtree(self.path)

    @initialize(seed=st.integers(0, 1000), many=st.sampled_from([2, 64]))
    def begin(self, seed: int, many: int) -> None:
        self.rng = random.Random(seed)
        self.many = many
        self.machine.start()

    @rule(count=st.integers(1, 3))
    def create(self, count: int) -> None:
        uids = [self.uid + n + 1 for n in range(count)]
        self.uid += count
        self._guarded(lambda: self.machine.ask(*(created(u) for u in uids)), come=uids)

    @rule()
    def stop(self) -> None:
        if self.confirmed:
            uid = self.rng.choice(sorted(self.confirmed))
            self._guarded(lambda: self.machine.ask(Stop(uid)), go=[uid])

    @rule()
    def move(self) -> None:
        """Its sink gets other options."""
        if self.confirmed:
            uid = self.rng.choice(sorted(self.confirmed))
            before = self.machine.life.records[uid]
            path = {"path": str(self.rng.random())}
            after = replace(before, sink=SinkRecord("memory", path))
            self._guarded(lambda: self.machine.ask(Move(after)))
            found = self.machine.life.records[uid]
            assert found in (before, after)
            self.moved[uid] = found

    @rule()
    def come_and_go_at_once(self) -> None:
        self.uid += 1
        uid = self.uid
        self.machine.ask(created(uid), Stop(uid))
        assert QueryUid(uid) not in self.machine.life.registry.active

    @rule(step=st.integers(0, 12))
    def batch(self, step: int) -> None:
        self.second += step
        self._guarded(lambda: self.machine.batch(self.second))

    @rule()
    def batch_in_which_one_fails(self) -> None:
        if self.confirmed:
            uid = self.rng.choice(sorted(self.confirmed))
            self._guarded(lambda: self.machine.batch(self.second, frozenset([uid])), go=[uid])

    @rule()
    def excluded_while_it_runs(self) -> None:
        if self.confirmed:
            uid = self.rng.choice(sorted(self.confirmed))

            def run() -> None:
                machine = self.machine
                machine.do(lives.begins(machine.life, "batch", 0.0, batch_id=self.second))
                machine.do(lives.excluded(machine.life, {uid: "its cast raises"}))
                machine.transact()

            self._guarded(run, go=[uid])

    @rule()
    def tick(self) -> None:
        self._guarded(self.machine.tick)

    @rule(after=st.integers(0, 5))
    def dies_soon(self, after: int) -> None:
        """The next steps run into a crash."""
        points = iter([False] * after)
        self.machine.dies = lambda: next(points, True)

    @rule()
    def restart(self) -> None:
        self._restart()

    @rule(keep=st.integers(0, 200))
    def power_is_lost(self, keep: int) -> None:
        """The newest commit is cut short: the one before and the begin record make up for it."""
        commits = sorted((self.path / "log").glob("*.commit.json"))
        if len(commits) > 1:
            seen = self.machine.life.state
            commits[-1].write_bytes(commits[-1].read_bytes()[:keep])
            self._restart()
            now = self.machine.life.state
            assert (now.txn, now.tuples) == (seen.txn, seen.tuples)
            assert now.emitted_upto_us == seen.emitted_upto_us

    def _guarded(
        self, act: Callable[[], None], *, come: list[int] | None = None, go: list[int] | None = None
    ) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lives, "MANY_CHANGES", self.many)
            try:
                act()
            except Killed:
                self._restart()
                # It may have happened or not: what was written counts, nothing in between.
                now = {int(u) for u in self.machine.life.registry.active}
                either = self.confirmed | set(come or ()), self.confirmed - set(go or ())
                assert now in (self.confirmed, *either)
                self.confirmed = now
                return
        self.confirmed = (self.confirmed | set(come or ())) - set(go or ())

    def _restart(self) -> None:
        self.machine = Machine(self.path)
        self.machine.files = self.rng.randrange(10**9)
        self.machine.start()

    @invariant()
    def all_is_well(self) -> None:
        consistent(self.machine)
        assert {int(u) for u in self.machine.life.registry.active} == self.confirmed
        moved = {u: r for u, r in self.moved.items() if u in self.confirmed}
        assert {u: self.machine.life.records[u] for u in moved} == moved


TestLives = Lives.TestCase
TestLives.settings = settings(
    max_examples=40,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


# -- a crash before and after every write of every kind of transaction ----------------------------


def kinds() -> Iterator[tuple[str, Callable[[Machine], None]]]:
    yield "create", lambda m: m.ask(created(7))
    yield "stop", lambda m: m.ask(Stop(1))
    yield "batch", lambda m: m.batch(12)
    yield "batch in which a query fails", lambda m: m.batch(12, frozenset([2]))
    yield "tick", lambda m: m.tick()


@pytest.mark.parametrize(("kind", "act"), list(kinds()), ids=[k for k, _ in kinds()])
def test_a_crash_at_any_point_leaves_what_was_before_or_what_comes_after(
    tmp_path: Path, kind: str, act: Callable[[Machine], None]
) -> None:
    def prepared(path: Path) -> Machine:
        machine = Machine(path)
        machine.start()
        machine.ask(created(1), created(2))
        machine.batch(3)
        return machine

    def seen(machine: Machine) -> tuple[object, ...]:
        life = machine.life
        return frozenset(life.registry.active), life.state.txn, life.state.tuples

    whole = prepared(tmp_path / "whole")
    before = seen(whole)
    act(whole)
    after = seen(whole)
    for point in range(100):
        path = tmp_path / str(point)
        machine = prepared(path)
        points = iter([False] * point)
        machine.dies = lambda points=points: next(points, True)  # type: ignore[misc]
        try:
            act(machine)
        except Killed:
            again = Machine(path)
            again.files = 1000
            again.start()
            consistent(again)
            found = seen(again)
            # A transaction that was begun is done by the restart.
            assert found[0] in (before[0], after[0])
            assert found[1:] in (before[1:], after[1:])
            again.batch(25)
            consistent(again)
        else:
            assert seen(machine) == after
            assert point >= 2, "there are points to die at"
            return
    pytest.fail("it never came to its end")


# -- one by one ------------------------------------------------------------------------------------


def test_a_query_begins_after_what_the_stream_has_seen(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start()
    machine.ask(created(1))
    machine.batch(3)
    machine.ask(created(2))
    assert machine.told == [
        lives.TellBegun(1, BEGINNING),
        lives.TellBegun(2, 3 * SECOND + 1000),
    ]


def test_a_query_ends_where_its_last_window_was_emitted(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start()
    machine.ask(created(1))
    machine.batch(25)
    machine.told.clear()
    machine.ask(Stop(1))
    assert machine.told == [lives.TellEnded(1, 25 * SECOND)]


def test_a_write_that_fails_leaves_the_life_as_it_was(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start()
    before = machine.life
    machine.dies = lambda: True
    with pytest.raises(Killed):
        machine.ask(created(1))
    assert machine.life is before


def test_files_of_the_commit_before_the_last_stay(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start()
    machine.ask(created(1))
    machine.batch(3)
    (first,) = machine.life.state.files
    machine.batch(25)
    assert first not in machine.life.state.files
    assert first in machine.journal.buckets.names(), "the commit before can be gone back to"
    machine.batch(26)
    assert first not in machine.journal.buckets.names()


def test_an_open_window_keeps_its_version_and_not_all_that_came_and_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives, "MANY_CHANGES", 8)
    machine = Machine(tmp_path)
    machine.start()
    machine.ask(created(1), created(2))
    machine.batch(3)
    machine.ask(Stop(2))
    machine.batch(4)
    for uid in range(10, 60):
        machine.ask(created(uid))
        machine.ask(Stop(uid))
    assert len(list((tmp_path / "changelog").iterdir())) <= 8
    again = Machine(tmp_path)
    again.start()
    consistent(again)
    assert again.life.editions.keys() == machine.life.editions.keys()
    for version, edition in machine.life.editions.items():
        assert [q.uid for q in again.life.editions[version].queries] == [
            q.uid for q in edition.queries
        ]
    assert again.life.records == machine.life.records
    assert again.life.ends == machine.life.ends


def test_changelogs_that_a_snapshot_stands_for_do_not_count_where_a_crash_left_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives, "MANY_CHANGES", 3)
    machine = Machine(tmp_path)
    machine.start()
    for uid in range(1, 4):
        machine.ask(created(uid))
    left = {p: p.read_bytes() for p in (tmp_path / "changelog").iterdir()}
    machine.ask(Stop(1), Stop(2))
    machine.ask(created(9))
    names = {p.name for p in (tmp_path / "changelog").iterdir()}
    assert names.isdisjoint(p.name for p in left), "a snapshot stands for them"
    for path, data in left.items():
        path.write_bytes(data)
    again = Machine(tmp_path)
    again.start()
    assert [int(u) for u in again.life.registry.active] == [3, 9]


def test_a_failed_pipeline_tells_all_of_its_queries(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.start()
    machine.ask(created(1), created(2))
    machine.told.clear()
    machine.do(lives.broken(machine.life, "the broker is gone"))
    assert machine.life.status == "failed"
    assert machine.told == [lives.TellEnded(u, None, "the broker is gone") for u in (1, 2)]
