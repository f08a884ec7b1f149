"""Texts that differ only in constants mean what each means by itself; Spark is asked once."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql import SparkSession

from headrace.errors import QueryError
from headrace.query.schema import StreamSchema
from headrace.sql import Analyzer, Templates, parse
from headrace.sql.tree import Operator, Statement, Writer
from tests.unit.analyzer import PURCHASES, STREAMS

from .live import analyzer_of


class Counting:
    """Counts how often Spark is asked."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.asked = 0

    @property
    def ansi(self) -> bool:
        return self._analyzer.ansi

    def parsed(self, text: str) -> Operator:
        self.asked += 1
        return self._analyzer.parsed(text)

    def analyzed(
        self,
        text: str,
        streams: Sequence[StreamSchema],
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Statement, Writer]:
        return self._analyzer.analyzed(text, streams, plainly=plainly, windows=windows)


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Analyzer:
    return analyzer_of(spark, PURCHASES, ansi=True)


TEXTS = [
    "SELECT SUM(price) FROM purchases WHERE price > {n} GROUP BY window(time, '{s} seconds')",
    "SELECT SUM(price) FROM purchases WHERE price > -{n} AND weight < {d} OR amount = {d} "
    "GROUP BY window(time, '{s} seconds', '{t} seconds'), gem_pack",
    "SELECT gem_pack, COUNT(*) AS n FROM purchases WHERE user_id BETWEEN {n} AND {m} "
    "GROUP BY window(time, '{s} minutes'), gem_pack HAVING n > {n} AND SUM(amount) < {d} "
    "ORDER BY n DESC, 1 LIMIT {m}",
    "SELECT price + {n} AS p FROM purchases WHERE price IN ({n}, {m})",
    "SELECT 10 / price FROM purchases WHERE price > {n} AND ratio >= {d}",
    "SELECT COUNT(*) FILTER (WHERE price > {n}) FROM purchases WHERE price <= {d} AND paid "
    "GROUP BY window(time, '{s} seconds')",
    "SELECT /*+ APPROX(error => 0.05) */ SUM(price) AS s FROM purchases WHERE price < {n} "
    "GROUP BY window(time, '{s} seconds')",
    "SELECT price FROM purchases WHERE - price > {d} AND price > {n}",
]


@pytest.mark.parametrize("template", TEXTS)
def test_another_text_of_a_template_is_read_as_if_it_were_the_first(
    analyzer: Analyzer, template: str
) -> None:
    rng = random.Random(template)
    templates = Templates()
    counting = Counting(analyzer)
    for _ in range(12):
        size = rng.randint(2, 60)
        values = {
            "n": rng.randint(0, 99),
            "m": rng.randint(1, 99),
            "d": f"{rng.randint(0, 9)}.{rng.randint(0, 9)}",
            "s": size,
            "t": rng.randint(1, size),
        }
        text = template.format(**values)
        assert templates.parse(text, STREAMS, counting) == parse(text, STREAMS, analyzer)
    assert counting.asked <= 12


def test_a_thousand_alerts_with_a_threshold_each_ask_spark_once(analyzer: Analyzer) -> None:
    counting = Counting(analyzer)
    templates = Templates()
    for n in range(1_000):
        group = f"GROUP BY window(time, '{n + 1} seconds')"
        text = f"SELECT SUM(price) FROM purchases WHERE price > {n} {group}"
        query = templates.parse(text, STREAMS, counting)
        assert query.time_window.size_us == (n + 1) * 1_000_000
        assert query.where_sql == f"(price > {n})"
    assert counting.asked == 1


def test_an_error_in_another_text_names_its_own_place(analyzer: Analyzer) -> None:
    templates = Templates()
    text = "SELECT SUM(price) FROM purchases GROUP BY window(time, '{} seconds', '{} seconds')"
    templates.parse(text.format(8, 4), STREAMS, analyzer)
    with pytest.raises(QueryError, match="may not be longer") as caught:
        templates.parse(text.format(4, 888), STREAMS, analyzer)
    assert caught.value.column == text.format(4, 888).index("'888") + 1


def test_only_so_many_templates_are_remembered(analyzer: Analyzer) -> None:
    templates = Templates(most=3)
    counting = Counting(analyzer)
    texts = [f"SELECT price AS p{n} FROM purchases WHERE price > 1" for n in range(5)]
    for text in [*texts, texts[-1], texts[0]]:
        templates.parse(text, STREAMS, counting)
    assert counting.asked == 6


def test_a_pattern_is_checked_though_all_else_is_known(analyzer: Analyzer) -> None:
    templates = Templates()
    text = "SELECT price FROM purchases WHERE gem_pack RLIKE '{}' AND price > {}"
    templates.parse(text.format("^a+$", 1), STREAMS, analyzer)
    templates.parse(text.format("^a+$", 2), STREAMS, analyzer)
    for n in (1, 2, 3):
        with pytest.raises(QueryError, match="exponentially") as caught:
            templates.parse(text.format("^(a+)+$", n), STREAMS, analyzer)
        assert caught.value.column == text.index("'{") + 1


def test_a_pattern_that_looks_like_a_duration_is_no_parameter(analyzer: Analyzer) -> None:
    templates = Templates()
    text = "SELECT regexp_replace(gem_pack, '{}', '') AS r FROM purchases"
    for pattern in ("1 seconds", "2 seconds"):
        query = templates.parse(text.format(pattern), STREAMS, analyzer)
        assert pattern in query.selected[0].sql
