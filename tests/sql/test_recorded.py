"""The answers that tests without a JVM are given are those that Spark gives today."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from tests.unit.analyzer import PURCHASES, answers

from .live import analyzer_of
from .recording import answer_now


def test_spark_still_says_what_was_written_down(spark: SparkSession) -> None:
    analyzers = {a: analyzer_of(spark, PURCHASES, ansi=a) for a in (True, False)}
    found = answers()
    assert len(found) > 30
    for answer in found:
        text = answer["text"]
        now = answer_now(analyzers[answer["ansi"]], _neutral(text))
        assert now["parsed"]["kind"] == answer["parsed"]["kind"]
        assert now["analyzed"] == answer["analyzed"], text


def _neutral(text: str) -> str:
    """As `headrace.sql` has it analyzed: without its hint, with any duration."""
    text = re.sub(r"/\*\+.*?\*/", lambda m: " " * len(m.group()), text)

    def any_duration(match: re.Match[str]) -> str:
        head, durations = match.group(1), match.group(2)
        return f"{head}{chr(39)}1 day{chr(39)}".ljust(len(head) + len(durations)) + ")"

    return re.sub(r"(window\(time, )([^)]*)\)", any_duration, text)
