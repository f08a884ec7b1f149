"""All that outlives a process in tests that kill it: sources, a checkpoint, results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import headrace as hr
from tests.spark.helpers import SCHEMA, rows


@dataclass
class Kept:
    """A folder. Rows of results are (start, k, n)."""

    path: Path

    @property
    def checkpoint(self) -> str:
        """For a session."""
        return str(self.path / "checkpoint")

    def source(self, name: str) -> hr.testing.MemoryStream:
        """A stream whose tuples stay."""
        return hr.testing.MemoryStream(SCHEMA, path=self.path / name)

    def push_batch(self, name: str, number: int, seconds: Sequence[float]) -> None:
        """The batch of this number, once, whoever pushes it."""
        source = self.source(name)
        if source.latest_offsets((10**9,))[0] <= number:
            source.push([row for key in "ab" for row in rows(seconds, k=key)])

    def ask(self, session: hr.Session, name: str, text: str) -> None:
        """A query that writes files; the one of the name ``called`` has its sink on the driver."""
        if name == "called":
            session.sql(text, name=name, sink=self.call)
        else:
            out = {"path": str(self.path / "out" / name)}
            session.sql(text, name=name, sink="parquet", options=out)

    def call(self, table: pa.Table, txn: int) -> None:
        """A sink on the driver."""
        line = json.dumps([txn, _listed(table)])
        with (self.path / "calls").open("a") as out:
            out.write(line + "\n")

    def found(self, names: Iterable[str]) -> dict[str, list[Any]]:
        """What is there, by query; of the sink on the driver, repeats are told by their number."""
        found = {}
        for name in names:
            folder = self.path / "out" / name
            if any(folder.glob("*.parquet")):
                found[name] = _listed(pq.read_table(folder))
        calls = [json.loads(line) for line in (self.path / "calls").read_text().splitlines()]
        seen: dict[str, list[Any]] = {}
        for txn, told in calls:
            seen[f"{txn} {told[0][0]}"] = told
        found["called"] = sorted(row for told in seen.values() for row in told)
        return found


def _listed(table: pa.Table) -> list[Any]:
    return sorted([str(r["start"]), r["k"], r["n"]] for r in table.to_pylist())
