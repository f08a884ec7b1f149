"""What is asked of a stream in every way to close windows, as a workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import headrace as hr
from headrace.lab.bench.workloads import StreamSpec, Workload

DELAYS = {
    "CC": ("constant:150ms", "constant"),
    "GG": ("gamma:60,4ms", "gamma:2,0.5ms"),
    "EC": ("exponential:240ms", "constant"),
    "EG": ("exponential:240ms", "gamma:2,0.5ms"),
}
"""Aion's settings: the delay on the way and the gap between events. C: constant, G: gamma,
E: exponential."""
LATENESS = "4 seconds"
"""Exponential delays of 240 ms are longer in one of seventeen million cases."""


@dataclass(frozen=True)
class Question:
    """One question, to be asked with a hint."""

    about: str
    stream: StreamSpec
    item: str
    where: str = ""
    key: str | None = None

    def text(self, hint: str, window: str) -> str:
        """As SQL."""
        key = f", {self.key} AS key" if self.key else ""
        by = f", {self.key}" if self.key else ""
        return (
            f"SELECT {hint} window.end AS window_end{key}, {self.item} AS value "
            f"FROM {self.stream.name} {self.where} GROUP BY window(time, {window}){by}"
        )


_YSB = StreamSpec("events", "ysb", lateness=LATENESS)
_TAXI = StreamSpec("trips", "taxi", lateness=LATENESS)
_POINTS = StreamSpec(
    "points",
    "points",
    lateness=LATENESS,
    parameters={"clusters": 5, "extent": 100.0, "spread": 15.0},
)
_VIEWS = "WHERE event_type = 'view'"
QUESTIONS = {
    "ysb": Question("views of all campaigns", _YSB, "COUNT(*)", _VIEWS),
    "ysb-campaigns": Question("views of each campaign", _YSB, "COUNT(*)", _VIEWS, "campaign_id"),
    "nyt": Question("average distance of taxi trips", _TAXI, "AVG(distance)"),
    "kmeans": Question(
        "mean squared distance of points to five centres", _POINTS, "KMEANS_COST(5, x, y)"
    ),
    "nyt-payments": Question("distance by payment", _TAXI, "SUM(distance)", key="payment"),
}

_APPROX = (
    "/*+ APPROX(error => {error}, confidence => {confidence}, fallback => 'best_effort'{more}) */"
)
WAYS = {
    "exact": "",
    "k-slack": ", progress => 'k-slack'",
    "aq-k-slack": ", progress => 'aq-k-slack'",
    "aion": ", sample => true",
    "aion-all": "",
}
"""Ways to close windows, each a query of its own on the same stream. `exact` waits for all of the
lateness, and is what the others are compared with; `aion-all` works on all that has come."""


def chosen(ways: Sequence[str]) -> tuple[str, ...]:
    """Some ways in their usual order; exact windows are always there to compare with."""
    unknown = [w for w in ways if w not in WAYS]
    if unknown:
        raise hr.HeadraceError(f"there is no way {unknown[0]!r} (known: {', '.join(WAYS)})")
    return tuple(w for w in WAYS if w == "exact" or w in ways)


def workload(
    question: str,
    delays: str,
    rate: float,
    window_s: float,
    error: float,
    confidence: float,
    ways: Sequence[str] = tuple(WAYS),
) -> Workload:
    """Some ways, all at once."""
    asked = QUESTIONS.get(question)
    if asked is None:
        raise hr.HeadraceError(f"there is no question {question!r} (known: {', '.join(QUESTIONS)})")
    if delays not in DELAYS:
        raise hr.HeadraceError(f"there is no setting {delays!r} (known: {', '.join(DELAYS)})")
    delay, gap = DELAYS[delays]
    stream = asked.stream
    made = replace(stream, delay=delay, gap=gap)
    # Five windows at a time, so that a hundred take no five minutes.
    window = f"'{window_s:g} seconds', '{1000 * window_s / 5:g} milliseconds'"
    hints = [
        "" if w == "exact" else _APPROX.format(error=error, confidence=confidence, more=WAYS[w])
        for w in ways
    ]
    return Workload(
        name=f"{question}-{delays}-{window_s:g}s",
        title=asked.about,
        about=f"Windows of {window_s:g} s, delays {delays}, closed in {len(ways)} ways",
        rate=rate,
        count=len(ways),
        needs=None,
        streams=(made,),
        texts=tuple(asked.text(hint, window) for hint in hints),
        draws={},
    )
