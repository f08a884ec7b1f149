"""exchange/upstream.py and scheduling/news.py: two ends that know the same key."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection

import pytest

import headrace as hr
from headrace.exchange import channel, service
from headrace.exchange import upstream as exchange
from headrace.exchange.channel import LARGEST
from headrace.exchange.upstream import Publisher, Subscriber, Upstream
from headrace.progress.sweep import SweepEstimate
from headrace.scheduling.news import News
from tests.waiting import GUARD_S, until

KEY = b"a key that both know"
LOCAL = ("127.0.0.1", 0)
OUT = SweepEstimate(10.0, 10.5, 0.1, 10.3, 10.7, 400)


@pytest.fixture
def publisher() -> Iterator[Publisher]:
    made = Publisher(LOCAL, KEY, lambda: {"views": News(10.0, 5.0, OUT)})
    yield made
    made.close()


@contextmanager
def stranger(publisher: Publisher) -> Iterator[socket.socket]:
    """Somebody who connects; nothing is judged before a long time has passed."""
    with socket.create_connection(publisher.address) as connected:
        connected.settimeout(GUARD_S)
        yield connected


def is_hung_up_on(connected: socket.socket) -> bool:
    """Waits until the other end says nothing more, for good."""
    try:
        while connected.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def is_served(publisher: Publisher) -> bool:
    """Whether a neighbour gets an answer, in a time that no deadline here comes near to."""
    answers: list[bytes] = []

    def ask() -> None:
        with Client(publisher.address, authkey=KEY) as connection:
            connection.send_bytes(b'{"costs": {}}')
            answers.append(connection.recv_bytes())

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(GUARD_S)
    return bool(answers) and "views" in json.loads(answers[0])["news"]


def test_news_tell_when_a_later_stage_can_close_its_window() -> None:
    #  query      … |5 -- 10|10 -- 15|15 -- 20|   the first is out at 10.5, then every 5 s
    #  reader         [0, 18) with a lateness of 1 s needs a row at 19 or later: the one at 20
    news = News(10.0, 5.0, OUT)
    assert news.sweep(18.0, 1.0).mean_s == pytest.approx(20.5)
    assert news.sweep(20.0, 0.0).high_s == pytest.approx(20.7), "a row at that very time"
    assert news.sweep(4.0, 0.0).mean_s == pytest.approx(5.5), "the one at 5 is out: it has come"
    assert News.from_json(news.to_json()) == news


def test_progress_goes_down_and_cost_goes_up() -> None:
    published = {"views": News(10.0, 5.0, OUT)}
    publisher = Publisher(LOCAL, KEY, lambda: published)
    subscriber = Subscriber(publisher.address, KEY, lambda: {"views": 0.7})
    try:
        until(lambda: subscriber.news("views") is not None)
        assert subscriber.news("views") == published["views"]
        assert subscriber.news("clicks") is None
        assert publisher.cost_s("views") == pytest.approx(0.7)
        assert publisher.cost_s("clicks") == 0.0
        published["views"] = News(15.0, 5.0, OUT.moved(5.0))
        until(lambda: subscriber.news("views") == published["views"])
    finally:
        subscriber.close()
        publisher.close()


def test_who_does_not_know_the_key_learns_nothing(caplog: pytest.LogCaptureFixture) -> None:
    publisher = Publisher(LOCAL, KEY, lambda: {"views": News(10.0, 5.0, OUT)})
    try:
        with pytest.raises(AuthenticationError), Client(publisher.address, authkey=b"guessed"):
            pass
        until(lambda: "wrong key" in caplog.text)
        subscriber = Subscriber(publisher.address, KEY, dict)  # and others are still answered
        until(lambda: subscriber.news("views") is not None)
        subscriber.close()
    finally:
        publisher.close()


def test_news_of_a_neighbour_that_is_gone_grow_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_OLD_S", 0.3)
    publisher = Publisher(LOCAL, KEY, lambda: {"views": News(10.0, 5.0, OUT)})
    subscriber = Subscriber(publisher.address, KEY, lambda: {"views": 0.5})
    until(lambda: subscriber.news("views") is not None)
    subscriber.close()
    until(lambda: subscriber.news("views") is None)
    until(lambda: publisher.cost_s("views") == 0.0)
    publisher.close()
    assert (subscriber.news("views"), publisher.cost_s("views")) == (None, 0.0)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(hr.QueryError, match="needs a key"):
        Publisher(LOCAL, b"", dict)
    with pytest.raises(hr.QueryError, match="cannot publish"):
        Publisher(("192.0.2.1", 1), KEY, dict)
    with pytest.raises(hr.QueryError, match="the name of a query"):
        Upstream(LOCAL, KEY)
    assert "both know" not in repr(Upstream(LOCAL, KEY, "views")), "keys are not printed"


def test_who_connects_and_sends_nothing_keeps_nobody_waiting(publisher: Publisher) -> None:
    with stranger(publisher), stranger(publisher) as halfway:
        halfway.sendall(struct.pack("!i", 20) + b"half")
        assert is_served(publisher)


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("!i", -1),
        struct.pack("!i", 2**31 - 1) + bytes(1000),
        struct.pack("!i", 5) + b"hello",
        os.urandom(5000),
    ],
)
def test_garbage_is_hung_up_on_and_others_are_served(publisher: Publisher, garbage: bytes) -> None:
    with stranger(publisher) as first, stranger(publisher) as second:
        first.sendall(garbage)
        second.sendall(garbage[:3])
        assert is_hung_up_on(first)
        assert is_served(publisher)


@pytest.mark.parametrize(
    "message",
    [
        b"not json",
        b'{"costs": [1]}',
        b"[" * 100_000,
        b'{"costs": {}}' + b" " * LARGEST,
    ],
)
def test_a_message_that_cannot_be_ends_only_its_connection(
    publisher: Publisher, message: bytes
) -> None:
    def ask(connection: Connection) -> bytes:
        connection.send_bytes(message)
        return connection.recv_bytes()

    with Client(publisher.address, authkey=KEY) as connection:
        with pytest.raises((EOFError, OSError)):
            ask(connection)
        assert is_served(publisher)


def test_the_silent_and_the_slow_are_hung_up_on(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "PATIENCE_S", 0.3)
    monkeypatch.setattr(service, "PATIENCE_S", 0.3)
    with stranger(publisher) as silent:
        assert is_hung_up_on(silent)
    with stranger(publisher) as slow:
        gone = threading.Event()

        def drip() -> None:
            slow.sendall(struct.pack("!i", 200))
            while not gone.wait(0.05):  # never so long that a single byte would be missed
                try:
                    slow.sendall(b"x")
                except OSError:
                    return

        dripping = threading.Thread(target=drip, daemon=True)
        dripping.start()
        assert is_hung_up_on(slow)
        gone.set()
        dripping.join(GUARD_S)


def test_a_neighbour_that_has_fallen_silent_is_hung_up_on(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "PATIENCE_S", GUARD_S)  # the handshake takes its time
    monkeypatch.setattr(service, "PATIENCE_S", 0.3)
    with Client(publisher.address, authkey=KEY) as known:
        assert known.poll(GUARD_S)
        with pytest.raises(EOFError):
            known.recv_bytes()


def test_a_flood_takes_no_more_than_its_places_and_not_those_of_neighbours(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "PATIENCE_S", 200.0)  # whoever goes here has made room
    monkeypatch.setattr(service, "PATIENCE_S", 200.0)
    with Client(publisher.address, authkey=KEY) as neighbour:
        neighbour.send_bytes(b'{"costs": {}}')
        neighbour.recv_bytes()
        before = threading.active_count()
        flood = [socket.create_connection(publisher.address) for _ in range(3 * service.PLACES)]
        try:
            for connected in flood:
                connected.settimeout(GUARD_S)
            assert all(is_hung_up_on(connected) for connected in flood[: service.PLACES])
            assert is_served(publisher)
            until(lambda: threading.active_count() <= before + service.PLACES)
            neighbour.send_bytes(b'{"costs": {"views": 1.5}}')
            assert b"views" in neighbour.recv_bytes()
            assert publisher.cost_s("views") == 1.5
        finally:
            for connected in flood:
                connected.close()


def test_closing_ends_all_threads_whoever_is_connected() -> None:
    before = set(threading.enumerate())
    publisher = Publisher(LOCAL, KEY, dict)
    with stranger(publisher) as silent, Client(publisher.address, authkey=KEY) as known:
        known.send_bytes(b'{"costs": {}}')
        known.recv_bytes()
        address = publisher.address
        publisher.close()
        assert set(threading.enumerate()) <= before
        assert is_hung_up_on(silent)
        with pytest.raises((EOFError, OSError)):
            known.recv_bytes()
        with pytest.raises(ConnectionError):
            socket.create_connection(address)
    again = Publisher(address, KEY, dict)  # and its place is free
    again.close()


def test_a_subscriber_does_not_hang_on_a_publisher_that_says_nothing() -> None:
    with socket.create_server(LOCAL) as mute:
        subscriber = Subscriber(mute.getsockname(), KEY, dict)
        connected, _ = mute.accept()
        closing = threading.Thread(target=subscriber.close, daemon=True)
        closing.start()
        closing.join(GUARD_S)
        assert not closing.is_alive()
        connected.close()
