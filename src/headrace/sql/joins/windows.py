"""Windows of a join in its short form: ``ON window(p.time, '8 seconds') = window(a.time, …)``.

Spark itself has no windows above a join. There, such a call stands for a column of the stream that
holds its window, as in the long form: ``FROM (SELECT *, window(time, '8 seconds') AS w FROM p) p``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from headrace.errors import UnsupportedQuery
from headrace.sql.judge import Relation
from headrace.sql.text import error_at
from headrace.sql.tree import Node, Operator

STANDS = "__hr_w"
"""How Spark calls the column, with the number of the stream behind it."""


def standing_windows(text: str, plan: Operator, relations: Sequence[Relation]) -> dict[int, int]:
    """By the place in the text where a call, or the name ``window``, begins above the joins of a
    parsed text: the number of the stream whose window it stands for."""
    if len(relations) == 1:
        return {}
    above = list(_above(plan))
    calls = [n for n in above if n.kind == "UnresolvedFunction" and n.names[-1].lower() == "window"]
    found = {_start(n): _stream_of(text, n, relations) for n in calls}
    taken = any(r.stream.find("window") is not None for r in relations)
    if found and not taken:
        found |= {
            _start(n): 0
            for n in above
            if n.kind == "UnresolvedAttribute" and n.names[0].lower() == "window"
        }
    return found


def _above(plan: Operator) -> Iterator[Node]:
    """All expressions down to the joins, and theirs."""
    if not any(o.kind == "Join" for o in plan.walk()):
        return
    yield from plan.nodes
    for child in plan.children:
        yield from _above(child)


def _start(node: Node) -> int:
    assert node.span is not None, "it stands in the text"
    return node.span[0]


def _stream_of(text: str, call: Node, relations: Sequence[Relation]) -> int:
    """Whose event time a call is over."""
    over = call.children[0]
    *whose, time = [n.lower() for n in over.names]
    found = [
        number
        for number, relation in enumerate(relations)
        if (whose == [relation.name.lower()] if whose else relation.stream.find(time))
    ]
    if len(found) != 1 or relations[found[0]].stream.event_time.lower() != time:
        times = ", ".join(f"{r.name}.{r.stream.event_time}" for r in relations)
        raise error_at(
            text,
            over.span,
            f"the window is over {'.'.join(over.names)}, which is no stream's event time",
            f"event times: {times}",
            kind=UnsupportedQuery,
        )
    return found[0]
