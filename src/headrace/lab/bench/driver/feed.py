"""Events made at a fixed rate that depends on nothing but the clock, delayed as a network would.

An event's time is when it was due, not when the driver got round to making it. So a system that
stalls, or a driver that does, cannot make the stream look better than it was.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from headrace.lab.bench.makers import Maker
from headrace.lab.delays import Constant, Delay, Seconds

TICK_S = 0.01
"""Events are handed over in steps of this length; nothing is measured more finely."""
_MOST = 65_536
"""Events made at a time."""


class Feed:
    """One partition of one stream: which events have reached the queue by now."""

    def __init__(
        self,
        maker: Maker,
        *,
        seed: int,
        partition: int,
        partitions: int,
        start_s: float,
        delay: Delay,
        gap: Delay | None,
    ) -> None:
        self._maker = maker
        self._rng = np.random.Generator(np.random.SFC64([seed, partition]))
        self._partition = partition
        self._partitions = partitions
        self._start_s = start_s
        self._delay = delay
        self._gap = gap
        self._rate = 0.0
        self._now_s = start_s
        self._credit = 0.0
        """Events due and not made: the fraction that the last step left over."""
        self._next_s = start_s
        """With random gaps, when the next event is due."""
        self._made = 0
        self._under_way: dict[int, list[pa.RecordBatch]] = {}

    @property
    def made(self) -> int:
        """Events made so far, those still under way included."""
        return self._made

    @property
    def reached_s(self) -> float:
        """Up to when events have been made."""
        return self._now_s

    def set_rate(self, rate: float) -> None:
        """So many events per second of this partition from the last step on."""
        self._rate = rate

    def skip_to(self, now_s: float) -> None:
        """What is due by then and was not made never will be."""
        self._now_s = max(self._now_s, now_s)
        self._next_s = max(self._next_s, now_s)

    def sample(self) -> pa.RecordBatch:
        """A few events, made aside: what they look like and how large they are."""
        numbers = np.arange(100)
        columns = self._maker.columns(np.random.default_rng(0), numbers, numbers / 1000.0)
        return self._stamped(columns, self._start_s + numbers / 1000.0)

    def upto(self, now_s: float) -> Iterator[pa.RecordBatch]:
        """Events that have reached the queue since the last call, in the order they did."""
        at_once = isinstance(self._delay, Constant) and self._delay.seconds == 0
        for times in self._due(now_s):
            batch = self._make(times)
            if at_once:
                yield batch
            else:
                self._send(batch, times)
        if not at_once:
            yield from self._arrived(now_s)

    def _due(self, now_s: float) -> Iterator[Seconds]:
        """Event times of what is due, at most so many at a time."""
        rate = self._rate  # another thread may set the next one meanwhile
        if now_s <= self._now_s:
            return
        if rate <= 0:
            self._now_s = self._next_s = now_s
            return
        if self._gap is not None:
            yield from self._due_at_random(now_s, rate, self._gap)
            return
        while self._now_s < now_s:
            step = min(now_s - self._now_s, _MOST / rate)
            exact = step * rate + self._credit
            count = int(exact)
            times: Seconds = self._now_s + (np.arange(1.0, count + 1) - self._credit) / rate
            self._credit = exact - count
            self._now_s += step
            if count:
                yield times

    def _due_at_random(self, now_s: float, rate: float, gap: Delay) -> Iterator[Seconds]:
        scale = 1.0 / (rate * gap.mean)
        while self._next_s <= now_s:
            guess = int((now_s - self._next_s) * rate) + 16
            gaps = gap.draw(self._rng, min(guess, _MOST)) * scale
            times = self._next_s + np.concatenate([[0.0], np.cumsum(gaps)])
            count = int(np.searchsorted(times[:-1], now_s, side="right"))
            self._next_s = float(times[count])
            yield times[:count]
        self._now_s = now_s

    def _make(self, times: Seconds) -> pa.RecordBatch:
        number = (self._made + np.arange(len(times))) * self._partitions + self._partition
        self._made += len(times)
        columns = self._maker.columns(self._rng, number, times - self._start_s)
        return self._stamped(columns, times)

    @staticmethod
    def _stamped(columns: dict[str, pa.Array], times: Seconds) -> pa.RecordBatch:
        stamps = pa.array((times * 1e6).astype(np.int64)).view(pa.timestamp("us", "UTC"))
        return pa.RecordBatch.from_pydict({**columns, "time": stamps})

    def _send(self, batch: pa.RecordBatch, times: Seconds) -> None:
        """Sort by arrival and put each step's share aside until then."""
        arrival = times + self._delay.draw(self._rng, len(times))
        order = np.argsort(arrival, kind="stable")
        batch = batch.take(pa.array(order))
        step = np.floor(arrival[order] / TICK_S).astype(np.int64)
        steps, begins = np.unique(step, return_index=True)
        ends = np.append(begins[1:], len(step))
        for number, begin, end in zip(steps.tolist(), begins.tolist(), ends.tolist(), strict=True):
            self._under_way.setdefault(number, []).append(batch.slice(begin, end - begin))

    def _arrived(self, now_s: float) -> Iterator[pa.RecordBatch]:
        upto = int(np.floor(now_s / TICK_S))
        for number in sorted(n for n in self._under_way if n < upto):
            yield (
                pa.Table.from_batches(self._under_way.pop(number)).combine_chunks().to_batches()[0]
            )
