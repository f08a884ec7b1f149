"""The life of a pipeline: events in, the next life and what is to be done about it out.

Nothing here reads a clock, a file or Spark. A life is a value; whoever holds the pipeline's turn
asks what comes next, does what the instructions say in their order, and only then lets the new
life be seen. So a write that fails leaves everything as it was.

    declared -> restoring -> running -> closed
                    |           |
                    +-> failed <+
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from headrace.connectors.offsets import Range
from headrace.optimizer import Statistics
from headrace.query.logical import LogicalQuery
from headrace.query.plan import SharedPlan
from headrace.registry.changelog import ActiveQuery, Registry
from headrace.runtime.entries import Begin, Change, EndRecord, QueryRecord
from headrace.runtime.firing import members_of, still_needed
from headrace.runtime.outcome import Outcome
from headrace.runtime.state import PipelineState
from headrace.types import BEGINNING, QueryUid, Version

Status = Literal["declared", "restoring", "running", "failed", "closed"]

MANY_CHANGES = 64
"""So many changelogs are replaced by what they led to."""
_FAR, _BATCHES = 4.0, 3
"""A plan that was made for so many times fewer tuples or keys is made anew after so many batches.
Where there are fewer than it was made for, any plan is quick."""


# -- requests -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Create:
    """A query wants to take part."""

    record: QueryRecord
    logical: LogicalQuery
    since_us: int | None = None
    """From where on, if that is settled elsewhere: a join's streams have all begun to feed it."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A query wants to end; with a reason, because it cannot go on."""

    uid: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A query runs on with other options of its sink: the next restart has to know them."""

    record: QueryRecord


@dataclass(frozen=True, slots=True)
class Release:
    """A join has answered its windows up to an event time: what feeds it may go."""

    upto_us: Mapping[int, int]
    """By query that feeds it."""


@dataclass(frozen=True, slots=True)
class Overtake:
    """Joins do not wait for this stream, which is silent, up to an event time."""

    upto_us: int


Request = Create | Stop | Move | Release | Overtake


# -- instructions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WriteChange:
    """Before anybody may rely on it."""

    change: Change


@dataclass(frozen=True, slots=True)
class WriteBegin:
    """Before a transaction does any work."""

    begin: Begin


@dataclass(frozen=True, slots=True)
class WriteCommit:
    """After a transaction's work: now it counts."""

    state: PipelineState


@dataclass(frozen=True, slots=True)
class ReplaceChanges:
    """One changelog instead of all others."""

    snapshot: Change


@dataclass(frozen=True, slots=True)
class DeleteFiles:
    """Buckets that no commit needs any more."""

    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class TellBegun:
    """Whoever holds the query: it takes part."""

    uid: int
    since_us: int


@dataclass(frozen=True, slots=True)
class TellEnded:
    """Whoever holds the query: it is over."""

    uid: int
    until_us: int | None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Serve:
    """Whoever looks at the active queries has to look again."""


Instruction = (
    WriteChange
    | WriteBegin
    | WriteCommit
    | ReplaceChanges
    | DeleteFiles
    | TellBegun
    | TellEnded
    | Serve
)
Plans = Mapping[int, SharedPlan]


# -- life ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Edition:
    """The queries of one version, and what was known of the stream: all that a plan is made of."""

    queries: tuple[ActiveQuery, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)


