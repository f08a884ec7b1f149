"""The fire stage of joins: sections of several streams in, finished rows out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from headrace.connectors.store import Store
from headrace.kernels.answers import Failure
from headrace.kernels.blocks import Block
from headrace.kernels.join_answers import answer_joins
from headrace.kernels.keys import KEY_GROUPS
from headrace.runtime.joining import Joining
from headrace.runtime.messages import Failed, Message, SectionRef
from headrace.spark.fire.delivery import Delivery
from headrace.spark.fire.task import read_together, staged
from headrace.spark.premises import Premises
from headrace.spark.worker.plans import PlanHandle, reader_of
from headrace.spark.worker.section_cache import CACHE

Family = tuple[tuple[str, ...], str | None, int | None]


@dataclass(frozen=True)
class Read:
    """A stream as tasks read it."""

    buckets: Store
    plans: dict[int, PlanHandle]


@dataclass(frozen=True)
class JoinTask:
    """Everything one firing of joins needs."""

    at: Premises
    prefix: str
    handle: PlanHandle
    """Of the joins themselves."""
    streams: Mapping[str, Read]
    joining: Joining

    def __call__(self, numbers: Iterable[int]) -> Iterator[tuple[str, int, bytes]]:
        for number in numbers:
            for message in self.run(number):
                yield message.kind, message.uid, message.payload

    def run(self, number: int) -> Iterator[Message]:
        """All that is due."""
        at, task = self.at, self.handle.get()
        name = f"{self.prefix}{number:04d}"
        delivery = Delivery(at.txn, name, at.sinks, at.setting.time_zone)
        files = 0
        for part in self.joining.parts:
            due = [(w, [task.asked[u] for u in uids if u in task.asked]) for w, uids in part.due]
            blocks = {s: self._blocks(s, refs) for s, refs in part.refs.items()}
            for found in answer_joins(blocks, due, at.setting):
                if isinstance(found, Failure):
                    yield Message.of(Failed(found.reason), found.uid)
                elif found.shape.query.needs_spark_to_finish:
                    file = f"{at.txn:010d}-{name}-{files:04d}.arrow"
                    yield staged(found, file, task.queries, at)
                    files += 1
                else:
                    yield from delivery.results(found)
        for stream, read in self.streams.items():
            CACHE.trim(read.buckets, self._newest(stream))

    def _blocks(self, stream: str, refs: Iterable[SectionRef]) -> dict[Family, list[Block]]:
        read = self.streams[stream]
        blocks: dict[Family, list[Block]] = {}
        aligned = [
            (ref, reader, cells)
            for ref, together in read_together(refs)
            for reader in [reader_of(read.plans, ref)]
            for cells in CACHE.read(
                read.buckets, together, (0, KEY_GROUPS), self._newest(stream), reader
            )
        ]
        for ref, reader, cells in aligned:
            blocks.setdefault(ref.family, []).append((cells, reader.layout_of(cells)))
        return blocks

    def _newest(self, stream: str) -> int:
        """The transaction of the stream that is read."""
        return max((r.txn for r in self.joining.refs[stream]), default=0)
