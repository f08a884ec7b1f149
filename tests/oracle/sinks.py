"""Where random queries put their results, and how these are read back."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import headrace as hr
from tests.oracle.queries import RandomQuery

Kind = Literal["memory", "parquet", "callable", "orc", "digest"]


@dataclass(frozen=True, slots=True)
class Place:
    """One query's sink; `folder` is its own."""

    kind: Kind
    folder: Path
    called: list[pa.Table] = field(default_factory=list)

    @property
    def arguments(self) -> dict[str, Any]:
        """For `session.sql`."""
        match self.kind:
            case "callable":
                return {"sink": self.called.append}
            case "parquet" | "orc":
                return {"sink": self.kind, "options": {"path": str(self.folder)}}
            case _:
                return {"sink": self.kind}

    @property
    def keeps_order(self) -> bool:
        """Whether rows of a window can be read back in the order they were given in."""
        return self.kind != "orc"

    def read(self, spark: SparkSession, query: hr.Query) -> pa.Table:
        """All that has come there."""
        match self.kind:
            case "memory":
                return query.collect()
            case "callable":
                tables = self.called
            case "parquet":
                tables = [pq.ParquetFile(p).read() for p in sorted(self.folder.glob("*.parquet"))]
            case "orc":
                found = any(self.folder.glob("*.orc"))
                tables = [spark.read.orc(str(self.folder)).toArrow()] if found else []
                tables = [t.cast(query.schema) for t in tables]
            case "digest":
                raise AssertionError("it keeps no rows")
        return pa.concat_tables(tables) if tables else query.schema.empty_table()


def any_place(rng: random.Random, query: RandomQuery, folder: Path) -> Place:
    """A sink of any kind that can hold the query's columns: files need names that differ."""
    kinds: tuple[Kind, ...] = ("memory", "callable", "digest", "parquet", "orc")
    names = {c.alias or c.sql.spark for c in query.columns}
    weights = (12, 6, 3, 12, 1) if len(names) == len(query.columns) else (12, 6, 3, 0, 0)
    return Place(rng.choices(kinds, weights)[0], folder)
