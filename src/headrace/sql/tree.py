"""What Spark says of a text, as plain data: a tree of operators and expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headrace.sql.text import Span


@dataclass(frozen=True, slots=True)
class Node:
    """An expression.

    ``kind`` is the name of Spark's class for it; expressions with the same number in ``same`` mean
    the same. ``value`` is that of a constant as text (a tuple for an array, None for NULL), where
    ``is_constant``. A node ``varies`` if Spark does not hold it for deterministic.
    """

    number: int
    kind: str
    span: Span | None = None
    type: str = ""
    same: int = -1
    name: str = ""
    names: tuple[str, ...] = ()
    children: tuple[Node, ...] = ()
    value: Any = None
    is_constant: bool = False
    varies: bool = False
    builtin: bool = True
    distinct: bool = False
    ignore_nulls: bool = False
    ordinal: int = -1
    relative_sd: float = 0.05
    mode: str = ""
    micros: int | None = None
    """Of a text that Spark takes for a duration."""
    side: int = 0
    """Of a column or a window, where a statement joins streams: of which one it is."""
    holds_of_nulls: bool = False
    """A condition above an outer join is TRUE where all its columns are NULL."""

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Node:
        """From what was told of it."""
        plain = {n: told[n] for n in _PLAIN if n in told}
        value = told.get("value")
        return cls(
            **plain,
            span=_span(told),
            names=tuple(told.get("names", ())),
            children=tuple(cls.of(c) for c in told.get("children", ())),
            value=tuple(value) if isinstance(value, list) else value,
            is_constant="value" in told,
        )

    def walk(self) -> Iterator[Node]:
        """The node and all below it, from the top down."""
        yield self
        for child in self.children:
            yield from child.walk()


_PLAIN = (
    "number", "kind", "type", "same", "name", "varies", "builtin", "distinct", "ignore_nulls",
    "ordinal", "relative_sd", "mode", "micros", "side", "holds_of_nulls",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a plan with its own expressions; `children` where it is not yet analyzed."""

    kind: str
    span: Span | None = None
    expressions: tuple[Node, ...] = ()
    children: tuple[Operator, ...] = ()
    names: tuple[str, ...] = ()
    branches: bool = False
    is_global: bool = True
    has_options: bool = False

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Operator:
        """From what was told of it."""
        return cls(
            told["kind"],
            _span(told),
            tuple(Node.of(e) for e in told["expressions"]),
            tuple(cls.of(c) for c in told.get("children", ())),
            tuple(told.get("names", ())),
            told.get("branches", False),
            told.get("global", True),
            told.get("options", False),
        )

    def walk(self) -> Iterator[Operator]:
        """The operator and all below it, from the top down."""
        yield self
        for child in self.children:
            yield from child.walk()

    @property
    def nodes(self) -> Iterator[Node]:
        """All its expressions, and theirs."""
        for expression in self.expressions:
            yield from expression.walk()


@dataclass(frozen=True, slots=True)
class Shown:
    """A result column."""

    name: str
    node: Node


@dataclass(frozen=True, slots=True)
class Branch:
    """Operators from the top down, to a stream or to where two branches are joined."""

    operators: tuple[Operator, ...]
    window_over: tuple[str, ...] = ()
    joined: Joined | None = None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Branch:
        """From what was told of it."""
        return cls(
            tuple(Operator.of(o) for o in told["operators"]),
            tuple(told.get("window_over", ())),
            Joined.of(told) if "how" in told else None,
        )

    @property
    def expressions(self) -> Iterator[Node]:
        """Of all operators, here and below."""
        for operator in self.operators:
            yield from operator.expressions
        if self.joined is not None:
            yield from self.joined.conditions
            yield from self.joined.left.expressions
            yield from self.joined.right.expressions

    def mapped(self, change: Callable[[Node], Node]) -> Branch:
        """With every expression changed."""
        operators = tuple(
            replace(o, expressions=tuple(change(e) for e in o.expressions)) for o in self.operators
        )
        joined = None if self.joined is None else self.joined.mapped(change)
        return replace(self, operators=operators, joined=joined)


@dataclass(frozen=True, slots=True)
class Joined:
    """Two branches; ``how`` is Spark's name for the kind of join."""

    how: str
    condition: Node | None
    left: Branch
    right: Branch

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Joined:
        """From what was told of it."""
        condition = told.get("condition")
        return cls(
            told["how"],
            None if condition is None else Node.of(condition),
            Branch.of(told["left"]),
            Branch.of(told["right"]),
        )

    @property
    def conditions(self) -> tuple[Node, ...]:
        """Its condition, if it has one."""
        return () if self.condition is None else (self.condition,)

    def mapped(self, change: Callable[[Node], Node]) -> Joined:
        """With every expression changed."""
        condition = None if self.condition is None else change(self.condition)
        return Joined(self.how, condition, self.left.mapped(change), self.right.mapped(change))


@dataclass(frozen=True, slots=True)
class Statement:
    """An analyzed statement: its operators, and its result columns.

    Every expression is over the columns of the streams, their windows (the kind ``Window``) and
    aggregate calls, whatever operators lie between.
    """

    branch: Branch
    outputs: tuple[Shown, ...]

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Statement:
        """From what was told of it."""
        return cls(
            Branch.of(told),
            tuple(Shown(o["name"], Node.of(o["expression"])) for o in told["outputs"]),
        )

    @property
    def operators(self) -> tuple[Operator, ...]:
        """From the top down, to the stream or to where two branches are joined."""
        return self.branch.operators

    @property
    def window_over(self) -> tuple[str, ...]:
        """The columns that the window of a single stream is over."""
        return self.branch.window_over

    def mapped(self, change: Callable[[Node], Node]) -> Statement:
        """With every expression changed."""
        outputs = tuple(Shown(o.name, change(o.node)) for o in self.outputs)
        return Statement(self.branch.mapped(change), outputs)


def _span(told: Mapping[str, Any]) -> Span | None:
    span = told.get("span")
    return None if span is None else (span[0], span[1])


class Writer(Protocol):
    """Writes expressions of an analyzed statement as SQL again."""

    def sql(
        self, node: Node, standing: Sequence[tuple[Node, str]] = (), *, over_stream: bool = True
    ) -> str:
        """An expression, with columns by name in the place of some others; over the columns of
        the stream, or of results."""
        ...

    def unfaithful(self) -> tuple[int, str] | None:
        """The number of an expression that Spark does not read back as it was, and why."""
        ...
