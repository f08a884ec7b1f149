"""Answers whoever calls and knows the key, each in a thread of its own: nobody waits for another.

Those who call and say nothing, send garbage or do not know the key take a place for a few seconds
at most, and there are only so many places: whoever has been silent longest makes room.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from multiprocessing import AuthenticationError

from headrace.exchange.channel import PATIENCE_S, Address, Channel, greet

log = logging.getLogger("headrace")

PLACES = 64
"""Connections at a time."""
_LOOK_S = 1.0
"""Where closing does not wake the thread that accepts, it looks so often."""
_AGAIN_S = 0.1
"""Where no connection can be accepted, for want of file descriptors say, it is tried again."""


class _Place:
    """One connection."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.is_known = False
        self.heard_s = time.monotonic()
        self.thread: threading.Thread | None = None


class Service:
    """Listens from the beginning, until it is closed."""

    def __init__(self, address: Address, key: bytes, answer: Callable[[bytes], bytes]) -> None:
        """`answer` is asked by several threads; what it raises ends the connection that asked.
        Raises OSError where the address cannot be listened at."""
        self._key = key
        self._answer = answer
        self._lock = threading.Lock()
        self._places: list[_Place] = []
        self._closed = threading.Event()
        self._warned = False
        self._server = socket.create_server(address, backlog=PLACES)
        self._server.settimeout(_LOOK_S)
        self._thread = threading.Thread(target=self._accept, name="headrace-publish", daemon=True)
        self._thread.start()

    @property
    def address(self) -> Address:
        """Where it is found."""
        host, port = self._server.getsockname()[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Hang up on everybody; returns when no thread is left."""
        self._closed.set()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._server.close()
        with self._lock:
            places = list(self._places)
        for place in places:
            place.channel.hang_up()
        for place in places:
            if place.thread is not None and place.thread is not threading.current_thread():
                place.thread.join(PATIENCE_S)

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connected, _ = self._server.accept()
            except TimeoutError:
                continue
            except OSError:
                self._closed.wait(_AGAIN_S)
                continue
            self._admit(_Place(Channel(connected)))

    def _admit(self, place: _Place) -> None:
        with self._lock:
            if len(self._places) >= PLACES:
                # Strangers go before neighbours, and of either those who were silent longest.
                oldest = min(self._places, key=lambda p: (p.is_known, p.heard_s))
                self._places.remove(oldest)
                oldest.channel.hang_up()
            self._places.append(place)
        place.thread = threading.Thread(target=self._serve, args=(place,), daemon=True)
        try:
            place.thread.start()
        except RuntimeError:  # no more threads: this one is not served, others may be later
            place.thread = None
            self._leave(place)

    def _serve(self, place: _Place) -> None:
        try:
            greet(place.channel, self._key)
            place.is_known = True
            while not self._closed.is_set():
                place.heard_s = time.monotonic()
                place.channel.limit(PATIENCE_S)
                place.channel.send_bytes(self._answer(place.channel.recv_bytes()))
        except AuthenticationError:
            if not self._warned:
                log.warning("somebody asked for news with a wrong key")
            self._warned = True
        except (OSError, EOFError):
            pass  # they went, or were too slow
        except Exception:
            log.debug("a neighbour asked for what cannot be", exc_info=True)
        finally:
            self._leave(place)

    def _leave(self, place: _Place) -> None:
        place.channel.close()
        with self._lock:
            if place in self._places:
                self._places.remove(place)
