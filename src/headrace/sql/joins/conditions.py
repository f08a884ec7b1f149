"""What the conditions of a join ask: of one stream, of two that must be equal, of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from headrace.errors import UnsupportedQuery
from headrace.query.join import JoinKind, Meeting
from headrace.sql.predicates import conjuncts
from headrace.sql.reader import HARMLESS, REFUSED, drop_timed
from headrace.sql.text import error_at
from headrace.sql.tree import Branch, Joined, Node

_KINDS = {
    "LeftOuter": "left",
    "RightOuter": "right",
    "FullOuter": "full",
    "LeftSemi": "semi",
    "LeftAnti": "anti",
}
_INNER = {"Inner", "Cross"}
_EQUAL = {"EqualTo", "EqualNullSafe"}


@dataclass(slots=True)
class Conditions:
    """The conjuncts of ON, WHERE and of what is selected from, by what they do."""

    kind: JoinKind
    keeps: list[list[Node]]
    """Of each side: what its tuples must be to take part at all."""
    gates: list[list[Node]]
    """Of each side that an outer join keeps: what its tuples must be to meet others."""
    after: list[list[Node]]
    """Of each side that NULLs may stand for: what its tuples must be where they are there."""
    equal: list[tuple[Node, Node, bool]] = field(default_factory=list)
    """Expressions of two sides that must be equal, and whether NULL equals NULL."""
    windows: list[tuple[int, int]] = field(default_factory=list)
    """Sides whose windows must be the same."""
    across: list[Node] = field(default_factory=list)
    """What else is asked of several sides together."""


def sides_of(node: Node) -> frozenset[int]:
    """The sides whose columns an expression reads."""
    return frozenset(n.side for n in node.walk() if n.kind in ("AttributeReference", "Window"))


def conditions_of(text: str, joined: Joined, where: Sequence[Node], sides: int) -> Conditions:
    """Of the joins of a statement, and the WHERE above them."""
    joins = list(_joins(joined))
    outer = [j for j in joins if j.how not in _INNER]
    if outer and len(joins) > 1:
        raise error_at(
            text,
            None,
            f"a join of {sides} streams that is not an INNER one is not supported",
            "INNER joins of 2 to 5 streams; LEFT, RIGHT, FULL, SEMI and ANTI joins of two",
            kind=UnsupportedQuery,
        )
    on = [c for j in joins for c in _asked(j.conditions)]
    above = _asked(where)
    kind = cast(JoinKind, _KINDS.get(joined.how, "inner"))
    kind = _without_needless(kind, above)
    found = Conditions(
        kind, [[] for _ in range(sides)], [[] for _ in range(sides)], [[] for _ in range(sides)]
    )
    for number, branch in enumerate(_leaves(joined)):
        found.keeps[number] += _selected(text, branch)
    for branch in _between(joined):
        above += _selected(text, branch)
    if kind == "inner":
        on, above = [*on, *above], []
    meeting = Meeting(kind, sides, ())
    for node in on:
        one = sides_of(node)
        if len(one) > 1:
            _add_across(found, node)
            continue
        side = min(one, default=0)
        stays = side in meeting.kept or (kind == "anti" and side == 0)
        (found.gates if stays else found.keeps)[side].append(node)
    for node in above:
        one = sides_of(node)
        if len(one) > 1:
            found.across.append(node)
            continue
        side = min(one, default=0)
        (found.after if side in meeting.filled else found.keeps)[side].append(node)
    return found


def _joins(joined: Joined) -> Iterator[Joined]:
    yield joined
    for branch in (joined.left, joined.right):
        if branch.joined is not None:
            yield from _joins(branch.joined)


def _leaves(joined: Joined) -> Iterator[Branch]:
    for branch in (joined.left, joined.right):
        if branch.joined is None:
            yield branch
        else:
            yield from _leaves(branch.joined)


def _between(joined: Joined) -> Iterator[Branch]:
    for branch in (joined.left, joined.right):
        if branch.joined is not None:
            yield branch
            yield from _between(branch.joined)


def _selected(text: str, branch: Branch) -> list[Node]:
    """The conditions of a joined SELECT … WHERE; whatever else it does is refused."""
    filters: list[Node] = []
    for operator in branch.operators:
        if operator.kind == "Filter":
            filters += operator.expressions
        elif operator.kind not in (*HARMLESS, "Join"):
            reason = REFUSED.get(operator.kind, f"{operator.kind} is not supported below a join")
            raise error_at(text, operator.span, reason, kind=UnsupportedQuery)
    filters = _asked(filters)
    if branch.window_over:
        drop_timed(filters, branch.window_over)
    return filters


def _asked(conditions: Sequence[Node]) -> list[Node]:
    """Their conjuncts; one that is TRUE asks nothing."""
    return [c for c in conjuncts(conditions) if not (c.kind == "Literal" and c.value is True)]


def _without_needless(kind: JoinKind, where: Iterable[Node]) -> JoinKind:
    """The kind of join once rows are gone that WHERE does not keep: a condition that NULLs do not
    meet leaves no row in which they stand for a tuple of its side."""
    there = {min(s) for n in where if len(s := sides_of(n)) == 1 and not n.holds_of_nulls}
    if kind == "left" and 1 in there:
        return "inner"
    if kind == "right" and 0 in there:
        return "inner"
    if kind == "full" and there >= {0, 1}:
        return "inner"
    if kind == "full" and there:
        return "left" if 0 in there else "right"
    return kind


def _add_across(found: Conditions, node: Node) -> None:
    if node.kind in _EQUAL:
        one, other = node.children
        sides = sides_of(one), sides_of(other)
        if len(sides[0]) == len(sides[1]) == 1 and sides[0] != sides[1]:
            if _is_window(one) and _is_window(other) and one.ordinal == other.ordinal:
                found.windows.append((min(sides[0]), min(sides[1])))
            else:
                found.equal.append((one, other, node.kind == "EqualNullSafe"))
            return
    found.across.append(node)


def _is_window(node: Node) -> bool:
    """Windows of one length are the same where they start, or end, together."""
    if node.kind == "GetStructField":
        node = node.children[0]
    return node.kind == "Window"
