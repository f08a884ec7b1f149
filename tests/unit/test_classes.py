"""kernels/classes.py: a class is numbered when it is first met, and keeps its number."""

from __future__ import annotations

import random

import numpy as np
import pytest

from headrace.kernels.classes import NOBODY, Classes


def sets_of(*texts: str) -> np.ndarray:
    return np.array([[c == "1" for c in text] for text in texts], dtype=bool)


@pytest.mark.parametrize("queries", [1, 7, 8, 63, 65, 200])
def test_equal_query_sets_have_one_number_and_others_another(queries: int) -> None:
    rng = random.Random(queries)
    classes = Classes(range(queries))
    some = ["".join(rng.choice("01") for _ in range(queries)) for _ in range(20)]
    known: dict[str, int] = {}
    for _ in range(10):
        texts = [rng.choice(some) for _ in range(12)]
        numbers = classes.numbers_of(sets_of(*texts))
        assert numbers is not None
        for text, number in zip(texts, numbers.tolist(), strict=True):
            assert (number == NOBODY) == ("1" not in text)
            assert known.setdefault(text, number) == number
    wanted = {t: n for t, n in known.items() if n != NOBODY}
    assert len(set(wanted.values())) == len(wanted) == len(classes)
    for text, number in wanted.items():
        assert classes.layout.query_sets[number].tolist() == sets_of(text)[0].tolist()


def test_those_that_come_together_are_numbered_by_their_bits() -> None:
    one, other = Classes([4, 7, 9]), Classes([4, 7, 9])
    assert one.numbers_of(sets_of("110", "001", "100")).tolist() == [2, 0, 1]  # type: ignore[union-attr]
    assert other.numbers_of(sets_of("100", "110", "001", "001")).tolist() == [1, 2, 0, 0]  # type: ignore[union-attr]


def test_a_later_layout_begins_with_the_earlier_one() -> None:
    classes = Classes([4, 7])
    classes.numbers_of(sets_of("11"))
    early = classes.layout
    assert classes.layout is early
    classes.numbers_of(sets_of("10", "11"))
    assert classes.layout.query_sets.tolist() == [[True, True], [True, False]]
    assert early.query_sets.tolist() == [[True, True]]
    assert classes.layout.place == {4: 0, 7: 1}


def test_where_there_is_no_room_nothing_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.kernels.classes.LARGEST_LAYOUT", 3 * 2)
    classes = Classes([1, 2, 3])
    assert classes.numbers_of(sets_of("001", "010", "100")) is None
    assert len(classes) == 0
    assert classes.numbers_of(sets_of("001", "010", "000")).tolist() == [0, 1, NOBODY]  # type: ignore[union-attr]
    assert classes.numbers_of(sets_of("100")) is None
    assert classes.numbers_of(sets_of("010")).tolist() == [1]  # type: ignore[union-attr]