@dataclass(frozen=True, slots=True)
class Life:
    """Everything a pipeline knows. Readers look at it at any time; one at a time moves it on."""

    state: PipelineState
    status: Status = "declared"
    registry: Registry = field(default_factory=Registry)
    editions: Mapping[int, Edition] = field(default_factory=lambda: {0: Edition()})
    """By version: the newest, that of a transaction that runs, and those that sections need."""
    records: Mapping[int, QueryRecord] = field(default_factory=dict)
    """Of every query of an edition."""
    ends: Mapping[int, EndRecord] = field(default_factory=dict)
    """Of those that have ended."""
    statistics: Statistics = field(default_factory=Statistics)
    far: int = 0
    """Batches in a row that had far more than the plan was made for."""
    begun: Begin | None = None
    """A transaction that was begun and is not committed."""
    committed: PipelineState | None = None
    """The last commit."""
    before: PipelineState | None = None
    """The commit before it, which can still be gone back to."""
    doomed: frozenset[str] = frozenset()
    """Bucket files that the last commit no longer needs; they go with the next one."""
    purge: bool = False
    """Whether the state should be rewritten without queries that are gone."""
    changes: int = 0
    """So many changelogs are kept."""
    start_after_us: int = BEGINNING
    """Queries created here begin after this event time, whatever the pipeline has seen."""
    read_upto_us: Mapping[int, int] = field(default_factory=dict)
    """By query that feeds a join: up to where the join has answered."""
    overtaken_us: int = BEGINNING
    """Up to here joins do not wait for this stream; the next commit says so."""
    reason: str = ""
    """Why it failed."""

    @property
    def version(self) -> int:
        """Of the plan to run next."""
        return int(self.registry.version)

    @property
    def newest(self) -> Edition:
        """What the plan to run next is made of."""
        return self.editions[self.version]

    @property
    def active(self) -> tuple[ActiveQuery, ...]:
        """Queries that take part."""
        return tuple(self.registry.active.values())


@dataclass(frozen=True, slots=True)
class Step:
    """The next life, and what is to be done for it to be true."""

    life: Life
    todo: tuple[Instruction, ...] = ()

    def then(self, other: Step) -> Step:
        """First this, then that."""
        return Step(other.life, (*self.todo, *other.todo))


# -- events -------------------------------------------------------------------------------------


def drained(life: Life, requests: Iterable[Request], plans: Plans) -> Step:
    """Between transactions: one changelog for everything that was asked for so far."""
    created: dict[int, Create] = {}
    deleted: dict[int, str | None] = {}
    moved: dict[int, QueryRecord] = {}
    todo: list[Instruction] = []
    for request in requests:
        match request:
            case Create(record):
                created[record.uid] = request
            case Stop(uid, error) if uid in created:
                del created[uid]
                todo.append(TellEnded(uid, None, error))
            case Stop(uid, error) if QueryUid(uid) in life.registry.active:
                deleted.setdefault(uid, error)
            case Stop():
                pass  # it has ended by itself
            case Move(record):
                moved[record.uid] = record
            case Release(upto_us):
                life = replace(life, read_upto_us={**life.read_upto_us, **upto_us})
            case Overtake(upto_us):
                life = replace(life, overtaken_us=max(life.overtaken_us, upto_us))
    stays = tuple(r for u, r in moved.items() if u not in deleted and u in life.records)
    if not created and not deleted and not stays:
        return Step(life, tuple(todo))
    step = _changed(life, tuple(created.values()), deleted, stays)
    if deleted:
        step = Step(_without_unneeded(step.life, plans), step.todo)
    return Step(life, tuple(todo)).then(step).then(_forgotten(step.life))


def begins(
    life: Life,
    kind: Literal["batch", "tick"],
    now_s: float,
    *,
    batch_id: int = -1,
    ranges: tuple[Range, ...] = (),
    frontier_us: int = BEGINNING,
) -> Step:
    """A transaction is about to run."""
    txn = life.state.txn + 1
    begin = Begin(txn, kind, batch_id, life.version, now_s, ranges, frontier_us)
    return Step(replace(life, begun=begin), (WriteBegin(begin),))


def excluded(life: Life, reasons: Mapping[int, str]) -> Step:
    """Queries raise: the transaction that runs goes on under a version without them."""
    assert life.begun is not None, "only a transaction finds culprits"
    failed = {u: r for u, r in reasons.items() if QueryUid(u) in life.registry.active}
    step = _changed(life, (), failed) if failed else Step(life)
    assert step.life.begun is not None
    begin = replace(step.life.begun, version=step.life.version)
    return Step(replace(step.life, begun=begin), (*step.todo, WriteBegin(begin)))


