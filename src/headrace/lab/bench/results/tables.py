"""Records as HTML tables: every run in one, every search in another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from headrace.lab.bench.results.records import NOTHING, Record, is_lower_bound, label, value


def seconds(found: Any) -> str:
    """A latency to the millisecond."""
    return NOTHING if found is None else f"{found:,.3f}"


def whole(found: Any) -> str:
    """A number without a fraction."""
    return NOTHING if found is None else f"{found:,.0f}"


def hundredths(found: Any) -> str:
    """A number with two digits after the point."""
    return NOTHING if found is None else f"{found:,.2f}"


@dataclass(frozen=True)
class Column:
    """A figure of a run: where it stands in the record, and how it is written."""

    group: str
    title: str
    path: tuple[str, ...]
    text: Callable[[Any], str]


_DRIVER = ("settings", "driver")


def _columns() -> tuple[Column, ...]:
    columns = [
        Column("events/s", "offered", ("rate",), whole),
        Column("events/s", "taken", ("summary", "taken_per_s"), whole),
        Column("events/s", "over all queries", ("summary", "overall_per_s"), whole),
    ]
    latencies = (
        ("event-time latency (s)", "event_time_latency_s", "avg min p50 p90 p95 p99 max"),
        ("processing-time (s)", "processing_time_latency_s", "p50 p99"),
        ("deployment (s)", "deployment_latency_s", "p50 p99"),
    )
    for group, name, figures in latencies:
        columns += [Column(group, f, ("summary", name, f), seconds) for f in figures.split()]
    return (
        *columns,
        Column("deployment (s)", "changes/s", ("summary", "queries_per_s"), hundredths),
        Column("system", "CPU cores, avg", ("summary", "cpu_cores", "avg"), hundredths),
        Column("system", "memory MB, max", ("summary", "memory_mb", "max"), whole),
        Column("driver", "made/s", ("driver", "made_per_s"), whole),
        Column("driver", "one core makes/s", (*_DRIVER, "one_core_makes_per_s"), whole),
        Column("driver", "behind (s)", ("driver", "behind_s"), seconds),
    )


COLUMNS = _columns()
_NAMED = ("workload", "system", "queries")
_LEFT = {"workload", "system", "sustained?", "repeats", "reason", "ended"}
"""Columns of words rather than numbers."""


@dataclass(frozen=True)
class Row:
    """A run, the number of its record on the page, and a word on where it comes from."""

    number: int
    run: Record
    note: str = ""


def runs_table(rows: Sequence[Row]) -> str:
    """All runs; those that count first, the others below with what happened to them."""
    good = [r for r in rows if r.run["end"] == "complete"]
    bad = [r for r in rows if r.run["end"] != "complete"]
    body = "".join(map(_run_row, good))
    if bad:
        width = 2 + len(_NAMED) + len(COLUMNS)
        body += (
            f'</tbody><tbody class="bad"><tr><th class="rule" colspan="{width}" scope="rowgroup">'
            "<span>Not to be compared with the runs above: void, failed or interrupted</span>"
            f"</th></tr>{''.join(map(_run_row, bad))}"
        )
    return _scrolling(f"<table><thead>{_head()}</thead><tbody>{body}</tbody></table>")


def _head() -> str:
    first = _titles(("#", *_NAMED, "sustained?"), ' rowspan="2"')
    groups: dict[str, int] = {}
    for column in COLUMNS:
        groups[column.group] = groups.get(column.group, 0) + 1
    second = "".join(
        f'<th colspan="{count}" scope="colgroup" class="start">{escape(group)}</th>'
        for group, count in groups.items()
    )
    third = "".join(f'<th scope="col"{_start(c)}>{escape(c.title)}</th>' for c in COLUMNS)
    return f"<tr>{first}{second}</tr><tr>{third}</tr>"


def _titles(titles: Sequence[str], more: str = "") -> str:
    """A row of column titles."""
    left = {t: ' class="words"' if t in _LEFT else "" for t in titles}
    return "".join(f'<th scope="col"{left[t]}{more}>{t}</th>' for t in titles)


def _start(column: Column) -> str:
    """Marks the first column of a group."""
    first = next(c for c in COLUMNS if c.group == column.group)
    return ' class="start"' if first is column else ""


def _run_row(row: Row) -> str:
    run = row.run
    note = f" <small>{escape(row.note)}</small>" if row.note else ""
    cells = "".join(f"<td{_start(c)}>{c.text(value(run, *c.path))}</td>" for c in COLUMNS)
    return (
        f'<tr><td><a href="#record-{row.number}">{row.number}</a></td>'
        f'<th scope="row">{escape(str(run["workload"]))}</th>'
        f"<th>{escape(str(run['sut']))}{note}</th><td>{run['queries']:,}</td>"
        f'<td class="words">{_verdict(run)}</td>{cells}</tr>'
    )


def _verdict(run: Record) -> str:
    """Whether the rate was held, or how the run ended instead."""
    if run["end"] != "complete":
        return ended(run)
    held, reason = value(run, "verdict", "sustained"), value(run, "verdict", "reason")
    if held is None:
        return NOTHING
    if held:
        return "yes"
    return f"<strong>no</strong> <small>{escape(str(reason or ''))}</small>"


def ended(record: Record) -> str:
    """How a record ended, with the reason."""
    reason = str(record.get("reason") or "no reason given")
    return f"<strong>{escape(record['end'])}</strong> <small>{escape(reason)}</small>"


def searches_table(searches: Sequence[tuple[int, Record]]) -> str:
    """The sustainable rates."""
    good = [s for s in searches if s[1]["end"] == "complete"]
    bad = [s for s in searches if s[1]["end"] != "complete"]
    rate, ends = "sustainable rate (events/s)", ("ended",) if bad else ()
    head = _titles(("#", *_NAMED, rate, "interval", "repeats", *ends))
    body = "".join(_search_row(*s) for s in good)
    if bad:
        body += f'</tbody><tbody class="bad">{"".join(_search_row(*s) for s in bad)}'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return _scrolling(table)


def _search_row(number: int, record: Record) -> str:
    low, high, sure, values = (
        value(record, "sustainable_rate", n) for n in ("low", "high", "confidence", "values")
    )
    interval = NOTHING
    if low is not None and high is not None:
        interval = f"{low:,.0f} … {high:,.0f}"
        interval += f" <small>({100 * sure:g} %)</small>" if sure is not None else ""
    repeats = ", ".join(whole(v) for v in values or ()) or NOTHING
    least = "at least " if is_lower_bound(record) else ""
    end = "" if record["end"] == "complete" else f'<td class="words">{ended(record)}</td>'
    return (
        f'<tr><td><a href="#record-{number}">{number}</a></td>'
        f'<th scope="row">{escape(str(record["workload"]))}</th>'
        f"<th>{escape(str(record['sut']))}</th><td>{record['queries']:,}</td>"
        f"<td>{least}<strong>{whole(value(record, 'sustainable_rate', 'mean'))}</strong></td>"
        f'<td>{interval}</td><td class="words">{repeats}</td>{end}</tr>'
    )


def tries_table(record: Record) -> str:
    """Every try of every search, folded away."""
    searches = record.get("searches") or []
    rows = "".join(
        f"<tr><td>{i}</td><td>{whole(t.get('rate'))}</td>"
        f"<td>{ {True: 'yes', False: 'no'}.get(t.get('sustained'), NOTHING) }</td>"
        f'<td>{whole(t.get("processed"))}</td><td class="words">{escape(str(t.get("reason")))}</td>'
        "</tr>"
        for i, search in enumerate(searches, 1)
        for t in search.get("tries") or []
    )
    if not rows:
        return ""
    head = _titles(("search", "offered/s", "held?", "taken/s", "reason"))
    return (
        f"<details><summary>Tries: {escape(label(record))}</summary>"
        f"{_scrolling(f'<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>')}"
        "</details>"
    )


def _scrolling(table: str) -> str:
    return f'<div class="wide" tabindex="0">{table}</div>'
