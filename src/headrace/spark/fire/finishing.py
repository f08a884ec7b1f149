"""Staged rows to finished ones: all shapes in one job, or one query after the other where one of
them raises."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from headrace.kernels.shapes import shape_of
from headrace.query.logical import LogicalQuery
from headrace.runtime.emitted import Emitted
from headrace.spark.fire.finish_job import FinishJob, Shape
from headrace.spark.ingest.culprits import reason_of
from headrace.spark.premises import Premises

log = logging.getLogger("headrace")


@dataclass(frozen=True)
class Finishing:
    """Of one firing."""

    spark: SparkSession
    at: Premises
    logical: Mapping[int, LogicalQuery]
    prefix: str
    """Tells the files of this firing from those of another one of the same transaction."""
    take_back: Callable[[str], None]
    """Removes the files with a prefix that an attempt has written, before the next attempt."""
    ntz: bool = False

    def run(self, emitted: Emitted) -> None:
        """Finish what tasks have staged, if they have."""
        if not emitted.staged:
            return
        shapes: dict[object, tuple[LogicalQuery, list[str]]] = {}
        for uid, files in emitted.staged.items():
            query = self.logical[uid]
            shapes.setdefault(shape_of(query), (query, []))[1].extend(files)
        staged = [Shape(query, tuple(files)) for query, files in shapes.values()]
        job = FinishJob(
            self.spark,
            self.at.staging,
            self.at.txn,
            f"{self.prefix}s",
            self.at.sinks,
            self.at.setting.time_zone,
            self.ntz,
        )
        try:
            emitted.take(job.run(staged))
        except Exception:
            log.debug("finishing together failed, finishing one by one", exc_info=True)
            self.take_back(job.prefix)
            self._one_by_one(job, staged, emitted)
        for files in emitted.staged.values():
            for name in files:
                self.at.staging.delete(name)
        emitted.staged.clear()

    def _one_by_one(self, job: FinishJob, staged: Sequence[Shape], emitted: Emitted) -> None:
        """So that a query whose HAVING or SELECT raises fails alone."""
        for shape in staged:
            alike = [u for u, q in self.logical.items() if shape_of(q) == shape_of(shape.query)]
            for uid in alike:
                try:
                    emitted.take(job.run([replace(shape, uids=(uid,))]))
                except Exception as error:
                    emitted.failed[uid] = reason_of(error)
