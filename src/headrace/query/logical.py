"""`LogicalQuery`: what one query asks, independent of how it is run."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Literal

from headrace.query.accuracy import Accuracy
from headrace.query.expression import Expression
from headrace.query.join import Join
from headrace.query.predicate import Always, Predicate
from headrace.query.window import SessionWindow, TimeWindow, Window


class Function(StrEnum):
    """Aggregate functions, by the partial results they need."""

    COUNT = "count"
    SUM = "sum"
    AVG = "avg"
    MIN = "min"
    MAX = "max"
    VAR_SAMP = "var_samp"
    VAR_POP = "var_pop"
    STDDEV_SAMP = "stddev_samp"
    STDDEV_POP = "stddev_pop"
    FIRST = "first"
    LAST = "last"
    COUNT_DISTINCT = "count_distinct"
    APPROX_COUNT_DISTINCT = "approx_count_distinct"
    PERCENTILE_APPROX = "percentile_approx"
    KMEANS = "kmeans"
    KMEANS_COST = "kmeans_cost"


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of a query. ``argument`` is None for COUNT(*)."""

    function: Function
    argument: Expression | None
    result_type: str
    percentages: tuple[float, ...] = ()
    single_percentage: bool = True
    relative_sd: float = 0.05
    ignore_nulls: bool = False
    condition: Expression | None = None
    """The FILTER of FIRST and LAST; other aggregates have it inside their argument."""
    clusters: int = 0
    coordinates: tuple[Expression, ...] = ()
    """Of points to be clustered, beside the first, which is the argument."""
    side: int | None = None
    """Of a join: whose tuples are aggregated."""


@dataclass(frozen=True, slots=True)
class Output:
    """One result column: taken as it is (`key`, `aggregate`, `window…`) or computed by Spark.

    An approximate query also tells bounds (`lower` … `met`) of each aggregate and whether a row is
    `exact`.
    """

    name: str
    type: str
    kind: Literal[
        "key",
        "aggregate",
        "window",
        "window_start",
        "window_end",
        "computed",
        "lower",
        "upper",
        "sample",
        "input",
        "met",
        "exact",
    ]
    index: int = 0
    sql: str = ""


@dataclass(frozen=True, slots=True)
class OrderItem:
    """One ORDER BY item, as SQL over the result's internal columns, with its direction."""

    sql: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A constant of HAVING that queries of one shape may differ in."""

    type: str
    value: int | Decimal


@dataclass(frozen=True, slots=True)
class LogicalQuery:
    """A parsed, typed query over one stream, or over several that are joined.

    Internal result columns are named: keys ``_k0, _k1, …``, aggregates ``_a0, _a1, …``, parameters
    ``_p0, _p1, …``, and the window ``_w``; `having`, `order_by` and computed outputs are SQL over
    those.
    """

    text: str
    stream: str
    where: Predicate = field(default_factory=Always)
    where_sql: str | None = None
    window: Window | None = None
    keys: tuple[Expression, ...] = ()
    aggregates: tuple[AggregateCall, ...] = ()
    outputs: tuple[Output, ...] = ()
    selected: tuple[Expression, ...] = ()
    having: str | None = None
    parameters: tuple[Parameter, ...] = ()
    order_by: tuple[OrderItem, ...] = ()
    limit: int | None = None
    accuracy: Accuracy | None = None
    join: Join | None = None
    """How it reads several streams; keys and aggregates are then those of its sides."""
    feeds: bool = False
    """It is a side of a join: what is kept for it is read by the join, and it has no answers."""

    @property
    def streams(self) -> tuple[str, ...]:
        """All that it reads, each once."""
        sides = () if self.join is None else self.join.sides
        return tuple(dict.fromkeys([self.stream, *(s.stream for s in sides)]))

    @property
    def is_selection(self) -> bool:
        """A continuous selection without a window."""
        return self.window is None

    @property
    def is_session(self) -> bool:
        """Grouped by session windows."""
        return isinstance(self.window, SessionWindow)

    @property
    def time_window(self) -> TimeWindow:
        """The window of a query that is known to have fixed-size windows."""
        assert isinstance(self.window, TimeWindow)
        return self.window

    @property
    def needs_spark_to_finish(self) -> bool:
        """Whether results must pass through Spark SQL once more after the windows are combined."""
        return (
            self.having is not None
            or bool(self.order_by)
            or self.limit is not None
            or any(o.kind == "computed" for o in self.outputs)
        )
