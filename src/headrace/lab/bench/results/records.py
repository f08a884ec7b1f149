"""Records of runs and searches as JSON files: read, checked, written, named."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, cast

import numpy as np

import headrace as hr

Record = dict[str, Any]

FORMAT = 1
_MUST: dict[str, tuple[str, ...]] = {
    "run": ("workload", "sut", "queries", "rate", "seconds", "end", "summary"),
    "sustain": ("workload", "sut", "queries", "end", "sustainable_rate"),
    "alternate": ("workload", "sut", "queries", "rate", "end", "setting", "values", "rounds"),
}
"""The kinds of records, and what each must hold to be shown at all."""
KINDS = tuple(_MUST)
ENDS = ("complete", "interrupted", "void", "failed")
NOTHING = "–"
"""What stands where nothing was measured."""
_SERIES = ("series", "outputs", "requests")
_RUNS = ("at_100", "at_90")
_DIGITS = 6


def read(path: Path) -> Record:
    """The record in a file, refused when it is none."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise hr.HeadraceError(f"{path} cannot be read: {e.strerror or e}") from e
    except ValueError as e:
        raise hr.HeadraceError(f"{path} is no JSON: {e}") from e
    _check(record, str(path))
    for name in _RUNS if record["kind"] == "sustain" else ():
        if record.get(name) is not None:
            _check(record[name], f"{name} of {path}", ("run",))
    return cast(Record, record)


def _check(record: Any, where: str, kinds: tuple[str, ...] = KINDS) -> None:
    if not isinstance(record, dict):
        raise hr.HeadraceError(f"{where} is no JSON object, so it holds no record")
    if record.get("format") != FORMAT:
        raise hr.HeadraceError(
            f"{where} has the format {record.get('format')!r} (valid: {FORMAT})",
        )
    kind = record.get("kind")
    if kind not in kinds:
        raise hr.HeadraceError(f"{where} is of the kind {kind!r} (valid: {', '.join(kinds)})")
    missing = [name for name in _MUST[kind] if name not in record]
    if missing:
        raise hr.HeadraceError(
            f"{where} lacks {', '.join(missing)} (a {kind} needs: {', '.join(_MUST[kind])})"
        )
    if record["end"] not in ENDS:
        raise hr.HeadraceError(
            f"{where} ended {record['end']!r} (valid: {', '.join(ENDS)})",
        )


def write(path: Path, record: Record) -> None:
    """Write the record at once or not at all; series keep six digits, or the whole number.

    A setting that JSON does not know is written as text: no measurement is lost for it.
    """
    plain = _short(record)
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, default=str)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        fresh.write_text(text + "\n", encoding="utf-8")
        os.replace(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)


def _short(value: Any, series: bool = False) -> Any:
    """As JSON can say it: no numpy, nothing infinite, no more digits of a series than needed."""
    if isinstance(value, dict):
        return {k: _short(v, series or k in _SERIES) for k, v in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _short(value.tolist(), series)
    if isinstance(value, list | tuple):
        return [_short(v, series) for v in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    if not series:
        return value
    if value == int(value):
        return int(value)
    return round(value, max(_DIGITS - 1 - math.floor(math.log10(abs(value))), 0))


def runs(record: Record) -> list[Record]:
    """The runs in a record: a run itself, or those a search made at what it found."""
    if record["kind"] == "run":
        return [record]
    if record["kind"] == "alternate":
        return [run for measured in record["rounds"] for run in measured.values()]
    return [record[name] for name in _RUNS if record.get(name) is not None]


def label(record: Record) -> str:
    """A record in one line, such as ``headrace, 20 queries, astream, 500,000/s``."""
    count = record["queries"]
    words = [str(record["sut"]), f"{count:,} {'query' if count == 1 else 'queries'}"]
    words.append(str(record["workload"]))
    if record["kind"] == "alternate":
        words.append(f"{record['setting']} in turns")
    if record["kind"] != "sustain":
        words.append(f"{record['rate']:,.0f}/s")
    else:
        mean = value(record, "sustainable_rate", "mean")
        words.append("no sustainable rate" if mean is None else f"{mean:,.0f}/s sustainable")
    return ", ".join(words)


def is_lower_bound(record: Record) -> bool:
    """Whether the system may hold more than was found: in some search no rate above it failed.

    The driver could offer no more, or the search had used up its tries while it was still rising.
    """
    return any(
        not any(t["rate"] > search["rate"] and not t["sustained"] for t in search["tries"])
        for search in record.get("searches") or []
        if search["rate"]
    )


def value(record: Record | None, *path: str) -> Any:
    """What lies at the end of the path, or None where the path breaks off."""
    found: Any = record
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found
