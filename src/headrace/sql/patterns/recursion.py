"""How deep java.util.regex calls itself for a pattern: too deep, and the process of the task ends.

Every part of a pattern calls the part behind it. A repeated group does so once for each repetition,
so that a text of some thousand characters overflows the stack of a task. Spark takes that for a
fatal error and ends its process. Loops over single characters, over groups that always read as
much, and possessive ones are done without calls.
"""

from __future__ import annotations

import math

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
    sets,
)

DEEPEST = 4_000
"""So many calls into each other; a stack of 1 MB, which is the default, holds some 9,000."""

_GROUP, _CHOICE, _REPETITION = 2, 3, 2
_LAST_SHORT = 0xFFFF
"""Characters beyond are two of Java's: parts that read either do not always read as much."""


def depth(tree: Tree) -> float:
    """So many calls at most, infinite where it depends on the text."""
    match tree:
        case Row(parts):
            return sum(depth(p) for p in parts)
        case Choice(parts):
            return _CHOICE + max(depth(p) for p in parts)
        case Repeat(One() as single, _, most):
            return 1 if most is None or not _is_uneven(single) else max(most, 1)
        case Repeat(body, least, most):
            once = depth(body) + _GROUP
            if _is_fixed(body) and not _is_uneven(body):
                return once
            if most is None:
                return math.inf
            return once + _REPETITION if (least, most) == (0, 1) else most * (once + _REPETITION)
        case Atomic(Repeat(body)):
            return depth(body) + _GROUP
        case Atomic(body) | Look(body):
            return depth(body) + _GROUP
        case One() | Check() | Again():
            return 1


def _is_fixed(tree: Tree) -> bool:
    """Whether Java sees that there is one way to read it."""
    match tree:
        case Row(parts):
            return all(_is_fixed(p) for p in parts)
        case Repeat(body, least, most):
            return least == most and _is_fixed(body)
        case Atomic(body):
            return _is_fixed(body)
        case Choice() | Again():
            return False
        case One() | Check() | Look():
            return True


def _is_uneven(tree: Tree) -> bool:
    """Whether it may read characters of one and of two of Java's."""
    found = [low > _LAST_SHORT for chars in sets(tree) for low, _ in chars.may]
    longer = [high > _LAST_SHORT for chars in sets(tree) for _, high in chars.may]
    return any(longer) and not all(found)
