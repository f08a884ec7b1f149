"""The slow, obvious twin: what every query must have emitted, computed by DuckDB.

`Watermark` follows the stream's progress step by step. `Reference` keeps every accepted tuple with
the watermark from before its batch; a tuple counts for a window if the window's end lies after
that. Time windows are listed and joined with the tuples; sessions are grown tuple by tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tests.oracle.aggregates import MACROS
from tests.oracle.queries import RandomQuery
from tests.oracle.workload import IDLE_AFTER_S

BEGINNING = -(2**62)
HOUR_US = 3_600_000_000


@dataclass(slots=True)
class Watermark:
    """The lowest over partitions of (highest event time − lateness); idle ones do not count."""

    partitions: int
    lateness_us: int
    began_s: float = 0.0
    now_s: float = field(init=False)
    value_us: int = BEGINNING
    highest_us: dict[int, int] = field(default_factory=dict)
    heard_s: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now_s = self.began_s

    @property
    def newest_us(self) -> int:
        """The highest event time of all."""
        return max(self.highest_us.values(), default=BEGINNING)

    def heard(self, partition: int, times_us: Sequence[int]) -> None:
        """A partition has spoken."""
        before = self.highest_us.get(partition, BEGINNING)
        self.highest_us[partition] = max([before, *times_us])
        self.heard_s[partition] = self.now_s

    def update(self) -> None:
        """At the end of a batch, or when time has passed."""
        awake = [
            self.highest_us.get(p, BEGINNING)
            for p in range(self.partitions)
            if self.now_s - self.heard_s.get(p, self.began_s) < IDLE_AFTER_S
        ] or [self.newest_us]
        if min(awake) > BEGINNING:
            self.value_us = max(self.value_us, min(awake) - self.lateness_us)


@dataclass(frozen=True, slots=True)
class Life:
    """What of the stream a query answers for."""

    since_us: int
    until_us: int
    """The effective end of a stopped query, else the final watermark."""
    from_batch: int = 0
    to_batch: int = 2**31
    partial_first: bool = False


class Reference:
    """Everything that was pushed, as DuckDB sees it."""

    def __init__(
        self, partitions: int, lateness_s: int, *, bounded: bool = False, began_s: float = 0.0
    ) -> None:
        self.watermark = Watermark(partitions, lateness_s * 1_000_000, began_s)
        self.batch = 0
        self._bounded = bounded
        self._tables: list[pa.Table] = []
        self._connection: duckdb.DuckDBPyConnection | None = None

    def pass_time(self, seconds: float) -> None:
        """The wall clock moves on."""
        self.watermark.now_s += seconds
        self.watermark.update()

    def push(self, tables: dict[int, pa.Table]) -> None:
        """One micro-batch; tuples without time or from the far future are no part of the stream."""
        before, newest = self.watermark.value_us, self.watermark.newest_us
        for partition, table in tables.items():
            times = table.column("time").cast(pa.int64())
            kept = pc.is_valid(times)
            if self._bounded and newest > BEGINNING:
                bound = max(newest, int(self.watermark.now_s * 1e6)) + HOUR_US
                kept = pc.and_kleene(kept, pc.less_equal(times, bound))
            accepted = table.filter(kept)
            stamps = accepted.column("time").cast(pa.int64())
            if accepted.num_rows:
                self.watermark.heard(partition, stamps.to_pylist())
            rows = accepted.num_rows
            self._tables.append(
                accepted.append_column("time_us", stamps)
                .append_column("arrived_at", pa.array([before] * rows, pa.int64()))
                .append_column("batch", pa.array([self.batch] * rows, pa.int32()))
            )
        self.batch += 1
        self.watermark.update()

    # -- answers ------------------------------------------------------------------------------

    def connect(self) -> duckdb.DuckDBPyConnection:
        """The tuples in DuckDB, with times as plain UTC timestamps."""
        if self._connection is None:
            tuples = pa.concat_tables(self._tables)
            for name in ("time", "ts"):
                place = tuples.schema.get_field_index(name)
                naive = tuples.column(name).cast(pa.timestamp("us"))
                tuples = tuples.set_column(place, name, naive)
            self._connection = duckdb.connect()
            for macro in MACROS:
                self._connection.execute(macro)
            self._connection.register("pushed", tuples)
            self._connection.execute("CREATE TABLE tuples AS SELECT * FROM pushed")
        return self._connection

    def answer(self, query: RandomQuery, life: Life) -> list[tuple[Any, ...]]:
        """Every row the query must have emitted; in order within a window if it asks for one."""
        return self.connect().execute(self.sql_of(query, life)).fetchall()

    def sql_of(self, query: RandomQuery, life: Life) -> str:
        """The reference's own statement."""
        listed = [c.sql.duck for c in query.columns]
        where = f"WHERE {query.where.duck}" if query.where is not None else ""
        if query.kind == "selection":
            seen = f"time_us >= {life.since_us} AND batch >= {life.from_batch}"
            seen += f" AND batch < {life.to_batch}"
            return f"SELECT {', '.join(listed)} FROM (SELECT * FROM tuples WHERE {seen}) {where}"
        if life.partial_first:
            listed.append(f"w_start < make_timestamp({life.since_us})")
        if query.kind == "session":
            source = self._sessions(query, life)
        else:
            source = self._windows(query, life)
        keys = [k.duck for k in query.keys]
        text = f"SELECT {', '.join(listed)} FROM ({source}) {where}"
        text += f" GROUP BY {', '.join(['w_start', 'w_end', *keys])}"
        if query.having is not None:
            text += f" HAVING {query.having.duck}"
        if query.order:
            order = ", ".join(o.duck for o in query.order)
            rank = f"row_number() OVER (PARTITION BY w_start, w_end ORDER BY {order})"
            if query.limit is not None:
                text += f" QUALIFY {rank} <= {query.limit}"
            text += f" ORDER BY w_start, w_end, {order}"
        return text

    def late_tuples(self, query: RandomQuery, life: Life) -> int:
        """Tuples that a query wants and that came after the end of a window they belong to."""
        where = f"AND ({query.where.duck})" if query.where is not None else ""
        if query.kind == "selection":
            return 0
        if query.kind == "session":
            late = f"time_us + {query.gap_us} <= arrived_at"
        else:
            size, slide, offset = (
                n * 1000 for n in (query.size_ms, query.slide_ms, query.offset_ms)
            )
            # The first window that holds a tuple is the one that ends first.
            behind = f"(((time_us - {offset + size}) % {slide}) + {slide}) % {slide}"
            late = f"time_us - {behind} + {slide} <= arrived_at"
        seen = f"time_us >= {life.since_us} AND batch >= {life.from_batch}"
        seen += f" AND batch < {life.to_batch}"
        found = self.connect().execute(
            f"SELECT count(*) FROM tuples WHERE {late} AND {seen} {where}"
        )
        return int(found.fetchall()[0][0])

    def _windows(self, query: RandomQuery, life: Life) -> str:
        size, slide, offset = (n * 1000 for n in (query.size_ms, query.slide_ms, query.offset_ms))
        low = f"(SELECT min(time_us) // {slide} - {size // slide + 2} FROM tuples)"
        high = f"(SELECT max(time_us) // {slide} + 2 FROM tuples)"
        inside = f"begins + {size} <= {life.until_us}"
        begun = f"begins >= {life.since_us}"
        if life.partial_first:
            begun = f"begins + {size} > {life.since_us}"
        return (
            f"WITH windows AS (SELECT n * {slide} + {offset} AS begins "
            f"FROM generate_series({low}, {high}) AS g(n)) "
            f"SELECT tuples.*, make_timestamp(begins) AS w_start, "
            f"make_timestamp(begins + {size}) AS w_end FROM tuples JOIN windows "
            f"ON time_us >= begins AND time_us < begins + {size} "
            f"AND begins + {size} > arrived_at "
            f"WHERE {inside} AND {begun} AND time_us >= {life.since_us}"
        )

    def _sessions(self, query: RandomQuery, life: Life) -> str:
        """Sessions as a table of (id of the tuple, start, end), beside the tuples."""
        connection = self.connect()
        where = f"AND ({query.where.duck})" if query.where is not None else ""
        keys = "".join(f", {k.duck}" for k in query.keys)
        rows = connection.execute(
            f"SELECT batch, arrived_at, rowid, time_us{keys} FROM tuples "
            f"WHERE time_us >= {life.since_us} {where} ORDER BY batch"
        ).fetchall()
        found = _grown(rows, query.gap_us, life.until_us)
        connection.execute(
            "CREATE OR REPLACE TABLE sessions (of_tuple BIGINT, w_first BIGINT, w_last BIGINT)"
        )
        if found:
            columns = [pa.array(c) for c in zip(*found, strict=True)]
            connection.register("grown", pa.table(columns, ["a", "b", "c"]))
            connection.execute("INSERT INTO sessions SELECT * FROM grown")
        return (
            "SELECT tuples.*, make_timestamp(w_first) AS w_start, make_timestamp(w_last) AS w_end "
            "FROM tuples JOIN sessions ON tuples.rowid = of_tuple"
        )