def finished(
    life: Life, outcome: Outcome, delivered: Mapping[int, int], plans: Plans, *, purged: bool
) -> Step:
    """A transaction is done: commit it, let failed queries go, and plan anew where it is time."""
    active = life.registry.active
    state = replace(
        outcome.state,
        version=life.version,
        ran=life.version if life.begun is None else life.begun.version,
        joined_upto_us=max(outcome.state.joined_upto_us, life.overtaken_us),
        late={u: n for u, n in outcome.state.late.items() if QueryUid(u) in active},
        closed_upto_us={
            u: t for u, t in outcome.state.closed_upto_us.items() if QueryUid(u) in active
        },
        delivered=dict(delivered),
    )
    known = life.committed.files if life.committed is not None else frozenset()
    unneeded = (known | outcome.used_files) - state.files
    after = replace(
        life,
        state=state,
        begun=None,
        committed=state,
        before=life.committed,
        doomed=unneeded,
        purge=life.purge and not purged,
    )
    todo: list[Instruction] = [WriteCommit(state)]
    if life.doomed - state.files:
        todo.append(DeleteFiles(life.doomed - state.files))
    step = Step(after, tuple(todo))
    failed = {u: r for u, r in outcome.failed.items() if QueryUid(u) in active}
    if failed:
        gone = _changed(step.life, (), failed)
        step = step.then(Step(_without_unneeded(gone.life, plans), gone.todo))
    step = step.then(_learned(step.life, outcome.statistics))
    return step.then(_forgotten(step.life))


def broken(life: Life, reason: str) -> Step:
    """The pipeline cannot go on, and no query of it either."""
    ends = tuple(TellEnded(int(u), None, reason) for u in life.registry.active)
    return Step(replace(life, status="failed", reason=reason), ends)


# -- parts --------------------------------------------------------------------------------------


def boundary(query: ActiveQuery, state: PipelineState) -> int:
    """Where a query ends that is stopped now: nothing after it was emitted, nothing is owed."""
    if query.logical.is_selection:
        highest = state.highest_us
        return BEGINNING if highest <= BEGINNING else highest + 1
    return max(state.emitted_upto_us, state.closed_upto_us.get(int(query.uid), BEGINNING))


