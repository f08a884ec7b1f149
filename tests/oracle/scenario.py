"""Drives a session through a workload while queries come and go, and checks what they emitted."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import ManualClock, MemoryStream
from tests.oracle.compare import check_query
from tests.oracle.queries import STREAM, RandomQuery, make_query
from tests.oracle.reference import BEGINNING, Life, Reference
from tests.oracle.workload import IDLE_AFTER_S, SCHEMA, Step, Workload, micros
from tests.waiting import GUARD_S

# Spark's workers cannot import tests: what they run of this module travels with the data.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


class SteppedStream(MemoryStream):
    """A memory stream whose tables become visible in all partitions at once, step by step."""

    def step(self, tables: dict[int, pa.Table]) -> None:
        """Push tables and let them be read as one micro-batch."""
        for partition, table in tables.items():
            self.push(table, partition=partition)
        hidden = Path(self.path) / ".upto"
        hidden.write_text(json.dumps([self._count(p) for p in range(self.partitions)]))
        hidden.rename(Path(self.path) / "upto")

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """As far as the last finished step."""
        name = os.path.join(self.path, "upto")
        if not os.path.exists(name):
            return start
        with open(name) as file:
            return tuple(json.load(file))


class Asked:
    """A query that runs, and the steps between which it lived."""

    def __init__(self, random_query: RandomQuery, handle: hr.Query, batch: int) -> None:
        self.random = random_query
        self.handle = handle
        self.from_batch = batch
        self.to_batch = 2**31
        self.partial_first = False

    def life(self, watermark_us: int) -> Life:
        """In microseconds, from what the engine says."""
        start, end = self.handle.effective_start, self.handle.effective_end
        since = BEGINNING if start is None or start.year == 1 else micros(start)
        until = watermark_us if end is None else BEGINNING if end.year == 1 else micros(end)
        return Life(since, until, self.from_batch, self.to_batch, self.partial_first)


class Scenario:
    """One seed: a workload, its session, its queries, its reference."""

    def __init__(self, spark: SparkSession, workload: Workload, *, queries: int) -> None:
        self.workload = workload
        self.rng = random.Random(workload.seed * 7919 + 1)
        self.clock = ManualClock()
        self.reference = Reference(
            workload.partitions, workload.lateness_s, bounded=workload.max_ahead is not None
        )
        self.stream = SteppedStream(SCHEMA, partitions=workload.partitions)
        self.session = hr.Session(spark, clock=self.clock)
        self.session.stream(
            STREAM,
            self.stream,
            event_time="time",
            lateness=f"{workload.lateness_s} seconds",
            idle_after=f"{IDLE_AFTER_S:g} seconds",
            max_ahead=workload.max_ahead,
        )
        self.queries = queries
        self.asked: list[Asked] = []

    def run(self) -> None:
        """Start with two thirds of the queries; the others come, and some go, between steps."""
        early = self.queries * 2 // 3
        for _ in range(early):
            self._create()
        self.session.start()
        left = self.queries - early
        for number, step in enumerate(self.workload.steps):
            if number > 0:
                come = min(left, self.rng.randint(0, 2 * left // 3 + 1))
                left -= come
                self._change(come)
            self._advance(step)
        self.session.process_all_available()

    def failures(self) -> list[str]:
        """Everything that is not as it must be, each with its seed and its SQL."""
        watermark = self.reference.watermark.value_us
        found = []
        for one in self.asked:
            wrong = check_query(one.random, one.handle, self.reference, one.life(watermark))
            if wrong is not None:
                found.append(f"seed {self.workload.seed}, {wrong}\n  {one.random.text}")
        return found

    def _create(self, *, late: bool = False) -> Asked:
        query = make_query(self.rng)
        partial = late and query.kind == "window" and self.rng.random() < 0.3
        handle = self.session.sql(query.text, partial_first=partial)
        one = Asked(query, handle, self.reference.batch)
        one.partial_first = partial
        self.asked.append(one)
        return one

    def _change(self, come: int) -> None:
        alive = [a for a in self.asked if a.handle.status == "active"]
        for one in self.rng.sample(alive, min(len(alive) // 3, self.rng.randint(0, 4))):
            one.handle.stop()
            one.to_batch = self.reference.batch
        for one in [self._create(late=True) for _ in range(come)]:
            one.handle.await_active(timeout_s=GUARD_S)

    def _advance(self, step: Step) -> None:
        self.clock.advance(step.clock_s)
        self.reference.pass_time(step.clock_s)
        self.session.process_all_available()
        self.reference.push(step.tables)
        self.stream.step(step.tables)
        self.session.process_all_available()


def run_scenario(spark: SparkSession, workload: Workload, *, queries: int) -> Sequence[str]:
    """Run one and return its failures."""
    scenario = Scenario(spark, workload, queries=queries)
    with scenario.session:
        scenario.run()
        return scenario.failures()
