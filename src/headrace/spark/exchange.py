"""Sessions tell each other what they need to decide alone: progress downstream, cost upstream.

A session that publishes answers one question: those who read its results say what the rest of a
query costs them, and are told when its windows will be out. Messages are JSON over a socket whose
two ends prove to each other that they know the same key (HMAC, as `multiprocessing` does it);
nothing that comes in is ever run. What is older than two seconds is forgotten: a session whose
neighbour is gone decides as if it had none.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener
from typing import Any

from headrace.errors import QueryError
from headrace.scheduling.news import News

log = logging.getLogger("headrace")

Address = tuple[str, int]
_EVERY_S = 0.1
_OLD_S = 2.0
_FAILURES = (OSError, EOFError, AuthenticationError, ValueError)


@dataclass(frozen=True)
class Upstream:
    """Where the query lives whose results a stream is: a session that publishes, and the key."""

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
        self._values = {**self._values, **{name: (now, v) for name, v in values.items()}}

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
        self._closed = False
        try:
            self._listener = Listener(address, authkey=key)
        except OSError as error:
            raise QueryError(f"cannot publish at {address}: {error}") from error
        threading.Thread(target=self._accept, name="headrace-publish", daemon=True).start()

    @property
    def address(self) -> Address:
        """Where it is found."""
        host, port = self._listener.address
        return str(host), int(port)

    def cost_s(self, query: str) -> float:
        """What the rest of a query takes downstream; nothing where nobody said."""
        return float(self._costs.get(query) or 0.0)

    def close(self) -> None:
        """No more news."""
        self._closed = True
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection = self._listener.accept()
            except AuthenticationError:
                log.warning("somebody asked for news with a wrong key")
                continue
            except (OSError, EOFError):
                continue
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: Connection) -> None:
        with contextlib.suppress(*_FAILURES), connection:
            while not self._closed:
                asked = json.loads(connection.recv_bytes())
                self._costs.put({str(q): float(c) for q, c in asked["costs"].items()})
                told = {q: n.to_json() for q, n in self._news().items()}
                connection.send_bytes(json.dumps({"news": told}).encode())


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
        self._thread = threading.Thread(target=self._run, name="headrace-subscribe", daemon=True)
        self._thread.start()

    def news(self, query: str) -> News | None:
        """The last news of a query, unless they are old."""
        return self._news.get(query)

    def close(self) -> None:
        """No longer ask."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        """A neighbour that cannot be reached is asked again; nothing waits for it."""
        told = False
        while not self._stop.is_set():
            try:
                with Client(self._address, authkey=self._key) as connection:
                    told = False
                    self._ask(connection)
            except _FAILURES as error:
                if not told:
                    log.warning("no news from the session at %s: %r", self._address, error)
                told = True
            self._stop.wait(10 * _EVERY_S)

    def _ask(self, connection: Connection) -> None:
        while not self._stop.wait(_EVERY_S):
            connection.send_bytes(json.dumps({"costs": dict(self._costs())}).encode())
            answer = json.loads(connection.recv_bytes())
            self._news.put({q: News.from_json(n) for q, n in answer["news"].items()})
