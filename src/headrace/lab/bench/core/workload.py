"""AStream's workload: a key of 1,000 values, five random fields, random windowed queries."""

from __future__ import annotations

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr

START_US = 1_700_000_000_000_000
OPERATORS = ("=", "<", ">", "<=", ">=")


@dataclass(frozen=True)
class ManyFields(hr.sources.RandomFields):
    """The same with as many random fields as one likes."""

    count: int = 40

    def fields(
        self, rng: np.random.Generator, number: np.ndarray, rows: int
    ) -> dict[str, pa.Array]:
        """The key, and ``f0`` to the last."""
        drawn = rng.integers(0, self.field_max, (self.count, rows), dtype=np.int32)
        key = pa.array((number % self.keys).astype(np.int32))
        return {"key": key, **{f"f{i}": pa.array(drawn[i]) for i in range(self.count)}}


@dataclass(frozen=True)
class Workload:
    """Parameters in one place. ``event_rate`` is tuples per second of event time."""

    seed: int = 11
    keys: int = 1_000
    field_max: int = 1_000
    window_max_s: int = 8
    event_rate: int = 1_000_000
    fields: int = 5

    def table(self, first: int, rows: int) -> pa.Table:
        """Tuples `first` … `first + rows - 1`, in the order of their event time."""
        rng = np.random.default_rng([self.seed, first])
        number = first + np.arange(rows)
        stamps = START_US + number * 1_000_000 // self.event_rate
        fields = rng.integers(0, self.field_max, (self.fields, rows), dtype=np.int32)
        return pa.table(
            {
                "key": (number % self.keys).astype(np.int32),
                **{f"f{i}": fields[i] for i in range(self.fields)},
                "time": pa.array(stamps).view(pa.timestamp("us", "UTC")),
            }
        )

    def write(self, folder: Path, first: int, rows: int, files: int) -> list[Path]:
        """Write a stretch of the stream as parquet files of equal size."""
        folder.mkdir(parents=True, exist_ok=True)
        size = rows // files
        paths = []
        for number in range(files):
            path = folder / f"{first + number * size:012d}.parquet"
            pq.write_table(self.table(first + number * size, size), path, compression="snappy")
            paths.append(path)
        return paths

    def write_by_spark(
        self, spark: Any, folder: Path, first: int, rows: int, files: int
    ) -> list[Path]:
        """The same stretch in files of the same names, as Spark writes them if nobody says how."""
        paths = self.write(folder / "given", first, rows, files)
        for path in paths:
            made = folder / "made"
            spark.read.parquet(str(path)).coalesce(1).write.parquet(str(made))
            (written,) = made.glob("*.parquet")
            written.rename(folder / path.name)
            shutil.rmtree(made)
        shutil.rmtree(folder / "given")
        return [folder / path.name for path in paths]

    def queries(self, count: int) -> list[str]:
        """AStream's template (fig. 4.8): SUM of a field, one random comparison, random window."""
        rng = random.Random(self.seed)
        return [
            self._query(rng, self._comparison(rng), "key", "SUM(f0) AS a0") for _ in range(count)
        ]

    def mixed(self, count: int) -> list[str]:
        """AND/OR over one to three columns, four different keys, three aggregates each."""
        rng = random.Random(self.seed + 1)
        functions = ("SUM", "AVG", "MIN", "MAX", "COUNT")
        out = []
        for number in range(count):
            columns = rng.sample(range(5), rng.randint(1, 3))
            parts = [self._comparison(rng, c, ranges_only=True) for c in columns]
            where = f" {rng.choice(('AND', 'OR'))} ".join(parts)
            key = ("key", "f1", "f2", "f3")[number % 4]
            chosen = rng.sample(functions, 3)
            asked = ", ".join(
                f"{f}({'*' if f == 'COUNT' else f'f{rng.randint(0, 4)}'}) AS a{n}"
                for n, f in enumerate(chosen)
            )
            out.append(self._query(rng, where, key, asked))
        return out

    def wide(self, columns: int) -> str:
        """One query with a comparison of each of many columns: some with AND, these with OR."""
        rng = random.Random(self.seed + columns)
        parts = [self._comparison(rng, c, ranges_only=True) for c in range(columns)]
        terms = []
        while parts:
            size = rng.randint(2, 5)
            terms.append(" AND ".join(parts[:size]))
            parts = parts[size:]
        return self._query(rng, "(" + ") OR (".join(terms) + ")", "key", "SUM(f0) AS a0")

    def _comparison(
        self, rng: random.Random, column: int | None = None, *, ranges_only: bool = False
    ) -> str:
        field = rng.randint(0, 4) if column is None else column
        operator = rng.choice(OPERATORS[1:] if ranges_only else OPERATORS)
        return f"f{field} {operator} {rng.randint(0, self.field_max - 1)}"

    def _query(self, rng: random.Random, where: str, key: str, aggregates: str) -> str:
        size = rng.randint(1, self.window_max_s)
        slide = rng.randint(1, size)
        return (
            f"SELECT window.start AS start, {key} AS k, {aggregates} FROM s WHERE {where} "
            f"GROUP BY window(time, '{size} seconds', '{slide} seconds'), {key}"
        )
