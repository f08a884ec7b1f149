"""Choose who reduces the tuples: Catalyst for a query that is alone, the kernels for many."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.query.logical import LogicalQuery
from headrace.query.needs import needs_of
from headrace.query.plan import Lane

_CATALYST_OPS = {"rows", "count", "sum", "min", "max", "moments"}


def choose_lane(queries: Sequence[LogicalQuery], *, rows_in_jvm: bool) -> tuple[Lane, str]:
    """The lane, and why."""
    if not rows_in_jvm:
        return "kernel", "tuples are fetched inside the Python stage"
    if len(queries) != 1:
        return "kernel", f"{len(queries)} queries share one scan"
    query = queries[0]
    if query.accuracy is not None:
        return "kernel", "the kernels count how many tuples of an approximate window have come"
    if query.is_selection or query.is_session:
        return "kernel", "selections and sessions are kept by the kernels"
    ops = {n.partial.op if n.partial is not None else "values" for n in needs_of(query)}
    if not ops <= _CATALYST_OPS:
        return "kernel", f"Catalyst has no partial result for {', '.join(sorted(ops))}"
    return "catalyst", "one query alone: filter and aggregate in Catalyst"
