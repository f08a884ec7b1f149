"""Finds the queries whose expressions raise, so that they fail alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.query.logical import LogicalQuery
from headrace.query.needs import column_name, expressions_of
from headrace.query.plan import derived_name
from headrace.query.predicate import truths_of
from headrace.spark.ingest.file_scan import Batch
from headrace.spark.ingest.job import Ingest


def find_culprits(
    job: Ingest, batch: Batch, queries: Sequence[LogicalQuery], error: Exception
) -> dict[int, str]:
    """Numbers of the queries that raise on this batch, with Spark's reason.

    One job tries every derived column; those that raise are asked for the reason one by one. When
    none raises by itself and a single query runs in Catalyst, that query's aggregation raised.
    """
    derived = dict(job.plan.derived)
    raising = _raising(job, batch, sorted(derived), derived) if derived else {}
    found: dict[int, str] = {}
    for number, query in enumerate(queries):
        for name in _columns_of(query):
            if name in raising:
                found.setdefault(number, raising[name])
    if not found and job.plan.lane == "catalyst" and _reads_alone(job, batch):
        found[0] = reason_of(error)
    return found


def _columns_of(query: LogicalQuery) -> set[str]:
    names = {column_name(e) for e in expressions_of(query)}
    return names | {derived_name(t) for t in truths_of(query.where)}


def _raising(
    job: Ingest, batch: Batch, names: list[str], derived: dict[str, str]
) -> dict[str, str]:
    if len(names) == 1:
        reason = _reason(job, batch, names[0], derived)
        return {} if reason is None else {names[0]: reason}
    try:
        tried = job.tried(batch, {n: derived[n] for n in names})
    except Exception:
        # Spark evaluates a few expressions while it plans: not even to try them is possible.
        half = len(names) // 2
        first = _raising(job, batch, names[:half], derived)
        return first | _raising(job, batch, names[half:], derived)
    reasons = {n: _reason(job, batch, n, derived) for n in tried}
    return {n: reason for n, reason in reasons.items() if reason is not None}


def _reason(job: Ingest, batch: Batch, name: str, derived: dict[str, str]) -> str | None:
    """Why a column raises; None if it does not."""
    try:
        job.evaluate(batch, derived[name])
    except Exception as error:
        return reason_of(error)
    return None


def _reads_alone(job: Ingest, batch: Batch) -> bool:
    """Whether the batch itself can be read."""
    try:
        nothing = replace(job.plan, groups=(), selectors=(), derived={})
        replace(job, plan=nothing).run(batch.without_files())
    except Exception:
        return False
    return True


def reason_of(error: Exception) -> str:
    """Spark's own words: the bracketed error class and its message; or what Python raised."""
    lines = str(error).splitlines()
    for line in lines:
        at = line.find("[")
        if at >= 0 and "]" in line[at:] and line[at + 1 : at + 2].isupper():
            return line[at:].split(" SQLSTATE")[0].strip()
    if "Traceback (most recent call last):" in lines:
        after = lines[lines.index("Traceback (most recent call last):") + 1 :]
        raised = [line for line in after if line and not line.startswith(" ")]
        lines = raised or lines
    return lines[0] if lines else type(error).__name__
