"""How much of a stretch of event time has arrived, and how much there will be (Aion, section 3).

Event time is cut into sub-streams of equal length. Of each is known how many tuples have come, how
many of them were kept as a sample, and of some of them how long they took. Those that are complete
tell how many tuples a sub-stream has and how delays are distributed; from both follows what is
still missing of one that is not.

The expected size of a sub-stream that is partly there weighs what is usual against what has come:
``E[N | n] = μ + k (n − F μ)`` with ``k = F σ² / (F² σ² + F (1 − F) μ + τ² μ²)``; F is the share
that should have come, τ² its variance from one sub-stream to the next, and μ and σ² are mean and
variance of complete ones. With an even rate (σ = 0) only the usual size counts; the less even it
is, and the more even delays are, the more what has come does. The variance left over is
``σ² (1 − k F)``, and that of the mean itself on top.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt

HISTORY = 50
"""Complete sub-streams remembered (m of the paper)."""
ENOUGH = 10
"""Fewer tell nothing: a deviation of a few has itself none that could be relied on."""
_SHORTEST_S, _LONGEST_S, _PER_DECADE = 1e-3, 1e3, 20
_DECADES = round(math.log10(_LONGEST_S / _SHORTEST_S))
EDGES_S: npt.NDArray[np.float64] = np.concatenate(
    [[0.0], np.geomspace(_SHORTEST_S, _LONGEST_S, _DECADES * _PER_DECADE + 1)]
)
"""Delays are counted in bins between these, twenty to a factor of ten. What is shorter, or negative
because clocks disagree, is in the first one, and what is longer in the last."""
BINS = len(EDGES_S) - 1

Counts = npt.NDArray[np.int64]
"""Tuples by bin of delay."""
_ODD, _ODD_S = 8.0, 0.02
"""Delays farther from the usual ones than so many times their deviation, and a little, are odd."""
FEWEST = 30
"""Strata of fewer tuples are laid together: of so few no deviation can be told."""


def bin_of(delays_s: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """The bin of every delay."""
    return np.clip(np.searchsorted(EDGES_S, delays_s, side="right") - 1, 0, BINS - 1)


@dataclass(frozen=True, slots=True)
class Heard:
    """What has come of one sub-stream."""

    count: int
    kept: int
    """Of them as a sample; all, where nothing is sampled."""
    delays: Counts
    """Of some of them."""

    @classmethod
    def all_of(cls, delays: Counts) -> Heard:
        """Tuples that were all kept, and whose delays are all known."""
        count = int(delays.sum())
        return cls(count, count, delays)

    def plus(self, other: Heard) -> Heard:
        """With what came later."""
        return Heard(self.count + other.count, self.kept + other.kept, self.delays + other.delays)


NOTHING = Heard(0, 0, np.zeros(BINS, np.int64))


@dataclass(frozen=True, slots=True)
class Size:
    """How many tuples a stretch of event time has, as far as can be told before all have come."""

    arrived: float = 0.0
    expected: float = 0.0
    variance: float = 0.0
    """Of the expected number."""
    due: float = 0.0
    """How many should have come by now."""
    due_variance: float = 0.0

    @property
    def share(self) -> float:
        """Of all tuples that has arrived, as far as is known."""
        return min(self.arrived / self.expected, 1.0) if self.expected > 0.0 else 1.0

    @property
    def relative_variance(self) -> float:
        """Of the expected number."""
        return self.variance / self.expected**2 if self.expected > 0.0 else 0.0

    @property
    def at_most(self) -> float:
        """Over-estimated by two standard deviations, as the paper sizes its samples."""
        return self.expected + 2.0 * math.sqrt(self.variance)

    @property
    def surprise(self) -> float:
        """How many standard deviations what has come is away from what should have."""
        gap = abs(self.arrived - self.due)
        return gap / math.sqrt(max(self.due_variance, 1.0))

    def plus(self, other: Size) -> Size:
        """Of both stretches together."""
        return Size(
            self.arrived + other.arrived,
            self.expected + other.expected,
            self.variance + other.variance,
            self.due + other.due,
            self.due_variance + other.due_variance,
        )

    def scaled(self, part: float) -> Size:
        """Of a part of the stretch, tuples lying evenly in it."""
        return Size(
            self.arrived * part,
            self.expected * part,
            self.variance * part,
            self.due * part,
            self.due_variance * part,
        )


@dataclass(frozen=True, slots=True)
class Stratum:
    """A stretch of event time in which tuples were as likely to be there as each other."""

    start_us: int
    end_us: int
    size: Size
    kept: float
    """Tuples of the sample that are there."""

    def with_next(self, other: Stratum) -> Stratum:
        """Both, one after the other."""
        size, kept = self.size.plus(other.size), self.kept + other.kept
        return Stratum(self.start_us, other.end_us, size, kept)


def merged(strata: Sequence[Stratum], fewest: int = FEWEST) -> tuple[Stratum, ...]:
    """Strata laid together until each has enough tuples, the last with what is left over."""
    out: list[Stratum] = []
    for one in strata:
        if out and out[-1].kept < fewest:
            out[-1] = out[-1].with_next(one)
        else:
            out.append(one)
    while len(out) > 1 and out[-1].kept < fewest:
        last = out.pop()
        out[-1] = out[-1].with_next(last)
    return tuple(out)


def whole(strata: Sequence[Stratum]) -> Size:
    """The size of all of them together."""
    return reduce(Size.plus, (s.size for s in strata), Size())


@dataclass(frozen=True, slots=True)
class Usual:
    """What complete sub-streams tell: sizes, and the distribution of delays."""

    mean: float
    variance: float
    count: int
    shares: npt.NDArray[np.float64]
    """Of tuples that have come after each edge of the bins."""
    each: npt.NDArray[np.float64]
    """The same of every sub-stream by itself, a row each."""
    noise: float
    """Of a share of one sub-stream, times share (1 − share): few of its delays are looked at."""

    @classmethod
    def of(cls, ended: Sequence[Heard]) -> Usual:
        """Of some complete sub-streams. Those whose tuples took oddly long or short, as in a cold
        start, say nothing of delays."""
        sizes = np.array([one.count for one in ended], dtype=np.float64)
        found = np.array([one.delays for one in ended], dtype=np.int64)
        found = found[_usual_delays(found)]
        variance = float(sizes.var(ddof=1)) if len(sizes) > 1 else 0.0
        looked_at = found.sum(axis=1, keepdims=True)
        each = np.cumsum(found, axis=1) / np.maximum(looked_at, 1)
        noise = float(np.mean(1.0 / looked_at)) if len(found) else 0.0
        # One delay that was not seen yet is longer than all that were.
        shares = np.cumsum(found.sum(axis=0)) / (found.sum() + 1)
        return cls(
            float(sizes.mean()),
            variance,
            len(sizes),
            np.concatenate([[0.0], shares]),
            np.pad(each, ((0, 0), (1, 0))),
            noise,
        )

    def share_by(self, age_s: float) -> float:
        """Of tuples that take no longer than this."""
        return float(np.interp(age_s, EDGES_S, self.shares))

    def delay_s(self, share: float) -> float:
        """The delay that this share of tuples does not exceed."""
        if self.shares[-1] <= 0.0:
            return 0.0
        place = int(np.searchsorted(self.shares, min(share, float(self.shares[-1])), side="left"))
        if place == 0:
            return 0.0
        low, high = self.shares[place - 1], self.shares[place]
        step = (share - low) / (high - low) if high > low else 1.0
        return float(EDGES_S[place - 1] + min(step, 1.0) * (EDGES_S[place] - EDGES_S[place - 1]))

    def share_between(self, youngest_s: float, oldest_s: float) -> float:
        """Of tuples of such ages, evenly spread, that should have come."""
        return float(_between(self.shares[None, :], youngest_s, oldest_s)[0])

    def doubt_between(self, youngest_s: float, oldest_s: float) -> float:
        """The variance of that share from one sub-stream to the next."""
        if len(self.each) < 2:
            return 0.0
        found = _between(self.each, youngest_s, oldest_s)
        share = float(found.mean())
        return max(float(found.var(ddof=1)) - share * (1.0 - share) * self.noise, 0.0)

    def size(self, arrived: float, share: float, doubt: float = 0.0) -> Size:
        """Of a sub-stream of which so many have come, and this share should have, which itself has
        a variance."""
        due, spread = share * self.mean, share * (1.0 - share) * self.mean
        seen = share**2 * self.variance + spread + doubt * self.mean**2
        weight = share * self.variance / seen if seen > 0.0 else 0.0
        expected = max(self.mean + weight * (arrived - due), arrived)
        left = self.variance * (1.0 - weight * share)
        of_mean = self.variance / self.count * (1.0 - weight * share) ** 2
        return Size(
            arrived, expected, left + of_mean, due, seen + share**2 * self.variance / self.count
        )


def _between(
    shares: npt.NDArray[np.float64], youngest_s: float, oldest_s: float
) -> npt.NDArray[np.float64]:
    """For every row of shares at the edges: the mean over ages from youngest to oldest."""
    if oldest_s <= youngest_s:
        return _at(shares, oldest_s)
    low, high = max(youngest_s, 0.0), max(oldest_s, 0.0)
    inside = EDGES_S[(low < EDGES_S) & (high > EDGES_S)]
    ages = np.concatenate([[low], inside, [high]])
    values = np.stack([_at(shares, age) for age in (low, high)], axis=1)
    places = np.searchsorted(EDGES_S, inside)
    whole = np.concatenate([values[:, :1], shares[:, places], values[:, 1:]], axis=1)
    area = ((whole[:, :-1] + whole[:, 1:]) / 2.0) @ np.diff(ages)
    found: npt.NDArray[np.float64] = np.clip(area / (oldest_s - youngest_s), 0.0, 1.0)
    return found


def _at(shares: npt.NDArray[np.float64], age_s: float) -> npt.NDArray[np.float64]:
    """Every row at an age, straight between the edges."""
    place = int(np.clip(np.searchsorted(EDGES_S, age_s, side="right") - 1, 0, BINS - 1))
    into = (age_s - EDGES_S[place]) / (EDGES_S[place + 1] - EDGES_S[place])
    step = float(np.clip(into, 0.0, 1.0))
    found: npt.NDArray[np.float64] = (1.0 - step) * shares[:, place] + step * shares[:, place + 1]
    return found


def _usual_delays(found: Counts) -> npt.NDArray[np.bool_]:
    """Which rows have a mean delay not too far from that of most of them."""
    counts = found.sum(axis=1)
    some: npt.NDArray[np.bool_] = counts > 0
    if not some.any():
        return some
    means = found @ ((EDGES_S[:-1] + EDGES_S[1:]) / 2.0) / np.maximum(counts, 1)
    middle = np.median(means[some])
    spread = np.median(np.abs(means[some] - middle))
    usual: npt.NDArray[np.bool_] = some & (np.abs(means - middle) <= _ODD * spread + _ODD_S)
    return usual


class SubStreams:
    """Of one stream. Fed by numbers, by one thread.

    Complete ones stay known for `history` sub-streams, and are told from for `longest_us` at least.
    What is before `from_us` was not heard from its beginning: nothing is said of it.
    """

    def __init__(
        self,
        length_us: int,
        history: int = HISTORY,
        *,
        longest_us: int = 0,
        from_us: int | None = None,
    ) -> None:
        if length_us <= 0:
            raise ValueError(f"a sub-stream of {length_us} µs holds nothing")
        self.length_us = length_us
        self._history = self._stay = history
        self.remember(longest_us)
        self._open: dict[int, Heard] = {}
        self._ended: dict[int, Heard] = {}
        self._first = None if from_us is None else -(-from_us // length_us)
        """The first sub-stream that was heard from its beginning."""
        self._next = self._first
        """The first sub-stream that is not complete."""
        self._usual: Usual | None = None

    def remember(self, longest_us: int) -> None:
        """Complete ones are told from for so long from now on."""
        self._stay = max(self._stay, -(-longest_us // self.length_us) + 1)

    @property
    def usual(self) -> Usual | None:
        """What to expect; None before a few sub-streams are complete whose delays are known."""
        if self._usual is None:
            ended = list(self._ended.values())[-self._history :]
            if sum(bool(one.delays.any()) for one in ended) >= ENOUGH:
                self._usual = Usual.of(ended)
        return self._usual

    def heard(self, found: Mapping[int, Heard]) -> None:
        """After a batch: tuples by sub-stream. Those of complete ones are late, and left out."""
        if not found:
            return
        if self._first is None:
            # What the first batch has was cut short by the beginning of the stream.
            self._first = self._next = max(found) + 1
        assert self._next is not None
        for number, one in found.items():
            if number >= self._next:
                self._open[number] = self._open.get(number, NOTHING).plus(one)

    def completed(self, watermark_us: int) -> None:
        """Nothing before the watermark counts any more. A sub-stream without a tuple does."""
        upto = watermark_us // self.length_us
        if self._next is None or upto <= self._next:
            return
        for number in range(max(self._next, upto - self._stay), upto):
            self._ended[number] = self._open.get(number, NOTHING)
        for number in [n for n in self._open if n < upto]:
            del self._open[number]
        for number in list(self._ended)[: -self._stay]:
            del self._ended[number]
        self._next = upto
        self._usual = None

    def strata(self, start_us: int, end_us: int, now_us: int) -> tuple[Stratum, ...] | None:
        """A stretch of event time by sub-streams; None while nothing is known of it."""
        usual, length = self.usual, self.length_us
        if usual is None or self._next is None or self._first is None:
            return None
        if start_us < self._first * length:
            return None
        out = []
        for number in range(start_us // length, -(-end_us // length)):
            begins, ends = number * length, (number + 1) * length
            if number < self._next:
                heard = self._ended.get(number)
                if heard is None:
                    return None
                size = Size(heard.count, heard.count, 0.0, heard.count)
            else:
                heard = self._open.get(number, NOTHING)
                ages_s = (now_us - ends) / 1e6, (now_us - begins) / 1e6
                share, doubt = usual.share_between(*ages_s), usual.doubt_between(*ages_s)
                size = usual.size(heard.count, share, doubt)
            low, high = max(begins, start_us), min(ends, end_us)
            part = (high - low) / length
            out.append(Stratum(low, high, size.scaled(part), heard.kept * part))
        return tuple(out)

    def at_end(self, window_us: int, lag_us: int) -> Size | None:
        """What to expect of a window at its end, when all was read that came until a while before;
        None while nothing is known."""
        usual = self.usual
        if usual is None:
            return None
        expected = Size()
        for age_us in range(self.length_us, window_us + 1, self.length_us):
            oldest_s, youngest_s = ((a - lag_us) / 1e6 for a in (age_us, age_us - self.length_us))
            share = usual.share_between(youngest_s, oldest_s)
            doubt = usual.doubt_between(youngest_s, oldest_s)
            expected = expected.plus(usual.size(share * usual.mean, share, doubt))
        return expected

    def size(self, start_us: int, end_us: int, now_us: int) -> Size | None:
        """Of a stretch of event time; None while nothing is known."""
        found = self.strata(start_us, end_us, now_us)
        return None if found is None else whole(found)
