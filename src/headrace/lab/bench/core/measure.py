"""The measurements of `headrace bench core`, each a function that returns figures."""

from __future__ import annotations

import shutil
import statistics
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import psutil

import headrace as hr
from headrace.lab.bench.core import plain_spark
from headrace.lab.bench.core.workload import START_US, ManyFields, Workload

Writer = Literal["arrow", "spark"]
"""Of the files: timestamps of Arrow's are microseconds, those of Spark's by default INT96."""
START_S = START_US / 1e6


@dataclass(frozen=True)
class Figure:
    """One measured line: what, the value of each repeat, and what it must reach."""

    name: str
    values: list[float]
    unit: str
    target: float | None = None
    at_least: bool = True
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        """The middle of the repeats."""
        return statistics.median(self.values)

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        if self.target is None:
            return None
        return self.median >= self.target if self.at_least else self.median <= self.target

    def record(self) -> dict[str, Any]:
        """For the JSON file."""
        return {**asdict(self), "median": self.median, "reached": self.reached}


class Bench:
    """Holds Spark, scratch space and the workload."""

    def __init__(self, spark: Any, scratch: Path, workload: Workload, say: Any) -> None:
        self.spark = spark
        self.scratch = scratch
        self.workload = workload
        self.say = say

    # -- one side of a ratio ------------------------------------------------------------------

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        folder = self.scratch / f"run{time.time_ns()}"
        folder.mkdir(parents=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _source(self, folder: Path, files_per_batch: int) -> Any:
        fields = "".join(f", f{n} int" for n in range(self.workload.fields))
        return (
            self.spark.readStream.schema(f"key int{fields}, time timestamp")
            .option("maxFilesPerTrigger", files_per_batch)
            .parquet(str(folder))
        )

    def _write(self, folder: Path, first: int, rows: int, files: int, writer: Writer) -> list[Path]:
        if writer == "spark":
            return self.workload.write_by_spark(self.spark, folder, first, rows, files)
        return self.workload.write(folder, first, rows, files)

    def _timed(self, folder: Path, events: int, batches: int, run: Any, writer: Writer) -> float:
        """Seconds for the timed stretch; a first batch of the same size warms everything up."""
        per_batch = events // batches
        prepared = self._write(folder / "later", per_batch, events, batches * 4, writer)
        run.process_all_available()
        begun = time.perf_counter()
        for path in prepared:
            path.rename(folder / "in" / path.name)
        run.process_all_available()
        return time.perf_counter() - begun

    def headrace(
        self,
        queries: list[str],
        events: int,
        batches: int,
        *,
        sharing: str = "auto",
        writer: Writer = "arrow",
        fsync: bool = False,
    ) -> tuple[float, list[tuple[int, float]]]:
        """Events per second through a session on a file stream, and each query's digest."""
        with self._folder() as folder:
            self._write(folder / "in", 0, events // batches, 4, writer)
            with hr.Session(self.spark, sharing=sharing, fsync=fsync) as session:  # type: ignore[arg-type]
                session.stream("s", self._source(folder / "in", 4), event_time="time")
                handles = [
                    session.sql(q, name=f"q{n}", sink="digest") for n, q in enumerate(queries)
                ]
                session.start()
                seconds = self._timed(folder, events, batches, session, writer)
                digests = [(q.metrics().rows, q.metrics().checksum) for q in handles]
            return events / seconds, digests

    def plain(
        self, queries: list[str], events: int, batches: int, writer: Writer = "arrow"
    ) -> tuple[float, list[tuple[int, float]]]:
        """The same through plain Structured Streaming."""
        with self._folder() as folder:
            self._write(folder / "in", 0, events // batches, 4, writer)
            run = plain_spark.start(self.spark, self._source(folder / "in", 4), queries, folder)
            try:
                seconds = self._timed(folder, events, batches, run, writer)
                digests = run.digests()
            finally:
                run.stop()
            return events / seconds, digests

    # -- the lines ----------------------------------------------------------------------------

    def ratio(
        self,
        name: str,
        queries: list[str],
        target: float,
        *,
        events: int,
        batches: int = 4,
        repeats: int = 3,
        writer: Writer = "arrow",
    ) -> Figure:
        """Headrace over plain, alternating; both must have produced the same results."""
        ratios, ours, plains = [], [], []
        for number in range(repeats):
            fast, mine = self.headrace(queries, events, batches, writer=writer)
            slow, theirs = self.plain(queries, events, batches, writer)
            _same_results(mine, theirs)
            ours.append(fast)
            plains.append(slow)
            ratios.append(fast / slow)
            self.say(
                f"  {name}, repeat {number + 1}: headrace {fast:,.0f} ev/s, plain {slow:,.0f} ev/s"
            )
        return Figure(
            name, ratios, "×", target, details={"headrace_ev_s": ours, "plain_ev_s": plains}
        )

    def scale(self, many: int, *, events: int, batches: int, repeats: int) -> Figure:
        """Many queries over one query, both ours, on the same source."""
        one, thousand = self.workload.queries(1), self.workload.queries(many)
        alone, shared = [], []
        for number in range(repeats):
            alone.append(self.headrace(one, events, batches)[0])
            shared.append(self.headrace(thousand, events, batches)[0])
            self.say(
                f"  {many} queries, repeat {number + 1}: {shared[-1]:,.0f} ev/s, "
                f"one alone {alone[-1]:,.0f} ev/s"
            )
        ratios = [s / a for s, a in zip(shared, alone, strict=True)]
        details = {"many_ev_s": shared, "one_ev_s": alone}
        return Figure(f"{many} queries / our own 1-query figure", ratios, "×", 0.5, details=details)

    def wide(self, many: int, widths: Sequence[int], *, repeats: int) -> list[Figure]:
        """Time of a batch of many queries with wide ones beside them, over that without them: of
        tuples that come whole, and of files, of which only the columns asked for are decoded."""
        own = Bench(self.spark, self.scratch, replace(self.workload, fields=max(widths)), self.say)
        usual = own.workload.queries(many)
        sides = {"without": usual, "with": [*usual, *(own.workload.wide(w) for w in widths)]}
        columns = " and ".join(str(w) for w in widths)
        figures = []
        for what, batch in (("Arrow", 200_000), ("files", 200_000), ("files", 1_000_000)):
            told: dict[str, list[float]] = {side: [] for side in sides}
            for number in range(repeats):
                for side in list(sides)[:: 1 - 2 * (number % 2)]:
                    speed = own._batches(what, sides[side], batch)
                    told[side].append(batch / speed * 1_000)
                self.say(f"  {what}, {batch:,} a batch, repeat {number + 1}: {_last(told, 'ms')}")
            ratios = [w / o for w, o in zip(told["with"], told["without"], strict=True)]
            name = f"{many} queries beside two of {columns} columns / without, {what}, {batch:,}"
            details = {f"{side}_ms": values for side, values in told.items()}
            figures.append(Figure(name, ratios, "×", 1.1, at_least=False, details=details))
        return figures

    def _batches(self, what: str, queries: list[str], batch: int) -> float:
        """Events per second in batches of a size."""
        if what == "files":
            return self.headrace(queries, batch * 12, 12)[0]
        source = ManyFields(
            rate=None, rows_per_batch=batch, start_s=START_S, count=self.workload.fields
        )
        return self._flat_out(queries, 12.0, source=source)[0]

    def fsync(self, many: int, *, events: int, batches: int, repeats: int) -> Figure:
        """With every record and file of the checkpoint flushed to the disk, over without."""
        queries = self.workload.queries(many)
        told: dict[str, list[float]] = {"off": [], "on": []}
        for number in range(repeats):
            for side in list(told)[:: 1 - 2 * (number % 2)]:
                speed, _ = self.headrace(queries, events, batches, fsync=side == "on")
                told[side].append(speed)
            self.say(f"  fsync, repeat {number + 1}: " + _last(told, "ev/s"))
        ratios = [a / b for a, b in zip(told["on"], told["off"], strict=True)]
        details = {f"{side}_ev_s": values for side, values in told.items()}
        return Figure(f"{many} queries, fsync on / off", ratios, "×", details=details)

    def held(self, many: int, rate: int, seconds: float) -> Figure:
        """A fixed, open-loop rate from an Arrow source: does the engine keep up with it?

        The value is the rate at which tuples were processed in the second half of the run; the lag
        behind the generator at half time and at the end says whether it was held.
        """
        source = hr.sources.RandomFields(rate=float(rate), partitions=2)
        with hr.Session(self.spark) as session:
            session.stream("s", source, event_time="time")
            handles = [
                session.sql(q, name=f"q{n}", sink="digest")
                for n, q in enumerate(self.workload.queries(many))
            ]
            session.start()
            samples = list(self._watch(session, source, seconds))
            rows = sum(q.metrics().rows for q in handles)
            latency = statistics.median(
                q.metrics().event_time_latency_ms or 0.0 for q in handles[: min(many, 100)]
            )
        half = [s for s in samples if s["at_s"] >= seconds / 2]
        processed = (half[-1]["tuples"] - half[0]["tuples"]) / (half[-1]["at_s"] - half[0]["at_s"])
        name = f"{many} queries, Arrow source, {rate:,} ev/s offered: processed"
        return Figure(
            name,
            [processed],
            "ev/s",
            float(rate) * 0.98,
            details={
                "lag_events_half": half[0]["lag"],
                "lag_events_end": half[-1]["lag"],
                "rows_out": rows,
                "event_time_latency_ms": latency,
                "samples": samples,
            },
        )

    def fastest(self, many: int, seconds: float) -> Figure:
        """As fast as the engine takes tuples from an Arrow source."""
        speed, samples, rows = self._flat_out(self.workload.queries(many), seconds)
        return Figure(
            f"{many} queries, Arrow source, as fast as it goes",
            [speed],
            "ev/s",
            1_000_000.0,
            details={"rows_out": rows, "samples": samples},
        )

    def beside(self, many: int, more: int, *, seconds: float, repeats: int) -> Figure:
        """Exact queries with a few approximate ones beside them, over as many exact ones more."""
        texts = self.workload.queries(many + more)
        hint = "SELECT /*+ APPROX(error => 0.05) */"
        asked = [t.replace("SELECT", hint, 1) for t in texts[many:]]
        queries = {
            "exact": texts,
            "approximate": [*texts[:many], *asked],
            "alone": texts[:many],
        }
        sides: dict[str, list[float]] = {side: [] for side in queries}
        for number in range(repeats):
            # There and back, so that a machine that slows down or warms up is fair to all.
            for side in list(queries)[:: 1 - 2 * (number % 2)]:
                sides[side].append(self._flat_out(queries[side], seconds, "2 seconds")[0])
            told = ", ".join(f"{side} {speeds[-1]:,.0f} ev/s" for side, speeds in sides.items())
            self.say(f"  {many} + {more} queries, repeat {number + 1}: {told}")
        ratios = [a / e for a, e in zip(sides["approximate"], sides["exact"], strict=True)]
        name = f"{many} exact and {more} approximate queries / {many + more} exact"
        return Figure(name, ratios, "×", 0.95, details={f"{s}_ev_s": v for s, v in sides.items()})

    def _flat_out(
        self,
        texts: list[str],
        seconds: float,
        lateness: str = "0 seconds",
        source: hr.sources.Generator | None = None,
    ) -> tuple[float, list[dict[str, float]], int]:
        """Events per second over the second half, samples of the run, and rows that came out."""
        source = source or hr.sources.RandomFields(
            rate=None,
            partitions=2,
            rows_per_batch=2_000_000,
            event_rate=1_000_000.0,
            start_s=START_S,
        )
        with hr.Session(self.spark) as session:
            session.stream("s", source, event_time="time", lateness=lateness)
            for n, text in enumerate(texts):
                session.sql(text, name=f"q{n}", sink="digest")
            session.start()
            samples = list(self._watch(session, None, seconds))
            rows = session.metrics().rows
        half = [s for s in samples if s["at_s"] >= seconds / 2]
        speed = (half[-1]["tuples"] - half[0]["tuples"]) / (half[-1]["at_s"] - half[0]["at_s"])
        return speed, samples, rows

    def _watch(self, session: Any, source: Any, seconds: float) -> Iterator[dict[str, float]]:
        """One sample a second."""
        begun = time.perf_counter()
        pause = threading.Event()
        while (at := time.perf_counter() - begun) < seconds:
            metrics = session.metrics()
            offered = 0.0 if source is None else (time.time() - source.start_s) * source.rate
            yield {
                "at_s": at,
                "tuples": metrics.tuples,
                "lag": max(offered - metrics.tuples, 0.0),
                "state_bytes": metrics.state_bytes,
                "driver_mb": memory_mb(),
                "batches": metrics.batches,
            }
            pause.wait(1.0)

    def deployment(self, before: int, more: int, rate: int) -> Figure:
        """Micro-batches until all of `more` queries, created at once, are effective."""
        source = hr.sources.RandomFields(rate=float(rate), partitions=2)
        texts = self.workload.queries(before + more)
        with hr.Session(self.spark) as session:
            session.stream("s", source, event_time="time")
            for n, q in enumerate(texts[:before]):
                session.sql(q, name=f"q{n}", sink="digest")
            session.start()
            while session.metrics().batches < 5:
                threading.Event().wait(0.1)
            first = session.metrics().batches
            begun = time.perf_counter()
            late = [
                session.sql(q, name=f"q{before + n}", sink="digest")
                for n, q in enumerate(texts[before:])
            ]
            asked = time.perf_counter() - begun
            for query in late:
                query.await_active(60)
            seconds = time.perf_counter() - begun
            batches = session.metrics().batches - first
        return Figure(
            f"{before} active, {more} more at once: all effective within",
            [float(batches)],
            "micro-batches",
            2.0,
            at_least=False,
            details={"seconds": seconds, "seconds_to_ask": asked},
        )

    def soak(self, many: int, rate: int, seconds: float) -> list[Figure]:
        """State and driver memory at a constant rate and constant queries: growth per minute."""
        source = hr.sources.RandomFields(rate=float(rate), partitions=2)
        with hr.Session(self.spark) as session:
            session.stream("s", source, event_time="time")
            for n, q in enumerate(self.workload.queries(many)):
                session.sql(q, name=f"q{n}", sink="digest")
            session.start()
            samples = list(self._watch(session, source, seconds))
        figures = []
        for what, unit in (("state_bytes", "bytes"), ("driver_mb", "MB")):
            warm = [s for s in samples if s["at_s"] > seconds * 0.4]
            middle = len(warm) // 2
            early = statistics.median(s[what] for s in warm[:middle])
            later = statistics.median(s[what] for s in warm[middle:])
            growth = later / max(early, 1.0) - 1.0
            figures.append(
                Figure(
                    f"{what} over {seconds / 60:.0f} min: growth between later halves",
                    [growth * 100.0],
                    "%",
                    5.0,
                    at_least=False,
                    details={"early": early, "later": later, "unit": unit, "samples": samples},
                )
            )
        return figures


def _last(sides: Mapping[str, Sequence[float]], unit: str) -> str:
    return ", ".join(f"{side} {values[-1]:,.0f} {unit}" for side, values in sides.items())


def _same_results(mine: list[tuple[int, float]], theirs: list[tuple[int, float]]) -> None:
    for number, ((rows, total), (other_rows, other_total)) in enumerate(
        zip(mine, theirs, strict=True)
    ):
        close = abs(total - other_total) <= 1e-6 * max(abs(total), 1.0)
        if rows != other_rows or not close:
            raise AssertionError(
                f"query {number}: {rows} rows with sum {total}, "
                f"plain Spark has {other_rows} with {other_total}"
            )


def memory_mb() -> float:
    """Resident memory of the driver: this process and its JVM."""
    me = psutil.Process()
    total: float = me.memory_info().rss
    for child in me.children(recursive=True):
        try:
            if "java" in child.name():
                total += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6
