"""Reads a pattern of java.util.regex into a small tree."""

from __future__ import annotations

from headrace.sql.patterns.characters import DEEPEST, CharReader, InvalidError, NotUnderstoodError
from headrace.sql.patterns.charsets import ANY, NEWLINES, Chars
from headrace.sql.patterns.tree import (
    Again,
    Atomic,
    Check,
    Choice,
    Look,
    One,
    Repeat,
    Row,
    Tree,
    loops,
)

__all__ = ["InvalidError", "NotUnderstoodError", "parse_pattern"]


def parse_pattern(pattern: str, flags: str = "") -> Tree:
    """The tree of a pattern; `flags` are letters as in ``(?i)``."""
    parser = _Parser(pattern, flags)
    tree = parser.choice(0)
    if parser.at < len(pattern):
        raise InvalidError("a closing parenthesis too many")
    return tree


class _Parser(CharReader):
    # -- the tree -----------------------------------------------------------------------------

    def choice(self, depth: int) -> Tree:
        if depth > DEEPEST:
            raise self.unknown(f"groups are nested more than {DEEPEST} deep")
        parts = [self.row(depth)]
        while self.take("|"):
            parts.append(self.row(depth))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def row(self, depth: int) -> Tree:
        parts: list[Tree] = []
        while True:
            self.skip()
            if self.peek() in ("", "|", ")"):
                return Row(tuple(parts))
            if self.peek() in "*+?":
                if parts:
                    raise self.unknown("one repetition after another")
                raise InvalidError("nothing to repeat")
            if self.take("\\Q"):
                end = self.text.find("\\E", self.at)
                quoted = self.text[self.at : end if end >= 0 else len(self.text)]
                self.at += len(quoted) + (2 if end >= 0 else 0)
                parts += [One(self.cased(Chars.these(c))) for c in quoted]
                if parts and quoted:
                    parts[-1] = self.repeated(parts[-1])
                continue
            atom = self.atom(depth)
            if atom is not None:
                parts.append(self.repeated(atom))

    def repeated(self, atom: Tree) -> Tree:
        self.skip()
        bounds: tuple[int, int | None]
        if self.take("*"):
            bounds = (0, None)
        elif self.take("+"):
            bounds = (1, None)
        elif self.take("?"):
            bounds = (0, 1)
        elif self.take("{"):
            bounds = self.bounds(self.until("}"))
        else:
            return atom
        repeat = Repeat(atom, *bounds)
        self.take("?")  # whether it tries less or more first: in vain it tries all
        return Atomic(repeat) if self.take("+") else repeat

    def bounds(self, told: str) -> tuple[int, int | None]:
        least, comma, most = told.partition(",")
        if not (least.isascii() and least.isdigit() and len(least) < 10):
            raise self.unknown(f"{{{told[:20]}}} is no repetition")
        if most and not (most.isascii() and most.isdigit() and len(most) < 10):
            raise self.unknown(f"{{{told[:20]}}} is no repetition")
        if not comma:
            return int(least), int(least)
        return int(least), int(most) if most else None

    def atom(self, depth: int) -> Tree | None:
        char = self.peek()
        if char == "(":
            return self.group(depth + 1)
        if char == "{":
            raise self.unknown("{ repeats nothing")
        self.at += 1
        match char:
            case "[":
                return One(self.cased(self.klass(depth + 1)))
            case ".":
                return One(self.dot())
            case "^":
                return Check() if "m" in self.flags else Check(at_start=True)
            case "$":
                return Check(before=NEWLINES)
            case "\\":
                return self.escape()
        return One(self.cased(Chars.these(char)))

    def dot(self) -> Chars:
        if "s" in self.flags:
            return ANY
        return ~(Chars.these("\n") if "d" in self.flags else NEWLINES)

    def group(self, depth: int) -> Tree | None:
        outside = self.flags
        self.at += 1
        tree: Tree | None
        if not self.take("?"):
            self.groups += 1
            tree = self.choice(depth)
        elif self.take(":"):
            tree = self.choice(depth)
        elif self.take(">"):
            tree = Atomic(self.choice(depth))
        elif self.take("=") or self.take("!"):
            negative = self.text[self.at - 1] == "!"
            tree = Look(self.choice(depth), negative=negative)
        elif self.take("<=") or self.take("<!"):
            body = self.choice(depth)
            if loops(body):  # it is read backwards, and Java asks for a bound as well
                raise self.unknown("what is looked at behind may not repeat without end")
            tree = Look(body, behind=True)
        elif self.take("<"):
            if not self.until(">").isalnum():
                raise self.unknown("a group's name has letters and digits")
            self.groups += 1
            tree = self.choice(depth)
        else:
            self.change_flags()
            if self.take(")"):
                return None  # they hold to the end of the group around
            if not self.take(":"):
                raise self.unknown("this kind of group is not known")
            tree = self.choice(depth)
        self.flags = outside
        if not self.take(")"):
            raise InvalidError("a group is not closed")
        return tree

    def change_flags(self) -> None:
        on = True
        while self.peek() and self.peek() in "idmsuxU-":
            letter = self.peek()
            self.at += 1
            if letter == "-":
                on = False
            elif on:
                self.flags |= {letter}
            else:
                self.flags -= {letter}

    def escape(self) -> Tree:
        char = self.peek()
        match char:
            case "b" | "B":
                self.at += 1
                if self.peek() == "{":
                    raise self.unknown("this boundary is not known")
                return Check()
            case "A":
                self.at += 1
                return Check(at_start=True)
            case "G":
                self.at += 1
                return Check()
            case "Z":
                self.at += 1
                return Check(before=NEWLINES)
            case "z":
                self.at += 1
                return Check(before=Chars.of())
            case "R":
                self.at += 1
                single = One(Chars.these("\n\v\f\r\u0085\u2028\u2029"))
                return Choice((Row((One(Chars.these("\r")), One(Chars.these("\n")))), single))
            case "k":
                self.at += 1
                if not self.take("<"):
                    raise self.unknown("\\k has no name")
                self.until(">")
                return Again()
        if char and char in "123456789":
            return self.again()
        return One(self.cased(self.char()))

    def again(self) -> Tree:
        """Java takes as many digits as there are groups to call by them."""
        number = int(self.peek())
        self.at += 1
        while self.peek().isascii() and self.peek().isdigit():
            if number * 10 + int(self.peek()) > self.groups:
                break
            number = number * 10 + int(self.peek())
            self.at += 1
        return Again()
