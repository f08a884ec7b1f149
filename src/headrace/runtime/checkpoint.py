"""The checkpoint of a session: who owns it, what it was made with, and whether that fits today."""

from __future__ import annotations

import logging
import threading
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from headrace.connectors.store import Store
from headrace.errors import ExecutionError, HeadraceError
from headrace.progress.watermark import Progress
from headrace.query.schema import StreamSchema
from headrace.runtime import codec
from headrace.runtime.lease import Holder, Process, claim
from headrace.runtime.records import Missing, read_record, write_record
from headrace.runtime.state import PipelineState
from headrace.types import Clock

log = logging.getLogger("headrace")

_NAME = "session.json"
_BEAT_S = 5.0
_BURIED = ".ended"
_UIDS = 1_000_000_000
"""Every owner numbers its queries from a number of its own on, so that none is used twice."""


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream as it was declared."""

    event_time: str
    columns: Mapping[str, str]
    """Types by name."""

    @classmethod
    def of(cls, schema: StreamSchema) -> StreamRecord:
        """What is noted of a stream."""
        return cls(schema.event_time, {c.name: c.type for c in schema.columns})


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """What all of the checkpoint depends on."""

    time_zone: str
    ansi: bool
    sharing: str
    streams: Mapping[str, StreamRecord] = field(default_factory=dict)
    id: str = ""
    """Tells it from any other, also one that is made in its folder later."""
    has_begun: bool = False
    """Whether the streams have folders: without them, their state is lost."""


class Checkpoint:
    """A folder that one session at a time owns. A thread shows that the owner lives, for as long
    as anybody holds this."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Claim it; raises CheckpointInUse where another session lives in it."""
        self.store = store
        self._clock = clock
        self._holder = Holder(store, claim(store, clock.now(), Process.current()))
        self.id = self._known_id()
        self._released = threading.Event()
        beat = threading.Thread(
            target=_show_life, args=(weakref.ref(self), self._released), daemon=True
        )
        beat.name = "headrace-lease"
        beat.start()

    @property
    def first_uid(self) -> int:
        """Queries of this owner are numbered from here on."""
        return (self._holder.lease.token - 1) * _UIDS + 1

    def owned(self) -> None:
        """Raise Fenced where another session has taken it over."""
        self._holder.check()

    def renew(self) -> None:
        """Show that the owner lives; whoever writes finds out that it is not the owner any more."""
        try:
            self._holder.renew(self._clock.now())
        except HeadraceError as error:
            log.warning("the lease is not renewed: %s", error)

    def release(self) -> None:
        """Let go of it."""
        self._released.set()
        try:
            self._holder.release(self._clock.now())
        except HeadraceError as error:
            log.warning("the lease is not released, and ends by itself: %s", error)

    def admit(self, now: SessionRecord) -> None:
        """Note what the session is made with; raises ExecutionError, with a sentence, where the
        checkpoint was made with something that does not fit."""
        before = self._before()
        if before is not None:
            self._check(before, now)
            now = replace(now, streams={**before.streams, **now.streams})
        self._write(replace(now, id=self.id))

    def begun(self) -> None:
        """All streams have folders now."""
        before = self._before()
        assert before is not None
        self._write(replace(before, has_begun=True))

    def alone(self, stream: str) -> list[str]:
        """The folders of a stream's pipelines, where each query has one of its own. What is left of
        those that were buried when the process died is removed."""
        folder = self.store.sub("streams", stream)
        for name in folder.names():
            if name.endswith(_BURIED):
                self.bury(stream, name.removesuffix(_BURIED))
        return folder.folders()

    def bury(self, stream: str, number: str) -> None:
        """Remove the folder of such a pipeline, whose query has ended and is owed nothing. A mark
        beside it says so until it is gone: half a folder could not be read."""
        folder = self.store.sub("streams", stream)
        try:
            folder.write(f"{number}{_BURIED}", b"")
            folder.sub(number).delete_all()
            folder.delete(f"{number}{_BURIED}")
        except OSError as error:
            log.warning("%s is not removed yet: %s", folder.path(number), error)

    def _known_id(self) -> str:
        """As it was noted; a new one for a new checkpoint, and for one that is refused later."""
        try:
            before = self._before()
        except HeadraceError:
            before = None
        return uuid.uuid4().hex[:8] if before is None else before.id

    def _write(self, record: SessionRecord) -> None:
        write_record(self.store, _NAME, "session", codec.written(record))

    def _before(self) -> SessionRecord | None:
        try:
            return codec.read(read_record(self.store, _NAME, "session"), SessionRecord)
        except Missing:
            if not self.store.sub("streams").folders():
                return None
            raise ExecutionError(
                f"checkpoint {self.store.address} has no {_NAME}, though it is in use: it was made "
                "by an earlier version of Headrace, or the file is lost; restore it from a copy, "
                "or begin with a new checkpoint"
            ) from None

    def _check(self, before: SessionRecord, now: SessionRecord) -> None:
        for what, old, new in (
            ("the time zone", before.time_zone, now.time_zone),
            ("ANSI mode", before.ansi, now.ansi),
            ("sharing", before.sharing, now.sharing),
        ):
            if old != new:
                raise self._unfit(f"it was made with {what} {old!r}, this session has {new!r}")
        for name, old_stream in before.streams.items():
            there = now.streams.get(name)
            folder = self.store.sub("streams", name)
            if before.has_begun and before.sharing == "auto" and not folder.folders():
                raise ExecutionError(
                    f"{folder.address} is missing, though the checkpoint has stream {name!r}: it "
                    "cannot be told what was emitted already; restore the folder from a copy, or "
                    "begin with a new checkpoint"
                )
            if there is None:
                if not self.store.sub("streams", name).folders():
                    continue
                declared = ", ".join(sorted(now.streams)) or "none"
                raise self._unfit(
                    f"it has stream {name!r} with its queries, which is not declared (declared: "
                    f"{declared}); a stream keeps its name"
                )
            if there.event_time != old_stream.event_time:
                raise self._unfit(
                    f"event time of stream {name!r} was {old_stream.event_time!r}, and is "
                    f"{there.event_time!r}"
                )
            for column, kind in old_stream.columns.items():
                found = there.columns.get(column)
                if found != kind:
                    became = f"is {found} now" if found is not None else "is gone"
                    raise self._unfit(
                        f"column {column!r} of stream {name!r} was {kind} and {became}"
                    )

    def _unfit(self, why: str) -> ExecutionError:
        return ExecutionError(
            f"checkpoint {self.store.address} does not fit: {why}; go on as it was, or begin with "
            "a new checkpoint"
        )


