"""Firing as Spark jobs: one that combines, compacts and delivers, one for what SQL finishes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from headrace.approximate.early import EarlyDue
from headrace.kernels.sampling import Schedule
from headrace.runtime.compaction import plan_compaction
from headrace.runtime.emitted import Emitted
from headrace.runtime.firing import Firing, plan_firing, still_needed
from headrace.runtime.messages import Compacted, Message, SectionRef
from headrace.runtime.plans import PlanBook, PlanEntry
from headrace.spark.fire.early_task import EarlyKnown
from headrace.spark.fire.finishing import Finishing
from headrace.spark.fire.task import FireTask
from headrace.spark.premises import Premises
from headrace.spark.worker.plans import PlanHandle
from headrace.types import BEGINNING

log = logging.getLogger("headrace")

_SMALL_CELLS = 20_000
"""Below so many cells one fire task is quicker than several."""


@dataclass(frozen=True)
class Approximate:
    """What a firing has to know of approximate queries."""

    early: tuple[EarlyDue, ...] = ()
    known: EarlyKnown = field(default_factory=EarlyKnown)
    sampled: frozenset[int] = frozenset()
    sampling: Schedule = ()


@dataclass(frozen=True)
class FireJob:
    """What is due between two event times, for all queries of one plan version."""

    spark: SparkSession
    at: Premises
    plans: PlanBook[PlanHandle]
    entry: PlanEntry[PlanHandle]
    prefix: str
    """Tells the files of this firing from those of another one of the same transaction."""
    emitted_upto_us: int
    watermark_us: int
    approximate: Approximate
    take_back: Callable[[str], None]
    """Removes the files with a prefix that an attempt to finish staged rows has written, before
    the next attempt."""
    purge: bool = False
    ntz: bool = False
    read_upto_us: Mapping[int, int] = field(default_factory=dict)
    """By query that feeds a join: up to where the join has answered."""

    def run(self, sections: Sequence[SectionRef], emitted: Emitted) -> None:
        """Fire what is due and compact what pays; nothing to do costs no job."""
        task = self.task(sections)
        emitted.begin_firing(sessions=task is not None and bool(task.firing.session_lives))
        if task is None:
            return
        numbers = self.spark.sparkContext.parallelize(range(task.count), task.count)
        rows = numbers.mapPartitions(task).collect()
        emitted.take([Message(k, u, p) for k, u, p in rows])
        self.finish(emitted)

    def task(self, sections: Sequence[SectionRef]) -> FireTask | None:
        """The work as Spark tasks, or None if there is none."""
        queries, plans, known = self.entry.queries, self.plans.plans, self.approximate.known
        firing = Firing((), {}, (), watermark_us=self.watermark_us)
        if self.watermark_us > self.emitted_upto_us or self.approximate.early:
            firing = plan_firing(
                queries,
                sections,
                plans,
                self.emitted_upto_us,
                self.watermark_us,
                self.approximate.early,
                known.closed_upto_us,
                self.approximate.sampled,
            )
        kept = still_needed(
            queries, sections, plans, self.watermark_us, BEGINNING, self.read_upto_us
        )
        units = plan_compaction(
            queries,
            kept,
            plans,
            self.at.version,
            purge=self.purge,
            sampling=self.approximate.sampling,
            read_upto_us=self.read_upto_us,
        )
        if not firing.is_needed and not units:
            return None
        tasks = 0
        if firing.is_needed:
            cells = sum(r.cells for r in firing.refs)
            tasks = 1 if cells < _SMALL_CELLS else self.spark.sparkContext.defaultParallelism
        used = [*firing.refs, *(r for u in units for r in u.refs)]
        versions = {r.version for r in used if r.uids is None} | {self.at.version}
        handles = self.plans.handles
        return FireTask(
            at=self.at,
            prefix=self.prefix,
            plans={v: handles[v] for v in versions},
            firing=firing,
            known=known,
            tasks=tasks,
            units=tuple(units),
        )

    def finish(self, emitted: Emitted) -> None:
        """Let Spark SQL finish staged rows, all shapes in one job."""
        finishing = Finishing(
            self.spark, self.at, self.entry.logical, self.prefix, self.take_back, self.ntz
        )
        finishing.run(emitted)


def replaced(sections: Sequence[SectionRef], compacted: Sequence[Compacted]) -> list[SectionRef]:
    """The sections after compaction."""
    gone = {place for change in compacted for place in change.old}
    fresh = [change.new for change in compacted if change.new is not None]
    return [s for s in sections if (s.file, s.offset) not in gone] + fresh
