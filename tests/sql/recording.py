"""Spark's answers, noted as they are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import headrace as hr
from headrace.query.schema import StreamSchema
from headrace.spark.analysis import SparkAnalyzer
from headrace.sql.tree import Node, Operator, Statement, Writer
from tests.sql.live import analyzer_of
from tests.unit.analyzer import PURCHASES, Answer, key_of, note


class RecordingAnalyzer:
    """An analyzer of its own Spark that notes what it says of each text."""

    def __init__(self, *, ansi: bool) -> None:
        self._spark = analyzer_of(hr.local_spark(1), PURCHASES, ansi=ansi)
        self._note: Answer = {}
        self.text = ""
        """The text that is read, as it was given."""

    @property
    def ansi(self) -> bool:
        return self._spark.ansi

    def parsed(self, text: str) -> Operator:
        told = self._spark.told_of(text)[0]
        self._note = {"text": self.text, "ansi": self.ansi, "parsed": told, "sql": {}}
        note(self._note)
        return Operator.of(told)

    def analyzed(
        self,
        text: str,
        streams: Sequence[StreamSchema],
        *,
        plainly: bool = True,
        windows: Mapping[int, int] | None = None,
    ) -> tuple[Statement, Writer]:
        told, writer = self._spark.told_of(text, streams, plainly=plainly, windows=windows)
        self._note["analyzed"] = told
        return Statement.of(told), _Noting(writer, self._note["sql"])


class _Noting:
    def __init__(self, writer: Writer, noted: dict[str, str]) -> None:
        self._writer = writer
        self._noted = noted

    def sql(
        self, node: Node, standing: Sequence[tuple[Node, str]] = (), *, over_stream: bool = True
    ) -> str:
        made = self._writer.sql(node, standing, over_stream=over_stream)
        self._noted[key_of(node, standing, over_stream)] = made
        return made

    def unfaithful(self) -> tuple[int, str] | None:
        return self._writer.unfaithful()


def answer_now(analyzer: SparkAnalyzer, text: str) -> Mapping[str, Any]:
    """What Spark says of a text today, to compare with what was written down."""
    return {
        "parsed": analyzer.told_of(text)[0],
        "analyzed": analyzer.told_of(text, [PURCHASES])[0],
    }
