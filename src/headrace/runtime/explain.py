"""Plans in words: what `session.explain()` and `query.explain()` print."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.kernels.axes import axes_of
from headrace.query.plan import Group, SharedPlan, parts_of
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.counters import SessionMetrics, classes_of
from headrace.runtime.messages import SectionRef
from headrace.scheduling.decision import Decision

_SHOWN = 5
"""Decisions that are told in words."""


def explain_schedule(metrics: SessionMetrics, decisions: Sequence[Decision]) -> str:
    """Who decides, what each pipeline is expected to need, and the last decisions with reasons."""
    schedule = metrics.schedule
    lines = [
        f"scheduling: {schedule.policy}, {schedule.concurrency} batches at a time, "
        f"{schedule.waiting} pipelines wait; {schedule.decisions:,} decisions took "
        f"{schedule.deciding_share:.2%} of the time"
        + (f"; memory mode at {schedule.memory_share:.0%}" if schedule.memory_mode else "")
    ]
    if not decisions:
        return lines[0]
    now_s = decisions[-1].at_s
    for p in metrics.pipelines:
        sweep = "no window known"
        if p.sweep is not None and p.slack_s is not None:
            sweep = (
                f"sweep in {p.sweep.mean_s - now_s:.2f} s "
                f"({p.sweep.low_s - now_s:.2f} … {p.sweep.high_s - now_s:.2f}), "
                f"slack {p.slack_s:.2f} s"
            )
        lines.append(
            f"  {p.name}: {sweep}; {p.queued:,.0f} tuples wait; "
            f"a batch costs {p.fixed_cost_s:.2f} s + {1e6 * p.event_cost_s:.2f} µs each"
        )
    for decision in [d for d in decisions if d.started][-_SHOWN:]:
        reasons = {turn.name: turn.reason for turn in decision.turns}
        started = ", ".join(f"{n} ({reasons[n]})" for n in decision.started)
        others = len(decision.ready) - len(decision.started)
        ago = now_s - decision.at_s
        lines.append(f"  {ago:.2f} s before: {started}; {others} more might have run")
    return "\n".join(lines)


def explain_plan(
    name: str,
    plan: SharedPlan,
    queries: Sequence[ActiveQuery],
    sections: Sequence[SectionRef],
    width: int,
    reader: str,
) -> str:
    """One pipeline: who reads it, its lane, groups, classes, slices and state."""
    names = {int(q.uid): q.name for q in queries}
    lines = [
        f"pipeline {name}: plan version {plan.version}, {len(queries)} queries on one scan",
        f"  read by: {reader}",
        f"  lane: {plan.lane} ({plan.why})",
        f"  query-sets: {width} bits; derived columns: {len(plan.derived)}",
    ]
    if plan.sub_stream_us is not None:
        count = sum(q.logical.accuracy is not None for q in queries)
        lines.append(
            f"  approximate: {count} queries, sub-streams of {plan.sub_stream_us / 1e6:g} s"
        )
    for sql_name, sql in sorted(plan.derived.items())[:10]:
        lines.append(f"    {sql_name} = {sql}")
    for group in plan.groups:
        mine = [s for s in sections if s.version == plan.version and s.group == group.number]
        lines += _explain_group(group, mine, names)
    if plan.selectors:
        shown = ", ".join(names[s.uid] for s in plan.selectors[:10])
        lines.append(f"  selections: {len(plan.selectors)} ({shown})")
    older = [s for s in sections if s.version != plan.version]
    slices = {x for s in sections if not s.session for x in s.slices}
    size = sum(s.length for s in sections)
    lines.append(
        f"  state: {len(sections)} sections, {len(slices)} slices, {size:,} bytes"
        + (f"; {len(older)} sections of older versions" if older else "")
    )
    return "\n".join(lines)


def _explain_group(
    group: Group, sections: Sequence[SectionRef], names: dict[int, str]
) -> list[str]:
    keys = ", ".join(group.keys) or "(none)"
    kept = ", ".join(f"{p.op}({p.column or '*'})" for p in group.partials)
    if group.value is not None:
        what = "registers" if group.sketch is not None else "distinct values"
        columns = ", ".join(parts_of(group.value))
        kept = ", ".join([f"{what} of {columns}", *([kept] if kept else [])])
    axes = axes_of(group.members, group.axes)
    cuts = ", ".join(f"{a.column} ({len(a.cuts)} cuts)" for a in axes) or "(none)"
    slices = sorted({x for s in sections for x in s.slices})
    members = [names.get(m.uid, str(m.uid)) for m in group.members]
    shown = ", ".join(members[:8]) + (", …" if len(members) > 8 else "")
    dense = sum(1 for s in sections if s.dense)
    windows = ", ".join(str(w) for w in group.windows[:6])
    more = f", … {len(group.windows)} in all" if len(group.windows) > 6 else ""
    return [
        f"  group {group.number}: {len(group.members)} queries ({shown})",
        f"    keys: {keys}; keeps: {kept}",
        f"    predicate columns: {cuts}; {_explain_classes(group, sections)}",
        f"    windows: {windows}{more}; slices held: {len(slices)}",
        f"    representation: {group.representation}"
        + (f", {dense} of {len(sections)} sections dense" if sections else "")
        + f" ({group.why})",
    ]


def _explain_classes(group: Group, sections: Sequence[SectionRef]) -> str:
    """Of one column the plan knows all classes; of several, the state tells those that occur."""
    count = classes_of(group, sections)
    if len(group.axes) <= 1:
        return f"classes: {count}"
    if group.representation == "vectors" or len(group.members) == 1:
        return "classes: not kept, but one result per query"
    return f"classes: {count} found so far"


def explain_query(query: ActiveQuery, plan: SharedPlan, reader: str) -> str:
    """One query: where it runs and why there."""
    logical = query.logical
    lines = [
        f"query {query.name!r} on stream {logical.stream!r}, bit {query.position}",
        f"  window: {logical.window if logical.window is not None else 'none (selection)'}",
        f"  read by: {reader}",
        f"  lane: {plan.lane} ({plan.why})",
    ]
    if logical.accuracy is not None:
        lines.append(f"  approximate: {logical.accuracy}")
    for group in plan.groups:
        if any(m.uid == query.uid for m in group.members):
            axes = ", ".join(group.axes) or "no column"
            others = len(group.members) - 1
            values = f", distinct {group.value}" if group.value is not None else ""
            lines.append(
                f"  group {group.number}: grouped by {', '.join(group.keys) or 'nothing'}{values}; "
                f"shares classes over {axes} with {others} other queries"
            )
            lines.append(f"    {group.representation}: {group.why}")
    if logical.needs_spark_to_finish:
        lines.append("  finished by Spark SQL: HAVING, ORDER BY, LIMIT or computed columns")
    return "\n".join(lines)
