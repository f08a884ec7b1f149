"""Changelog records, and the registry they lead to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.optimizer import Statistics
from headrace.registry.changelog import ActiveQuery, Registry
from headrace.spark.pipeline.plans import PlanEntry
from headrace.spark.query import Query
from headrace.types import QueryUid, Version

MakeQuery = Callable[[Mapping[str, Any]], Query]


def created_record(query: Query, since_us: int) -> dict[str, Any]:
    """A query as a changelog keeps it: all that is needed to parse and run it again."""
    return {
        "uid": int(query.uid),
        "name": query.name,
        "text": query.logical.text,
        "sink": query.sink.record(),
        "partial_first": query.partial_first,
        "since_us": since_us,
    }


def snapshot_record(entry: PlanEntry, queries: Mapping[int, Query]) -> dict[str, Any]:
    """All that is active in a version, as one changelog that begins anew."""
    ordered = sorted(entry.queries, key=lambda q: q.position)
    return {
        "version": int(entry.plan.version),
        "created": [created_record(queries[int(q.uid)], q.since_us) for q in ordered],
        "deleted": [],
        "statistics": [entry.statistics.tuples_per_slice, entry.statistics.keys],
    }


def deleted_record(query: Query, until_us: int, error: str | None) -> dict[str, Any]:
    """The end of a query."""
    return {"uid": int(query.uid), "until_us": until_us, "error": error}


def change_record(
    version: Version,
    statistics: Statistics,
    created: Sequence[Query],
    since_us: int,
    deleted: Mapping[Query, str | None],
    ends_us: Mapping[Query, int],
) -> dict[str, Any]:
    """One changelog; deleted queries come with the reason they failed, if any."""
    return {
        "version": int(version),
        "created": [created_record(q, since_us) for q in created],
        "deleted": [deleted_record(q, ends_us[q], e) for q, e in deleted.items()],
        "statistics": [statistics.tuples_per_slice, statistics.keys],
    }


@dataclass(frozen=True)
class Restored:
    """The registry after all changelogs, and the active queries at every version on the way."""

    registry: Registry
    statistics: Statistics
    queries: dict[int, Query]
    at: dict[int, tuple[list[ActiveQuery], Statistics]]


def restore_registry(changes: list[dict[str, Any]], make_query: MakeQuery) -> Restored:
    """Apply the changelogs again."""
    registry, statistics = Registry(), Statistics()
    queries: dict[int, Query] = {}
    at: dict[int, tuple[list[ActiveQuery], Statistics]] = {}
    for change in changes:
        statistics = Statistics(*change["statistics"])
        for record in change["created"]:
            queries[record["uid"]] = make_query(record)
        registry.apply(
            [
                (
                    QueryUid(r["uid"]),
                    r["name"],
                    queries[r["uid"]].logical,
                    r["since_us"],
                    r["partial_first"],
                )
                for r in change["created"]
            ],
            [QueryUid(r["uid"]) for r in change["deleted"]],
            Version(change["version"]),
        )
        registry.compact()
        at[change["version"]] = (list(registry.active.values()), statistics)
        for record in change["created"]:
            queries[record["uid"]].activated(record["since_us"])
        for record in change["deleted"]:
            queries[record["uid"]].ended(record["until_us"], record["error"])
    return Restored(registry, statistics, queries, at)
