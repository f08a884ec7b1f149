"""Patterns that a matcher could try in too many ways are told from those that it cannot."""

from __future__ import annotations

import cProfile
import itertools
import pstats
import random

import pytest

from headrace.errors import UnsupportedQuery
from headrace.sql.patterns.java import InvalidError, NotUnderstoodError
from headrace.sql.patterns.refuse import STEEPEST, ambiguity_of, refusal_of, refuse_patterns
from headrace.sql.tree import Node

from .backtracking import Matcher
from .patterns import (
    BRANCHING,
    EVERYDAY,
    EXPONENTIAL,
    INVALID,
    NOT_UNDERSTOOD,
    RECURSIVE,
    STEEP,
)


@pytest.mark.parametrize("pattern", EVERYDAY)
def test_everyday_patterns_may_be_run(pattern: str) -> None:
    assert refusal_of(pattern) is None


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_exponential_patterns_are_refused(pattern: str) -> None:
    found = ambiguity_of(pattern)
    assert found.degree is None
    assert found.pump
    reason, choices = refusal_of(pattern) or ("", ())
    assert "exponentially" in reason
    assert any("(?>" in choice for choice in choices)


@pytest.mark.parametrize(("pattern", "power"), STEEP)
def test_the_power_of_a_pattern_is_told(pattern: str, power: int) -> None:
    assert ambiguity_of(pattern).degree == power
    assert f"{power}th power" in (refusal_of(pattern) or ("", ()))[0]


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        ("x", 1), ("^a+$", 1), ("a+", 1), ("a+$", 2), ("^a+a+$", 2), ("a+b+$", 2), (".*.*x", 3),
        ("^.*foo.*bar.*$", 3), ("foo.*bar.*baz", 3), ("a+.*b", 3), ("a++b", 2), ("^(a+b)*$", 1),
        (r"(\d+,)*\d+", 2), (r"^(a*b)*a*$", 1), (r"\s*,\s*", 2), (r"(\w+)\s+\1", 3),
    ],
)  # fmt: skip
def test_a_loop_counts_where_it_shares_a_word_with_one_before(pattern: str, power: int) -> None:
    assert ambiguity_of(pattern).degree == power


@pytest.mark.parametrize("pattern", [".*.*x", r"^\w*\w*\w*x", r"\b(\w+)\s+\1\b"])
def test_loops_that_any_text_can_fill_may_be_fewer(pattern: str) -> None:
    assert ambiguity_of(pattern).degree_of_any == 3
    assert "3rd power" in (refusal_of(pattern) or ("", ()))[0]


@pytest.mark.parametrize("pattern", RECURSIVE)
def test_what_would_overflow_the_stack_is_refused(pattern: str) -> None:
    reason, choices = refusal_of(pattern) or ("", ())
    assert "end Spark's process" in reason
    assert any("*+" in choice for choice in choices)


@pytest.mark.parametrize("pattern", BRANCHING)
def test_many_choices_one_after_the_other_are_refused(pattern: str) -> None:
    assert "too many ways" in (refusal_of(pattern) or ("", ()))[0]


@pytest.mark.parametrize("pattern", INVALID)
def test_what_java_refuses_is_left_to_java(pattern: str) -> None:
    with pytest.raises(InvalidError):
        ambiguity_of(pattern)
    assert refusal_of(pattern) is None


