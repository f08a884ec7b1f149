"""errors.py: an error names the query, the place, the cause and the choices."""

from __future__ import annotations

import pytest

from headrace.errors import (
    CapacityError,
    ExecutionError,
    HeadraceError,
    InternalError,
    QueryError,
    UnsupportedQuery,
    near,
)


def test_an_error_reads_as_one_sentence() -> None:
    error = QueryError(
        "there is no stream 'x'", query="revenue", line=2, column=5, choices=("known: y", "or z")
    )
    assert str(error) == (
        "query 'revenue': there is no stream 'x' at line 2, column 5 (known: y; or z)"
    )


def test_what_is_unknown_is_left_out() -> None:
    assert str(QueryError("the query is empty")) == "the query is empty"


def test_naming_an_error_keeps_its_kind_place_and_choices() -> None:
    plain = UnsupportedQuery("no", line=1, column=2, construct="OVER", choices=("a",))
    named = plain.named("q")
    assert type(named) is UnsupportedQuery
    assert (named.query, named.line, named.column) == ("q", 1, 2)
    assert (named.construct, named.choices, named.reason) == ("OVER", ("a",), "no")
    assert str(named) == "query 'q': no at line 1, column 2 (a)"


@pytest.mark.parametrize(
    "kind", [QueryError, UnsupportedQuery, CapacityError, ExecutionError, InternalError]
)
def test_every_error_has_one_root(kind: type[Exception]) -> None:
    assert issubclass(kind, HeadraceError)


def test_a_misspelt_name_is_answered_with_the_nearest_ones_whatever_their_case() -> None:
    hint, known = near("PRCE", ["price", "Prices", "time"])
    assert hint == "did you mean 'price' or 'Prices'?"
    assert known == "known: Prices, price, time"


def test_a_name_near_to_nothing_is_answered_with_the_known_ones() -> None:
    assert near("zzz", ["price", "time"]) == ("known: price, time",)


def test_a_long_list_of_known_names_is_cut() -> None:
    (known,) = near("zzz", [f"column_{n:02}" for n in range(30)])
    assert known.endswith("column_19, …")


def test_when_nothing_is_declared_the_hint_says_so() -> None:
    assert near("x", []) == ("nothing is declared yet",)
