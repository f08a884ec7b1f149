"""The list of texts that are not yet as they should be; it can only get shorter.

A line of `known_failures.txt` is `<text> <combination> <why>`. The combination may be a
pattern, such as `*` or `jvm-*`. A text that passes where it is listed is an error. `skip` before
the reason keeps a text from being run: it would end the JVM, or hold up all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

_LIST = Path(__file__).parent / "known_failures.txt"


@dataclass(frozen=True)
class Known:
    """One line of the list."""

    text: str
    combination: str
    why: str

    @property
    def is_skipped(self) -> bool:
        """Whether the text must not be run."""
        return self.why.startswith("skip")


@cache
def known_failures() -> tuple[Known, ...]:
    """All lines, without comments."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return tuple(
        Known(*line.split(maxsplit=2)) for line in lines if line and not line.startswith("#")
    )


def known(text: str, combination: str) -> Known | None:
    """What is known of a text in a combination."""
    for entry in known_failures():
        if entry.text == text and fnmatchcase(combination, entry.combination):
            return entry
    return None


def marks(text: str, combination: str) -> list[pytest.MarkDecorator]:
    """How pytest shall take the text there."""
    entry = known(text, combination)
    if entry is None:
        return []
    if entry.is_skipped:
        return [pytest.mark.skip(reason=entry.why)]
    return [pytest.mark.xfail(reason=entry.why, strict=True, raises=AssertionError)]