@pytest.mark.parametrize("pattern", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_refused_with_its_place(pattern: str) -> None:
    with pytest.raises(NotUnderstoodError):
        ambiguity_of(pattern)
    assert "not understood at its character" in (refusal_of(pattern) or ("", ()))[0]


@pytest.mark.parametrize(
    ("pattern", "fine"),
    [
        ("%error%timeout%", True), ("%a%b%c", True), ("%a%b%c%", True), ("a_b", True), ("%", True),
        ("", True), ("%%%%", True), (r"50\%", True), ("%a%b%c%d", False), ("%a%a%a%a%a%b", False),
        ("%_%_%_%_", False), ("_" * 5_000, False), ("_" * 50, True),
        ("%%%x", False), ("%_%__%x", False), ("%%x", True), ("%a%%b", True),
        ("x" * 20_000 + "%", True), ("%a" * 5_000, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["Like", "ILike"])
def test_like_may_have_three_loops(kind: str, pattern: str, *, fine: bool) -> None:
    assert (refusal_of(pattern, kind) is None) == fine


@pytest.mark.parametrize(
    ("pattern", "exponential"),
    [
        ("(?:a++)+$", False), ("(?:a++b?)+$", False), ("(?:a*+)+$", False), ("(?:a++a)+$", False),
        ("(?:a{1,40}+a?)+$", True), ("(?:[ab]++|a)+$", False), ("(?:a++|b|ab)+$", True),
        ("(?>a+|b)+$", False), ("(?>a|aa)+$", True), ("(?>(?:a|aa)+)$", False),
        ("(?:(?=a)a|(?!a)[ab])+$", False), ("(?:a|(?!a)[ab])+$", False),
        (r"(?i)(?:\p{Lower}++[A-Z]?)+$", True), ("(?i)(?:[a-z]++[A-Z]?)+$", False),
    ],
)  # fmt: skip
def test_what_does_not_go_back_is_seen(pattern: str, *, exponential: bool) -> None:
    assert (ambiguity_of(pattern).degree is None) == exponential


def test_the_key_of_a_url_is_a_pattern() -> None:
    assert refusal_of("id", "ParseUrl") is None
    assert refusal_of("(a+){1,9}", "ParseUrl") is not None
    assert refusal_of("(a+){1,9}") is None, "nothing comes behind it that could fail"


def test_letters_of_any_case_are_the_same_where_the_collation_says_so() -> None:
    assert refusal_of("(a|A){0,99}$") is None
    assert refusal_of("(a|A){0,99}$", any_case=True) is not None
    assert refusal_of("(k|\u212a){0,99}$", any_case=True) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 5_000 + ")" * 5_000, "[" * 5_000, "(a|b)*" * 1_600, "a?" * 4_000,
        "(a*" * 40 + ")*" * 40,
        "(?:" + "|".join(f"w{n}" for n in range(1_200)) + ")*x", ".*a" * 400, "x{9}" * 2_000,
        "((((a{0,32}){0,32}){0,32}){0,32}){0,32}", "a" * 10_000, "(" + "a?b?c?d?" * 60 + ")*x",
        "|".join("[a-z]{1,30}x" for _ in range(40)), "(?:" + "a{1,9}b" * 30 + ")*c{1,30}d*$",
        "(?=" * 40 + "a*" + ")" * 40, "(?>" * 40 + "(a|aa)*" + ")" * 40 + "x",
        "((?:a{0,30}b){0,30}c)*((?:a{0,30}b){0,30}d)*e", "[^" + "\u0100\u0200" * 3_000 + "]*x",
        ("(?:" + "|".join(chr(97 + n % 26) + "x" * (n % 7) for n in range(200)) + ")*") * 4 + "!",
    ],
    ids=lambda p: f"{len(p)}-{p[:12]}",
)  # fmt: skip
def test_an_answer_never_takes_long(pattern: str) -> None:
    refusal_of.cache_clear()
    profile = cProfile.Profile()
    profile.runcall(refusal_of, pattern)
    # Calls, not seconds: they are the same on every machine. A million take about half a second.
    assert pstats.Stats(profile).total_calls < 3_000_000  # type: ignore[attr-defined]


def _random_pattern(rng: random.Random, depth: int = 3, *, plain: bool = False) -> str:
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(["a", "b", "[ab]", "ab", "c", "."])
    inner = [_random_pattern(rng, depth - 1, plain=plain) for _ in range(rng.randint(1, 3))]
    whole = rng.choice(["", "|"]).join(inner)
    group = rng.choice(["(?:"] if plain else ["(?:", "(?:", "(?:", "(?>", "(?=", "(?!"])
    often = ["", "", "?", "*", "+", "{1,2}", "*?"]
    return f"{group}{whole})" + rng.choice(often if plain else [*often, "*+", "++"])


def _texts(n: int) -> list[str]:
    words = ["".join(w) for size in (1, 2, 3) for w in itertools.product("ab", repeat=size)]
    return [(word * n)[:n] + "\n" for word in words]


def test_what_may_be_run_does_not_explode_in_a_slow_twin() -> None:
    rng = random.Random(17)
    accepted = 0
    while accepted < 100:
        pattern = _random_pattern(rng) + rng.choice(["c", "$", "", "a"])
        found = ambiguity_of(pattern)
        if found.degree is None or found.degree > 2:
            continue
        accepted += 1
        length = 18
        limit = 30 * found.branches * length**found.degree
        for text in rng.sample(_texts(length), 4):
            matcher = Matcher(pattern, limit)
            assert not matcher.explodes(text), (pattern, text, found)


def test_what_is_exponential_explodes_in_a_slow_twin() -> None:
    rng = random.Random(18)
    refused = 0
    while refused < 40:
        # With atomic parts and what is looked at, more may be taken for possible than is.
        pattern = _random_pattern(rng, plain=True) + rng.choice(["c", "$"])
        found = ambiguity_of(pattern)
        if found.degree is not None:
            continue
        refused += 1
        text = found.before + found.pump * 14 + "\n"
        matcher = Matcher(pattern, 5_000)
        assert matcher.explodes(text) or matcher.search(text), (pattern, text)


def _call(kind: str, *arguments: Node) -> Node:
    return Node(9, kind, (10, 20), children=(Node(1, "AttributeReference"), *arguments))


def _text(value: str | None) -> Node:
    return Node(2, "Literal", (3, 8), "string", value=value, is_constant=True)


def test_constants_may_be_put_together() -> None:
    evil = Node(4, "Concat", (5, 9), "string", children=(_text("(a+)"), _text("+$")))
    with pytest.raises(UnsupportedQuery, match="exponentially"):
        refuse_patterns("0123456789" * 3, [_call("RLike", evil)])
    with pytest.raises(UnsupportedQuery, match="exponentially"):
        refuse_patterns(
            "0123456789" * 3,
            [_call("RLike", Node(5, "Lower", None, "string", children=(_text("(A+)+$"),)))],
        )
    fine = Node(4, "Concat", (5, 9), "string", children=(_text("a"), _text("+$")))
    refuse_patterns("", [_call("RLike", fine), _call("RLike", _text(None))])


def test_a_pattern_that_depends_on_the_tuple_is_refused() -> None:
    column = Node(3, "AttributeReference", (4, 7), "string")
    computed = Node(4, "Concat", (5, 9), "string", children=(_text("a"), column))
    for node in (column, computed):
        with pytest.raises(UnsupportedQuery, match="write it as a constant"):
            refuse_patterns("0123456789", [_call("RegExpReplace", node)])


def test_the_steepest_power_is_that_of_the_decision() -> None:
    assert STEEPEST == 3
