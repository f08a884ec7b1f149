"""One stream, one question, one way to close windows: what comes out, when, and how far off it is.

Time goes in steps, as micro-batches do. In every step the tuples that have come are counted, and
windows that have ended are closed if the way allows it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from headrace.approximate import bounds
from headrace.approximate.bounds import Bounded, Found, Strata
from headrace.approximate.closing import Aion, AqKSlack, KSlack, weak
from headrace.approximate.kept import Made, mean_square_of
from headrace.approximate.kept import Tuples as KeptTuples
from headrace.approximate.substreams import Stratum, SubStreams, merged, whole
from headrace.approximate.usual import BINS, Heard, Size, bin_of
from headrace.kernels.kmeans import kmeans
from headrace.lab.simulator.early.stream import CLUSTERS, Floats, Question, Setting, Tuples, make

WAYS = ("aion", "aion-all", "aion-minus", "aq-k-slack", "k-slack")
"""To close windows. `aion-all` works on all that has come, `aion-minus` samples but waits."""
_WARM_S = 20.0
"""Nothing counts before: history has to be gathered."""
_HAIR_S = 1e-9
"""So that a step at the very end of a window is not taken for one before it."""


@dataclass(frozen=True)
class Conditions:
    """What is the same for every way."""

    rate: float = 5_000.0
    window_s: float = 3.0
    windows: int = 1_000
    sub_stream_s: float = 0.6
    step_s: float = 0.1
    lateness_s: float = 4.0
    error: float = 0.05
    confidence: float = 0.95
    seed: int = 7


@dataclass
class Outcome:
    """What came out."""

    latency_s: list[float] = field(default_factory=list)
    """From the end of a window to its answer."""
    kept: list[float] = field(default_factory=list)
    """The share of a window's tuples that were worked on."""
    arrived: list[float] = field(default_factory=list)
    errors: list[Floats] = field(default_factory=list)
    """Relative, of every group of every window."""
    within: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    """Whether the exact answer lies within the bounds."""
    widths: list[Floats] = field(default_factory=list)
    met: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    """Whether the guarantee was stated to be met."""


def simulate(question: Question, setting: Setting, way: str, conditions: Conditions) -> Outcome:
    """So many windows, one after the other."""
    if way not in WAYS:
        raise ValueError(f"there is no way {way!r} (valid: {', '.join(WAYS)})")
    seconds = _WARM_S + conditions.window_s * conditions.windows + 3 * conditions.lateness_s
    rng = np.random.default_rng(conditions.seed)
    tuples = make(question, setting, conditions.rate, seconds, rng)
    return _Run(question, way, conditions, tuples).run()


