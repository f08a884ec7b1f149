"""sql/text.py: tokens and places of a text, read without Spark."""

from __future__ import annotations

import pytest

from headrace.sql.approx import find_hint
from headrace.sql.text import blanked, error_at, place, tokens


def words(text: str) -> list[str]:
    return [t.text for t in tokens(text)]


def test_places_are_lines_and_columns_from_one() -> None:
    text = "ab\ncd\n\nef"
    assert [place(text, n) for n in (0, 1, 3, 7, 8)] == [(1, 1), (1, 2), (2, 1), (4, 1), (4, 2)]


def test_an_error_points_at_the_beginning_of_its_part() -> None:
    error = error_at("a,\n  bad", (5, 8), "no", "try b")
    assert (error.line, error.column, error.construct) == (2, 3, "bad")
    assert error.choices == ("try b",)
    assert error_at("a", None, "no").line is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT a -- why\n+1", ["SELECT", "a", "+", "1"]),
        ("a /* b 'c */ d", ["a", "d"]),
        ("x = 'it''s' AND y = \"q\"", ["x", "=", "'it''s'", "AND", "y", "=", '"q"']),
        (r"'a\'b' c", [r"'a\'b'", "c"]),
        ("`a``b`.`c d`", ["`a``b`", ".", "`c d`"]),
        ("2L + 1.5e3 - .5BD", ["2L", "+", "1.5e3", "-", ".5BD"]),
        ("größe>1", ["größe", ">", "1"]),
        ("r'a\\b' x", ["r'a\\b'", "x"]),
    ],
)
def test_strings_names_and_comments_are_each_one_thing(text: str, wanted: list[str]) -> None:
    assert words(text) == wanted


def test_a_hint_stands_after_the_first_select_only() -> None:
    hint = find_hint("-- a\nSELECT /*+ APPROX(error => 0.1) */ a FROM t")
    assert hint is not None
    text = "-- a\nSELECT /*+ APPROX(error => 0.1) */ a FROM t"
    assert hint.without(text) == "-- a\nSELECT " + " " * 27 + " a FROM t"
    assert find_hint("SELECT a /*+ X */ FROM t") is None
    assert find_hint("SELECT '/*+ X */' FROM t") is None


def test_a_blanked_part_keeps_every_other_place() -> None:
    assert blanked("ab\ncd", (1, 4)) == "a \n d"
