"""Refuses patterns that a matcher can try in too many ways: one tuple could stall a stream.

Spark matches by java.util.regex, which goes back and tries again, and Spark cannot stop a task in
the middle of an expression. So a pattern has to be a constant, and what it may cost is worked out
before anything runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import groupby

from headrace.errors import UnsupportedQuery
from headrace.sql.patterns.ambiguity import Ambiguity, ambiguity
from headrace.sql.patterns.java import InvalidError, NotUnderstoodError, parse_pattern
from headrace.sql.patterns.positions import MOST_PLACES, TooLargeError, automaton
from headrace.sql.patterns.recursion import DEEPEST, depth
from headrace.sql.text import Span, error_at
from headrace.sql.tree import Node

LONGEST = 8_000
"""So many characters a pattern may have."""
STEEPEST = 3
"""The time to match may grow with the third power of a text's length: see decision 0017."""
STEEPEST_OF_ANY = 2
"""The same where any text will do, not only one made of few letters."""
_MOST_BRANCHES = 10_000

_PATTERNS = {
    "RLike": (1,),
    "RegExpReplace": (1,),
    "RegExpExtract": (1,),
    "RegExpExtractAll": (1,),
    "RegExpInStr": (1,),
    "RegExpCount": (1,),
    "RegExpSubStr": (1,),
    "StringSplit": (1,),
    "StringToMap": (1, 2),
    "ParseUrl": (2,),
    "TryParseUrl": (2,),
    "Like": (1,),
    "ILike": (1,),
}
"""By kind: which arguments are patterns. `StringSplitSQL` splits at a text as it is."""
_LIKES = {"Like", "ILike"}
_URLS = {"ParseUrl", "TryParseUrl"}
_KEY = ("(&|^)", "=([^&]*)")
"""Between these Spark puts the key of a URL, as it is."""

_WAY_OUT = (
    "parts that cannot read the same characters",
    "what needs no second try as (?>…), x*+ or x++",
)
_PLAIN = "contains, startswith, endswith, split_part and IN need no pattern"

Refusal = tuple[str, tuple[str, ...]]
"""Why, and what would be valid."""


def refuse_patterns(text: str, nodes: Iterable[Node]) -> None:
    """Raise for an expression with a pattern that may take longer than can be waited for."""
    for top in nodes:
        for node in top.walk():
            for place in _PATTERNS.get(node.kind, ()):
                if place < len(node.children):
                    _refuse_pattern(text, node, node.children[place])


def _refuse_pattern(text: str, node: Node, pattern: Node) -> None:
    known, value = _constant(pattern)
    refusal: Refusal | None = None
    if not known:
        refusal = ("a pattern that depends on the tuple is not run", ("write it as a constant",))
    elif value is not None:
        refusal = refusal_of(value, node.kind, any_case=_any_case(node))
    if refusal is not None:
        reason, choices = refusal
        raise error_at(text, _place(node, pattern), reason, *choices, kind=UnsupportedQuery)


def _constant(node: Node) -> tuple[bool, str | None]:
    """Whether it is the same for all tuples, and its value."""
    if node.is_constant:
        return True, None if node.value is None else str(node.value)
    if node.kind in ("Collate", "Lower", "Upper") and node.children:
        known, value = _constant(node.children[0])
        if value is None or node.kind == "Collate":
            return known, value
        return known, value.lower() if node.kind == "Lower" else value.upper()
    if node.kind == "Concat" and node.type.startswith("string"):
        parts = [_constant(c) for c in node.children]
        values = [v for _, v in parts if v is not None]
        whole = len(values) == len(parts)
        return all(known for known, _ in parts), "".join(values) if whole else None
    return False, None


def _any_case(node: Node) -> bool:
    """Whether Spark lets Java match letters whatever their case, for the collation."""
    return any("LCASE" in c.type.upper() for c in node.children)


def _place(node: Node, pattern: Node) -> Span | None:
    """Where the pattern stands. A column may carry the place of another use of it, and the parts
    of `ILIKE` stand in for what was written: what lies before the call is not it."""
    written = next((n.span for n in pattern.walk() if n.span is not None), None)
    if written is None or (node.span is not None and written[0] < node.span[0]):
        return node.span
    return written


