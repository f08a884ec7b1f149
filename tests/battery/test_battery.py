"""Every text of the battery: it equals Spark's batch SQL, or is refused for the right reason."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import filter as filter_
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.testing import ManualClock
from tests.amounts import SOAK
from tests.battery.combinations import (
    COMBINATIONS,
    HOME,
    RUN,
    Combination,
    Slice,
    refused_in,
    slices,
)
from tests.battery.compare import verdict
from tests.battery.engine import declare, refusal, run_together
from tests.battery.known import known, known_failures, marks
from tests.battery.oracle import Oracle, Outcome, Setting
from tests.battery.rows import NAMES
from tests.battery.texts import Text, all_texts
from tests.battery.traces import Traces

# The first test of a slice runs all of it: on a busy machine that takes its time.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1200)]


class Runs:
    """Slices and oracles of this run, each made when a test first needs it."""

    def __init__(self, spark: SparkSession) -> None:
        self.oracle = cache(lambda setting: Oracle(spark, setting))
        self._spark = spark
        self._outcomes: dict[Slice, dict[str, Outcome] | BaseException] = {}

    def outcome(self, part: Slice, text: Text) -> Outcome:
        """What a text of a slice gave; a slice that breaks off breaks off once for all."""
        if part not in self._outcomes:
            self._outcomes[part] = self._run(part)
        found = self._outcomes[part]
        if isinstance(found, BaseException):
            raise RuntimeError("the slice broke off") from found
        return found[text.id]

    def _run(self, part: Slice) -> dict[str, Outcome] | BaseException:
        place = part.combination
        try:
            return run_together(self._spark, place.setting, place.lane, _executed(part))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also a time-out, which pytest does not raise as Exception
            return error


def _executed(part: Slice) -> list[Text]:
    entries = [(text, known(text.id, part.combination.id)) for text in part.texts]
    return [text for text, entry in entries if entry is None or not entry.is_skipped]


@pytest.fixture(scope="module")
def runs(spark: SparkSession) -> Runs:
    return Runs(spark)


def _equal() -> Iterator[Any]:
    for part in slices():
        for text in part.texts:
            place = part.combination.id
            yield pytest.param(part, text, id=f"{place}-{text.id}", marks=marks(text.id, place))


def _refused() -> Iterator[Any]:
    for place, texts in refused_in():
        for text in texts:
            yield pytest.param(
                place, text, id=f"{place.id}-{text.id}", marks=marks(text.id, place.id)
            )


@pytest.fixture(scope="module")
def asked(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[Combination, hr.Session]]:
    """Sessions that only read texts: they are never started, so nothing that they accept runs."""
    traces = Traces(spark)
    sessions: dict[Combination, hr.Session] = {}
    for place, _ in refused_in():
        own = place.setting.session(spark)
        sessions[place] = hr.Session(own, clock=ManualClock())
        folder: Path = tmp_path_factory.mktemp(place.id)
        declare(sessions[place], own, place.lane, tuple(NAMES), folder)
    yield sessions
    for session in sessions.values():
        session.close()
    assert traces.found() == []


@pytest.mark.parametrize(("place", "text"), list(_refused()))
def test_is_refused(asked: dict[Combination, hr.Session], place: Combination, text: Text) -> None:
    wrong = refusal(asked[place], text)
    assert wrong is None, f"{text.probe}\n{text.sql[:1000]}\n{wrong}"


@pytest.mark.parametrize(("part", "text"), list(_equal()))
def test_equals_batch(runs: Runs, part: Slice, text: Text) -> None:
    mine = runs.outcome(part, text)
    spark = runs.oracle(part.combination.setting).answer(text.oracle)
    wrong = verdict(text.sql, mine, spark)
    assert wrong is None, f"{text.probe}\n{text.sql[:1000]}\n{wrong}"


def test_the_battery_is_whole() -> None:
    """Texts have names of their own, and the list of failures names texts and combinations."""
    names = [text.id for text in all_texts()]
    assert len(names) == len(set(names))
    assert len(names) >= 300
    places = [c.id for c in COMBINATIONS]
    unknown = [
        k for k in known_failures() if k.text not in names or not filter_(places, k.combination)
    ]
    assert unknown == []


def test_every_text_is_run_at_home_and_no_combination_is_left_out() -> None:
    met: dict[str, set[str]] = {text.id: set() for text in all_texts() if not text.at_length}
    for part in slices():
        for text in part.texts:
            met.setdefault(text.id, set()).add(part.combination.id)
    for place, texts in refused_in():
        for text in texts:
            met[text.id].add(place.id)
    assert [name for name, places in met.items() if HOME.id not in places] == []
    assert {c.id for c in RUN} == {name for places in met.values() for name in places}
    assert HOME in RUN
    # Whatever is left out, each lane meets either way of ANSI and either zone, and these meet.
    assert {(c.lane, c.setting.ansi) for c in RUN} == {
        (c.lane, c.setting.ansi) for c in COMBINATIONS
    }
    assert {(c.lane, c.setting.zone) for c in RUN} == {
        (c.lane, c.setting.zone) for c in COMBINATIONS
    }
    if SOAK:
        assert [name for name, places in met.items() if len(places) < 2] == []


def test_settings_differ() -> None:
    """The oracle is asked under the setting of the combination."""
    assert {c.setting for c in RUN} == {
        Setting(ansi, zone) for ansi in (True, False) for zone in ("UTC", "Europe/Berlin")
    }
