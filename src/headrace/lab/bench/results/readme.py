"""The README's table, made from records and put between two marks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import headrace as hr
from headrace.lab.bench.results.records import NOTHING, Record, is_lower_bound, value

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
_BASELINE = "plain-spark"


def put_into(readme: Path, records: Sequence[Record]) -> None:
    """Replace what is between the marks."""
    text = readme.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise hr.HeadraceError(f"{readme} lacks the marks {BEGIN} and {END}, each once")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    readme.write_text(f"{before}{BEGIN}\n{tables(records)}\n{END}{after}", encoding="utf-8")


def tables(records: Sequence[Record]) -> str:
    """Sustainable rates by the number of queries, and queries that come and go."""
    searches = {
        (r["queries"], r["sut"]): r
        for r in records
        if r["kind"] == "sustain" and r.get("sustainable_rate")
    }
    lines = list(_sustained(searches))
    changing = [r for r in records if r["kind"] == "run" and value(r, "summary", _DEPLOYED)]
    if changing:
        lines += ["", *_changing(changing)]
    return "\n".join(lines)


_DEPLOYED, _LATENCY = "deployment_latency_s", "event_time_latency_s"


def _sustained(searches: Mapping[tuple[int, str], Record]) -> Iterator[str]:
    yield "| queries | Headrace holds | p50, p99 at 90 % | plain Spark holds | p50, p99 at 90 % |"
    yield "|---|---|---|---|---|"
    for count in sorted({queries for queries, _ in searches}):
        ours, theirs = searches.get((count, "headrace")), searches.get((count, _BASELINE))
        cells = [f"{count:,}", *_cells(ours), *_cells(theirs)]
        yield f"| {' | '.join(cells)} |"


def _cells(record: Record | None) -> tuple[str, str]:
    if record is None:
        return NOTHING, NOTHING
    found = record["sustainable_rate"]
    spread = f" ({big(found['low'])} … {big(found['high'])})" if found.get("low") else ""
    if not found["mean"]:
        return "nothing that was tried", NOTHING
    least = "at least " if is_lower_bound(record) else ""
    return f"{least}{big(found['mean'])} events/s{spread}", _latency(record)


def _latency(record: Record) -> str:
    """At 90 % of the rate that is held; a search that was not confirmed has it only at 100 %."""
    at_90, at_100 = (value(record, at, "summary", _LATENCY) for at in ("at_90", "at_100"))
    return f"{seconds(at_100)} at 100 %" if at_100 and not at_90 else seconds(at_90)


def _changing(records: Sequence[Record]) -> Iterator[str]:
    yield "| queries that come and go | at | effective after | changes/s | results after |"
    yield "|---|---|---|---|---|"
    for record in records:
        summary = record["summary"]
        scenario = value(record, "settings", "workload", "title") or record["workload"]
        per_second = f"{summary['queries_per_s']:,.1f}" if summary["queries_per_s"] else NOTHING
        yield (
            f"| {scenario} | {big(record['rate'])} events/s | {seconds(summary[_DEPLOYED])} "
            f"| {per_second} | {seconds(summary[_LATENCY])} |"
        )


def seconds(statistics: Mapping[str, float] | None) -> str:
    """Median and 99th percentile."""
    if statistics is None:
        return NOTHING
    return f"{statistics['p50']:.2f} s, {statistics['p99']:.2f} s"


def big(number: float) -> str:
    """A number as people say it: 7.6 k, 3.88 M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"
