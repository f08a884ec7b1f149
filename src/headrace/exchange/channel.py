"""Messages over a socket between two ends that know the same key, none of which waits for ever.

The bytes are those of `multiprocessing.connection`, and so is the proof that both know the key;
its own connections wait without limit for whoever is silent in the middle of a message.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import time
from multiprocessing.connection import answer_challenge, deliver_challenge
from typing import Any

Address = tuple[str, int]
PATIENCE_S = 5.0
"""How long the handshake may take, and any exchange of messages after it."""
LARGEST = 4 << 20
"""Bytes of a message; nobody needs more for the news of ten thousand queries."""
_LENGTH = struct.Struct("!i")


class Channel:
    """One end. It is one thread's; any other may hang up, which wakes the one that waits."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._until_s = 0.0
        self.limit(PATIENCE_S)

    def limit(self, seconds: float) -> None:
        """All that is sent and received from now on must be done within so long."""
        self._until_s = time.monotonic() + seconds

    def send_bytes(self, message: bytes) -> None:
        """Send one message; raises OSError when that takes too long."""
        self._socket.settimeout(self._left_s())
        self._socket.sendall(_LENGTH.pack(len(message)) + message)

    def recv_bytes(self, maxlength: int = LARGEST) -> bytes:
        """One whole message; raises OSError or EOFError where none comes in time, or too long."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if not 0 <= length <= maxlength:
            raise OSError(f"a message of {length} bytes")
        return self._read(length)

    def hang_up(self) -> None:
        """Nothing more is sent or received, by whatever thread."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Hang up and let go of the socket. For the thread whose it is: while another waits, the
        number of the descriptor could become that of a new connection, and it would wait there."""
        self.hang_up()
        self._socket.close()

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            self._socket.settimeout(self._left_s())
            part = self._socket.recv(min(size, 1 << 16))
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _left_s(self) -> float:
        left = self._until_s - time.monotonic()
        if left <= 0.0:
            raise TimeoutError("the other end takes too long")
        return left


def dial(address: Address) -> Channel:
    """Reach the other end; raises OSError, and does not wait long."""
    return Channel(socket.create_connection(address, PATIENCE_S))


def introduce(channel: Channel, key: bytes) -> None:
    """Both ends prove that they know the key, seen from the end that dialled; raises
    AuthenticationError where one does not, and OSError or EOFError as any exchange."""
    _prove(channel, key, (answer_challenge, deliver_challenge))


def greet(channel: Channel, key: bytes) -> None:
    """The same from the end that was called."""
    _prove(channel, key, (deliver_challenge, answer_challenge))


def _prove(channel: Channel, key: bytes, steps: tuple[Any, Any]) -> None:
    channel.limit(PATIENCE_S)
    try:
        for step in steps:
            step(channel, key)
    except (AssertionError, ValueError) as error:  # what Python makes of an answer out of line
        raise OSError(f"the other end speaks otherwise: {error}") from error
