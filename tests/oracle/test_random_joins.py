"""Random joins over random streams, created and stopped at random times, against Spark in batch."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import MemoryStream
from tests.amounts import seeds
from tests.spark.helpers import at
from tests.spark.test_joins import LATER_S, SCHEMAS, Rows, expected, plain, random_rows

pytestmark = pytest.mark.spark

NUMBERS = {"a": ["k", "x"], "b": ["k"], "c": ["z"]}
TEXTS = {"a": ["g"], "b": ["h"], "c": ["h"]}
VALUES = {"a": ["x", "k"], "b": ["y", "k"], "c": ["z"]}
WINDOWS = ["'8 seconds', '4 seconds'", "'5 seconds'", "'12 seconds', '4 seconds'", "'3 seconds'"]
CONDITIONS = {
    "a": ["{0}x > -3", "{0}x BETWEEN -4 AND 6", "{0}g = 'p' OR {0}x < 0", "{0}k IS NOT NULL"],
    "b": ["{0}y > 0", "{0}k <> 2", "{0}h IN ('p', 'q')", "{0}y IS NULL OR {0}k > 0"],
    "c": ["{0}z > 1", "{0}h <> 'r'", "{0}z IS NULL OR {0}z < 4"],
}
AGGREGATES = ["SUM({0})", "COUNT({0})", "AVG({0})", "MIN({0})", "MAX({0})", "VAR_POP({0})",
              "COUNT(DISTINCT {0})"]  # fmt: skip
KINDS = ["JOIN"] * 6 + ["LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN"]
LATENESS_S = 5.0


def random_join(rng: random.Random) -> str:
    """A text whose first two columns are the start and the end of the window."""
    kind = rng.choice(KINDS)
    streams = [rng.choice("abc") for _ in range(rng.choice([2, 2, 3, 4]) if kind == "JOIN" else 2)]
    window = rng.choice(WINDOWS)
    sides = []
    for n, stream in enumerate(streams):
        where = rng.choice(["TRUE", "TRUE", rng.choice(CONDITIONS[stream]).format("")])
        sides.append(f"(SELECT *, window(time, {window}) AS w FROM {stream} WHERE {where}) t{n}")
    text = sides[0]
    for n in range(1, len(streams)):
        text += f" {kind} {sides[n]} ON t{n}.w = t{rng.randrange(n)}.w"
        for _ in range(rng.choice([1, 1, 1, 2])):
            text += f" AND {equality(rng, streams, n)}"
        if kind != "JOIN" and rng.random() < 0.4:
            side = rng.randrange(2)
            text += f" AND ({rng.choice(CONDITIONS[streams[side]]).format(f't{side}.')})"
    shown = [0] if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN") else list(range(len(streams)))
    w = {"RIGHT JOIN": "t1.w", "FULL JOIN": "coalesce(t0.w, t1.w)"}.get(kind, "t0.w")
    if rng.random() < 0.3:
        side = rng.choice(shown)
        text += f" WHERE {rng.choice(CONDITIONS[streams[side]]).format(f't{side}.')}"

    def columns(kinds: dict[str, list[str]]) -> list[str]:
        return [f"t{n}.{c}" for n in shown for c in kinds[streams[n]]]

    keys = [*columns(NUMBERS), *columns(TEXTS)]
    if rng.random() < 0.3:
        some = rng.sample(keys, min(len(keys), 2)) + rng.sample(columns(VALUES), 1)
        return f"SELECT {w}.start, {w}.end, {', '.join(some)} FROM {text}"
    some = rng.sample(keys, rng.choice([0, 1, 1, 2]) if len(keys) > 1 else 1)
    values = columns(VALUES)
    asked = [rng.choice(AGGREGATES).format(rng.choice(values)) for _ in range(3)] + ["COUNT(*)"]
    having = " HAVING COUNT(*) > 1" if rng.random() < 0.2 else ""
    return (
        f"SELECT {w}.start, {w}.end, {', '.join([*some, *asked])} FROM {text} "
        f"GROUP BY {', '.join([w, *some])}{having}"
    )


def equality(rng: random.Random, streams: list[str], n: int) -> str:
    """Of a column of a side with one of a side before it."""
    other = rng.randrange(n)
    kinds = NUMBERS if rng.random() < 0.7 or "c" not in streams else TEXTS
    mine, theirs = rng.choice(kinds[streams[n]]), rng.choice(kinds[streams[other]])
    sign = "<=>" if rng.random() < 0.15 else "="
    return f"t{other}.{theirs} {sign} t{n}.{mine}"


@dataclass
class Asked:
    """A query, and its life once it is known."""

    text: str
    query: hr.Query
    since: dt.datetime | None = None
    until: dt.datetime | None = None

    def rows(self, every: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Those of windows that lie wholly in its life."""
        return [
            r
            for r in every
            if (self.since is None or plain(r[0]) >= self.since)
            and (self.until is None or plain(r[1]) <= self.until)
        ]


@dataclass
class Scenario:
    """Streams that come apart and out of order, and queries that come and go."""

    spark: SparkSession
    rng: random.Random
    data: dict[str, Rows] = field(init=False)
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = {name: random_rows(self.rng, name, 70) for name in SCHEMAS}

    def run(self, queries: int) -> None:
        rng, texts = self.rng, [random_join(self.rng) for _ in range(queries)]
        streams = {name: MemoryStream(SCHEMAS[name]) for name in SCHEMAS}
        left = {
            name: sorted(some, key=lambda r: r["time"].timestamp() + rng.uniform(0, LATENESS_S))
            for name, some in self.data.items()
        }
        with hr.Session(self.spark) as session:
            for name, stream in streams.items():
                session.stream(name, stream, event_time="time", lateness=f"{LATENESS_S} seconds")
            for text in texts[: queries // 2]:
                self._ask(session, text)
            session.start()
            later = texts[queries // 2 :]
            while any(left.values()):
                for name in rng.sample(list(left), rng.choice([1, 2, 3])):
                    size = rng.randint(3, 25)
                    if left[name]:
                        streams[name].push(left[name][:size])
                        left[name] = left[name][size:]
                if rng.random() < 0.7:
                    session.process_all_available()
                if later and rng.random() < 0.6:
                    one = self._ask(session, later.pop())
                    if one is not None:
                        one.since = one.query.await_active(120)
                running = [a for a in self.asked if a.until is None]
                if running and rng.random() < 0.2:
                    one = rng.choice(running)
                    one.until = one.query.stop()
            session.process_all_available()
            for stream in streams.values():
                stream.push([{"time": at(LATER_S)}])
            session.process_all_available()
            failed = {a.text: a.query.error for a in self.asked if a.query.status == "failed"}
            assert not failed

    def _ask(self, session: hr.Session, text: str) -> Asked | None:
        try:
            self.asked.append(Asked(text, session.sql(text)))
        except hr.QueryError as error:
            if "over columns of several streams" in str(error) or "NULL where" in str(error):
                return None
            raise
        return self.asked[-1]


@pytest.mark.parametrize("seed", seeds(3, 40))
def test_random_joins_are_what_spark_gives_in_batch(
    spark: SparkSession, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headrace.sql.judge.JOINS", True)
    scenario = Scenario(spark, random.Random(seed))
    scenario.run(12)
    assert len(scenario.asked) >= 6
    for one in scenario.asked:
        table = one.query.collect()
        columns = [c.to_pylist() for c in table.columns]
        found = Counter(tuple(plain(v) for v in row) for row in zip(*columns, strict=True))
        wanted = one.rows(expected(spark, scenario.data, one.text))
        assert found == Counter(tuple(plain(v) for v in row) for row in wanted), one.text