def _show_life(checkpoint: weakref.ref[Checkpoint], released: threading.Event) -> None:
    while not released.wait(_BEAT_S):
        there = checkpoint()
        if there is None:
            return
        there.renew()
        del there


def fitting(
    state: PipelineState, stream: str, fresh: Progress, *, keeps_offsets: bool
) -> PipelineState:
    """A committed state under the stream's settings of today, which `fresh` carries; raises
    ExecutionError, with a sentence, where it does not fit."""
    given = state.inputs.get(stream)
    if given is None:
        raise ExecutionError(
            f"stream {stream!r}: its checkpoint is of {', '.join(state.inputs)}; declare that "
            "stream, or begin with a new checkpoint"
        )
    if keeps_offsets != (given.offsets is not None):
        kinds = ("a DataFrame", "an Arrow source")
        before, now = kinds if keeps_offsets else kinds[::-1]
        raise ExecutionError(
            f"stream {stream!r} was {before} and is {now}: its offsets cannot be taken over; "
            "declare it as it was, or begin with a new checkpoint"
        )
    known = given.offsets or {}
    gone = sorted(set(known) - set(fresh.partitions))
    if gone:
        raise ExecutionError(
            f"stream {stream!r} has no partition {gone[0]!r} any more ({len(known)} before, "
            f"{len(fresh.partitions)} now): what was read of it cannot be told; give it back, or "
            "begin with a new checkpoint"
        )
    return state.after_input(stream, given.under(fresh))
