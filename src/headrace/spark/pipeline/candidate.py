"""A pipeline at the gate: what the scheduler may know of it, and how it gets its turns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql.streaming.query import StreamingQuery

from headrace.query.deadlines import Deadlines
from headrace.query.window import TimeWindow
from headrace.registry.changelog import ActiveQuery
from headrace.runtime.entries import Begin
from headrace.runtime.gate import Gate
from headrace.runtime.outcome import Outcome
from headrace.runtime.state import PipelineState
from headrace.scheduling.news import News
from headrace.scheduling.order import Turn
from headrace.scheduling.snapshot import PipelineView
from headrace.scheduling.standing import Standing
from headrace.spark.pipeline.intake import Intake
from headrace.types import BEGINNING, Clock


class Candidate:
    """Reads the last committed state, so that looking at it never waits for a batch."""

    def __init__(
        self,
        name: str,
        gate: Gate,
        intake: Intake,
        clock: Clock,
        lateness_us: int,
        state: Callable[[], PipelineState],
    ) -> None:
        self.name = name
        self.standing = Standing(lateness_us / 1e6)
        self.streaming: StreamingQuery | None = None
        self._gate = gate
        self._intake = intake
        self._clock = clock
        self._state = state
        self._deadlines = Deadlines()
        self._hurries = 0
        self._settled_s = 0.0
        self.news: Callable[[], News | None] = lambda: None
        """What the session said whose results the stream is."""
        self.downstream_s: Callable[[], float] = lambda: 0.0
        """What the rest of its queries takes in sessions that read their results."""

    # -- turns --------------------------------------------------------------------------------

    @contextmanager
    def turn(self, alive: Callable[[], bool]) -> Iterator[Turn | None]:
        """Wait for a turn and have it; None when nobody wants it any more."""
        turn = self._gate.enter(self, alive)
        try:
            yield turn
        finally:
            if turn is not None:
                self._gate.leave()

    @contextmanager
    def room(self, *, wait: bool) -> Iterator[bool]:
        """Have room for work that is no batch, if there is any."""
        there = self._gate.admit(wait=wait)
        try:
            yield there
        finally:
            if there:
                self._gate.leave()

    @contextmanager
    def hurry(self) -> Iterator[None]:
        """Somebody waits for all that it has: meanwhile its turn is not put off."""
        self._hurries += 1
        self._gate.hurry()
        try:
            yield
        finally:
            self._hurries -= 1

    @property
    def hurried(self) -> bool:
        """Whether somebody waits."""
        return self._hurries > 0

    def dismiss(self) -> None:
        """It no longer wants a turn."""
        self._gate.dismiss(self)

    # -- what is known ------------------------------------------------------------------------

    @property
    def now_s(self) -> float:
        """By the pipeline's clock."""
        return self._clock.now()

    def view(self, now_s: float, waits_since_s: float) -> PipelineView:
        """For a decision."""
        state = self._state()
        queued, oldest_s = self._intake.queued(state.only.offsets, self.streaming)
        deadline_us = self._deadlines.after(state.emitted_upto_us)
        told, news = None, self.news()
        if news is not None and deadline_us is not None:
            told = news.sweep(deadline_us / 1e6, self.standing.lateness_s)
        return self.standing.view(
            self.name,
            now_s=now_s,
            waits_since_s=waits_since_s,
            queued=queued,
            oldest_s=oldest_s,
            deadline_s=None if deadline_us is None else deadline_us / 1e6,
            hurried=self.hurried,
            told=told,
            downstream_s=self.downstream_s(),
        )

    def news_of(self, query: ActiveQuery) -> News | None:
        """When the next window of a query will be out, for whoever reads its results."""
        window = query.logical.window
        mine = Deadlines.of([(window, query.since_us, query.partial_first)])
        next_us = mine.after(self._state().emitted_upto_us)
        if next_us is None or not isinstance(window, TimeWindow):
            return None
        sweep = self.standing.expected(next_us / 1e6)
        if sweep is None:
            return None
        cost = self.standing.cost
        out = sweep.moved(cost.ingest.usual_s + cost.sweep_s)
        return News(next_us / 1e6, window.slide_us / 1e6, out)

    def serves(self, queries: Iterable[ActiveQuery]) -> None:
        """These are active now."""
        self._deadlines = Deadlines.of(
            (q.logical.window, q.since_us, q.partial_first) for q in queries
        )

    def settles(self, now_s: float, turn: Turn) -> None:
        """A batch is about to read what has come by now, or by the time that its turn says."""
        self._settled_s = now_s if turn.until_s is None else min(now_s, turn.until_s)

    def learn(self, begin: Begin, outcome: Outcome) -> None:
        """What a batch tells; a firing without one tells nothing."""
        if begin.kind != "batch":
            return
        watermark_us = outcome.state.watermark_us
        self.standing.ran(
            settled_s=self._settled_s,
            tuples=outcome.tuples,
            delays=outcome.delays,
            rows=outcome.emitted.rows,
            ingest_s=outcome.ingest_s,
            fire_s=outcome.fire_s,
            watermark_s=None if watermark_us <= BEGINNING else watermark_us / 1e6,
            swept=outcome.fire_s is not None,
        )
