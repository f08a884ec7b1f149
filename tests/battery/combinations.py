"""Which texts are run how: lanes × ANSI × time zones, and slices of the battery for each.

Every text is run at home (Arrow source, ANSI, UTC); every third, and all over streams with odd
names, in one more combination, chosen by its place in the battery. Any two of lane, ANSI and zone
meet. Texts that are marked `at length` are left out. `make soak` runs every text in one more
combination and leaves out none of these, `HEADRACE_BATTERY=all` every text in every combination.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tests.amounts import SOAK
from tests.battery.lanes import LANES, Lane
from tests.battery.oracle import Setting
from tests.battery.rows import PLAIN
from tests.battery.texts import Text, all_texts

_ZONES = ("UTC", "Europe/Berlin")
_TOGETHER = 120
"""So many texts share a session: more would hide who stopped a stream."""
_ALONE_EVERY = 10
"""Every so-manyth text goes to the lane on which each query has a pipeline of its own."""
_EVERYTHING = os.environ.get("HEADRACE_BATTERY") == "all"
_ELSEWHERE_EVERY = 1 if SOAK else 3
"""Every so-manyth text is run elsewhere, too."""


@dataclass(frozen=True)
class Combination:
    """One way to run texts."""

    lane: Lane
    setting: Setting

    @property
    def id(self) -> str:
        """In a test's name and in the list of known failures."""
        return f"{self.lane}-{self.setting.id}"


COMBINATIONS = tuple(
    Combination(lane, Setting(ansi, zone))
    for lane, ansi, zone in product(LANES, (True, False), _ZONES)
)
HOME = COMBINATIONS[0]


def _is_even(one: Combination) -> bool:
    """Of these, half of all, any two of lane, ANSI and zone meet in one."""
    setting = one.setting
    return (LANES.index(one.lane) + setting.ansi + _ZONES.index(setting.zone)) % 2 == 1


RUN = COMBINATIONS if SOAK or _EVERYTHING else tuple(filter(_is_even, COMBINATIONS))
"""Those that texts are run in."""
_ALONE = tuple(c for c in RUN if c.lane == "catalyst")
_SHARED = tuple(c for c in RUN if c.lane != "catalyst" and c != HOME)
_NAMED = tuple(c for c in _SHARED if c.id in ("file-plain-UTC", "jvm-ansi-UTC"))
"""Streams with odd names are left to few: every stream costs each of its sessions a pipeline."""


@dataclass(frozen=True)
class Slice:
    """Texts that are run together."""

    combination: Combination
    number: int
    texts: tuple[Text, ...]


def slices() -> tuple[Slice, ...]:
    """All slices of a run, those of one setting behind each other."""
    found = []
    for combination in sorted(RUN, key=lambda c: (c.setting.id, LANES.index(c.lane))):
        numbered = enumerate(_runnable())
        texts = [t for n, t in numbered if _EVERYTHING or _meets(n, t, combination)]
        texts.sort(key=lambda t: t.streams != (PLAIN,))
        for number, begin in enumerate(range(0, len(texts), _TOGETHER)):
            part = tuple(texts[begin : begin + _TOGETHER])
            found.append(Slice(combination, number, part))
    return tuple(found)


def refused_in() -> tuple[tuple[Combination, tuple[Text, ...]], ...]:
    """Where texts are refused: all at home, and where they might be read in another way."""
    texts = tuple(t for t in all_texts() if not t.is_equal)
    other = Combination("jvm", Setting(False, "Europe/Berlin"))
    places: Sequence[Combination] = COMBINATIONS if _EVERYTHING else (HOME, other)
    return tuple((place, texts) for place in places if place.lane != "catalyst")


def _runnable() -> tuple[Text, ...]:
    return tuple(t for t in all_texts() if t.is_equal and (_EVERYTHING or not t.at_length))


def _meets(number: int, text: Text, combination: Combination) -> bool:
    """Whether the text of this number is run in the combination."""
    if combination == HOME:
        return True
    if text.streams != (PLAIN,):
        return combination == _NAMED[number % len(_NAMED)]
    number, rest = divmod(number, _ELSEWHERE_EVERY)
    if rest:
        return False
    round_, rest = divmod(number, _ALONE_EVERY)
    if rest == 0:
        return combination == _ALONE[round_ % len(_ALONE)]
    return combination == _SHARED[number % len(_SHARED)]
