"""What the demo says: figures as text, questions with names of their own."""

from __future__ import annotations

import datetime as dt
from itertools import islice

import pytest

from headrace.lab.demo import words
from headrace.lab.demo.crowd import Answer
from headrace.lab.demo.figures import Latency
from headrace.lab.demo.questions import KINDS, questions


def test_questions_have_names_of_their_own_and_come_again_with_the_seed() -> None:
    asked = list(islice(questions(seed=3), 200))
    assert len({q.name for q in asked}) == 200
    assert asked == list(islice(questions(seed=3), 200))
    kinds = [q.name.rsplit("-", 1)[0] for q in asked]
    assert set(kinds[: len(KINDS)]) == set(kinds), "every kind is asked before one comes again"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 B"), (999, "999 B"), (3_400_000, "3.4 MB"), (2 * 10**9, "2.0 GB")]
)
def test_size(value: int, text: str) -> None:
    assert words.size(value) == text


def test_duration_and_latency() -> None:
    assert words.duration(340.4) == "340 ms"
    assert words.duration(1_340) == "1.3 s"
    assert words.usual(None) == "–"
    latency = Latency.of([None, 10.0, 30.0, 2_000.0])
    assert latency == Latency(30.0, 2_000.0)
    assert (words.usual(latency), words.worst(latency)) == ("30 ms", "2.0 s")
    assert Latency.of([None]) is None


def test_an_answer_is_told_by_its_first_row() -> None:
    start = dt.datetime(2026, 1, 1, 10, 20, 30, tzinfo=dt.UTC)
    answer = Answer("revenue-1", {"start": start, "gem_pack": "bag", "revenue": 1234.5}, 8)
    assert words.moment(answer) == "10:20:30"
    assert words.first_row(answer) == "gem_pack bag  revenue 1,234.50  (+7 more)"
