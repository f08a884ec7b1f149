"""Pipelines that do nothing by themselves: a window ends when a test says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace.spark.pipeline import runner
from headrace.spark.pipeline.intake import FromSource


class EndsByHand:
    """In the place of a pipeline's EarlyClock, which would wake up by the machine's clock."""

    def __init__(
        self,
        clock: object,
        next_end_us: Callable[[int], int | None],
        close_windows: Callable[[int], None],
    ) -> None:
        self.close_windows = close_windows

    def look(self) -> None:
        """Queries came or went."""

    def hold(self, batch_s: float) -> None:
        """No batch is in the way of a window here."""

    def close(self) -> None:
        """No more windows are closed."""


def move_by_hand(patch: pytest.MonkeyPatch) -> list[EndsByHand]:
    """From now on pipelines do nothing by themselves; returns their clocks as they are made."""
    made: list[EndsByHand] = []

    def make(*given: Any) -> EndsByHand:
        made.append(EndsByHand(*given))
        return made[-1]

    patch.setattr(runner, "EarlyClock", make)
    # How long a source has been silent is measured by the machine's clock, too.
    patch.setattr(FromSource, "empty_for_s", lambda _: None)
    return made
