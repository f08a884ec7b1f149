"""The fire stage: sections in, finished rows out, for one range of key groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from headrace.kernels.answers import Failure, Result, answer
from headrace.kernels.blocks import Block
from headrace.kernels.keys import KEY_GROUPS
from headrace.kernels.session_answers import Arrival, Held, SessionAsk, answer_sessions
from headrace.kernels.shapes import with_parameters
from headrace.query.logical import LogicalQuery
from headrace.runtime.compaction import CompactUnit
from headrace.runtime.firing import Firing
from headrace.runtime.messages import Failed, Message, OpenSessions, SectionRef, Staged, ipc_bytes
from headrace.spark.fire.compact_task import run_compaction
from headrace.spark.fire.delivery import Delivery
from headrace.spark.fire.early_task import EarlyKnown, EarlyTask
from headrace.spark.premises import Premises
from headrace.spark.worker.plans import PlanHandle, reader_of
from headrace.spark.worker.section_cache import CACHE


@dataclass(frozen=True)
class FireTask:
    """Everything one firing needs; the same object goes to every task."""

    at: Premises
    prefix: str
    """How the names of its tasks begin, which no other firing of the transaction may share."""
    plans: dict[int, PlanHandle]
    firing: Firing
    known: EarlyKnown
    tasks: int
    units: tuple[CompactUnit, ...]

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return self.tasks + len(self.units)

    def __call__(self, numbers: Iterable[int]) -> Iterator[tuple[str, int, bytes]]:
        for number in list(numbers):
            for message in self.run(number):
                yield message.kind, message.uid, message.payload

    def run(self, number: int) -> Iterator[Message]:
        """The first tasks fire, each for its key groups; the others compact."""
        if number < self.tasks:
            return self.fire(number)
        queries = self.plans[self.at.version].get().queries
        unit, upto = self.units[number - self.tasks], self.firing.watermark_us
        return iter([run_compaction(unit, self.plans, queries, self.at.buckets, self.at.txn, upto)])

    def fire(self, number: int) -> Iterator[Message]:
        """Fire for the key groups of task `number`."""
        low = number * KEY_GROUPS // self.tasks
        high = (number + 1) * KEY_GROUPS // self.tasks
        at, firing = self.at, self.firing
        asked = dict(self.plans[at.version].get().asked)
        for uid, sink in at.sinks.items():
            if sink.partial_before_us is not None and uid in asked:
                asked[uid] = replace(asked[uid], partial_before_us=sink.partial_before_us)
        blocks: dict[tuple[tuple[str, ...], str | None, int | None], list[Block]] = {}
        arrivals: dict[tuple[tuple[str, ...], str | None, int | None], list[Arrival]] = {}
        # All of them first: a layout has the classes that any section tells of.
        read = [
            (ref, reader, cells)
            for ref, together in read_together(self.firing.refs)
            for reader in [reader_of(self.plans, ref)]
            for cells in CACHE.read(at.buckets, together, (low, high), at.txn, reader)
        ]
        for ref, reader, cells in read:
            layout = reader.layout_of(cells)
            if ref.session:
                arrival = Arrival(ref.txn, ref.watermark_us, cells, layout)
                arrivals.setdefault(ref.family, []).append(arrival)
            else:
                blocks.setdefault(ref.family, []).append((cells, layout))
        delivery = Delivery(at.txn, f"{self.prefix}{number:04d}", at.sinks, at.setting.time_zone)
        due = [(window, [asked[u] for u in uids if u in asked]) for window, uids in firing.due]
        asks = [
            SessionAsk(asked[uid], since, until)
            for uid, (since, until) in firing.session_lives.items()
            if uid in asked
        ]
        files = 0
        approximate = EarlyTask(self.known, at.buckets, at.setting)
        for found in chain(
            (approximate.exact(f, blocks) for f in answer(blocks, due, at.setting)),
            answer_sessions(
                arrivals, asks, firing.emitted_upto_us, firing.watermark_us, at.setting
            ),
            *(
                approximate.early(e, asked, blocks, f"{self._name(number)}-{n:04d}")
                for n, e in enumerate(firing.early)
            ),
        ):
            if found is None:
                continue
            if isinstance(found, Failure):
                yield Message.of(Failed(found.reason), found.uid)
                continue
            if isinstance(found, Held):
                yield Message.of(OpenSessions(found.first_us))
                continue
            if found.shape.query.needs_spark_to_finish:
                name = f"{self._name(number)}-{files:04d}.arrow"
                yield staged(found, name, self.plans[at.version].get().queries, at)
                files += 1
            else:
                yield from delivery.results(found)
        message = approximate.message()
        if message is not None:
            yield message
        CACHE.trim(at.buckets, at.txn)

    def _name(self, task: int) -> str:
        """How the files begin that a task writes, in every attempt."""
        return f"{self.at.txn:010d}-{self.prefix}{task:04d}"


def read_together(refs: Iterable[SectionRef]) -> Iterator[tuple[SectionRef, list[SectionRef]]]:
    """Sections of the same columns and slices; pieces of sessions one by one."""
    alike: dict[object, list[SectionRef]] = {}
    for ref in refs:
        apart = (ref.file, ref.offset) if ref.session else None
        alike.setdefault((ref.columns_of, ref.slices, apart), []).append(ref)
    for some in alike.values():
        yield some[0], some


def staged(result: Result, name: str, queries: Mapping[int, LogicalQuery], at: Premises) -> Message:
    """Keep rows for Spark to finish: HAVING, ORDER BY, LIMIT, computed columns."""
    table = with_parameters(result.table, queries, at.setting.time_zone)
    at.staging.write(name, ipc_bytes(table))
    return Message.of(Staged(name), int(result.table.column("_q")[0].as_py()))
