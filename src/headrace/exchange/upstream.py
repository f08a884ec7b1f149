"""Sessions tell each other what they need to decide alone: progress downstream, cost upstream.

A session that publishes answers one question: those who read its results say what the rest of a
query costs them, and are told when its windows will be out. Messages are JSON over a socket whose
two ends prove to each other that they know the same key (HMAC, as `multiprocessing` does it);
nothing that comes in is ever run, and nobody waits long for the other end. What is older than two
seconds is forgotten: a session whose neighbour is gone decides as if it had none.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from typing import Any

from headrace.errors import QueryError
from headrace.exchange.channel import PATIENCE_S, Address, Channel, dial, introduce
from headrace.exchange.service import Service
from headrace.scheduling.news import News

log = logging.getLogger("headrace")

_EVERY_S = 0.1
_OLD_S = 2.0
_FAILURES = (
    OSError, EOFError, AuthenticationError, ValueError, KeyError, TypeError, AttributeError,
)  # fmt: skip
"""No neighbour, one that does not know the key, or one that says what cannot be."""


@dataclass(frozen=True)
class Upstream:
    """Says that a stream consists of the results of another session's query.

    ``address`` is what that session's `publish` returned, ``key`` the secret it was given, and
    ``query`` the name of the query there.
    """

    address: Address
    key: bytes = field(repr=False)
    query: str = ""

    def __post_init__(self) -> None:
        if not self.key or not self.query:
            raise QueryError("an upstream needs a key and the name of a query")


class _Fresh:
    """Values by name, forgotten when they are old. Safe to use from any thread."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[float, Any]] = {}

    def put(self, values: Mapping[str, Any]) -> None:
        now = time.monotonic()
        kept = {name: v for name, v in self._values.items() if now - v[0] < _OLD_S}
        self._values = {**kept, **{name: (now, v) for name, v in values.items()}}

    def get(self, name: str) -> Any | None:
        at, value = self._values.get(name, (float("-inf"), None))
        return value if time.monotonic() - at < _OLD_S else None


class Publisher:
    """The upstream end."""

    def __init__(
        self, address: Address, key: bytes, news: Callable[[], Mapping[str, News]]
    ) -> None:
        if not key:
            raise QueryError("publishing needs a key", choices=("key=secrets.token_bytes(32)",))
        self._news = news
        self._costs = _Fresh()
        try:
            self._service = Service(address, key, self._answer)
        except OSError as error:
            raise QueryError(f"cannot publish at {address}: {error}") from error

    @property
    def address(self) -> Address:
        """Where it is found."""
        return self._service.address

    def cost_s(self, query: str) -> float:
        """What the rest of a query takes downstream; nothing where nobody said."""
        return float(self._costs.get(query) or 0.0)

    def close(self) -> None:
        """No more news."""
        self._service.close()

    def _answer(self, message: bytes) -> bytes:
        asked = json.loads(message)
        self._costs.put({str(q): float(c) for q, c in asked["costs"].items()})
        return json.dumps({"news": {q: n.to_json() for q, n in self._news().items()}}).encode()


class Subscriber:
    """The downstream end, for all streams that come from one session."""

    def __init__(
        self, address: Address, key: bytes, costs: Callable[[], Mapping[str, float]]
    ) -> None:
        self._address = address
        self._key = key
        self._costs = costs
        self._news = _Fresh()
        self._stop = threading.Event()
        self._channel: Channel | None = None
        self._thread = threading.Thread(target=self._run, name="headrace-subscribe", daemon=True)
        self._thread.start()

    def news(self, query: str) -> News | None:
        """The last news of a query, unless they are old."""
        return self._news.get(query)

    def close(self) -> None:
        """No longer ask."""
        self._stop.set()
        channel = self._channel
        if channel is not None:
            channel.hang_up()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        """A neighbour that cannot be reached is asked again; nothing waits for it."""
        told = False
        while not self._stop.is_set():
            try:
                channel = self._channel = dial(self._address)
                if not self._stop.is_set():  # from here on, closing hangs up
                    introduce(channel, self._key)
                    told = False
                    self._ask(channel)
            except _FAILURES as error:
                if not told and not self._stop.is_set():
                    log.warning("no news from the session at %s: %r", self._address, error)
                told = True
            finally:
                if self._channel is not None:
                    self._channel.close()
            self._stop.wait(10 * _EVERY_S)

    def _ask(self, channel: Channel) -> None:
        while not self._stop.wait(_EVERY_S):
            channel.limit(PATIENCE_S)
            channel.send_bytes(json.dumps({"costs": dict(self._costs())}).encode())
            answer = json.loads(channel.recv_bytes())
            self._news.put({q: News.from_json(n) for q, n in answer["news"].items()})
