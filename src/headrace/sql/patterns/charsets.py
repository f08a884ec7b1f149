"""Sets of characters of which it is known what they hold at most and at least."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

LAST = 0x10FFFF
Interval = tuple[int, int]
"""From this character to that one, both among them."""
Intervals = tuple[Interval, ...]

_WIDE = ((0x80, LAST),)


@dataclass(frozen=True, slots=True)
class Chars:
    """A set of characters. What a class of Unicode holds is not looked up: it holds `may` at most
    and `must` at least, and who compares sets takes the one that errs towards a refusal."""

    may: Intervals
    must: Intervals

    @classmethod
    def of(cls, *intervals: Interval) -> Chars:
        """A set that is known exactly."""
        exact = _tidy(intervals)
        return cls(exact, exact)

    @classmethod
    def these(cls, text: str) -> Chars:
        """The characters of a text."""
        return cls.of(*((ord(c), ord(c)) for c in text))

    def __or__(self, other: Chars) -> Chars:
        return Chars(_tidy((*self.may, *other.may)), _tidy((*self.must, *other.must)))

    def __and__(self, other: Chars) -> Chars:
        return ~(~self | ~other)

    def __invert__(self) -> Chars:
        return Chars(_without(self.must), _without(self.may))

    def wider(self) -> Chars:
        """The same in ASCII; beyond it nothing is known."""
        return Chars(_tidy((*self.may, *_WIDE)), _within_ascii(self.must))

    def any_case(self, *, unicode: bool) -> Chars:
        """With the other case of its letters."""
        may = (*self.may, *_other_cases(self.may))
        must = (*self.must, *_other_cases(self.must))
        # Three letters of ASCII have partners beyond it, and those beyond have their own.
        if unicode and any(high > 0x7F or low <= ord("s") for low, high in may):
            may = (*may, *_WIDE, *((ord(c), ord(c)) for c in "iksIKS"))
        return Chars(_tidy(may), _tidy(must))


def union(sets: Iterable[Chars]) -> Chars:
    """All that is in one of them."""
    return reduce(Chars.__or__, sets, Chars.of())


def _tidy(intervals: Iterable[Interval]) -> Intervals:
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return tuple(found)


def _without(intervals: Intervals) -> Intervals:
    found: list[Interval] = []
    at = 0
    for low, high in intervals:
        if low > at:
            found.append((at, low - 1))
        at = high + 1
    if at <= LAST:
        found.append((at, LAST))
    return tuple(found)


def _within_ascii(intervals: Intervals) -> Intervals:
    return tuple((low, min(high, 0x7F)) for low, high in intervals if low <= 0x7F)


def _other_cases(intervals: Intervals) -> Iterable[Interval]:
    for low, high in intervals:
        for first, last, shift in ((65, 90, 32), (97, 122, -32)):
            if low <= last and high >= first:
                yield max(low, first) + shift, min(high, last) + shift


NOTHING = Chars.of()
ANY = Chars.of((0, LAST))
NEWLINES = Chars.these("\n\r\u0085\u2028\u2029")

_ASCII_CLASSES = {
    "Lower": Chars.of((97, 122)),
    "Upper": Chars.of((65, 90)),
    "ASCII": Chars.of((0, 127)),
    "Alpha": Chars.of((65, 90), (97, 122)),
    "Digit": Chars.of((48, 57)),
    "Alnum": Chars.of((48, 57), (65, 90), (97, 122)),
    "Punct": Chars.of((33, 47), (58, 64), (91, 96), (123, 126)),
    "Graph": Chars.of((33, 126)),
    "Print": Chars.of((32, 126)),
    "Blank": Chars.these(" \t"),
    "Cntrl": Chars.of((0, 31), (127, 127)),
    "XDigit": Chars.of((48, 57), (65, 70), (97, 102)),
    "Space": Chars.these(" \t\n\v\f\r"),
}
_WIDE_CLASSES = {
    "L": _ASCII_CLASSES["Alpha"],
    "Lu": _ASCII_CLASSES["Upper"],
    "Ll": _ASCII_CLASSES["Lower"],
    "Lt": NOTHING,
    "Lm": NOTHING,
    "Lo": NOTHING,
    "M": NOTHING,
    "Mn": NOTHING,
    "Mc": NOTHING,
    "N": _ASCII_CLASSES["Digit"],
    "Nd": _ASCII_CLASSES["Digit"],
    "Nl": NOTHING,
    "No": NOTHING,
    "IsAlphabetic": _ASCII_CLASSES["Alpha"],
    "IsLetter": _ASCII_CLASSES["Alpha"],
    "IsDigit": _ASCII_CLASSES["Digit"],
    "IsUppercase": _ASCII_CLASSES["Upper"],
    "IsLowercase": _ASCII_CLASSES["Lower"],
    "IsLatin": _ASCII_CLASSES["Alpha"],
}
_LETTERS = {
    "d": Chars.of((48, 57)),
    "w": Chars.of((48, 57), (65, 90), (95, 95), (97, 122)),
    "s": Chars.these(" \t\n\v\f\r"),
    "h": Chars.these(" \t\u00a0\u1680\u180e\u202f\u205f\u3000") | Chars.of((0x2000, 0x200A)),
    "v": Chars.these("\n\v\f\r\u0085\u2028\u2029"),
}
_UNKNOWN = Chars(ANY.may, ())


def named(name: str, *, wide: bool) -> Chars:
    r"""What ``\p{name}`` stands for; `wide` where the classes of ASCII are those of Unicode."""
    if name in _ASCII_CLASSES:
        known = _ASCII_CLASSES[name]
        return known.wider() if wide else known
    known_wide = _WIDE_CLASSES.get(name)
    if known_wide is None and name.startswith("Is"):
        known_wide = _WIDE_CLASSES.get(name[2:])
    return _UNKNOWN if known_wide is None else known_wide.wider()


def predefined(letter: str, *, wide: bool) -> Chars:
    r"""What ``\d``, ``\w`` and the like stand for."""
    known = _LETTERS[letter.lower()]
    if wide and letter.lower() in "dsw":
        known = known.wider()
    return ~known if letter.isupper() else known