def _changed(
    life: Life,
    created: Sequence[Create],
    deleted: Mapping[int, str | None],
    moved: tuple[QueryRecord, ...] = (),
) -> Step:
    """One changelog; deleted queries come with the reason they failed, if any."""
    state, version = life.state, Version(life.version + 1)
    highest = max(state.highest_us, life.start_after_us)
    since = BEGINNING if highest <= BEGINNING else (highest // 1000 + 1) * 1000
    come = tuple(c.record.starting(since if c.since_us is None else c.since_us) for c in created)
    ends = []
    for uid, error in deleted.items():
        query = life.registry.active[QueryUid(uid)]
        ends.append(EndRecord(uid, max(boundary(query, state), query.since_us), error))
    change = Change(int(version), come, tuple(ends), life.statistics, moved)
    after = _applied(life, change, {c.record.uid: c.logical for c in created})
    told: tuple[Instruction, ...] = (
        *(TellEnded(e.uid, e.until_us, e.error) for e in ends),
        *(TellBegun(r.uid, r.since_us) for r in come),
    )
    return Step(after, (WriteChange(change), Serve(), *told))


def _applied(life: Life, change: Change, logical: Mapping[int, LogicalQuery]) -> Life:
    """After a changelog: another version."""
    created = [
        ActiveQuery(
            QueryUid(r.uid),
            r.name,
            0,
            logical[r.uid],
            r.since_us,
            partial_first=r.partial_first,
        )
        for r in change.created
    ]
    registry = life.registry.changed(
        created, [QueryUid(e.uid) for e in change.deleted], Version(change.version)
    )
    edition = Edition(tuple(registry.active.values()), change.statistics)
    after = replace(
        life,
        registry=registry,
        statistics=change.statistics,
        editions={**life.editions, change.version: edition},
        records={**life.records, **{r.uid: r for r in (*change.created, *change.moved)}},
        ends={**life.ends, **{e.uid: e for e in change.deleted}},
        changes=life.changes + 1,
    )
    return _needed_only(after)


def _needed_only(life: Life) -> Life:
    """Without editions that neither a section, nor a commit that can be gone back to, nor a
    transaction, nor the next plan needs."""
    needed = {life.version}
    for state in (life.state, life.committed, life.before):
        needed |= state.versions if state is not None else frozenset()
    if life.committed is not None:
        needed.add(life.committed.ran)
    if life.begun is not None:
        needed.add(life.begun.version)
    editions = {v: e for v, e in life.editions.items() if v in needed}
    uids = {int(q.uid) for e in editions.values() for q in e.queries}
    records = {u: r for u, r in life.records.items() if u in uids}
    ends = {u: e for u, e in life.ends.items() if u in uids}
    read = {u: t for u, t in life.read_upto_us.items() if u in uids}
    return replace(life, editions=editions, records=records, ends=ends, read_upto_us=read)


def _without_unneeded(life: Life, plans: Plans) -> Life:
    """Without the state of queries that are gone; the files go with a later commit."""
    kept = still_needed(
        life.active,
        life.state.sections,
        plans,
        life.state.emitted_upto_us,
        BEGINNING,
        life.read_upto_us,
    )
    alive = {int(q.uid) for q in life.active}
    half_gone = any(
        2 * len(alive & members) <= len(members)
        for members in (members_of(ref, plans) for ref in kept)
    )
    dropped = len(kept) < len(life.state.sections)
    state = replace(life.state, sections=tuple(kept))
    return _needed_only(replace(life, state=state, purge=life.purge or half_gone or dropped))


def _learned(life: Life, statistics: Statistics | None) -> Step:
    """After a batch that told what the stream is like, if it did."""
    if statistics is None:
        return Step(life)
    planned = life.newest.statistics
    is_far = len(life.registry.active) > 1 and (
        statistics.tuples_per_slice > _FAR * planned.tuples_per_slice
        or statistics.keys > _FAR * planned.keys
    )
    far = life.far + 1 if is_far else 0
    after = replace(life, statistics=statistics, far=far)
    return _changed(replace(after, far=0), (), {}) if far >= _BATCHES else Step(after)


def _forgotten(life: Life) -> Step:
    """Many changelogs become one, that tells of the versions that something still needs. A window
    that stays open keeps its own version, not all that came and went since."""
    after = _needed_only(life)
    if after.changes - len(after.editions) < MANY_CHANGES:
        return Step(after)
    *earlier, newest = _netted(after)
    snapshot = replace(newest, is_snapshot=True, earlier=tuple(earlier))
    return Step(replace(after, changes=len(after.editions)), (ReplaceChanges(snapshot),))


def _netted(life: Life) -> list[Change]:
    """A changelog from each version that is kept to the next."""
    found = []
    before: frozenset[int] = frozenset()
    for version, edition in sorted(life.editions.items()):
        if version == 0:
            continue  # nobody took part
        ordered = sorted(edition.queries, key=lambda q: q.position)
        come = tuple(life.records[int(q.uid)] for q in ordered if int(q.uid) not in before)
        here = frozenset(int(q.uid) for q in ordered)
        gone = tuple(life.ends[u] for u in sorted(before - here))
        found.append(Change(version, come, gone, edition.statistics))
        before = here
    return found


# -- restoring ----------------------------------------------------------------------------------


def restored(
    life: Life,
    changes: Sequence[Change],
    logical: Mapping[int, LogicalQuery],
    begun: Begin | None,
    before: PipelineState | None,
) -> Life:
    """The life that the changelogs of an earlier run lead to, with the state that it committed; the
    commit before it can be gone back to."""
    at = replace(
        life,
        status="restoring",
        begun=begun,
        committed=life.state,
        before=before,
        doomed=(before.files if before is not None else frozenset()) - life.state.files,
    )
    for change in changes:
        at = _applied(at, change, logical)
    return at
