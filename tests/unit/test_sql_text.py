"""sql/text.py: pieces of the user's own text, cut by tokens and edited without being rewritten."""

from __future__ import annotations

import random

import pytest
from sqlglot import TokenType

from headrace.errors import QueryError
from headrace.sql.text import Piece, place, tokenize


def piece(text: str) -> Piece:
    return Piece(text, tokenize(text))


def test_a_piece_shows_the_users_own_words() -> None:
    assert piece("  SUM( price )  /* why */ ").text == "SUM( price )"
    assert piece("a,  b + 1 , c").part(2, 5).text == "b + 1"
    assert Piece("", ()).text == ""


def test_places_are_lines_and_columns_from_one() -> None:
    text = "ab\ncd\n\nef"
    assert [place(text, n) for n in (0, 1, 3, 7, 8)] == [(1, 1), (1, 2), (2, 1), (4, 1), (4, 2)]


def test_places_count_characters_not_bytes() -> None:
    whole = piece("'größe' = x")
    assert whole.part(2).place == (1, 11)


def test_pieces_split_only_at_the_outermost_level() -> None:
    whole = piece("a, f(b, c), d[1, 2], (e, (g, h))")
    assert [p.text for p in whole.split(TokenType.COMMA)] == [
        "a",
        "f(b, c)",
        "d[1, 2]",
        "(e, (g, h))",
    ]


def test_an_open_bracket_is_reported_where_it_opens() -> None:
    with pytest.raises(QueryError, match="not closed") as caught:
        piece("f(a,\n g(b)").close_of(1)
    assert (caught.value.line, caught.value.column) == (1, 2)


def test_a_closing_bracket_is_found_behind_inner_ones() -> None:
    whole = piece("f(a, (b), [c])")
    assert whole.tokens[whole.close_of(1)].end == len(whole.source) - 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SUM(price)", "sum( PRICE )"),
        ("`Price`", "price"),
        ("a /* x */ + 1", "a+1"),
    ],
)
def test_words_fold_case_spaces_and_quotes_of_names(one: str, other: str) -> None:
    assert piece(one).words == piece(other).words


@pytest.mark.parametrize(
    ("one", "other"),
    [("'A'", "'a'"), ("'a'", "a"), ('"A"', '"a"'), ("r'A'", "r'a'"), ("'1'", "1")],
)
def test_words_of_string_literals_keep_their_case(one: str, other: str) -> None:
    assert piece(one).words != piece(other).words


def test_runs_of_words_are_found_without_overlap() -> None:
    whole = piece("a a a b A a")
    assert whole.find(("a", "a")) == [(0, 2), (4, 6)]
    assert whole.find(("b",)) == [(3, 4)]
    assert whole.find(("c",)) == []


@pytest.mark.parametrize("seed", range(20))
def test_editing_replaces_runs_and_leaves_every_other_character(seed: int) -> None:
    rng = random.Random(seed)
    words = [rng.choice(["a", "bb", "f(x)", "'s, t'", "1.5", "2L"]) for _ in range(8)]
    text = "".join(w + " " * rng.randint(1, 3) + "+ " for w in words) + "z"
    whole = piece(text)
    replaced = [n for n, t in enumerate(whole.tokens) if t.text == "bb"]
    assert whole.edited((n, n + 1, "NEW") for n in replaced) == text.replace("bb", "NEW")


def test_number_suffixes_belong_to_their_number() -> None:
    whole = piece("price * 2L + weight")
    assert whole.edited([(0, 1, "x")]) == "x * 2L + weight"
    last = len(whole.tokens) - 1
    assert whole.edited([(last, last + 1, "y")]) == "price * 2L + y"


def test_an_error_points_at_the_beginning_of_its_piece() -> None:
    error = piece("a,\n  bad").part(2).error("no", "try b")
    assert (error.line, error.column, error.construct) == (2, 3, "bad")
    assert error.choices == ("try b",)
