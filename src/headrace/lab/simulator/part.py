"""The part of a query that runs on one node: its operators, their queues, and running them.

Events are amounts, so a run is a handful of steps, whatever the number of events. A run takes
events from the last operator's queue first and then from those before it, so that whatever is taken
goes through to the end of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from headrace.lab.simulator.model import Operator, QuerySpec
from headrace.lab.simulator.queues import Events, Fifo, Watermark
from headrace.scheduling.snapshot import Stage

Passed = Callable[[Watermark, float], None]
"""Told which watermark left a part, and when."""


@dataclass(frozen=True, slots=True)
class Way:
    """From one operator to another, the second one left out."""

    cost_s: float
    """What an event takes, less what is kept on the way."""
    leaves: float
    """Events that come out per event."""
    steps: float
    """Operators that an event goes through, less what is kept on the way."""
    sweep_s: float
    """What a sweep takes: windows emit rows, and those go on."""
    rows: float
    """Rows that come out per sweep."""

    @classmethod
    def of(cls, operators: tuple[Operator, ...]) -> Way:
        """Through these."""
        cost = leaves = steps = sweep = rows = 0.0
        leaves = 1.0
        for op in reversed(operators):
            if op.is_window:
                sweep, rows = sweep + op.rows * cost, rows + op.rows * leaves
                cost, leaves, steps = op.per_event_s, 0.0, 1.0
            else:
                cost = op.per_event_s + op.selectivity * cost
                leaves *= op.selectivity
                steps = 1.0 + op.selectivity * steps
        return cls(cost, leaves, steps, sweep, rows)


@dataclass(slots=True)
class Part:
    """One query's operators on one node."""

    query: int
    spec: QuerySpec
    operators: tuple[Operator, ...]
    inputs: tuple[Fifo, ...]
    """Of its first operator, one per stream."""
    queues: tuple[Fifo, ...]
    """Of the operators after it; the first place is empty."""
    ways: dict[tuple[int, int], Way]
    watermarks_s: list[float]
    """Per stream, how far its first operator has come."""
    swept_s: float = 0.0
    """The last deadline that its first operator has seen swept in all streams."""
    done_s: float = 0.0
    """The last deadline whose sweep has left the part."""
    processed: float = 0.0
    """Events times operators, for throughput."""
    last_turn_s: float = -1.0
    waits_since_s: float | None = None
    in_progress: bool = False
    arrived_s: list[dict[float, float]] = field(default_factory=list)
    """Per stream: when the sweeping watermark of a deadline came that is not processed yet."""

    @classmethod
    def of(cls, query: int, spec: QuerySpec, node: int) -> Part:
        """Of the operators that are placed on a node."""
        operators = tuple(op for op in spec.operators if op.node == node)
        streams = spec.streams if operators[0] is spec.operators[0] else 1
        count = len(operators)
        ways = {
            (k, last): Way.of(operators[k:last])
            for k in range(count)
            for last in range(k + 1, count + 1)
        }
        return cls(
            query,
            spec,
            operators,
            tuple(Fifo() for _ in range(streams)),
            tuple(Fifo() for _ in operators),
            ways,
            [float("-inf")] * streams,
            arrived_s=[{} for _ in range(streams)],
        )

    # -- looking ------------------------------------------------------------------------------

    @property
    def queued(self) -> float:
        """Events that wait in it."""
        return sum(f.amount for f in self.inputs) + sum(f.amount for f in self.queues)

    @property
    def has_work(self) -> bool:
        """Whether anything waits, be it a watermark."""
        return any(f.items for f in self.inputs) or any(f.items for f in self.queues)

    def has_work_at(self, k: int) -> bool:
        """Whether anything waits in front of its k-th operator."""
        return bool(self.queues[k].items) or (k == 0 and any(f.items for f in self.inputs))

    @property
    def oldest_s(self) -> float | None:
        """When the oldest event that waits came in."""
        times = (f.oldest_s for f in (*self.inputs, *self.queues))
        return min((t for t in times if t is not None), default=None)

    @property
    def due_s(self) -> float:
        """End of the next window that is not out, in the source's time."""
        return self.done_s + self.spec.slide_s

    def stages(self) -> tuple[Stage, ...]:
        """For the policies. A window lets through what it emits per event that it is given."""
        given = self.spec.rate_per_s * self.spec.streams * self.spec.slide_s
        stages = []
        for k, op in enumerate(self.operators):
            selectivity = op.selectivity
            if op.is_window:
                selectivity = op.rows / max(given, op.rows)
            given *= selectivity
            queued = self.queues[k].amount
            if k == 0:
                queued = sum(f.amount for f in self.inputs)
            stages.append(Stage(queued, op.per_event_s, selectivity))
        return tuple(stages)

    @property
    def sweep_cost_s(self) -> float:
        """What the sweep itself takes here."""
        return self.ways[0, len(self.operators)].sweep_s

    # -- running ------------------------------------------------------------------------------

    def run(
        self,
        at_s: float,
        seconds: float,
        speed: float,
        passed: Passed,
        *,
        first: int = 0,
        last: int | None = None,
    ) -> tuple[float, float]:
        """Process for so long, the operators from `first` to before `last`, or all.

        Returns the time used and the events that left the part. Watermarks that leave it are told
        with their time.
        """
        count = len(self.operators)
        last = count if last is None else last
        budget = left = seconds * speed
        out = 0.0
        for k in reversed(range(first, last)):
            way = self.ways[k, last]
            while left > 0.0:
                fifo = self._next_input() if k == 0 else self.queues[k]
                if fifo is None or not fifo.items:
                    break
                item = fifo.items[0]
                now = at_s + (budget - left) / speed
                if isinstance(item, Events):
                    amount = (
                        item.amount if way.cost_s <= 0.0 else min(item.amount, left / way.cost_s)
                    )
                    fifo.take(amount)
                    left -= amount * way.cost_s
                    self.processed += amount * way.steps
                    out += self._leave(amount * way.leaves, last, now)
                    continue
                fifo.items.popleft()
                mark = self._heard(item) if k == 0 else item
                if mark is None:
                    continue
                if mark.sweeps_s is not None:
                    left -= way.sweep_s
                    out += self._leave(way.rows, last, now)
                if last < count:
                    self.queues[last].mark(mark)
                    continue
                if mark.sweeps_s is not None:
                    self._swept(mark.sweeps_s)
                passed(mark, at_s + (budget - left) / speed)
            if left <= 0.0:
                break
        return min((budget - left) / speed, seconds), out

    def _leave(self, amount: float, last: int, now_s: float) -> float:
        """Into the next operator's queue, or out of the part: returns what left it."""
        if last == len(self.operators):
            return amount
        self.queues[last].push(amount, now_s)
        return 0.0

    def _swept(self, deadline_s: float) -> None:
        self.in_progress = False
        self.done_s = deadline_s
        for arrived in self.arrived_s:
            for past in [d for d in arrived if d <= deadline_s]:
                del arrived[past]

    def _next_input(self) -> Fifo | None:
        """Of several input streams, the one whose watermark is furthest behind."""
        if len(self.inputs) == 1:
            return self.inputs[0]
        waiting = [n for n, fifo in enumerate(self.inputs) if fifo.items]
        if not waiting:
            return None
        return self.inputs[min(waiting, key=lambda n: self.watermarks_s[n])]

    def _heard(self, watermark: Watermark) -> Watermark | None:
        """What a watermark becomes at the first operator: the lowest over the streams counts.

        None where it moves nothing, as one that goes backwards.
        """
        before = min(self.watermarks_s)
        self.watermarks_s[watermark.stream] = max(
            self.watermarks_s[watermark.stream], watermark.time_s
        )
        now = min(self.watermarks_s)
        if now <= before:
            return None
        swept = watermark.sweeps_s
        if len(self.inputs) > 1:  # the last stream to pass a deadline sweeps it
            slide = self.spec.slide_s
            swept = now - now % slide
        if swept is None or swept <= self.swept_s:
            return Watermark(watermark.stream, now, watermark.emitted_at_s)
        self.swept_s = swept
        return Watermark(watermark.stream, now, watermark.emitted_at_s, swept)
