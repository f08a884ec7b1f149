"""Which windows of approximate queries may be answered before the watermark has passed them."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from headrace.approximate.closing import Aion, AqKSlack, KSlack
from headrace.approximate.substreams import Stratum, SubStreams, merged, whole
from headrace.approximate.usual import BINS, Heard, Size
from headrace.kernels.columns import Ints
from headrace.kernels.delays import SubStreamsFound
from headrace.kernels.sampling import Schedule
from headrace.query.accuracy import Accuracy, Closing
from headrace.query.logical import Function, LogicalQuery
from headrace.query.needs import is_sampled, kept_of
from headrace.query.window import Span
from headrace.registry.changelog import ActiveQuery
from headrace.types import BEGINNING

_TOTALS = (Function.COUNT, Function.SUM)
"""They carry the error of the number of tuples."""
_STALE_US, _STALE_SHARE = 400_000, 0.1
"""What was read longer ago, and a larger share of the window, says too little of its end."""
_LONGEST_GAP_US = 2_000_000
"""After a longer time between two batches, as in a cold start, it is not known when tuples came."""
_LAG_US = 200_000
"""What is read before a window ends was there so long before."""
_OTHER = 0.1
"""A rate is changed when it is off by this share of it."""
_MANY = 1e9
_LEARN_AGAIN_S = 5.0
"""So often a query looks how strong the groups of exact windows are, once it has seen some: a
stream that catches up has many."""
_NEARER = 0.6
"""Groups that wait are looked at again when this share of what was missing is all that still is."""


@dataclass(frozen=True)
class EarlyDue:
    """A window to be answered from what is there."""

    span: Span
    uids: tuple[int, ...]
    strata: tuple[Stratum, ...] | None
    """None where what is there is taken for all."""
    complete: bool = False
    """Whether nothing can come any more."""
    heavy: bool = False
    """Whether it is made from all the tuples themselves, which takes long."""

    @property
    def share(self) -> float:
        """Of the tuples that have come."""
        return whole(self.strata or ()).share


def lightest_first(due: Sequence[EarlyDue]) -> list[tuple[EarlyDue, ...]]:
    """What is answered together: who asked for little does not wait for those who asked for much.

    >>> much, little = EarlyDue((0, 6), (1,), None, heavy=True), EarlyDue((0, 6), (2,), None)
    >>> [[one.uids for one in some] for some in lightest_first([much, little])]
    [[(2,)], [(1,)]]
    """
    parts = (tuple(d for d in due if d.heavy == heavy) for heavy in (False, True))
    return [part for part in parts if part]


@dataclass
class _Closer:
    """How the windows of one query are closed."""

    query: ActiveQuery
    accuracy: Accuracy
    closing: Closing
    sampled: bool
    aion: Aion
    aq_k_slack: AqKSlack
    heavy: bool
    learned_s: float = -math.inf
    open: dict[Span, float] = field(default_factory=dict)
    """Windows that AQ-K-slack has closed, with what was there: what they lacked is seen later."""


class EarlyWindows:
    """Of one pipeline. Fed by its transactions, under its lock."""

    def __init__(self, closing: Closing = "aion", *, rows_in_jvm: bool = False) -> None:
        self._closing = closing
        self._rows_in_jvm = rows_in_jvm
        self._streams: SubStreams | None = None
        self._closers: dict[int, _Closer] = {}
        self._pending: dict[tuple[int, Span], float] = {}
        """Windows of which groups wait, with the share that was missing when they were tried."""
        self._k_slack = KSlack()
        self._as_of_us = BEGINNING
        self.statistics_s = 0.0
        """Spent on counting, sampling and estimating so far, by tasks and by the driver."""
        self.deciding_s, self.decisions = 0.0, 0
        """How long answers had to wait for decisions by which windows were closed, and how many of
        these there were."""

    @property
    def sampled(self) -> frozenset[int]:
        """Queries that are made of a sample: none of their answers is exact by itself."""
        return frozenset(uid for uid, c in self._closers.items() if c.sampled)

    def learners(self, now_s: float) -> frozenset[int]:
        """Queries that should look how strong their groups are."""
        return frozenset(
            uid
            for uid, c in self._closers.items()
            if c.closing == "aion" and (c.aion.is_new or abs(now_s - c.learned_s) >= _LEARN_AGAIN_S)
        )

    def schedule(self, known: Schedule, highest_us: int, watermark_us: int) -> Schedule:
        """Rates by event time, after a batch: from the first sub-stream on of which no tuple has
        come, as many as the query needs that needs most."""
        wants = [c for c in self._closers.values() if c.sampled]
        if self._streams is None or not wants:
            return ()
        begun = time.perf_counter()
        length = self._streams.length_us
        sizes = {
            size_us: self._streams.at_end(size_us, _LAG_US)
            for size_us in {c.query.logical.time_window.size_us for c in wants}
        }
        rate = max(c.aion.rate(sizes[c.query.logical.time_window.size_us]) for c in wants)
        last = known[-1][1] if known else 1.0
        if highest_us > BEGINNING and abs(rate - last) > _OTHER * last:
            known = (*known, ((highest_us // length + 1) * length, rate))
        longest = max(c.query.logical.time_window.size_us for c in wants)
        needless = sum(start <= watermark_us - longest for start, _ in known[1:])
        self.statistics_s += time.perf_counter() - begun
        return known[needless:]

    def next_end_us(self, after_us: int) -> int | None:
        """The first end of a window that may be closed by the clock."""
        return min(
            (
                c.query.logical.time_window.next_end(after_us)
                for c in list(self._closers.values())
                if c.closing == "aion"
            ),
            default=None,
        )

    def serves(
        self, queries: Iterable[ActiveQuery], sub_stream_us: int | None, highest_us: int
    ) -> None:
        """These are active now. Where sub-streams are cut anew, what was counted is forgotten."""
        kept = self._closers
        self._closers = {}
        for query in queries:
            accuracy = query.logical.accuracy
            if accuracy is not None:
                known = kept.get(int(query.uid))
                self._closers[int(query.uid)] = known or self._closer(query, accuracy)
        if sub_stream_us is None:
            self._streams = None
            return
        if self._streams is None or self._streams.length_us != sub_stream_us:
            from_us = highest_us + 1 if highest_us > BEGINNING else None
            self._streams = SubStreams(sub_stream_us, from_us=from_us)
        longest = max(c.query.logical.time_window.size_us for c in self._closers.values())
        self._streams.remember(longest)

    def _closer(self, query: ActiveQuery, accuracy: Accuracy) -> _Closer:
        functions = {a.function for a in query.logical.aggregates}
        sampled = is_sampled(query.logical, rows_in_jvm=self._rows_in_jvm)
        return _Closer(
            query,
            accuracy,
            accuracy.closing or self._closing,
            sampled,
            Aion(
                accuracy.error,
                accuracy.confidence,
                doubts_size=not functions.isdisjoint(_TOTALS),
                only_counts=functions == {Function.COUNT},
            ),
            AqKSlack(accuracy.error, query.logical.time_window.size_us / 1e6),
            heavy=not sampled and any(kept_of(a) is not None for a in query.logical.aggregates),
        )

    def heard(
        self,
        told: Iterable[SubStreamsFound | None],
        spent_s: float,
        as_of_s: float,
        watermark_us: int,
    ) -> None:
        """After a batch that read what had come by a time; its tasks spent so long on counting."""
        self._as_of_us = round(as_of_s * 1e6)
        if self._streams is None:
            return
        begun = time.perf_counter()
        found: dict[int, Heard] = {}
        self.statistics_s += spent_s
        for counted in told:
            self._k_slack.heard(0.0 if counted is None else counted.longest_s)
            for number, (count, kept, bins) in ({} if counted is None else counted.counts).items():
                delays = np.zeros(BINS, np.int64)
                if bins:
                    places, tuples = zip(*bins, strict=True)
                    delays[list(places)] = tuples
                one = Heard(count, kept, delays)
                found[number] = found[number].plus(one) if number in found else one
        self._streams.heard(found)
        if watermark_us > BEGINNING:
            self._streams.completed(watermark_us)
            self._see_what_lacked(watermark_us)
        self.statistics_s += time.perf_counter() - begun

    def since_us(self, now_s: float) -> int | None:
        """Since when the tuples may have come that a batch reads now; None where that is too long
        ago, or not known, for their delays to tell anything."""
        now_us = round(now_s * 1e6)
        since_us = min(self._as_of_us, now_us)
        return since_us if now_us - since_us <= _LONGEST_GAP_US else None

    def silent(self, at_s: float) -> None:
        """The source had nothing more at this time."""
        self._as_of_us = max(self._as_of_us, round(at_s * 1e6))

    def answered(
        self,
        strengths: Mapping[int, tuple[float, float]],
        pending: Iterable[tuple[int, Span]],
        now_s: float,
        early: Iterable[EarlyDue] = (),
    ) -> None:
        """After a firing of some windows: how strong the weaker groups of each query were and those
        in the middle, and which windows have groups that wait."""
        for uid, (weaker, middle) in strengths.items():
            closer = self._closers.get(uid)
            if closer is not None:
                # Groups that are not good enough may wait by themselves where that is asked for.
                waits = closer.accuracy.fallback == "exact"
                closer.aion.learned(middle if waits else weaker)
                closer.learned_s = now_s
        missing = {(uid, due.span): 1.0 - due.share for due in early for uid in due.uids}
        self._pending |= {key: missing[key] for key in pending if key in missing}

    def due(
        self,
        starts: Ints,
        emitted_upto_us: int,
        highest_us: int,
        closed_upto_us: Mapping[int, int],
        now_s: float,
        sampling: Schedule = (),
        *,
        complete: bool = False,
        ahead_s: float = 0.0,
    ) -> tuple[EarlyDue, ...]:
        """Windows that have ended and may be closed now, of queries that have not closed them; or
        only those that nothing can come for any more. With ``ahead_s``, it is so long until now."""
        if self._streams is None or emitted_upto_us <= BEGINNING:
            return ()
        begun = time.perf_counter()
        now_us = emitted_upto_us if complete else round(now_s * 1e6)
        alike: dict[tuple[Span, str, bool], list[int]] = {}
        told: dict[Span, tuple[Stratum, ...] | None] = {}
        for uid, span in () if complete else self._nearer(emitted_upto_us, told):
            alike.setdefault((span, "aion", self._closers[uid].heavy), []).append(uid)
        for uid, closer in self._closers.items():
            after = closed_upto_us.get(uid, BEGINNING)
            if not closer.sampled:
                after = max(after, emitted_upto_us)
            window, life = closer.query.logical.time_window, closer.query.life
            if window.next_end(after) > now_us:
                continue
            for span in window.due(starts, after, now_us, life):
                if span not in told and closer.closing != "k-slack":
                    told[span] = self._streams.strata(*span, self._as_of_us)
                # What the watermark has passed is exact, but for a sample.
                if span[1] > emitted_upto_us and not self._closes(
                    closer, span, told.get(span), highest_us, now_us
                ):
                    # Windows are answered in the order of their ends.
                    break
                kind = "sampled" if closer.sampled else closer.closing
                alike.setdefault((span, kind, closer.heavy), []).append(uid)
        due = tuple(
            EarlyDue(
                span,
                tuple(uids),
                _strata_of(kind, span, told.get(span), sampling),
                span[1] <= emitted_upto_us,
                heavy,
            )
            for (span, kind, heavy), uids in sorted(alike.items())
        )
        spent_s = time.perf_counter() - begun
        self.statistics_s += spent_s
        if due:
            self.deciding_s += max(spent_s - ahead_s, 0.0)
            self.decisions += 1
        return due

    def _nearer(
        self, emitted_upto_us: int, told: dict[Span, tuple[Stratum, ...] | None]
    ) -> list[tuple[int, Span]]:
        """Windows with groups that wait, of which much more has come since."""
        assert self._streams is not None
        found = []
        for (uid, span), missing in list(self._pending.items()):
            if span[1] <= emitted_upto_us or uid not in self._closers:
                del self._pending[uid, span]
                continue
            if span not in told:
                told[span] = self._streams.strata(*span, self._as_of_us)
            strata = told[span]
            if strata is not None and 1.0 - whole(strata).share <= _NEARER * missing:
                del self._pending[uid, span]
                found.append((uid, span))
        return found

    def _closes(
        self,
        closer: _Closer,
        span: Span,
        strata: tuple[Stratum, ...] | None,
        highest_us: int,
        now_us: int,
    ) -> bool:
        end_s, highest_s = span[1] / 1e6, highest_us / 1e6
        match closer.closing:
            case "lateness":
                return False
            case "k-slack":
                return self._k_slack.closes(end_s, highest_s)
            case "aq-k-slack":
                assert self._streams is not None
                slack = closer.aq_k_slack.slack_s(self._streams.usual)
                closes = slack is not None and highest_s - slack >= end_s
                if closes and strata is not None:
                    closer.open[span] = whole(strata).arrived
                return closes
            case "aion":
                stale_us = max(_STALE_US, _STALE_SHARE * (span[1] - span[0]))
                if strata is None or now_us - self._as_of_us > stale_us:
                    return False
                size, rate = whole(strata), 1.0
                if closer.sampled:
                    rate = sum(s.kept for s in strata) / max(size.arrived, 1.0)
                return closer.aion.closes(size, rate)

    def _see_what_lacked(self, watermark_us: int) -> None:
        assert self._streams is not None
        for closer in self._closers.values():
            for span in [s for s in closer.open if s[1] <= watermark_us]:
                was_there = closer.open.pop(span)
                size = self._streams.size(*span, self._as_of_us)
                if size is not None and size.expected > 0.0:
                    closer.aq_k_slack.lacked(max(1.0 - was_there / size.expected, 0.0))


def _strata_of(
    kind: str, span: Span, told: tuple[Stratum, ...] | None, sampling: Schedule
) -> tuple[Stratum, ...] | None:
    """What estimates are made from."""
    if kind == "aion":
        return merged([replace(s, kept=s.size.arrived) for s in told or ()])
    if kind != "sampled":
        return None
    if told is not None:
        return merged(told)
    # How many tuples there are was not counted from the beginning of the window: rates are known.
    cuts = [span[0], *(start for start, _ in sampling if span[0] < start < span[1]), span[1]]
    rates = [next((r for s, r in reversed(sampling) if s <= start), 1.0) for start in cuts[:-1]]
    return tuple(
        Stratum(low, high, Size(_MANY, _MANY), _MANY * rate)
        for (low, high), rate in zip(pairwise(cuts), rates, strict=True)
    )


def is_finished(query: LogicalQuery) -> bool:
    """Whether nothing follows once a window of the query was answered early."""
    accuracy = query.accuracy
    return accuracy is not None and not accuracy.refine and accuracy.fallback != "exact"
