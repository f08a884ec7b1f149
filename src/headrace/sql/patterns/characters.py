"""Reads the characters and classes of a pattern of java.util.regex."""

from __future__ import annotations

from headrace.sql.patterns.charsets import LAST, Chars, named, predefined, union

DEEPEST = 50
"""So deep groups and classes may be nested."""
_SIMPLE = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}


class NotUnderstoodError(Exception):
    """Java may know what this means; here nobody does. With its place in the pattern."""

    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.at = at


class InvalidError(Exception):
    """Java refuses this pattern, too."""


class CharReader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.text = pattern
        self.at = 0
        self.flags = frozenset(flags)
        self.groups = 0

    # -- letters ------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def take(self, expected: str) -> bool:
        if expected and self.text.startswith(expected, self.at):
            self.at += len(expected)
            return True
        return False

    def until(self, end: str) -> str:
        stop = self.text.find(end, self.at)
        if stop < 0:
            raise self.unknown(f"what begins here has no {end}")
        found = self.text[self.at : stop]
        self.at = stop + len(end)
        return found

    def unknown(self, what: str) -> NotUnderstoodError:
        return NotUnderstoodError(what, self.at)

    def skip(self) -> None:
        """Spaces and comments, where the pattern says that they mean nothing."""
        while "x" in self.flags and self.at < len(self.text):
            if self.peek() in " \t\n\v\f\r":
                self.at += 1
            elif self.peek() == "#":
                # Which characters end a comment depends on flags: we do not guess.
                raise self.unknown("comments in patterns are not read")
            else:
                return

    # -- characters and sets ------------------------------------------------------------------

    def cased(self, chars: Chars) -> Chars:
        if "i" not in self.flags:
            return chars
        return chars.any_case(unicode=bool(self.flags & {"u", "U"}))

    def char(self) -> Chars:
        """What an escape stands for, in a class or outside."""
        wide = "U" in self.flags
        char = self.peek()
        self.at += 1
        if char in _SIMPLE and char:
            return Chars.these(_SIMPLE[char])
        if char and char in "dDwWsShHvV":
            return predefined(char, wide=wide)
        if char in ("p", "P"):
            name = self.until("}") if self.take("{") else self.text[self.at : self.at + 1]
            if len(name) == 1 and self.text[self.at - 1] != "}":
                self.at += 1
            found = named(name, wide=wide)
            if "i" in self.flags:  # whether Java regards case here depends on the class
                found = Chars(found.any_case(unicode=True).may, ())
            return ~found if char == "P" else found
        if char == "x":
            if self.take("{"):
                return self.code(self.until("}"), 16)
            return self.digits(2, 16)
        if char == "u":
            return self.digits(4, 16)
        if char == "0":
            length = 0
            while length < 3 and self.peek(length) and self.peek(length) in "01234567":
                length += 1
            if length == 3 and self.peek() > "3":
                length = 2
            return self.digits(length, 8)
        if char == "" or (char.isascii() and char.isalnum()):
            self.at -= 1
            raise self.unknown(f"\\{char} is not known")
        return Chars.these(char)

    def digits(self, length: int, base: int) -> Chars:
        told = self.text[self.at : self.at + length]
        if len(told) < length or not told:
            raise self.unknown("digits are missing")
        self.at += length
        return self.code(told, base)

    def code(self, told: str, base: int) -> Chars:
        if not (told.isascii() and told.isalnum()):
            raise self.unknown(f"{told[:20]} is no number")
        try:
            value = int(told, base)
        except ValueError:
            raise self.unknown(f"{told[:20]} is no number") from None
        if value > LAST or 0xD800 <= value <= 0xDFFF:
            raise self.unknown(f"{told[:20]} is no character")
        return Chars.of((value, value))

    def klass(self, depth: int) -> Chars:
        """A class, after its opening bracket."""
        if depth > DEEPEST:
            raise self.unknown(f"classes are nested more than {DEEPEST} deep")
        negated = self.take("^")
        segments: list[list[Chars]] = [[]]
        while True:
            self.skip()
            if not self.peek():
                raise self.unknown("a class is not closed")
            if self.peek() == "]" and (segments[-1] or len(segments) > 1):
                self.at += 1
                break
            if self.take("&&"):
                if self.peek() == "&":
                    raise self.unknown("nothing beside &&")
                segments.append([])
            elif self.take("["):
                segments[-1].append(self.klass(depth + 1))
            else:
                segments[-1].append(self.member())
        if not all(segments):
            raise self.unknown("nothing beside &&")
        found = union(segments[0])
        for segment in segments[1:]:
            found &= union(segment)
        if not negated:
            return found
        return ~self.cased(found)

    def member(self) -> Chars:
        """A character or a range of a class."""
        first = self.single()
        self.skip()
        if self.peek() != "-" or self.peek(1) in ("", "]", "["):
            return first
        self.at += 1
        self.skip()
        if self.peek() in ("]", "[", "") or self.peek() == "&":
            raise self.unknown("this range has no end")
        last = self.single()
        low, high = first.must[:1], last.must[:1]
        single = low and high and low[0][0] == low[0][1] and high[0][0] == high[0][1]
        if not single or first.must != first.may or last.must != last.may:
            raise self.unknown("a range goes from one character to another")
        if low[0][0] > high[0][0]:
            raise self.unknown("a range goes upwards")
        return Chars.of((low[0][0], high[0][0]))

    def single(self) -> Chars:
        char = self.peek()
        self.at += 1
        if char != "\\":
            return Chars.these(char)
        if self.peek() in ("Q", "E"):
            raise self.unknown("quotes in a class are not read")
        return self.char()
