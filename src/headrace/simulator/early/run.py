"""One stream, one question, one way to close windows: what comes out, when, and how far off it is.

Time goes in steps, as micro-batches do. In every step the tuples that have come are counted, and
windows that have ended are closed if the way allows it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from statistics import median

import numpy as np
import numpy.typing as npt

from headrace.progress import bounds
from headrace.progress.bounds import Bounded, Seen
from headrace.progress.closing import STEADY, AqKSlack, KSlack, needed_share
from headrace.progress.substreams import BINS, Counts, Size, SubStreams, bin_of
from headrace.simulator.early.stream import Floats, Question, Setting, Tuples, make

WAYS = ("aion", "aion-all", "aion-minus", "aq-k-slack", "k-slack")
"""To close windows. `aion-all` works on all that has come, `aion-minus` samples but waits."""
_WARM_S = 20.0
"""Nothing counts before: history has to be gathered."""
_WEAKEST = 0.05
"""Groups weaker than this share of them may have to wait for all of their tuples."""
_MARGIN = 1.2
"""So many times the tuples that are needed are sampled: luck decides how many are, and windows
differ in how much their values do."""
_HAIR_S = 1e-9
"""So that a step at the very end of a window is not taken for one before it."""
_WINDOWS = 10
"""Complete windows that tell how strong groups are."""


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
        self.strengths: deque[float] = deque(maxlen=_WINDOWS)
        self.outcome = Outcome()
        self.highest_s = 0.0
        self.rates: dict[int, float] = {}
        """Sampling rates of the windows that run."""

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
        counts: dict[int, Counts] = {low + n: row for n, row in enumerate(table) if row.any()}
        self.streams.heard(counts)
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
        size = self._size(number, now)
        if size is None or not self.strengths or self.highest_s - c.lateness_s >= end:
            return self.highest_s - c.lateness_s >= end
        share = size.share * self._rate(number)
        return size.surprise <= STEADY and share >= self._needed(size)

    def _size(self, number: int, now: float) -> Size | None:
        window = self.conditions.window_s
        start, end = (round(n * window * 1e6) for n in (number, number + 1))
        return self.streams.size(start, end, round(now * 1e6))

    def _needed(self, size: Size) -> float:
        c = self.conditions
        doubt = 0.0 if self.question.aggregate == "avg" else size.relative_variance
        confidence = bounds.cautious(c.confidence)
        return needed_share(median(self.strengths), c.error, confidence, doubt)

    def _rate(self, number: int) -> float:
        """Decided when a window is first looked at, from what the ones before needed."""
        if self.way not in ("aion", "aion-minus"):
            return 1.0
        if number not in self.rates:
            rate = 1.0
            end_s = (number + 1) * self.conditions.window_s
            size = self._size(number, end_s)
            if size is not None and self.strengths:
                rate = min(_MARGIN * self._needed(size) / max(size.share, 1e-9), 1.0)
            self.rates[number] = rate
        return self.rates[number]

    # -- answers ------------------------------------------------------------------------------

    def _learn(self, number: int) -> None:
        """What a complete window tells of the strength of its groups."""
        found = self._groups(self._window(number))
        strengths = _strengths(self.question, *found)
        if len(strengths):
            self.strengths.append(float(np.quantile(strengths, _WEAKEST)))

    def _answer(self, number: int, now: float, *, counts: bool) -> None:
        c = self.conditions
        window = self._window(number)
        size, rate = self._size(number, now), self._rate(number)
        there = window.came_s <= now
        self.aq_k_slack.lacked(1.0 - float(there.mean()) if len(there) else 0.0)
        self.rates.pop(number, None)
        if not counts:
            return
        estimates = self.way.startswith("aion")
        seen = Seen(1.0)
        if estimates and size is not None:
            whole = now >= (number + 1) * c.window_s + c.lateness_s
            share = 1.0 if whole else size.share
            seen = Seen(share * rate, 0.0 if whole else size.relative_variance)
        kept = there & (window.luck < rate)
        exact = self._bounded(self._groups(window), Seen(1.0))
        found = self._bounded(self._groups(window.where(kept)), seen)
        some = exact.value != 0.0
        out = self.outcome
        out.latency_s.append(now - (number + 1) * c.window_s)
        out.kept.append(float(kept.sum()) / max(len(window.time_s), 1))
        out.arrived.append(float(there.mean()) if len(there) else 1.0)
        error = np.abs(found.value[some] / exact.value[some] - 1.0)
        out.errors.append(error)
        inside = (found.lower <= exact.value) & (exact.value <= found.upper)
        out.within.append(inside[some])
        out.widths.append((found.upper - found.lower)[some] / np.abs(exact.value[some]))
        out.met.append(found.within(c.error)[some])

    def _window(self, number: int) -> Tuples:
        window = self.conditions.window_s
        all_of_it = self.tuples.between(number * window, (number + 1) * window)
        return all_of_it.where(all_of_it.group >= 0)

    def _groups(self, window: Tuples) -> tuple[Floats, Floats, Floats]:
        """Tuples, mean and variance of every group."""
        size = self.question.groups
        n = np.bincount(window.group, minlength=size).astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.bincount(window.group, window.value, minlength=size) / n
            off = (window.value - mean[window.group]) ** 2
            variance = np.bincount(window.group, off, minlength=size) / (n - 1.0)
        return n, np.nan_to_num(mean), np.nan_to_num(variance)

    def _bounded(self, groups: tuple[Floats, Floats, Floats], seen: Seen) -> Bounded:
        n, mean, variance = groups
        confidence = self.conditions.confidence
        if self.question.aggregate == "count":
            return bounds.count(n, seen, confidence)
        estimate = bounds.total if self.question.aggregate == "sum" else bounds.average
        return estimate(n, mean, variance, seen, confidence)


def _strengths(question: Question, n: Floats, mean: Floats, variance: Floats) -> Floats:
    some = n > 1
    n, mean, variance = n[some], mean[some], variance[some]
    if question.aggregate == "count":
        return n
    with np.errstate(divide="ignore"):
        if question.aggregate == "avg":
            return np.where(variance > 0.0, n * mean**2 / variance, np.inf)
        return n * mean**2 / (mean**2 + variance)
