"""Which records share a picture: its panels, the lines in each, and what the lines are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headrace.lab.bench.results.records import Record

FEW_LINES = 4
"""So many may share a panel even if they are measured under different conditions."""
MOST_LINES = 8
MOST_PANELS = 12


@dataclass(frozen=True)
class Line:
    """One record, under the name it has in the legend."""

    name: str
    record: Record


@dataclass(frozen=True)
class Panel:
    """One pair of axes."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Sheet:
    """All panels of a picture, and what a caption must say of them."""

    panels: tuple[Panel, ...]
    notes: tuple[str, ...]

    @property
    def crowded(self) -> bool:
        """Whether a panel has so many lines that each must be drawn plainly."""
        return max(len(panel.lines) for panel in self.panels) > FEW_LINES

    @property
    def names(self) -> list[str]:
        """The names of all lines, each once."""
        return list(dict.fromkeys(line.name for panel in self.panels for line in panel.lines))


def number(value: float) -> str:
    """A number as engineers write it: 500 k, 1.2 M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= 0.9995 * size:
            return f"{value / size:.3g}\N{NO-BREAK SPACE}{letter}"
    return f"{value:.3g}"


def _queries(record: Record) -> str:
    count = record["queries"]
    return f"{count:,} {'query' if count == 1 else 'queries'}"


_WORDS: dict[str, Callable[[Record], str]] = {
    "sut": lambda r: str(r["sut"]),
    "queries": _queries,
    "workload": lambda r: str(r["workload"]),
    "rate": lambda r: f"{number(r['rate'])}/s" if "rate" in r else "",
    "commit": lambda r: str(r.get("commit", "unknown")),
    "seed": lambda r: f"seed {r.get('seed')}",
}
"""What tells records apart, in the order in which names use it."""
_ALWAYS = ("sut", "queries", "workload")
_ORDER = ("workload", "queries", "rate")


def arrange(
    records: Sequence[Record], *, without: Sequence[str] = (), most: int = MOST_LINES
) -> Sheet:
    """Few records in one panel; more in a panel for each workload, number of queries, rate.

    What is in `without` differs along a line, so it tells no lines apart. No panel has more than
    `most` lines; the notes say what is left out.
    """
    words = {f: w for f, w in _WORDS.items() if f not in without}
    order = [f for f in _ORDER if f not in without]
    ways = [(), *dict.fromkeys((tuple(f for f in order if f != "rate"), tuple(order)))]
    groups: list[list[Record]] = []
    by: tuple[str, ...] = ()
    for by in ways:
        groups = _grouped(records, by)
        if max(map(len, groups), default=0) <= FEW_LINES:
            break
    varying = [f for f in words if len({words[f](r) for r in records}) > 1]
    used = _telling(groups, words)
    shown: list[Panel] = []
    known: set[str] = set()
    drawn = 0
    for group in groups[:MOST_PANELS]:
        lines: list[Line] = []
        for name, record in zip(_names(group, words, used), group, strict=True):
            if len(lines) == most or (name not in known and len(known) == MOST_LINES):
                continue
            known.add(name)
            lines.append(Line(name, record))
        alike = [f for f in by if f in varying]
        if lines:
            title = ", ".join(words[f](group[0]) for f in alike)
            shown.append(Panel(title, tuple(lines)))
            drawn += len(lines)
    constant = [f for f in _ORDER if f in words and f not in varying]
    notes = ["; ".join(_said(f, words[f](records[0])) for f in constant)] if constant else []
    if "rate" in varying and "rate" not in used and "rate" not in by:
        notes.append(f"Offered: {'; '.join(map(_offered, shown))}")
    if drawn < len(records):
        where = f" of the first {MOST_PANELS} panels" if len(groups) > MOST_PANELS else ""
        notes.append(f"{drawn} of {len(records)} lines are drawn: the first ones{where}")
    return Sheet(tuple(shown), tuple(notes))


def _said(field: str, word: str) -> str:
    return {"workload": f"Workload {word}", "rate": f"{word} offered"}.get(field, word)


def _offered(panel: Panel) -> str:
    where = f"{panel.title}: " if panel.title else ""
    return where + ", ".join(f"{ln.name} {_WORDS['rate'](ln.record)}" for ln in panel.lines)


def _grouped(records: Sequence[Record], by: Sequence[str]) -> list[list[Record]]:
    groups: dict[tuple[object, ...], list[Record]] = {}
    for record in records:
        groups.setdefault(tuple(record[f] for f in by), []).append(record)
    return [groups[key] for key in sorted(groups, key=lambda k: [(str(type(v)), v) for v in k])]


def _telling(
    groups: Sequence[Sequence[Record]], words: dict[str, Callable[[Record], str]]
) -> list[str]:
    """The fields that names need, so that lines of one panel differ where they can."""

    def same(fields: Sequence[str]) -> bool:
        names = [[tuple(words[f](r) for f in fields) for r in group] for group in groups]
        return any(len(set(n)) < len(n) for n in names)

    def differs(field: str) -> bool:
        return any(len({words[field](r) for r in group}) > 1 for group in groups)

    used = [f for f in words if f == "sut" or (f in _ALWAYS and differs(f))]
    for field in words:
        if field not in _ALWAYS and same(used) and differs(field):
            used.append(field)
    return used


def _names(
    group: Sequence[Record], words: dict[str, Callable[[Record], str]], used: Sequence[str]
) -> list[str]:
    names: list[str] = []
    for record in group:
        name = ", ".join(words[f](record) for f in used)
        if record["end"] != "complete":
            name += f" ({record['end']})"
        again = names.count(name) + sum(n.startswith(f"{name}, no. ") for n in names)
        names.append(f"{name}, no. {again + 1}" if again else name)
    return names
