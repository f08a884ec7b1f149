"""How much of a stretch of event time has arrived, and how much there will be (Aion, section 3).

Event time is cut into sub-streams of equal length. Of each is known how many tuples have come, how
many of them were kept as a sample, and of some of them how long they took. Those that are complete
tell what is usual (`progress/usual.py`); from that follows what is still missing of one that is
not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from headrace.approximate.usual import NOTHING, Heard, Size, Usual

HISTORY = 50
"""Complete sub-streams remembered (m of the paper)."""
ENOUGH = 10
"""Fewer tell nothing: a deviation of a few has itself none that could be relied on."""
FEWEST = 30
"""Strata of fewer tuples are laid together: of so few no deviation can be told."""


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
        self.usual: Usual | None = None
        """What to expect; None before a few sub-streams are complete whose delays are known."""
        self._at_end: dict[tuple[int, int], Size] = {}
        """What is expected of windows, while nothing else is usual."""
        self._memo: dict[int, tuple[Size, int]] = {}
        self._memo_at: int | None = None
        """Of sub-streams that are not complete: what was told of them last, and as of when."""

    def remember(self, longest_us: int) -> None:
        """Complete ones are told from for so long from now on."""
        self._stay = max(self._stay, -(-longest_us // self.length_us) + 1)

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
        self._memo_at = None

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
        self._memo_at = None
        self._learn()

    def _learn(self) -> None:
        """What is usual now: made here, so that no answer waits for it."""
        ended = list(self._ended.values())[-self._history :]
        if sum(bool(one.delays.any()) for one in ended) >= ENOUGH:
            self.usual = Usual.of(ended)
        else:
            self.usual = None
        self._at_end.clear()

    def strata(self, start_us: int, end_us: int, now_us: int) -> tuple[Stratum, ...] | None:
        """A stretch of event time by sub-streams; None while nothing is known of it."""
        length = self.length_us
        if self.usual is None or self._first is None or start_us < self._first * length:
            return None
        out = []
        numbers = range(start_us // length, -(-end_us // length))
        self._look_at(numbers, now_us)
        for number in numbers:
            told = self._told(number)
            if told is None:
                return None
            size, kept = told
            low, high = max(number * length, start_us), min((number + 1) * length, end_us)
            part = (high - low) / length
            out.append(Stratum(low, high, size.scaled(part), kept * part))
        return tuple(out)

    def _look_at(self, numbers: range, now_us: int) -> None:
        """Make sure that it is known what can be told of some sub-streams that are not complete:
        windows share them."""
        usual = self.usual
        assert usual is not None
        assert self._next is not None
        if self._memo_at != now_us:
            self._memo_at = now_us
            self._memo.clear()
        fresh = [n for n in numbers if n >= self._next and n not in self._memo]
        if not fresh:
            return
        # From the youngest on, which is the last.
        fresh = list(range(max(fresh), min(fresh) - 1, -1))
        youngest_s = (now_us - (fresh[0] + 1) * self.length_us) / 1e6
        shares, doubts = usual.shares_in(youngest_s, self.length_us / 1e6, len(fresh))
        for number, share, doubt in zip(fresh, shares.tolist(), doubts.tolist(), strict=True):
            heard = self._open.get(number, NOTHING)
            self._memo[number] = usual.size(heard.count, share, doubt), heard.kept

    def _told(self, number: int) -> tuple[Size, int] | None:
        """The size of one sub-stream and how much of it was kept."""
        assert self._next is not None
        if number >= self._next:
            return self._memo[number]
        ended = self._ended.get(number)
        if ended is None:
            return None
        return Size(ended.count, ended.count, 0.0, ended.count), ended.kept

    def at_end(self, window_us: int, lag_us: int) -> Size | None:
        """What to expect of a window at its end, when all was read that came until a while before;
        None while nothing is known."""
        usual = self.usual
        if usual is None:
            return None
        if (window_us, lag_us) not in self._at_end:
            many = window_us // self.length_us
            shares, doubts = usual.shares_in(-lag_us / 1e6, self.length_us / 1e6, many)
            expected = Size()
            for share, doubt in zip(shares.tolist(), doubts.tolist(), strict=True):
                expected = expected.plus(usual.size(share * usual.mean, share, doubt))
            self._at_end[window_us, lag_us] = expected
        return self._at_end[window_us, lag_us]

    def size(self, start_us: int, end_us: int, now_us: int) -> Size | None:
        """Of a stretch of event time; None while nothing is known."""
        found = self.strata(start_us, end_us, now_us)
        return None if found is None else whole(found)