@lru_cache(maxsize=4_096)
def refusal_of(pattern: str, kind: str = "RLike", *, any_case: bool = False) -> Refusal | None:
    """Why a pattern is refused, None for one that may be run."""
    if kind in _LIKES:
        return _of_like(pattern)
    if kind in _URLS:
        pattern = pattern.join(_KEY)
    if len(pattern) > LONGEST:
        return (
            f"the pattern has {len(pattern):,} characters",
            (f"at most {LONGEST:,}", _PLAIN),
        )
    flags = "iu" if any_case else ""
    try:
        found = ambiguity_of(pattern, flags)
        too_deep = depth(parse_pattern(pattern, flags)) > DEEPEST
    except InvalidError:
        return None  # Spark says so, in the words of Java
    except NotUnderstoodError as unknown:
        at = min(unknown.at, len(pattern)) + 1
        return (
            f"the pattern is not understood at its character {at}: {unknown}",
            ("plainer syntax of java.util.regex", _PLAIN),
        )
    except TooLargeError:
        return (
            "the pattern is too large to be checked",
            (f"at most {MOST_PLACES:,} places where it reads a character", _PLAIN),
        )
    if found.degree is None:
        many = f", such as {found.pump[:20]!r} again and again" if found.pump.isprintable() else ""
        return (f"this pattern can try exponentially many ways to match a text{many}", _WAY_OUT)
    if not _is_flat(found):
        return _too_steep(found.degree, _WAY_OUT)
    if found.branches > _MOST_BRANCHES:
        return ("this pattern has too many ways to match the same text", _WAY_OUT)
    if too_deep:
        return (
            "Java calls itself for every repetition of a group in this pattern, and a text of some "
            "thousand characters would end Spark's process",
            (
                "(…)*+ or (…)++, which does not go back",
                "(…){0,50}, with an end",
                "[ab]* for (a|b)*",
            ),
        )
    return None


def ambiguity_of(pattern: str, flags: str = "") -> Ambiguity:
    """How ambiguous a pattern is when a text is searched for it."""
    tree = parse_pattern(pattern, flags)
    # What cannot be gone back into is seen as its parts or as one: both hold all that can happen.
    found = ambiguity(automaton(tree, whole=False))
    if _is_fine(found) or not ("(?>" in pattern or "+" in pattern):
        return found
    again = ambiguity(automaton(tree, whole=True))
    return again if found.degree is None or _is_fine(again) else found


def _is_flat(found: Ambiguity) -> bool:
    if found.degree is None:
        return False
    return found.degree <= STEEPEST and found.degree_of_any <= STEEPEST_OF_ANY


def _is_fine(found: Ambiguity) -> bool:
    return _is_flat(found) and found.branches <= _MOST_BRANCHES


def _of_like(pattern: str) -> Refusal | None:
    """Every % but those at the end is a loop over all characters, so they share each word. One
    that is escaped counts as well: which character escapes is not told here."""
    if pattern.count("_") > DEEPEST:
        return f"the pattern has more than {DEEPEST:,} times _", ("length(…), substring(…)",)
    between = pattern.rstrip("%").split("%")[1:-1]
    degree = len(between) + 1 if "%" in pattern.rstrip("%") else 0
    of_any = 1 + max((len(list(g)) for any_, g in groupby(between, _is_any) if any_), default=0)
    if degree <= STEEPEST and of_any <= STEEPEST_OF_ANY:
        return None
    return _too_steep(
        degree, (f"at most {STEEPEST} times % before the last part", "contains(…) AND contains(…)")
    )


def _is_any(part: str) -> bool:
    return not part.strip("_")


def _too_steep(degree: int, choices: tuple[str, ...]) -> Refusal:
    return (
        f"the time to match this pattern can grow with the {_nth(degree)} power of a text's length",
        choices,
    )


def _nth(number: int) -> str:
    return {2: "2nd", 3: "3rd"}.get(number, f"{number}th")
