"""The sessions before and after this one: what they tell reaches the pipelines, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from headrace.errors import QueryError
from headrace.exchange.channel import Address
from headrace.exchange.upstream import Publisher, Subscriber, Upstream
from headrace.scheduling.news import News
from headrace.spark.pipeline.runner import Pipeline


class Neighbours:
    """One publisher at most, and a subscriber for every session that streams come from."""

    def __init__(self, pipelines: Callable[[], Iterable[Pipeline]]) -> None:
        self.enabled = True
        self._pipelines = pipelines
        self._publisher: Publisher | None = None
        self._subscribers: dict[Address, Subscriber] = {}

    def publish(self, address: Address, key: bytes) -> Address:
        """Answer those who read the results of this session's queries."""
        if self._publisher is not None:
            raise QueryError(
                "the session publishes already", choices=(str(self._publisher.address),)
            )
        self._publisher = Publisher(address, key, self._news)
        return self._publisher.address

    def subscribe(self, upstream: Upstream) -> None:
        """Ask the session that a stream comes from."""
        if upstream.address not in self._subscribers:
            self._subscribers[upstream.address] = Subscriber(
                upstream.address, upstream.key, lambda: self._costs(upstream.address)
            )

    def introduce(self, pipeline: Pipeline) -> None:
        """Let a pipeline know what its neighbours tell."""
        pipeline.candidate.news = lambda: self._told(pipeline.stream.upstream)
        pipeline.candidate.downstream_s = lambda: self._owed(pipeline)

    def close(self) -> None:
        """Nobody is asked or told any more."""
        for subscriber in self._subscribers.values():
            subscriber.close()
        if self._publisher is not None:
            self._publisher.close()

    def _told(self, upstream: Upstream | None) -> News | None:
        if upstream is None or not self.enabled:
            return None
        return self._subscribers[upstream.address].news(upstream.query)

    def _owed(self, pipeline: Pipeline) -> float:
        publisher = self._publisher
        if publisher is None or not self.enabled:
            return 0.0
        names = [q.name for q in list(pipeline.registry.active.values())]
        return max((publisher.cost_s(name) for name in names), default=0.0)

    def _news(self) -> dict[str, News]:
        if not self.enabled:
            return {}
        found = {}
        for pipeline in self._pipelines():
            for query in list(pipeline.registry.active.values()):
                news = pipeline.candidate.news_of(query)
                if news is not None:
                    found[query.name] = news
        return found

    def _costs(self, address: Address) -> dict[str, float]:
        """By query: what the slowest of the pipelines that read its results has to do."""
        found: dict[str, float] = {}
        for pipeline in self._pipelines():
            upstream = pipeline.stream.upstream
            if not self.enabled or upstream is None or upstream.address != address:
                continue
            if not pipeline.is_running:
                continue
            candidate = pipeline.candidate
            cost = candidate.view(candidate.now_s, candidate.now_s).cost_s
            found[upstream.query] = max(found.get(upstream.query, 0.0), cost)
        return found
