"""Queues of a simulated operator: events as amounts, with watermarks between them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Watermark:
    """A watermark on its way through a query."""

    stream: int
    time_s: float
    """In the source's own time."""
    emitted_at_s: float
    sweeps_s: float | None = None
    """The deadline that it is the first to pass, if it is."""


@dataclass(slots=True)
class Events:
    """So many events that came in at about one time."""

    amount: float
    since_s: float


class Fifo:
    """Amounts of events and watermarks, in the order in which they came."""

    __slots__ = ("amount", "items")

    def __init__(self) -> None:
        self.items: deque[Events | Watermark] = deque()
        self.amount = 0.0

    def push(self, amount: float, since_s: float) -> None:
        """More events; they join those that came last, unless a watermark lies between."""
        if amount <= 0.0:
            return
        self.amount += amount
        last = self.items[-1] if self.items else None
        if isinstance(last, Events) and since_s - last.since_s < 1.0:
            last.amount += amount
        else:
            self.items.append(Events(amount, since_s))

    def mark(self, watermark: Watermark) -> None:
        """A watermark behind all that is there."""
        self.items.append(watermark)

    def take(self, amount: float) -> None:
        """So many of the first events are gone."""
        front = self.items[0]
        assert isinstance(front, Events)
        front.amount -= amount
        self.amount -= amount
        if front.amount <= 1e-9:
            self.items.popleft()
            self.amount = max(self.amount, 0.0) if self.items else 0.0

    @property
    def oldest_s(self) -> float | None:
        """When what is in front came, None when there are no events in front."""
        for item in self.items:
            if isinstance(item, Events):
                return item.since_s
        return None