@dataclass(slots=True)
class _Session:
    first: int
    last: int
    tuples: list[int]


def _grown(
    rows: Sequence[tuple[Any, ...]], gap_us: int, until_us: int
) -> list[tuple[int, int, int]]:
    """Sessions per key, batch by batch; one that was emitted is never joined again."""
    open_: dict[tuple[Any, ...], list[_Session]] = {}
    closed: list[_Session] = []
    for _, watermark, rowid, time_us, *values in rows:
        held = open_.setdefault(tuple(values), [])
        over = [s for s in held if s.last + gap_us <= watermark]
        closed += over
        held = [s for s in held if s not in over]
        if time_us + gap_us > watermark:
            merged = _Session(time_us, time_us, [rowid])
            apart = []
            for session in held:
                near = (
                    session.first <= merged.last + gap_us and merged.first <= session.last + gap_us
                )
                if not near:
                    apart.append(session)
                    continue
                merged.first = min(merged.first, session.first)
                merged.last = max(merged.last, session.last)
                merged.tuples += session.tuples
            held = [*apart, merged]
        open_[tuple(values)] = held
    closed += [s for held in open_.values() for s in held]
    return [
        (rowid, s.first, s.last + gap_us)
        for s in closed
        if s.last + gap_us <= until_us
        for rowid in s.tuples
    ]
