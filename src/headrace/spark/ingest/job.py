"""Ingest as one Spark job: by Catalyst, by kernels on JVM rows, or fused with an Arrow source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from headrace.query.plan import SharedPlan, axis_of, parts_of
from headrace.query.predicate import leaves
from headrace.query.schema import quoted
from headrace.query.window import TimeWindow
from headrace.runtime.messages import Ingested, Message, messages_of
from headrace.spark.fire.task import FireTask
from headrace.spark.ingest.batch_tasks import AsRows, BatchTasks, Numbered
from headrace.spark.ingest.catalyst_task import (
    AHEAD,
    UNTIMED,
    UNWANTED,
    WriteSections,
    aggregates_sql,
    slice_sql,
)
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.ingest.file_task import ReduceFiles
from headrace.spark.ingest.task import (
    PARTITION,
    TIME,
    BatchFrame,
    FetchRanges,
    ReduceRanges,
    ReduceRows,
)
from headrace.spark.internals import shared_parts_apart, tried
from headrace.spark.rows import SCHEMA
from headrace.spark.streams import Stream
from headrace.spark.worker.plans import PlanHandle


@dataclass(frozen=True)
class Ingest:
    """One batch's job: how its tuples are read, and the plan they are reduced under."""

    stream: Stream
    plan: SharedPlan
    handle: PlanHandle
    frame: BatchFrame
    where_sql: str | None = None

    def run(self, batch: Batch, beside: FireTask | None = None) -> list[Message]:
        """Run the job, with the tasks of a firing beside its own; returns all their messages."""
        if (batch.files or not self.stream.rows_in_jvm) and not self.plan.derived:
            return self._numbered(batch, beside)
        session = batch.given.sparkSession
        session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "65536")
        frames: list[DataFrame] = []
        messages: list[Message] = []
        if beside is not None:
            # First, because it is the longest task where there is little to ingest.
            frames.append(self._as_rows(batch, beside))
        if not self.stream.rows_in_jvm or (batch.files and self.plan.lane == "kernel"):
            frames.append(self._beside_the_jvm(batch))
        elif not self.plan.groups and not self.plan.selectors:
            messages.append(self._scaled(batch.frame)._progress_only(batch.frame))
        elif self.plan.lane == "catalyst":
            frames.append(self._scaled(batch.frame)._catalyst(batch.frame))
        else:
            frames.append(self._kernel(batch, self.plan, None))
        return messages + (messages_of(reduce(DataFrame.union, frames).toArrow()) if frames else [])

    def evaluate(self, batch: Batch, sql: str) -> None:
        """Evaluate one expression over the batch, to see what it raises."""
        rows = self._rows(batch).selectExpr(f"{sql} AS _0")
        rows.write.format("noop").mode("overwrite").save()

    def tried(self, batch: Batch, derived: Mapping[str, str]) -> list[str]:
        """Which derived columns raise on some tuple of the batch, in one job."""
        session = batch.given.sparkSession
        columns = tried(session, [f"struct({sql})" for sql in derived.values()])
        names = [f"_{n}" for n in range(len(columns))]
        made = self._rows(batch).select(*columns).toDF(*names)
        with shared_parts_apart(session):
            counts = made.selectExpr("count(1)", *[f"count({n})" for n in names])
            total, *counted = counts.collect()[0]
        return [name for name, n in zip(derived, counted, strict=True) if n < total]

    # -- the kernels --------------------------------------------------------------------------

    def _kernel(self, batch: Batch, plan: SharedPlan, alone: SharedPlan | None) -> DataFrame:
        rows = self._rows(batch)
        columns = {TIME: self.stream.time_sql}
        if self.stream.partition is not None:
            columns[PARTITION] = f"CAST({quoted(self.stream.partition)} AS STRING)"
        elif not self.stream.rows_in_jvm:
            columns[PARTITION] = PARTITION
        columns |= {name: plan.derived.get(name) or quoted(name) for name in plan.columns}
        if self.frame.keep_late:
            columns |= {
                c.name: quoted(c.name) for c in self.stream.schema.columns if c.name not in columns
            }
        # By number, because PySpark takes a dot or a backtick in a name for something else.
        selected = rows.selectExpr(*[f"{sql} AS _{n}" for n, sql in enumerate(columns.values())])
        names = tuple(r.partition for r in batch.ranges) if self.stream.partition is None else ()
        reduce_rows = ReduceRows(self.handle, self.frame, tuple(columns), alone, names)
        return selected.mapInArrow(reduce_rows, SCHEMA)

    # -- tuples that tasks fetch --------------------------------------------------------------

    def _numbered(self, batch: Batch, beside: FireTask | None) -> list[Message]:
        """Without any Spark expression no plan of Spark's is needed: a job of numbered tasks."""
        context = batch.given.sparkSession.sparkContext
        tasks = BatchTasks(self._reduce(batch, None, self.plan.columns), beside)
        numbers = context.parallelize(range(tasks.count), tasks.count)
        return [Message(*row) for row in numbers.mapPartitions(tasks).collect()]

    def _reduce(self, batch: Batch, plan: SharedPlan | None, columns: tuple[str, ...]) -> Numbered:
        """Tasks that fetch tuples by themselves, from files or from the source."""
        source = self.stream.source
        if source is None:
            tasks = batch.given.sparkSession.sparkContext.defaultParallelism
            return self._files(batch, tasks, plan)
        if self.frame.keep_late:
            columns = tuple(c.name for c in self.stream.schema.columns)
        time = self.stream.schema.event_time
        return ReduceRanges(
            self.handle, self.frame, source, batch.ranges, batch.came, time, columns, plan
        )

    def _files(self, batch: Batch, tasks: int, plan: SharedPlan | None) -> ReduceFiles:
        schema = self.stream.schema
        wanted = {*(plan or self.plan).columns, schema.event_time, self.stream.partition}
        return ReduceFiles(
            self.handle,
            self.frame,
            batch.files,
            batch.rules,
            tasks,
            {c.name: c.type for c in schema.columns if self.frame.keep_late or c.name in wanted},
            schema.event_time,
            self.stream.partition,
            plan,
        )

    def _beside_the_jvm(self, batch: Batch) -> DataFrame:
        """Groups that need no Spark expression are fused; the others pass through the JVM."""
        plan = self.plan
        if self.frame.keep_late and plan.derived:
            # One tuple may be late for several groups: seen in one place, it is routed once.
            return self._kernel(batch, plan, None)
        fused, others = _split(plan)
        direct = self._fused(batch, None if others is None else fused, fused.columns)
        if others is None:
            return direct
        beside = replace(self, frame=replace(self.frame, counts_tuples=False))
        return direct.union(beside._kernel(batch, others, others))

    def _fused(self, batch: Batch, plan: SharedPlan | None, columns: tuple[str, ...]) -> DataFrame:
        return self._as_rows(batch, self._reduce(batch, plan, columns))

    def _as_rows(self, batch: Batch, tasks: Numbered) -> DataFrame:
        return _numbers(batch, tasks.count).mapInArrow(AsRows(tasks), SCHEMA)

    def _rows(self, batch: Batch) -> DataFrame:
        source = self.stream.source
        if source is None:
            return batch.frame
        names = [c.name for c in self.stream.schema.columns]
        types = ", ".join(f"{quoted(c.name)} {c.type}" for c in self.stream.schema.columns)
        fetch = FetchRanges(source, batch.ranges, names)
        return _numbers(batch, len(batch.ranges)).mapInArrow(fetch, f"{types}, {PARTITION} int")

    def _scaled(self, batch: DataFrame) -> Ingest:
        """A stream without progress may live in any year: its first tuples set the scale."""
        if self.frame.highest_us is not None or self.frame.max_ahead_us is None:
            return self
        first = batch.selectExpr(f"min({self.stream.time_sql})").collect()[0][0]
        return self if first is None else replace(self, frame=replace(self.frame, highest_us=first))

    # -- Catalyst -----------------------------------------------------------------------------

    def _catalyst(self, batch: DataFrame) -> DataFrame:
        """One aggregation for the query and for the stream's progress.

        Tuples that the query does not count go into groups of their own, told by a code in the
        place of the slice, so that how many there are and how far event time has come is known
        without a second pass. One SQL text, because every DataFrame call is analysed anew.
        """
        group = self.plan.groups[0]
        window = group.windows[0]
        assert isinstance(window, TimeWindow)
        where = "true" if self.where_sql is None else f"({self.where_sql})"
        start = slice_sql(window, TIME, self.plan.cuts)
        asked = [f"if(__hr_code IS NULL, {start}, __hr_code) AS __hr_slice"]
        asked += [
            f"if(__hr_code IS NULL, {self._column(name)}, NULL) AS __hr_k{n}"
            for n, name in enumerate(group.keys)
        ]
        asked.append(f"{self._partition_sql} AS {PARTITION}")
        by = ", ".join(["__hr_slice", PARTITION, *(f"__hr_k{n}" for n in range(len(group.keys)))])
        made = ", ".join([by, f"max({TIME}) AS __hr_highest", *aggregates_sql(group, self._column)])
        coded = (
            f"CASE WHEN {TIME} IS NULL THEN {UNTIMED}L WHEN {self._ahead_sql(TIME)} "
            f"THEN {AHEAD}L WHEN {where} THEN NULL ELSE {UNWANTED}L END AS __hr_code"
        )
        text = (
            f"SELECT {made} FROM (SELECT *, {', '.join(asked)} FROM (SELECT *, {coded} FROM "
            f"(SELECT *, {self.stream.time_sql} AS {TIME} FROM "
        )
        text = text.replace("{", "{{").replace("}", "}}") + f"{{batch}}))) GROUP BY {by}"
        reduced = batch.sparkSession.sql(text, batch=batch)
        return reduced.mapInArrow(WriteSections(self.handle, self.frame), SCHEMA)

    @property
    def _partition_sql(self) -> str:
        name = self.stream.partition
        return "'0'" if name is None else f"CAST({quoted(name)} AS STRING)"

    def _column(self, name: str) -> str:
        return self.plan.derived.get(name) or quoted(name)

    def _timed(self, batch: DataFrame) -> DataFrame:
        """The batch with its event time and whether that is from the far future."""
        time = self.stream.time_sql
        return batch.selectExpr("*", f"{time} AS {TIME}", f"{self._ahead_sql(time)} AS __hr_ahead")

    def _ahead_sql(self, time: str) -> str:
        frame = self.frame
        if frame.max_ahead_us is None or frame.highest_us is None:
            return "false"
        bound = max(frame.now_us, frame.highest_us) + frame.max_ahead_us
        # Read from an array, the bound is data: as a literal it would be part of the generated
        # code, which Spark would compile anew for every batch (about 300 ms).
        return f"coalesce({time} > get(array({bound}L), int({time} IS NULL)), false)"

    def _progress_only(self, batch: DataFrame) -> Message:
        """Nobody asks anything: only how far event time has come."""
        rows = (
            self._timed(batch)
            .groupBy(sf.expr(self._partition_sql).alias("p"))
            .agg(
                sf.count(sf.lit(1)).alias("tuples"),
                sf.count(TIME).alias("timed"),
                sf.expr("count_if(__hr_ahead)").alias("ahead"),
                sf.expr(f"max(CASE WHEN NOT __hr_ahead THEN {TIME} END)").alias("highest"),
            )
            .collect()
        )
        return Message.of(
            Ingested(
                highest_us={r["p"]: r["highest"] for r in rows if r["highest"] is not None},
                tuples=sum(r["tuples"] for r in rows),
                without_time=sum(r["tuples"] - r["timed"] for r in rows),
                from_future=sum(r["ahead"] for r in rows),
            )
        )


def _numbers(batch: Batch, count: int) -> DataFrame:
    """The numbers of so many tasks, each in a partition of its own."""
    return batch.given.sparkSession.range(0, count, 1, count)


def _split(plan: SharedPlan) -> tuple[SharedPlan, SharedPlan | None]:
    """The part of a plan that reads only stored columns, and the part that needs Spark."""
    if not plan.derived:
        return plan, None

    def computed(names: set[str]) -> bool:
        return any(n in plan.derived for n in names)

    groups = [
        g
        for g in plan.groups
        if not computed(
            {
                *g.keys,
                *g.axes,
                *parts_of(g.value or ""),
                *(name or "" for p in g.partials for name in (p.column, p.condition)),
            }
        )
    ]
    selectors = [
        s
        for s in plan.selectors
        if not computed({*s.columns, *(axis_of(leaf) for leaf in leaves(s.where))})
    ]
    fused = replace(plan, groups=tuple(groups), selectors=tuple(selectors), derived={})
    others = replace(
        plan,
        groups=tuple(g for g in plan.groups if g not in groups),
        selectors=tuple(s for s in plan.selectors if s not in selectors),
    )
    return fused, others
