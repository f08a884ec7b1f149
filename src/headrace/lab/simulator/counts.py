"""Sets of numbers as they are written on the command line: 60, or 20,40,60, or 1..80."""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import QueryError

Between = Callable[[int, int], list[int]]
"""The numbers that a range stands for."""
_STEP = 20


def by_twenties(first: int, last: int) -> list[int]:
    """The ends, and every multiple of 20 between them.

    >>> by_twenties(1, 80)
    [1, 20, 40, 60, 80]
    """
    after = first - first % _STEP + _STEP
    return [first, *range(after, last, _STEP), last]


def by_doubling(first: int, last: int) -> list[int]:
    """The first, twice as many, four times as many, and the last.

    >>> by_doubling(1, 8)
    [1, 2, 4, 8]
    """
    found = []
    while first < last:
        found.append(first)
        first *= 2
    return [*found, last]


def read_counts(text: str, what: str, between: Between, most: int) -> tuple[int, ...]:
    """In ascending order, each once; raises QueryError with the valid forms.

    >>> read_counts("60,1..30", "queries", by_twenties, 100)
    (1, 20, 30, 60)
    """
    found: set[int] = set()
    for word in text.split(","):
        first, dots, last = word.partition("..")
        low = _count(first, text, what, most)
        high = _count(last, text, what, most) if dots else low
        if low > high:
            raise _refused(text, what, f"{low} is more than {high}")
        found.update(between(low, high))
    return tuple(sorted(found))


def _count(word: str, text: str, what: str, most: int) -> int:
    word = word.strip()
    if not (word.isascii() and word.isdigit()):
        raise _refused(text, what, f"{word!r} is no number")
    if not 1 <= int(word) <= most:
        raise _refused(text, what, f"there can be 1 to {most:,} {what}, not {int(word):,}")
    return int(word)


def _refused(text: str, what: str, why: str) -> QueryError:
    return QueryError(f"{what} {text!r}: {why}", choices=("valid: 60, or 20,40,60, or 1..80",))
