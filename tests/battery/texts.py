"""Reads the battery's texts from their files.

A file holds entries of the form

    --@ slug: what the text probes
    --@ equal                       or    --@ refused: words | other words
    SELECT …
    --@ oracle                      only where the text works per window, and its twin in batch
    SELECT …                        has to say so

`equal`: the text means what Spark means by it in batch, errors included. `equal, at length` says
the same of a text that is left to the long run. `refused`: `session.sql` raises QueryError, and the
message contains one of the wordings, whatever the case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.battery.made import made_texts
from tests.battery.rows import NAMES

_FOLDER = Path(__file__).parent / "texts"
_MARK = "--@ "
_AT_LENGTH = "equal, at length"
_HEAD = re.compile(r"(?P<slug>[a-z0-9-]+): (?P<probe>.+)")


@dataclass(frozen=True)
class Text:
    """One entry; `refusals` are the wordings of a right refusal, none for a text to be run."""

    id: str
    probe: str
    sql: str
    refusals: tuple[str, ...]
    oracle: str
    at_length: bool = False

    @property
    def is_equal(self) -> bool:
        """Whether it is run and compared."""
        return not self.refusals

    @property
    def streams(self) -> tuple[str, ...]:
        """Streams that the text may read: those whose name is a word of it."""
        words = set(re.findall(r"\w+", self.sql[:100_000].lower()))
        return tuple(name for name in NAMES if name in words) or ("t",)


@cache
def all_texts() -> tuple[Text, ...]:
    """Every text, by file and then as they stand in it."""
    written = [e for path in sorted(_FOLDER.glob("*.sql")) for e in _entries(path)]
    made = [_text("made", *entry, oracle=None) for entry in made_texts()]
    return (*written, *made)


def _entries(path: Path) -> Iterator[Text]:
    parts: list[tuple[str, list[str]]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(_MARK):
            parts.append((line.removeprefix(_MARK), []))
        elif parts:
            parts[-1][1].append(line)
    at = 0
    while at < len(parts):
        head, (verdict, body) = parts[at][0], parts[at + 1]
        has_twin = at + 2 < len(parts) and parts[at + 2][0] == "oracle"
        oracle = _joined(parts[at + 2][1]) if has_twin else None
        found = _HEAD.fullmatch(head)
        assert found is not None, f"{path.name}: {head!r} is no head of an entry"
        yield _text(path.stem, found["slug"], found["probe"], verdict, _joined(body), oracle=oracle)
        at += 3 if has_twin else 2


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n")


def _text(group: str, slug: str, probe: str, verdict: str, sql: str, oracle: str | None) -> Text:
    refusals: tuple[str, ...] = ()
    if verdict not in ("equal", _AT_LENGTH):
        kind, _, words = verdict.partition(": ")
        assert kind == "refused", f"{group}/{slug}: {verdict!r} is no expectation"
        assert words, f"{group}/{slug}: why it is refused is not said"
        refusals = tuple(word.strip().lower() for word in words.split(" | "))
    twin = sql if oracle is None else oracle
    return Text(f"{group}/{slug}", probe, sql, refusals, twin, verdict == _AT_LENGTH)
