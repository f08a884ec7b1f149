"""Rows of all ways against those of the exact one: when they came, and how far off they were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

Place = tuple[int, str | None]
"""The end of a window in microseconds, and a group."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One row, and how long after the end of its window the driver had it."""

    after_s: float
    value: float
    lower: float | None
    upper: float | None
    sample: int | None
    input: float | None
    met: bool | None


@dataclass(frozen=True, slots=True)
class Judged:
    """One way."""

    way: str
    windows: int
    rows: int
    after_s: float
    after_p50_s: float
    after_p90_s: float
    after_p99_s: float
    accurate: float
    """The share of rows off by no more than the error."""
    error: float
    """The mean of what they were off by."""
    covered: float | None
    """The share of exact answers within the bounds, where bounds were stated."""
    width: float | None
    met: float | None
    kept: float | None
    """The share of tuples that the rows were made from."""


def answers(
    told: Iterable[tuple[float, pa.Table]], names: Mapping[str, str]
) -> dict[str, dict[Place, Answer]]:
    """By way: the first row of every window and group."""
    found: dict[str, dict[Place, Answer]] = {way: {} for way in names.values()}
    for at_s, table in told:
        for row in table.to_pylist():
            end_us = int(row["window_end"].timestamp() * 1e6)
            mine = found[names[row["query"]]]
            mine.setdefault(
                (end_us, row["key"]),
                Answer(
                    at_s - end_us / 1e6,
                    row["value"],
                    row["value_lower"],
                    row["value_upper"],
                    row["value_sample"],
                    row["value_input"],
                    row["value_met"],
                ),
            )
    return found


def judge(
    found: Mapping[str, Mapping[Place, Answer]], since_us: int, upto_us: int, error: float
) -> list[Judged]:
    """Every way, over the windows that ended in a stretch of time and that the exact way gave."""
    exact = {
        place: one.value
        for place, one in found["exact"].items()
        if since_us <= place[0] < upto_us and one.value
    }
    return [j for way, mine in found.items() if (j := _judged(way, mine, exact, error))]


def latencies(
    found: Mapping[str, Mapping[Place, Answer]], since_us: int, upto_us: int
) -> dict[str, list[float]]:
    """By way: how long after the ends of windows in a stretch of time rows came, in order."""
    return {
        way: sorted(one.after_s for place, one in mine.items() if since_us <= place[0] < upto_us)
        for way, mine in found.items()
    }


def _judged(
    way: str, mine: Mapping[Place, Answer], exact: Mapping[Place, float], error: float
) -> Judged | None:
    both = [(mine[place], value) for place, value in exact.items() if place in mine]
    if not both:
        return None
    after = np.array([one.after_s for one, _ in both])
    off = np.array([abs(one.value / value - 1.0) for one, value in both])
    stated = [(one.lower, one.upper, v) for one, v in both if one.lower is not None]
    bounds = np.array(stated, dtype=np.float64).reshape(-1, 3)
    held = (bounds[:, 0] <= bounds[:, 2]) & (bounds[:, 2] <= bounds[:, 1])
    return Judged(
        way=way,
        windows=len({place[0] for place in exact if place in mine}),
        rows=len(both),
        after_s=float(after.mean()),
        after_p50_s=float(np.quantile(after, 0.5)),
        after_p90_s=float(np.quantile(after, 0.9)),
        after_p99_s=float(np.quantile(after, 0.99)),
        accurate=float(np.mean(off <= error)),
        error=float(off.mean()),
        covered=float(held.mean()) if len(held) else None,
        width=float(np.mean((bounds[:, 1] - bounds[:, 0]) / np.abs(bounds[:, 2])))
        if len(held)
        else None,
        met=_mean([one.met for one, _ in both if one.met is not None]),
        kept=_mean([one.sample / one.input for one, _ in both if one.sample and one.input]),
    )


def _mean(values: Sequence[float | bool]) -> float | None:
    return float(np.mean(values)) if values else None
