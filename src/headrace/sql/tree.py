"""What Spark says of a text, as plain data: a tree of operators and expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    "ordinal", "relative_sd", "mode", "micros",
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
class Statement:
    """An analyzed statement: its operators from the top down, and its result columns.

    Every expression is over the columns of the stream, the window (the kind ``Window``) and
    aggregate calls, whatever operators lie between.
    """

    operators: tuple[Operator, ...]
    outputs: tuple[Shown, ...]
    window_over: tuple[str, ...] = ()

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Statement:
        """From what was told of it."""
        return cls(
            tuple(Operator.of(o) for o in told["operators"]),
            tuple(Shown(o["name"], Node.of(o["expression"])) for o in told["outputs"]),
            tuple(told.get("window_over", ())),
        )


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