class _Run:
    def __init__(
        self, question: Question, way: str, conditions: Conditions, tuples: Tuples
    ) -> None:
        self.question, self.way, self.conditions, self.tuples = question, way, conditions, tuples
        self.streams = SubStreams(round(conditions.sub_stream_s * 1e6))
        self.k_slack = KSlack()
        self.aq_k_slack = AqKSlack(conditions.error, conditions.window_s)
        totals = question.aggregate in ("count", "sum")
        self.aion = Aion(
            conditions.error,
            conditions.confidence,
            doubts_size=totals,
            only_counts=question.aggregate == "count",
        )
        self.outcome = Outcome()
        self.highest_s = 0.0
        self.rates: dict[int, float] = {}
        """Sampling rates of the windows that run."""
        self.clustered: dict[int, Made] = {}
        """Exact clusters of windows that were answered and are not learned from yet."""

    def run(self) -> Outcome:
        c = self.conditions
        order = np.argsort(self.tuples.came_s, kind="stable")
        came = self.tuples.came_s[order]
        time = self.tuples.time_s[order]
        first = int(np.ceil(_WARM_S / c.window_s))
        done, closed, complete = 0, 0, 0
        for step in range(1, int(self.tuples.time_s[-1] / c.step_s)):
            now = step * c.step_s + _HAIR_S
            upto = int(np.searchsorted(came, now, side="right"))
            self._hear(time[done:upto], came[done:upto])
            done = upto
            while (complete + 1) * c.window_s <= self.highest_s - c.lateness_s:
                self._learn(complete)
                complete += 1
            while (closed + 1) * c.window_s <= now and self._closes(closed, now):
                self._answer(closed, now, counts=closed >= first)
                closed += 1
            if closed >= first + c.windows:
                return self.outcome
        raise AssertionError("the stream goes on for longer than any window waits")

    def _hear(self, time_s: Floats, came_s: Floats) -> None:
        if not len(time_s):
            return
        delays = came_s - time_s
        numbers = (time_s * 1e6).astype(np.int64) // self.streams.length_us
        low = int(numbers.min())
        table = np.bincount(
            (numbers - low) * BINS + bin_of(delays),
            minlength=(int(numbers.max()) - low + 1) * BINS,
        ).reshape(-1, BINS)
        self.streams.heard({low + n: Heard.all_of(r) for n, r in enumerate(table) if r.any()})
        self.highest_s = max(self.highest_s, float(time_s.max()))
        self.streams.completed(int((self.highest_s - self.conditions.lateness_s) * 1e6))
        self.k_slack.heard(float(delays.max()))

    # -- closing ------------------------------------------------------------------------------

    def _closes(self, number: int, now: float) -> bool:
        c = self.conditions
        end = (number + 1) * c.window_s
        if self.way in ("k-slack", "aion-minus"):
            return self.k_slack.closes(end, self.highest_s)
        if self.way == "aq-k-slack":
            slack = self.aq_k_slack.slack_s(self.streams.usual)
            return slack is not None and self.highest_s - slack >= end
        if self.highest_s - c.lateness_s >= end:
            return True
        return self.aion.closes(self._size(number, now), self._rate(number))

    def _strata(self, number: int, now: float) -> tuple[Stratum, ...] | None:
        window = self.conditions.window_s
        start, end = (round(n * window * 1e6) for n in (number, number + 1))
        return self.streams.strata(start, end, round(now * 1e6))

    def _size(self, number: int, now: float) -> Size | None:
        strata = self._strata(number, now)
        return None if strata is None else whole(strata)

    def _rate(self, number: int) -> float:
        """Decided when a window is first looked at, from what the ones before needed."""
        if self.way not in ("aion", "aion-minus"):
            return 1.0
        if number not in self.rates:
            end_s = (number + 1) * self.conditions.window_s
            self.rates[number] = self.aion.rate(self._size(number, end_s))
        return self.rates[number]

    # -- answers ------------------------------------------------------------------------------

    def _learn(self, number: int) -> None:
        """What a complete window tells of the strength of its groups."""
        window = self._window(number)
        if self.question.aggregate == "kmeans":
            if len(window.time_s) > 1:
                exact = self.clustered.pop(number, None) or self._clustered(window, None)
                self.aion.learned(exact.strength)
            return
        found = self._groups(window, [(-np.inf, np.inf)])
        averages = self.question.aggregate == "avg"
        strengths = (bounds.strength_of_average if averages else bounds.strength_of_total)(found)
        weaker = weak(strengths[found.n.sum(axis=0) > 1.0])
        if weaker is not None:
            self.aion.learned(weaker)

    def _answer(self, number: int, now: float, *, counts: bool) -> None:
        c = self.conditions
        window = self._window(number)
        strata, rate = self._strata(number, now), self._rate(number)
        there = window.came_s <= now
        self.aq_k_slack.lacked(1.0 - float(there.mean()) if len(there) else 0.0)
        self.rates.pop(number, None)
        if not counts:
            return
        kept = window.where(there & (window.luck < rate))
        exact = self._exact(number, window)
        complete = now >= (number + 1) * c.window_s + c.lateness_s and rate >= 1.0
        estimates = self.way.startswith("aion") and not complete
        found = self._bounded(kept, strata if estimates else None)
        some = exact.value != 0.0
        out = self.outcome
        out.latency_s.append(now - (number + 1) * c.window_s)
        out.kept.append(len(kept.time_s) / max(len(window.time_s), 1))
        out.arrived.append(float(there.mean()) if len(there) else 1.0)
        error = np.abs(found.value[some] / exact.value[some] - 1.0)
        out.errors.append(error)
        inside = (found.lower <= exact.value) & (exact.value <= found.upper)
        out.within.append(inside[some])
        out.widths.append((found.upper - found.lower)[some] / np.abs(exact.value[some]))
        out.met.append(found.within(c.error)[some])

    def _window(self, number: int) -> Tuples:
        window = self.conditions.window_s
        return self.tuples.between(number * window, (number + 1) * window)

    def _exact(self, number: int, window: Tuples) -> Bounded:
        if self.question.aggregate != "kmeans":
            return self._bounded(window, None)
        self.clustered[number] = self._clustered(window, None)
        return self.clustered[number].bounded

    def _bounded(self, window: Tuples, strata: tuple[Stratum, ...] | None) -> Bounded:
        """Of the tuples that are there; without strata they are all."""
        if self.question.aggregate == "kmeans":
            return self._clustered(window, strata).bounded
        cuts, seen = _laid(window, strata)
        found = self._groups(window, cuts)
        confidence = self.conditions.confidence
        if self.question.aggregate == "count":
            return bounds.count(found.n, seen, confidence)
        estimate = bounds.total if self.question.aggregate == "sum" else bounds.average
        return estimate(found, seen, confidence)

    def _clustered(self, window: Tuples, strata: tuple[Stratum, ...] | None) -> Made:
        """The mean squared distance to the centres of what is there."""
        cuts, seen = _laid(window, strata)
        stratum = np.searchsorted([low for low, _ in cuts], window.time_s, side="right") - 1
        tuples = KeptTuples(stratum, np.ones(len(stratum)), seen)
        _, off = kmeans(window.value, tuples.weights, CLUSTERS)
        return mean_square_of(tuples, off, self.conditions.confidence)

    def _groups(self, window: Tuples, cuts: list[tuple[float, float]]) -> Found:
        """Of every group in every stretch of time."""
        parts = [self._group(window.between(low, high)) for low, high in cuts]
        return Found(*(np.array(column) for column in zip(*parts, strict=True)))

    def _group(self, part: Tuples) -> tuple[Floats, Floats, Floats]:
        part, size = part.where(part.group >= 0), self.question.groups
        n = np.bincount(part.group, minlength=size).astype(np.float64)
        mean = np.bincount(part.group, part.value, minlength=size) / np.maximum(n, 1.0)
        off = (part.value - mean[part.group]) ** 2
        return n, mean, np.bincount(part.group, off, minlength=size).astype(np.float64)


def _laid(
    window: Tuples, strata: tuple[Stratum, ...] | None
) -> tuple[list[tuple[float, float]], Strata]:
    """Where strata begin and end, laid together where they have few tuples, and what is there."""
    if strata is None:
        return [(-np.inf, np.inf)], Strata.complete()
    edges = [[s.start_us / 1e6, s.end_us / 1e6] for s in strata]
    at = np.searchsorted(window.time_s, edges)
    told = [
        replace(stratum, kept=float(high - low))
        for stratum, (low, high) in zip(strata, at, strict=True)
    ]
    laid = merged(told)
    return [(s.start_us / 1e6, s.end_us / 1e6) for s in laid], Strata.of(laid)
