"""Firing as Spark jobs: one that combines, compacts and delivers, one for what SQL finishes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from headrace.approximate.early import EarlyDue
from headrace.kernels.answers import Setting
from headrace.kernels.sampling import Schedule
from headrace.kernels.shapes import shape_of
from headrace.query.logical import LogicalQuery
from headrace.runtime.compaction import plan_compaction
from headrace.runtime.firing import Firing, plan_firing, still_needed
from headrace.runtime.journal import Begin, Journal
from headrace.runtime.messages import Message, SectionRef
from headrace.spark.fire.delivery import TaskSink
from headrace.spark.fire.emitter import Emitter
from headrace.spark.fire.finish_job import FinishJob, Staged
from headrace.spark.fire.task import FireTask
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.pipeline.plans import PlanBook, PlanEntry
from headrace.types import BEGINNING

log = logging.getLogger("headrace")

_SMALL_CELLS = 20_000
"""Below so many cells one fire task is quicker than several."""

_NOTHING = Firing((), {}, ())


@dataclass(frozen=True)
class FireJob:
    """What the watermark has passed, for all queries of one plan version."""

    spark: SparkSession
    journal: Journal
    plans: PlanBook
    setting: Setting
    begin: Begin
    sinks: dict[int, TaskSink]
    emitted_upto_us: int
    watermark_us: int
    ntz: bool
    prefix: str
    """Tells the files of this firing from those of another one of the same transaction."""
    take_back: Callable[[str], None]
    """Removes the files with a prefix that an attempt to finish staged rows has written, before
    the next attempt."""
    purge: bool = False
    early: tuple[EarlyDue, ...] = ()
    closed_upto_us: dict[int, int] = field(default_factory=dict)
    answered: tuple[str, ...] = ()
    learners: frozenset[int] = frozenset()
    sampled: frozenset[int] = frozenset()
    sampling: Schedule = ()

    @property
    def entry(self) -> PlanEntry:
        """The version this transaction runs under."""
        return self.plans[self.begin.version]

    def run(self, sections: Sequence[SectionRef], emitter: Emitter) -> None:
        """Fire what is due and compact what pays; nothing to do costs no job."""
        task = self.task(sections)
        emitter.begin_firing(sessions=task is not None and bool(task.session_lives))
        if task is None:
            return
        numbers = self.spark.sparkContext.parallelize(range(task.count), task.count)
        rows = numbers.mapPartitions(task).collect()
        emitter.take([Message(k, u, p) for k, u, p in rows])
        self.finish(emitter)

    def task(self, sections: Sequence[SectionRef]) -> FireTask | None:
        """The work as Spark tasks, or None if there is none."""
        firing = _NOTHING
        if self.watermark_us > self.emitted_upto_us or self.early:
            firing = plan_firing(
                self.entry.queries,
                sections,
                self.plans.plans,
                self.emitted_upto_us,
                self.watermark_us,
                self.early,
                self.closed_upto_us,
                self.sampled,
            )
        kept = still_needed(
            self.entry.queries, sections, self.plans.plans, self.watermark_us, BEGINNING
        )
        units = plan_compaction(
            self.entry.queries,
            kept,
            self.plans.plans,
            self.begin.version,
            purge=self.purge,
            sampling=self.sampling,
        )
        if not firing.is_needed and not units:
            return None
        tasks = 0
        if firing.is_needed:
            cells = sum(r.cells for r in firing.refs)
            tasks = 1 if cells < _SMALL_CELLS else self.spark.sparkContext.defaultParallelism
        used = [*firing.refs, *(r for u in units for r in u.refs)]
        versions = {r.version for r in used if r.uids is None} | {self.begin.version}
        return FireTask(
            plans={v: self.plans[v].handle for v in versions},
            version=self.begin.version,
            refs=firing.refs,
            due=firing.due,
            session_lives=firing.session_lives,
            emitted_upto_us=self.emitted_upto_us,
            watermark_us=self.watermark_us,
            buckets=self.journal.buckets,
            staging=self.journal.staging,
            txn=self.begin.txn,
            prefix=self.prefix,
            tasks=tasks,
            units=tuple(units),
            sinks=self.sinks,
            setting=self.setting,
            early=firing.early,
            closed_upto_us=self.closed_upto_us,
            answered=self.answered,
            learners=self.learners,
        )

    def finish(self, emitter: Emitter) -> None:
        """Let Spark SQL finish staged rows, all shapes in one job."""
        if not emitter.staged:
            return
        logical = {int(q.uid): q.logical for q in self.entry.queries}
        shapes: dict[object, tuple[LogicalQuery, list[str]]] = {}
        for uid, files in emitter.staged.items():
            shapes.setdefault(shape_of(logical[uid]), (logical[uid], []))[1].extend(files)
        staged = [Staged(query, tuple(files)) for query, files in shapes.values()]
        job = FinishJob(
            self.spark,
            self.journal.staging,
            self.begin.txn,
            f"{self.prefix}s",
            self.sinks,
            self.setting.time_zone,
            self.ntz,
        )
        try:
            emitter.take(job.run(staged))
        except Exception:
            log.debug("finishing together failed, finishing one by one", exc_info=True)
            self.take_back(job.prefix)
            self._finish_one_by_one(job, staged, logical, emitter)
        for files in emitter.staged.values():
            for name in files:
                self.journal.staging.delete(name)
        emitter.staged.clear()

    def _finish_one_by_one(
        self,
        job: FinishJob,
        staged: Sequence[Staged],
        logical: Mapping[int, LogicalQuery],
        emitter: Emitter,
    ) -> None:
        """So that a query whose HAVING or SELECT raises fails alone."""
        for shape in staged:
            alike = [u for u, q in logical.items() if shape_of(q) == shape_of(shape.query)]
            for uid in alike:
                try:
                    emitter.take(job.run([replace(shape, uids=(uid,))]))
                except Exception as error:
                    emitter.failed[uid] = reason_of(error)


def replaced(
    sections: Sequence[SectionRef], compacted: Sequence[Mapping[str, object]]
) -> list[SectionRef]:
    """The sections after compaction."""
    gone: set[tuple[str, int]] = set()
    fresh: list[SectionRef] = []
    for change in compacted:
        old, new = change["old"], change["new"]
        assert isinstance(old, list)
        gone.update((str(f), int(o)) for f, o in old)
        if new is not None:
            assert isinstance(new, dict)
            fresh.append(SectionRef.from_json(dict(new)))
    return [s for s in sections if (s.file, s.offset) not in gone] + fresh
