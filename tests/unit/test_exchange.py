"""spark/exchange.py and scheduling/news.py: two ends that know the same key."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client

import pytest

import headrace as hr
from headrace.progress.sweep import SweepEstimate
from headrace.scheduling.news import News
from headrace.spark import exchange
from headrace.spark.exchange import Publisher, Subscriber, Upstream

KEY = b"a key that both know"
LOCAL = ("127.0.0.1", 0)
OUT = SweepEstimate(10.0, 10.5, 0.1, 10.3, 10.7, 400)


def until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < limit
        threading.Event().wait(0.01)


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
