"""Drives a session through a workload while queries come and go, and checks what they emitted.

Queries have few names among them, sinks of all kinds, and predicates over up to fourteen columns.
Micro-batches come one by one or in bursts.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark import cloudpickle
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import ManualClock, MemoryStream
from tests.oracle.compare import check_query, late_difference
from tests.oracle.queries import STREAM, RandomQuery, make_query
from tests.oracle.reference import BEGINNING, Life, Reference
from tests.oracle.sinks import Place, any_place
from tests.oracle.workload import IDLE_AFTER_S, SCHEMA, Step, Workload, micros
from tests.waiting import GUARD_S

# Spark's workers cannot import tests: what they run of this module travels with the data.
cloudpickle.register_pickle_by_value(sys.modules[__name__])

NAMES = frozenset(f"n{number}" for number in range(60))
"""Few enough that most are used again."""


class SteppedStream(MemoryStream):
    """A memory stream whose tables are read step by step, whatever is there already."""

    def burst(self, steps: Sequence[Step]) -> None:
        """Push tables and let them be read at once, one step a micro-batch."""
        ends = self._ends()
        for step in steps:
            for partition, table in step.tables.items():
                self.push(table, partition=partition)
            ends.append([self._count(p) for p in range(self.partitions)])
        hidden = Path(self.path) / ".ends"
        hidden.write_text(json.dumps(ends))
        hidden.rename(Path(self.path) / "ends")

    def latest_offsets(self, start: tuple[int, ...]) -> tuple[int, ...]:
        """As far as the first step that is not read yet."""
        return next((tuple(e) for e in self._ends() if tuple(e) > tuple(start)), start)

    def _ends(self) -> list[list[int]]:
        """Offsets after each step."""
        name = os.path.join(self.path, "ends")
        if not os.path.exists(name):
            return []
        with open(name) as file:
            found: list[list[int]] = json.load(file)
        return found


class Asked:
    """A query that runs, and the steps between which it lived."""

    def __init__(
        self, random_query: RandomQuery, handle: hr.Query, place: Place, batch: int
    ) -> None:
        self.random = random_query
        self.handle = handle
        self.place = place
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

    def __init__(
        self, spark: SparkSession, workload: Workload, folder: Path, *, queries: int
    ) -> None:
        self.spark, self.workload, self.folder = spark, workload, folder
        self.rng = random.Random(workload.seed * 7919 + 1)
        self.clock = ManualClock(workload.began)
        self.reference = Reference(
            workload.partitions,
            workload.lateness_s,
            bounded=workload.max_ahead is not None,
            began_s=workload.began.timestamp(),
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
        for number, burst in enumerate(_bursts(self.workload.steps)):
            if number > 0:
                come = min(left, self.rng.randint(0, 2 * left // 3 + 1))
                left -= come
                self._change(come)
            self._advance(burst)
        self.session.process_all_available()

    def failures(self) -> list[str]:
        """Everything that is not as it must be, each with its seed and its SQL."""
        watermark = self.reference.watermark.value_us
        found = []
        for one in self.asked:
            wrong = self._wrong(one, one.life(watermark))
            if wrong is not None:
                where = f"seed {self.workload.seed}, {one.place.kind}"
                found.append(f"{where}: {wrong}\n  {one.random.text}")
        return found

    def _wrong(self, one: Asked, life: Life) -> str | None:
        query, handle, reference = one.random, one.handle, self.reference
        if one.place.kind != "digest":
            return check_query(
                query,
                handle,
                reference,
                life,
                lambda: one.place.read(self.spark, handle),
                in_order=one.place.keeps_order,
            )
        if handle.status == "failed":
            return f"it failed: {handle.error}"
        rows, counted = len(reference.answer(query, life)), handle.metrics().rows
        if rows != counted:
            return f"{counted} rows counted, {rows} expected"
        return late_difference(query, handle, reference, life)

    def _create(self, *, late: bool = False) -> Asked:
        query = make_query(self.rng)
        partial = late and query.kind == "window" and self.rng.random() < 0.3
        name = self.rng.choice(sorted(NAMES - {q.name for q in self.session.queries}))
        place = any_place(self.rng, query, self.folder / str(len(self.asked)))
        handle = self.session.sql(query.text, name=name, partial_first=partial, **place.arguments)
        one = Asked(query, handle, place, self.reference.batch)
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

    def _advance(self, burst: Sequence[Step]) -> None:
        self.clock.advance(burst[0].clock_s)
        self.reference.pass_time(burst[0].clock_s)
        self.session.process_all_available()
        for step in burst:
            self.reference.push(step.tables)
        self.stream.burst(burst)
        self.session.process_all_available()


def _bursts(steps: Sequence[Step]) -> list[list[Step]]:
    """Steps that come together, as lists."""
    found: list[list[Step]] = []
    for step in steps:
        if step.clock_s > 0.0 or not found:
            found.append([])
        found[-1].append(step)
    return found


def run_scenario(
    spark: SparkSession, workload: Workload, folder: Path, *, queries: int
) -> Sequence[str]:
    """Run one, with files of sinks in a folder, and return its failures."""
    scenario = Scenario(spark, workload, folder, queries=queries)
    with scenario.session:
        scenario.run()
        return scenario.failures()
