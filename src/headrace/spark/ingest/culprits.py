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

    Spark's error mostly quotes the derived column that raised: then that one is left out and the
    others are probed again. Otherwise they are probed by halves. When none raises by itself and
    a single query runs in Catalyst, that query's aggregation raised.
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
    found: dict[str, str] = {}
    while names:
        try:
            job.probe(batch, {n: derived[n] for n in names})
        except Exception as error:
            quoted = [n for n in names if f" AS {n}\n" in str(error)]
            if len(names) == 1 or len(quoted) == 1:
                (culprit,) = quoted if len(quoted) == 1 else names
                found[culprit] = reason_of(error)
                names = [n for n in names if n != culprit]
                continue
            half = len(names) // 2
            first = _raising(job, batch, names[:half], derived)
            return found | first | _raising(job, batch, names[half:], derived)
        break
    return found


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
