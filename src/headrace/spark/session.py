"""`Session`: declare streams, run queries, read results."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from headrace.connectors.sinks import Sink, SinkFunction
from headrace.connectors.sources import ArrowSource
from headrace.connectors.store import Store
from headrace.errors import ExecutionError, QueryError, UnsupportedQuery
from headrace.exchange.channel import Address
from headrace.exchange.upstream import Upstream
from headrace.kernels.answers import Setting
from headrace.query.logical import Function, LogicalQuery, Output
from headrace.query.schema import StreamSchema
from headrace.runtime.checkpoint import Checkpoint, SessionRecord, StreamRecord
from headrace.runtime.counters import SessionMetrics
from headrace.runtime.entries import QueryRecord
from headrace.runtime.explain import explain_schedule
from headrace.runtime.gate import Gate
from headrace.runtime.listeners import Listeners
from headrace.runtime.locks import OrderedLock
from headrace.scheduling.decision import Decision
from headrace.scheduling.policies import policy_named
from headrace.spark.analysis import SparkAnalyzer
from headrace.spark.arguments import (
    check_asked,
    check_kind,
    check_session,
    check_stream_name,
)
from headrace.spark.memory import MemoryGauge
from headrace.spark.metrics import Meter, session_metrics
from headrace.spark.neighbours import Neighbours
from headrace.spark.pipeline.joiner import JoinPipeline
from headrace.spark.pipeline.keeper import Surroundings
from headrace.spark.pipeline.runner import Pipeline
from headrace.spark.query import Query
from headrace.spark.roster import Roster
from headrace.spark.sinks import WriterSink, restored_sink, sink_of
from headrace.spark.streams import Stream
from headrace.sql import Templates
from headrace.types import BEGINNING, Clock, SystemClock, duration_us

log = logging.getLogger("headrace")

_TICK_S = 1.0
_CLOSE_S = 5.0


class Session:
    """Runs many queries over shared streams inside one Spark application.

    ``spark`` is a classic SparkSession, not Spark Connect. With ``checkpoint``, a folder that
    driver and executors reach by the same address, the session can be continued after a restart:
    the same folder, streams and query names go on where the last commit was. Without one, state is
    in a temporary folder and is gone after `close`.

    ``sharing="off"`` runs each query as a pipeline of its own; results are the same. ``clock``
    tells the wall-clock time (default: the system's; tests pass a `ManualClock`). ``trigger`` is
    the least time between the beginnings of two micro-batches, as in Spark.

    ``policy`` says which pipeline's micro-batch runs first when more of them want to run than the
    machine can serve: ``default`` leaves it to Spark; ``klink`` takes the pipeline whose window is
    due first; others are ``klink-without-memory``, ``fcfs``, ``round-robin``, ``highest-rate`` and
    ``streambox``. At most ``concurrency`` batches run at a time (default: one more than there are
    cores). A pipeline that has waited for ``patience`` goes first. ``state_bytes`` is how much
    state counts as full memory (default: no bound).

    A checkpoint has one owner at a time: a second session is refused while the first one lives, and
    takes over when it is dead. With ``fsync`` every record and file of it is flushed to the disk
    before it counts, so that it survives a loss of power and not only of the process. A sink on the
    driver (a callable, a Spark writer format) is called by a thread of its own after the commit;
    one that does not return within ``sink_timeout`` fails its query, and hurts nobody else.

    >>> with Session(spark) as session:                                   # doctest: +SKIP
    ...     session.stream("purchases", df, event_time="time", lateness="2 seconds")
    ...     q = session.sql("SELECT window.start, COUNT(*) FROM purchases "
    ...                     "GROUP BY window(time, '10 seconds')")
    ...     session.start()
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        checkpoint: str | None = None,
        sharing: Literal["auto", "off"] = "auto",
        clock: Clock | None = None,
        trigger: str = "0 seconds",
        policy: str = "default",
        concurrency: int | None = None,
        patience: str = "30 seconds",
        state_bytes: int | None = None,
        fsync: bool = False,
        sink_timeout: str = "60 seconds",
    ) -> None:
        if sharing not in ("auto", "off"):
            raise QueryError(f"sharing is {sharing!r}", choices=("'auto'", "'off'"))
        check_session(checkpoint, clock, trigger, concurrency)
        self._spark = spark
        self._sharing = sharing
        self._clock = clock or SystemClock()
        self._temporary = None if checkpoint is not None else tempfile.mkdtemp(prefix="headrace-")
        folder = str(checkpoint) if checkpoint is not None else str(self._temporary)
        self._checkpoint = Checkpoint(Store(folder, sync=fsync), SystemClock())
        self._gate = Gate(
            policy_named(policy),
            self._checked(concurrency),
            self._clock,
            used_memory=MemoryGauge(
                spark.sparkContext,
                lambda: [s.source for s in self._streams.values() if s.source is not None],
                lambda: sum(p.state.state_bytes for p in list(self._pipelines.values())),
                state_bytes,
            ).read,
            patience_s=duration_us(patience) / 1e6,
        )
        self._neighbours = Neighbours(lambda: list(self._pipelines.values()))
        self._analyzer = SparkAnalyzer(spark)
        self._templates = Templates()
        self._streams: dict[str, Stream] = {}
        self._pipelines: dict[str, Pipeline] = {}
        self._joins: dict[str, JoinPipeline] = {}
        self._meters: dict[str, Meter] = {}
        self._listeners = Listeners()
        self._around = Surroundings(
            spark,
            self._clock,
            self._gate,
            self._listeners,
            self._checkpoint.owned,
            trigger,
            duration_us(sink_timeout) / 1e6,
        )
        self._past_us: dict[str, int] = {}
        self._setting = Setting(self._analyzer.time_zone, self._analyzer.ansi)
        self._roster = Roster(self._checkpoint.first_uid, self._setting.time_zone)
        self._lock = OrderedLock("session")
        self._started = self._closed = False
        self._ticker: threading.Thread | None = None
        self._stop_ticking = threading.Event()
        self._closing = threading.RLock()
        """Whoever closes a session that is being closed waits for that, except inside of it."""

    # -- declaring ----------------------------------------------------------------------------

    def stream(
        self,
        name: str,
        source: DataFrame | ArrowSource,
        *,
        event_time: str,
        lateness: str = "0 seconds",
        idle_after: str = "30 seconds",
        max_ahead: str | None = "1 day",
        partition: str | None = None,
        late_sink: str | SinkFunction | None = None,
        late_options: Mapping[str, Any] | None = None,
        upstream: Upstream | None = None,
        progress: str = "aion",
    ) -> None:
        """Declare a stream before `start`: any streaming DataFrame, or an Arrow source.

        Queries call it ``name`` (letters, digits and _). ``source`` is where its tuples come from,
        ``event_time`` its column with the event time, a timestamp. Raises QueryError for a name
        that is taken, a DataFrame that does not stream, or a column that is not there.

        ``lateness`` is how far the watermark stays behind the highest event time. A partition that
        is silent for ``idle_after`` no longer holds it back; ``partition`` names the column that
        tells partitions of a DataFrame apart. A tuple more than ``max_ahead`` ahead of the clock
        and of the stream is set aside and counted. Tuples too late for a window go to
        ``late_sink``, a callable or a Spark writer format with ``late_options``, at least once.

        If the tuples are the results of another session's query, ``upstream`` names that session
        and the query. The two sessions then tell each other when windows will be out and what the
        rest of the work costs. The event time must be the end of that query's windows.

        ``progress`` is how windows are closed for approximate queries whose hint does not say it:
        ``aion``, ``k-slack``, ``aq-k-slack`` or ``lateness``.
        """
        self._check_open()
        check_stream_name(name)
        check_kind("event_time", event_time, str, "the name of a column")
        check_kind("upstream", upstream, (Upstream, type(None)), "hr.Upstream(…)")
        with self._lock:
            if name.lower() in (s.lower() for s in self._streams):
                raise QueryError(f"stream {name!r} is declared already")
            if self._started:
                raise QueryError("streams are declared before session.start()")
            declared = Stream.declare(
                name,
                source,
                event_time=event_time,
                lateness=lateness,
                idle_after=idle_after,
                max_ahead=max_ahead,
                partition=partition,
                late_sink=None if late_sink is None else self._late_sink(late_sink, late_options),
                upstream=upstream,
                progress=progress,
            )
            if declared.late_sink is not None:
                outputs = [Output(c.name, c.type, "key") for c in declared.schema.columns]
                declared.late_sink.check(outputs, f"late tuples of {name}")
            if upstream is not None:
                self._neighbours.subscribe(upstream)
            self._analyzer.declare(name, declared.struct)
            self._streams[name] = declared
            if self._sharing == "auto":
                self._pipeline(name, declared, name)

    def sql(
        self,
        text: str,
        *,
        name: str | None = None,
        sink: str | SinkFunction = "memory",
        options: Mapping[str, Any] | None = None,
        partial_first: bool = False,
    ) -> Query:
        """Run the query that ``text`` says, in Spark's SQL, and return its handle at once.

        Called before `start`, the query sees the stream from its first tuple; later, from its
        effective start (`Query.await_active`). ``name`` must not be that of a running query,
        unless a checkpoint has restored one with the same text and kind of sink: then that one is
        returned. Without a name it gets one.

        ``sink`` is ``memory`` (read with `Query.results`), ``parquet`` (needs ``path``),
        ``digest`` (counts and sums rows), a callable ``f(table)`` or ``f(table, transaction)``, or
        a Spark writer format; ``options`` are the sink's. ``partial_first=True`` also emits the
        windows that began before the effective start, marked by a column ``partial``.

        Raises QueryError, with the place in the text and the valid choices, before anything runs.
        """
        self._check_open()
        requested_at = time.monotonic()
        check_asked(text, name, options)
        # Before the lock: Spark may take its time over a text, and nobody else should.
        label = name or self._roster.free_name()
        target = sink_of(self._spark, self._checkpoint.id, sink, options)
        logical = self._read(label, text)
        target.check(logical.outputs, label)
        if partial_first and logical.window is None:
            raise QueryError("a selection has no first window", query=label)
        if partial_first and logical.join is not None:
            raise QueryError("a join has no first window in part", query=label)
        if partial_first and logical.accuracy is not None:
            raise QueryError(
                "a first window in part cannot be approximated",
                query=label,
                choices=("leave out partial_first", "or the hint APPROX"),
            )
        with self._lock:
            self._check_open()
            label = name or self._roster.free_name()
            self._know_sketches(logical)
            claimed = self._roster.claimed(label, logical, target)
            if claimed is not None:
                return claimed
            if self._sharing == "auto":
                for stream in logical.streams:
                    failure = self._pipelines[stream].failure
                    if failure:
                        raise ExecutionError(f"query {label!r} cannot run: {failure}")
            query = self._roster.admit(
                label, logical, target, partial_first=partial_first, requested_at=requested_at
            )
            if not self._started:
                self._roster.wait(query)
                return query
            pipeline = self._pipeline_for(query)
        pipeline.create(query)
        return query

    # -- running ------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to read the streams; returns at once. A session is started once.

        Queries of the checkpoint are restored here. Raises ExecutionError, with what to do, where
        it does not fit; the session is closed then.
        """
        self._check_open()
        try:
            with self._lock:
                if self._started:
                    raise QueryError("the session is started already")
                if not self._streams:
                    raise QueryError("there is no stream to read", choices=("session.stream(…)",))
                self._started = True
                self._begin()
        except BaseException:
            if self._started and self._ticker is None:
                self.close()
            raise

    def _begin(self) -> None:
        streams = {n: StreamRecord.of(s.schema) for n, s in self._streams.items()}
        zone, ansi = self._setting.time_zone, self._setting.ansi
        self._checkpoint.admit(SessionRecord(zone, ansi, self._sharing, streams))
        self._restore()
        self._checkpoint.begun()
        for pipeline in self._every():
            pipeline.start()
        self._ticker = threading.Thread(target=self._tick, name="headrace-tick", daemon=True)
        self._ticker.start()

    def process_all_available(self) -> None:
        """Wait until all that the sources hold now is processed and the windows it closes are out.

        For tests and bounded inputs. Raises ExecutionError when a stream has failed.
        """
        self._check_open()
        if not self._started:
            raise QueryError("the session is not started", choices=("session.start()",))
        for pipeline in self._every():
            pipeline.process_all_available()

    def close(self) -> None:
        """Stop reading after the running batches and end all waiting; the checkpoint stays. Safe to
        call again, and from several threads: each returns when all is over.

        Queries of a session with a checkpoint go on when it is opened again.
        """
        with self._closing:
            if self._closed:
                return
            with self._lock:
                self._closed = True
            self._wind_up()

    def _wind_up(self) -> None:
        self._stop_ticking.set()
        if self._ticker is not None:
            self._ticker.join()
        self._neighbours.close()
        self._gate.close()
        for pipeline in reversed(self._every()):
            pipeline.close()
        for query in self.queries:
            query.closed(resumes=self._temporary is None and self._started)
        self._listeners.drain(_CLOSE_S)
        self._listeners.close()
        self._checkpoint.release()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def queries(self) -> tuple[Query, ...]:
        """Queries of this session, oldest first; of those that have ended, the last 1,000."""
        return self._roster.queries

    def on_output(self, listener: Callable[[pa.Table], object]) -> None:
        """Call `listener` whenever results were delivered, with one row per query and window.

        Columns: query, window_start, window_end, rows, and for the digest sink checksum and
        event_time, the largest value of the column that its option ``event_time`` names. Called on
        the driver, by a thread of its own, after the results are committed; a crash in between may
        swallow what it would have heard. If the listener raises, that is logged, and everything
        else goes on.
        """
        self._check_open()
        if not callable(listener):
            raise QueryError(f"a listener must be a callable, not {listener!r}")
        self._listeners.add(listener)

    def schedule(self, policy: str, *, concurrency: int | None = None) -> None:
        """Order pipelines by another ``policy`` from now on, at most ``concurrency`` batches at a
        time.

        Without ``concurrency`` the default is taken, not the number given before.
        """
        self._check_open()
        self._gate.change(policy_named(policy), self._checked(concurrency))

    def publish(self, key: bytes, address: Address = ("127.0.0.1", 0)) -> Address:
        """Listen for sessions that read this one's results, and tell them when windows will be out.

        Returns the address to give to `Upstream`. ``address`` is (host, port); port 0 takes a free
        one. Both sides must have the same secret ``key``.
        """
        self._check_open()
        check_kind("key", key, bytes, "a secret, as bytes")
        return self._neighbours.publish(address, key)

    def forward(self, enabled: bool) -> None:
        """Switch the exchange with other sessions on or off (``enabled``); it is on at first.

        While it is off, what they tell is not used and they are told nothing.
        """
        self._check_open()
        self._neighbours.enabled = enabled

    def explain(self) -> str:
        """A text for people: the scheduler's last decisions with their reasons, and of every
        pipeline its reader, lane, groups, classes, slices and state."""
        schedule = explain_schedule(self.metrics(), self.decisions)
        return "\n".join([schedule, *(p.explain() for p in self._every())])

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The last 200 decisions of the scheduler, oldest first, each with the snapshot it was made
        from and a reason for every pipeline. With the policy ``default`` there are none."""
        return tuple(self._gate.decisions)

    def metrics(self) -> SessionMetrics:
        """Counters of all pipelines as of their last commit; never waits for a batch."""
        joins = sum(len(j.registry.active) for j in list(self._joins.values()))
        return session_metrics(
            list(self._meters.values()),
            self.queries,
            self._roster.forgotten,
            self._gate.metrics(),
            joins,
        )

    # -- inside -------------------------------------------------------------------------------

    def _read(self, label: str, text: str) -> LogicalQuery:
        schemas: dict[str, StreamSchema] = {n: s.schema for n, s in list(self._streams.items())}
        try:
            query = self._templates.parse(text, schemas, self._analyzer)
            if query.join is not None and self._sharing == "off":
                raise UnsupportedQuery("joins are not run without sharing yet")
            return query
        except QueryError as error:
            raise error.named(label) from error

    def _know_sketches(self, logical: LogicalQuery) -> None:
        """What estimates of distinct counts need is asked for once one is wanted."""
        if self._setting.hll is None and any(
            a.function is Function.APPROX_COUNT_DISTINCT for a in logical.aggregates
        ):
            self._setting = Setting(
                self._setting.time_zone, self._setting.ansi, self._analyzer.hll_tables()
            )
            for pipeline in self._every():
                pipeline.setting = self._setting

    def _every(self) -> list[Pipeline | JoinPipeline]:
        """All pipelines; joins come after the streams that they read."""
        return [*list(self._pipelines.values()), *list(self._joins.values())]

    def _join_of(self, streams: Iterable[str]) -> JoinPipeline:
        """The pipeline that joins some streams."""
        names = sorted(set(streams))
        name = "+".join(names)
        if name not in self._joins:
            store = self._checkpoint.store.sub("joins", name)
            fed = {n: self._pipelines[n] for n in names}
            self._joins[name] = JoinPipeline(name, fed, store, self._setting, self._around)
        return self._joins[name]

    def _pipeline(self, name: str, stream: Stream, *folders: str) -> Pipeline:
        store = self._checkpoint.store.sub("streams", *folders)
        pipeline = Pipeline(name, stream, store, self._setting, self._around)
        self._neighbours.introduce(pipeline)
        self._meters[name] = Meter(pipeline)
        self._pipelines[name] = pipeline
        return pipeline

    def _pipeline_for(self, query: Query) -> Pipeline | JoinPipeline:
        """The pipeline that runs a query; without sharing, a new one."""
        if query.logical.join is not None:
            join = self._join_of(query.logical.streams)
            if join.status == "declared":
                join.restore(self._roster.remake(join, self._read_again))
                if self._ticker is not None:
                    join.start()
            query.attached(join)
            return join
        stream = query.logical.stream
        if self._sharing == "auto":
            pipeline = self._pipelines[stream]
        else:
            number = str(int(query.uid))
            pipeline = self._pipeline(f"{stream}.{number}", self._streams[stream], stream, number)
            pipeline.restore(self._roster.remake(pipeline, self._read_again))
            if self._ticker is not None:
                pipeline.start_after(self._highest_us(stream))
                pipeline.start()
        query.attached(pipeline)
        return pipeline

    def _highest_us(self, stream: str) -> int:
        """How far any pipeline of the stream has come, so that all begin alike."""
        mine = [p for n, p in self._pipelines.items() if n.split(".")[0] == stream]
        past = self._past_us.get(stream, BEGINNING)
        return max([past, *(p.state.highest_us for p in mine)])

    def _retire(self, pipeline: Pipeline) -> None:
        """Without sharing, a query that has ended takes its pipeline with it."""
        pipeline.close(for_good=True)
        stream, number = pipeline.name.split(".")
        self._checkpoint.bury(stream, number)
        with self._lock:
            self._past_us[stream] = self._highest_us(stream)
            del self._pipelines[pipeline.name], self._meters[pipeline.name]

    def _restore(self) -> None:
        """Load what the checkpoint has, and add what was asked for since."""
        if self._sharing == "off":
            for name, stream in self._streams.items():
                for number in self._checkpoint.alone(name):
                    self._pipeline(f"{name}.{number}", stream, name, number)
        for pipeline in list(self._pipelines.values()):
            pipeline.restore(self._roster.remake(pipeline, self._read_again))
            for query in self._roster.asked:
                if query.has_ended and query.uid in pipeline.registry.active:
                    pipeline.request_stop(query)
            if self._sharing == "off" and not pipeline.registry.active:
                pipeline.close(for_good=True)
                self._checkpoint.bury(*pipeline.name.split("."))
                del self._pipelines[pipeline.name], self._meters[pipeline.name]
        self._restore_joins()
        for query in self._roster.started():
            self._pipeline_for(query).create(query)

    def _restore_joins(self) -> None:
        """Once their streams are restored. What feeds a join that nobody knows was half-made when
        the process died, or is left of one that has ended."""
        for name in self._checkpoint.store.sub("joins").folders():
            streams = name.split("+")
            if all(s in self._pipelines for s in streams):
                join = self._join_of(streams)
                join.restore(self._roster.remake(join, self._read_again))
                for query in self._roster.asked:
                    if query.has_ended and query.uid in join.registry.active:
                        join.request_stop(query)
        fed = {uid for join in self._joins.values() for uid in join.fed_by}
        for pipeline in self._pipelines.values():
            for uid in pipeline.feeds:
                if uid not in fed:
                    pipeline.starve(uid)

    def _read_again(self, record: QueryRecord) -> tuple[LogicalQuery, Sink]:
        """A query of the checkpoint."""
        logical = self._read(record.name, record.text)
        self._know_sketches(logical)
        return logical, restored_sink(self._spark, self._checkpoint.id, record.sink)

    def _tick(self) -> None:
        while not self._stop_ticking.wait(_TICK_S):
            for pipeline in self._every():
                try:
                    if isinstance(pipeline, JoinPipeline):
                        pipeline.watch()
                    else:
                        self._look_after(pipeline)
                except Exception as error:
                    # What happens to one pipeline ends no other.
                    what = f"{pipeline.what} {pipeline.name!r}"
                    log.error("%s failed between batches", what, exc_info=True)
                    pipeline.fail(error)

    def _look_after(self, pipeline: Pipeline) -> None:
        """About once a second: see what became due, and what became of it."""
        meter = self._meters.get(pipeline.name)
        if meter is not None:
            meter.sample()
        pipeline.watch()
        if self._sharing == "off" and pipeline.has_ended:
            self._retire(pipeline)
        if pipeline.is_running:
            pipeline.nudge()
            pipeline.tick()

    def _late_sink(self, sink: str | SinkFunction, options: Mapping[str, Any] | None) -> Sink:
        """Where late tuples go: handed over by the driver, whatever it is."""
        made = sink_of(self._spark, self._checkpoint.id, sink, options)
        return made if made.place == "outbox" else WriterSink(made.options, made.kind, self._spark)

    def _checked(self, concurrency: int | None) -> int:
        """So many batches at a time; if nothing else is said, one more than there are cores: for
        a part of its time a batch waits for Spark's own logs and schedulers."""
        if concurrency is None:
            return max(int(self._spark.sparkContext.defaultParallelism), 1) + 1
        if concurrency < 1:
            raise QueryError(f"concurrency is {concurrency}", choices=("1 or more",))
        return concurrency

    def _check_open(self) -> None:
        if self._closed:
            raise ExecutionError("the session is closed")
