"""Headrace: hundreds to thousands of ad-hoc windowed SQL queries over shared streams, on Spark.

import headrace as hr

spark = hr.local_spark()
with hr.Session(spark) as session:
    session.stream("purchases", hr.sources.Purchases(), event_time="time")
    query = session.sql("SELECT window.start, SUM(price) AS revenue FROM purchases "
                        "GROUP BY window(time, '4 seconds')")
    session.start()
    for table in query.results():
        print(table)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace import sources, testing
    from headrace.errors import (
        CapacityError,
        ExecutionError,
        HeadraceError,
        InternalError,
        QueryError,
        UnsupportedQuery,
    )
    from headrace.exchange.upstream import Upstream
    from headrace.spark.local import local_spark
    from headrace.spark.query import Query
    from headrace.spark.session import Session

__version__ = "0.1.0"

__all__ = [
    "CapacityError",
    "ExecutionError",
    "HeadraceError",
    "InternalError",
    "Query",
    "QueryError",
    "Session",
    "UnsupportedQuery",
    "Upstream",
    "local_spark",
    "sources",
    "testing",
]

_HOMES = {
    "Query": "headrace.spark.query",
    "Session": "headrace.spark.session",
    "Upstream": "headrace.exchange.upstream",
    "local_spark": "headrace.spark.local",
    "sources": "headrace.sources",
    "testing": "headrace.testing",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are first used: executors import kernels, not the whole API."""
    if name not in __all__:
        raise AttributeError(f"module 'headrace' has no attribute {name!r}")
    module = importlib.import_module(_HOMES.get(name, "headrace.errors"))
    return module if name in ("sources", "testing") else getattr(module, name)
