"""Refuses expressions that make much of little: one tuple could keep a stream busy for hours.

``aggregate(sequence(1, 100000000), …)`` costs a tuple a second, and Spark cannot stop a task in the
middle of an expression. So the length of what `sequence`, `repeat` and the like make has to be
bounded by constants or by the types of their arguments. What is searched for a pattern, or compared
letter by letter, has a lower bound: the time grows with the square of its length.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from headrace.errors import QueryError, UnsupportedQuery
from headrace.sql.text import error_at
from headrace.sql.tree import Node

LONGEST = 10_000
"""So many times as much as the tuple has may be made by one expression of it."""
USUAL = 100
"""So many items or characters are reckoned for a column, where those of several multiply."""
LONGEST_SEARCHED = 1_000
"""So many characters may the text itself add to what is searched."""

_TIMES = {"StringRepeat": 1, "ArrayRepeat": 1}
"""By kind: which argument says how many times as long it becomes."""
_COUNTS = {"StringSpace": 0, "StringLPad": 1, "StringRPad": 1, "BinaryPad": 1}
"""By kind: which argument says how long it becomes."""
_WIDER = {
    "Hex": 2, "Base64": 2, "Base32": 2, "Quote": 2, "StructsToJson": 2, "UrlEncode": 3, "Encode": 4,
}  # fmt: skip
"""By kind: how many characters are made of one."""
_FOR_EACH = {"StringReplace": 2, "RegExpReplace": 2, "ArrayJoin": 1, "ConcatWs": 0}
"""By kind: the text that is put in for each letter or item."""
_DIGITS = {"Round", "BRound", "RoundCeil", "RoundFloor", "FormatNumber"}
"""Their second argument says how many digits are made."""
_SEARCHED = {
    **dict.fromkeys(
        "RLike RegExpReplace RegExpExtract RegExpExtractAll RegExpInStr RegExpCount RegExpSubStr "
        "StringSplit StringToMap Like ILike".split(),
        1,
    ),
    **dict.fromkeys(("Levenshtein", "JaroWinkler"), 2),
}
"""By kind: so many of the first arguments are searched."""
_RANGES = {"tinyint": (-(2**7), 2**7 - 1), "smallint": (-(2**15), 2**15 - 1)}
_ANY = (-math.inf, math.inf)

Range = tuple[float, float]


def refuse_growth(text: str, nodes: Iterable[Node]) -> None:
    """Raise for an expression whose parts together may make more than `LONGEST`."""
    for top in nodes:
        _refuse_longer(text, top, LONGEST, "this may become longer than can be waited for")
        for node in top.walk():
            for searched in node.children[: _SEARCHED.get(node.kind, 0)]:
                _refuse_longer(
                    text, searched, LONGEST_SEARCHED, "this is too long to be searched or compared"
                )
                written = max((_written(n) for n in searched.walk()), default=0)
                if written > LONGEST_SEARCHED:
                    raise _too_long(text, searched, LONGEST_SEARCHED, "this text is too long")


def _refuse_longer(text: str, top: Node, longest: int, reason: str) -> None:
    made, growing = _made(top)
    if made > longest:
        raise _too_long(text, growing, longest, reason)


def _made(node: Node) -> tuple[float, Node]:
    """How many times as much as there was is made or looked at, and where it becomes that much."""
    bodies = [c.children[0] for c in node.children if c.kind == "LambdaFunction"]
    rest = [c for c in node.children if c.kind != "LambdaFunction"]
    inside = max((_made(c) for c in rest), key=lambda m: m[0], default=(1.0, node))
    if bodies:
        items = max((_items(c) for c in rest), default=1.0)
        body, _ = max((_made(b) for b in bodies), key=lambda m: m[0])
        if node.kind == "ArrayAggregate" and copies(node) > 1:
            body = math.inf
        return max((items * body, node), inside, key=lambda m: m[0])
    times = _times(node)
    if times > 1:
        return inside[0] * times, node
    return max((_length(node), node), inside, key=lambda m: m[0])


def _items(array: Node) -> float:
    """How many items a function goes through."""
    if array.kind in ("CreateArray", "CreateMap"):
        return float(len(array.children))
    made, _ = _made(array)
    varies = any(n.kind in ("AttributeReference", "NamedLambdaVariable") for n in array.walk())
    return max(made, USUAL) if varies else made


def _times(node: Node) -> float:
    """How many times as long as its arguments it may become; 1 for what does not grow."""
    if node.kind in _TIMES:
        place = _TIMES[node.kind]
        return _range(node.children[place])[1] if place < len(node.children) else math.inf
    if node.kind in _FOR_EACH and len(node.children) > _FOR_EACH[node.kind]:
        put = node.children[_FOR_EACH[node.kind]]
        if not put.is_constant:
            return USUAL
        return max(_written(put) / _searched(node), 1.0)
    return _WIDER.get(node.kind, 1.0)


def _searched(node: Node) -> float:
    """How long the text is that is replaced."""
    sought = node.children[1]
    return max(_written(sought), 1.0) if node.kind == "StringReplace" else 1.0


def _too_long(text: str, node: Node, longest: int, reason: str) -> QueryError:
    return error_at(
        text,
        node.span,
        f"{reason}, for each tuple",
        f"constants that make at most {longest:,} items or characters, and fewer functions of "
        "arrays inside each other",
        kind=UnsupportedQuery,
    )


def _written(node: Node) -> int:
    """How long a constant text is."""
    if node.is_constant and node.type.startswith("string") and node.value is not None:
        return len(str(node.value))
    return 0


def _length(node: Node) -> float:
    """How long it may become whatever its arguments are; 1 for what does not grow."""
    if node.kind in _COUNTS:
        place = _COUNTS[node.kind]
        return _range(node.children[place])[1] if place < len(node.children) else math.inf
    if node.kind in _DIGITS and len(node.children) > 1:
        low, high = _range(node.children[1])
        return 1.0 if node.children[1].type.startswith("string") else max(-low, high)
    if node.kind == "FormatString":
        return _formatted(node.children[0])
    if node.kind == "Sequence":
        (low, high), (first, last) = _range(node.children[0]), _range(node.children[1])
        step = _range(node.children[2]) if len(node.children) > 2 else (1.0, 1.0)
        wide = max(abs(last - low), abs(high - first)) + 1
        return wide / max(abs(step[0]), 1.0) if step[0] == step[1] else wide
    return 1.0


def _range(node: Node) -> Range:
    """Between which numbers its value lies."""
    if node.kind == "Cast" and not node.is_constant:
        return _range(node.children[0])
    if node.is_constant:
        try:
            value = float(node.value)
        except (TypeError, ValueError):
            return (0.0, 0.0) if node.value is None else _ANY
        return value, value
    return _RANGES.get(node.type, _ANY)


def _formatted(template: Node) -> float:
    """The widths and precisions that a format asks for, together."""
    if not template.is_constant:
        return math.inf
    return float(sum(int(n[:12]) for n in re.findall(r"\d+", str(template.value or ""))))


_KEEP = frozenset(
    """Substring Left Right Slice StringTrim StringTrimLeft StringTrimRight StringTrimBoth Upper
    Lower Reverse ArrayFilter ArraySort SortArray ArrayDistinct ArrayRemove ArrayExcept ArrayCompact
    GetStructField GetArrayItem GetMapValue ElementAt Get MapKeys MapValues MapFilter Cast
    Collate""".split()
)
"""What they make is not longer than their first argument."""
_JOIN = frozenset(
    """Concat ConcatWs CreateArray CreateNamedStruct CreateMap MapConcat ArrayAppend ArrayPrepend
    ArrayInsert ArrayUnion""".split()
)
"""What they make is as long as all their arguments together."""
_CHOOSE = frozenset("If CaseWhen Coalesce Greatest Least NaNvl".split())
_GROWING = ("string", "binary", "array", "map", "struct")


def copies(aggregate: Node) -> float:
    """How often what was accumulated stands in what `aggregate` makes of it for one item more: with
    two copies it doubles for every item."""
    merge = aggregate.children[2]
    body, accumulated = merge.children[0], merge.children[1]

    def of(node: Node) -> float:
        if not node.type.startswith(_GROWING):
            return 0.0
        if node.kind == "NamedLambdaVariable":
            return float(node.name == accumulated.name)
        inside = [of(c) for c in node.children]
        if node.kind in _JOIN:
            return sum(inside)
        if node.kind in _CHOOSE:
            return max(inside, default=0.0)
        if node.kind in _KEEP:
            return inside[0]
        return math.inf if any(inside) else 0.0

    return of(body)
