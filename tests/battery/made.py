"""Texts that are too long to be written down, or made of characters that no editor shows."""

from __future__ import annotations

Entry = tuple[str, str, str, str]
"""Slug, what it probes, expectation, text."""

_WINDOW = "GROUP BY window(time, '10 seconds')"
_WIDE_BLANKS = "SELECT\tk\r\n,\fi\vFROM\u00a0t\u3000WHERE\u2003i > 3"


def made_texts() -> list[Entry]:
    """All of them, in a fixed order."""
    numbers = ", ".join(str(n) for n in range(-1000, 1000))
    words = ", ".join(f"'w{n}'" for n in range(2000))
    ranges = " OR ".join(f"i = {n} AND tiny > {-n}" for n in range(200))
    functions = " OR ".join(f"length(s) = {n}" for n in range(200))
    filters = ", ".join(f"COUNT(*) FILTER (WHERE tiny > {n - 50}) AS c{n}" for n in range(100))
    items = ", ".join(f"tiny + {n}L AS c{n}" for n in range(300))
    sums = " + ".join(["tiny::BIGINT"] * 150)
    cases = " ".join(f"WHEN {n} THEN {n * n}" for n in range(300))
    return [
        ("in-2000-numbers", "a long list of numbers", "equal",
         f"SELECT window.start, COUNT(*) AS n FROM t WHERE i IN ({numbers}) {_WINDOW}"),
        ("in-2000-strings", "a long list of strings, none of which occurs", "equal",
         f"SELECT window.start, COUNT(*) AS n FROM t WHERE k IN ({words}, 'a') {_WINDOW}"),
        ("not-in-2000", "everything but a long list", "equal",
         f"SELECT k, i FROM t WHERE i NOT IN ({numbers})"),
        ("or-200-ranges", "two hundred conditions joined by OR", "equal",
         f"SELECT window.start, COUNT(*) AS n FROM t WHERE {ranges} {_WINDOW}"),
        ("or-200-functions", "two hundred conditions that Spark evaluates", "equal",
         f"SELECT k, s FROM t WHERE {functions}"),
        ("brackets-200", "two hundred pairs of brackets around a condition", "equal",
         f"SELECT k FROM t WHERE {'(' * 200}i > 3{')' * 200}"),
        ("not-100", "a hundred times NOT", "equal",
         f"SELECT k, i FROM t WHERE {'NOT ' * 100}i > 3"),
        ("calls-60", "sixty calls inside each other", "equal",
         f"SELECT {'concat(' * 60}k{', 1)' * 60} AS z FROM t"),
        ("filters-100", "a hundred aggregates with conditions", "equal",
         f"SELECT window.start, {filters} FROM t {_WINDOW}"),
        ("items-300", "three hundred columns", "equal", f"SELECT {items} FROM t"),
        ("sum-of-150", "a long chain of additions", "equal", f"SELECT {sums} AS z FROM t"),
        ("case-300", "a long CASE", "equal", f"SELECT CASE tiny {cases} END AS z FROM t"),
        ("long-alias", "a name of five thousand letters", "equal",
         f"SELECT k AS {'n' * 5000} FROM t"),
        ("comment-1-mb", "a megabyte of comment", "equal",
         f"SELECT k /* {'x' * 2**20} */ FROM t WHERE i > 3"),
        ("string-1-mb", "a megabyte of constant", "equal",
         f"SELECT k FROM t WHERE s <> '{'x' * 2**20}' AND i > 3"),
        ("brackets-open-1000", "a thousand brackets that are not closed",
         "refused: bracket | syntax | parse", f"SELECT {'(' * 1000}k FROM t"),
        ("spaces-1-mb", "a megabyte of nothing", "refused: empty", " " * 2**20),
        ("blanks-of-many-kinds", "tabs, form feeds, and blanks of other alphabets", "equal",
         _WIDE_BLANKS),
        ("byte-order-mark", "a mark that some editors put before a text",
         "refused: syntax | parse | cannot begin", "\ufeffSELECT k FROM t"),
        ("zero-width", "a blank of no width in a name", "refused: syntax | parse | no column",
         "SELECT k\u200b FROM t"),
        ("typographic-quotes", "quotes of a word processor", "refused: syntax | parse | no column",
         "SELECT k FROM t WHERE k = \u2018a\u2019"),
        ("nul-in-text", "a zero byte between words", "refused: syntax | parse | no column",
         "SELECT k\x00 FROM t"),
    ]  # fmt: skip
