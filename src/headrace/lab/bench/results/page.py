"""One page for records: what was measured, on what, the figures, the pictures, the settings."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import headrace as hr
from headrace.lab.bench.results import plots, tables
from headrace.lab.bench.results.records import NOTHING, Record, label, read, runs

PAGE = "report.html"
_DPI = 200
_OVER_TIME: tuple[tuple[str, str, Callable[[Sequence[Record]], Figure | None]], ...] = (
    ("latency-over-time", "Latency over time", plots.latency_over_time),
    ("latency-cdf", "Distribution of event-time latency", plots.latency_cdf),
    ("throughput-over-time", "Throughput over time", plots.throughput_over_time),
    ("queue-over-time", "Queue over time", plots.queue_over_time),
)


def make_report(paths: Sequence[Path], out: Path) -> list[Path]:
    """Write the page and its pictures into the folder `out`; the page is the first of the files."""
    if not paths:
        raise hr.HeadraceError("a report needs at least one record")
    read_from = [(read(path), path.name) for path in paths]
    read_from.sort(key=lambda r: (r[0]["workload"], r[0]["sut"], r[0]["queries"]))
    records, names = [r for r, _ in read_from], [n for _, n in read_from]
    out.mkdir(parents=True, exist_ok=True)
    files, sections = [], []
    for name, title, figure in _pictures(records):
        png = _png(figure)
        files.append(out / f"{name}.png")
        files[-1].write_bytes(png)
        sections.append(_picture(title, str(figure.get_label()), png))
    page = out / PAGE
    page.write_text(_page(records, names, sections), encoding="utf-8")
    return [page, *files]


def _pictures(records: Sequence[Record]) -> list[tuple[str, str, Figure]]:
    """File name, title and figure of everything there is to show."""
    alone = [r for r in records if r["kind"] == "run"]
    full = [r["at_100"] for r in records if r["kind"] == "sustain" and r.get("at_100")]
    every = [run for record in records for run in runs(record)]
    made = [
        (
            "sustainable-by-queries",
            "Sustainable throughput",
            plots.sustainable_by_queries(records),
        ),
        ("latency-by-rate", "Latency against rate", plots.latency_by_rate(every)),
    ]
    made += [(name, title, draw(alone)) for name, title, draw in _OVER_TIME]
    made += [
        (f"{name}-at-sustainable", f"{title}, at the sustainable rate", draw(full))
        for name, title, draw in _OVER_TIME
    ]
    return [(name, title, figure) for name, title, figure in made if figure is not None]


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_DPI, metadata={"Software": None})
    return buffer.getvalue()


def _picture(title: str, caption: str, png: bytes) -> str:
    data = base64.b64encode(png).decode()
    width = int.from_bytes(png[16:20], "big") // 2
    return (
        f'<figure><h3>{escape(title)}</h3><img width="{width}" alt="{escape(title)}" '
        f'src="data:image/png;base64,{data}"><figcaption>{escape(caption)}</figcaption></figure>'
    )


def _page(records: Sequence[Record], names: Sequence[str], pictures: Sequence[str]) -> str:
    workloads = ", ".join(dict.fromkeys(str(r["workload"]) for r in records))
    title = f"Benchmark report: {workloads}"
    searches = [(i, r) for i, r in enumerate(records, 1) if r["kind"] == "sustain"]
    rows = [
        tables.Row(i, run, _share(record, run))
        for i, record in enumerate(records, 1)
        for run in runs(record)
    ]
    parts = [f"<h1>{escape(title)}</h1>", _origin(records)]
    if searches:
        parts += ["<h2>Sustainable throughput</h2>", tables.searches_table(searches)]
        parts += [tables.tries_table(record) for _, record in searches]
    if rows:
        parts += ["<h2>Runs</h2>", tables.runs_table(rows), f'<p class="note">{_NOTE}</p>']
    if pictures:
        parts += ["<h2>Plots</h2>", *pictures]
    parts.append("<h2>Settings</h2>")
    parts += [_settings(i, r, n) for i, (r, n) in enumerate(zip(records, names, strict=True), 1)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_CSS}</style></head>\n<body><main>\n"
        + "\n".join(p for p in parts if p)
        + "\n</main></body></html>\n"
    )


def _share(record: Record, run: Record) -> str:
    """Which part of the sustainable rate a run within a search was offered."""
    if record["kind"] == "run":
        return ""
    return "at 100 %" if run is record.get("at_100") else "at 90 %"


def _origin(records: Sequence[Record]) -> str:
    """When, of which commit and on what; a warning where that differs."""
    times = sorted(str(r["at"]) for r in records if r.get("at"))
    when = " to ".join(dict.fromkeys(_time(t) for t in (times[:1] + times[-1:])))
    commits = list(dict.fromkeys(str(r.get("commit") or "unknown") for r in records))
    machines = list(dict.fromkeys(machine(r) for r in records))
    facts = {
        "measured": when or NOTHING,
        "commit": ", ".join(commits),
        "machine": "; ".join(machines),
        "records": str(len(records)),
    }
    listed = "".join(f"<dt>{k}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    differ = [
        word for word, all_ in (("commits", commits), ("machines", machines)) if len(all_) > 1
    ]
    warning = (
        f'<p class="warning">These records come from different {" and ".join(differ)}; the '
        "settings below say which.</p>"
        if differ
        else ""
    )
    return f"<dl>{listed}</dl>{warning}"


def _time(text: str) -> str:
    return text[:16].replace("T", " ") + (" UTC" if text.endswith(("+00:00", "Z")) else text[19:])


def machine(record: Record) -> str:
    """What a record was measured on, in one line."""
    found: dict[str, Any] = record.get("machine") or {}
    words = {"cores": "{} cores", "memory_gb": "{} GB", "python": "Python {}", "system": "{}"}
    known = [words.get(k, f"{k} {{}}").format(v) for k, v in found.items() if v is not None]
    return ", ".join(known) or "unknown machine"


def _settings(number: int, record: Record, name: str) -> str:
    """All that is needed to measure the record again."""
    keys = ("kind", "workload", "sut", "queries", "rate", "seconds", "seed", "commit", "at")
    facts = {"file": name, **{k: record[k] for k in keys if k in record}}
    facts["machine"] = machine(record)
    facts["end"] = ": ".join(str(record[k]) for k in ("end", "reason") if record.get(k))
    settings: dict[str, Any] = record.get("settings") or {}
    rows = "".join(
        f'<tr><th scope="row">{escape(k)}</th><td>{escape(_plain(v))}</td></tr>'
        for k, v in (*facts.items(), *settings.items())
    )
    return (
        f'<details id="record-{number}"><summary>{number}: {escape(label(record))}</summary>'
        f'<div class="wide" tabindex="0"><table class="settings">{rows}</table></div></details>'
    )


def _plain(found: Any) -> str:
    if found is None:
        return NOTHING
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


_NOTE = (
    "Latencies are in seconds and, as all figures, without the warm-up (the first quarter of a "
    "run). Behind: how late the driver made its latest event; a driver that falls behind makes a "
    "run void. – means that nothing was measured."
)

_CSS = """
:root { color-scheme: light dark; --ink: #1a1a1a; --paper: #fff; --faint: #666; --rule: #ddd;
  --shade: #f5f5f5; --alarm: #a33b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --paper: #16181a; --faint: #a0a0a0;
  --rule: #3a3d40; --shade: #202326; --alarm: #ff9d66; } }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 100rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 1rem 0 .5rem; } h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0 0 .4rem; }
a { color: inherit; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; }
dt { color: var(--faint); } dd { margin: 0; }
small, .note, figcaption { color: var(--faint); font-size: .85em; }
td small, th small { font-size: .92em; }
.warning, .bad strong { color: var(--alarm); }
.wide { overflow-x: auto; margin: .4rem 0; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .28rem .55rem; text-align: right; white-space: nowrap; vertical-align: top;
  border-bottom: 1px solid var(--rule); font-weight: normal; }
thead th { color: var(--faint); vertical-align: bottom; background: var(--paper); }
tbody th, .words, .settings td { text-align: left; }
thead th[scope=colgroup] { text-align: left; border-bottom: 0; padding-bottom: 0; }
.start { padding-left: 1.1rem; }
td.words { white-space: normal; min-width: 12rem; max-width: 20rem; }
tbody tr:hover td, tbody tr:hover th { background: var(--shade); }
.bad td, .bad th { color: var(--faint); } .bad .rule { text-align: left; padding-top: 1rem;
  color: var(--alarm); } .rule span { position: sticky; left: .55rem; }
.settings td { white-space: pre-wrap; } .settings th { color: var(--faint); }
figure { margin: 1.5rem 0 2.2rem; break-inside: avoid; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 4px; display: block; }
@media (prefers-color-scheme: dark) { img { padding: .5rem; box-sizing: border-box; } }
figcaption { max-width: 46rem; margin-top: .4rem; }
details { margin: .35rem 0; } summary { cursor: pointer; }
details:not([open]) > :not(summary) { display: none; }
@page { size: A4 landscape; margin: 12mm; }
@media print { :root { --ink: #000; --paper: #fff; --faint: #444; --rule: #bbb; --shade: #fff; }
  main { max-width: none; padding: 0; } .wide { overflow: visible; } body { font-size: 10pt; }
  table { font-size: 6.5pt; }
  tr { break-inside: avoid; } th, td { padding: .12rem .22rem; } thead th { white-space: normal; }
  h2 { break-after: avoid; }
  .start { padding-left: .4rem; } td.words { min-width: 0; max-width: 11rem; } }
"""
